"use strict";
(function () {
  let written, numbers;
  const looks = [matchMedia("(prefers-color-scheme: dark)"), matchMedia("print")];
  let charts = [];

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  }

  function compact(value) {
    for (const [size, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
      if (Math.abs(value) >= size) return +(value / size).toPrecision(3) + letter;
    }
    return String(+value.toPrecision(3));
  }

  const percent = (u, value) => (value == null ? "-" : value.toFixed(1) + " %");
  const whole = (u, value) => (value == null ? "-" : String(value));

  function line(label, name, options) {
    return Object.assign({ label, stroke: colour(name), width: 2, value: percent, points: { show: false } }, options);
  }

  // No line goes through a single point.
  const alone = () => ({ points: { show: numbers.steps.length === 1, size: 7 } });

  function mark(label, name) {
    return line(label, name, { paths: () => null, width: 0, fill: undefined });
  }

  // Shapes say what colours say: for each mark a way to draw it around a point.
  const shapes = {
    accepted: (c, x, y, r) => { c.moveTo(x, y - r); c.lineTo(x + r, y + r); c.lineTo(x - r, y + r); c.closePath(); c.fill(); },
    rejected: (c, x, y, r) => { c.moveTo(x - r, y - r); c.lineTo(x + r, y + r); c.moveTo(x + r, y - r); c.lineTo(x - r, y + r); },
    rejected_early: (c, x, y, r) => { c.moveTo(x, y + r); c.lineTo(x + r, y - r); c.lineTo(x - r, y - r); c.closePath(); },
    slow_accepted: (c, x, y, r) => { c.moveTo(x, y - r); c.lineTo(x + r, y); c.lineTo(x, y + r); c.lineTo(x - r, y); c.closePath(); c.fill(); },
    slow_rejected: (c, x, y, r) => { c.moveTo(x, y - r); c.lineTo(x + r, y); c.lineTo(x, y + r); c.lineTo(x - r, y); c.closePath(); },
  };

  function drawMarks(chart, marks) {
    const c = chart.ctx, r = 5 * devicePixelRatio;
    c.save();
    for (const { series, name, shape } of marks) {
      if (!chart.series[series].show) continue;
      c.strokeStyle = c.fillStyle = colour(name);
      c.lineWidth = 2 * devicePixelRatio;
      chart.data[series].forEach((value, index) => {
        if (value == null) return;
        c.beginPath();
        shapes[shape](c, chart.valToPos(chart.data[0][index], "x", true), chart.valToPos(value, "y", true), r);
        c.stroke();
      });
    }
    c.restore();
  }

  function drawEpochs(chart) {
    const c = chart.ctx, { top, height } = chart.bbox;
    c.save();
    c.strokeStyle = colour("grey");
    c.globalAlpha = 0.5;
    c.lineWidth = devicePixelRatio;
    for (const step of numbers.epoch_ends) {
      const x = chart.valToPos(step + 0.5, "x", true);
      c.beginPath();
      c.moveTo(x, top);
      c.lineTo(x, top + height);
      c.stroke();
    }
    c.restore();
  }

  function axis(more) {
    const ink = colour("quiet");
    return Object.assign({ stroke: ink, grid: { stroke: colour("line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" }, more);
  }

  // While no step is under the pointer, the numbers are those of the last one.
  function showLast(chart) {
    if (chart.legend.idx == null) chart.setLegend({ idx: numbers.steps.length - 1 });
  }

  function draw(id, series, data, options) {
    const place = document.getElementById(id);
    place.textContent = "";
    const last = numbers.steps[numbers.steps.length - 1];
    const steps = { time: false, range: [-0.5, Math.max(last, 1) + 0.5] };
    const chart = new uPlot(
      {
        width: place.clientWidth, height: options.height,
        scales: Object.assign({ x: steps }, options.scales),
        axes: [axis({ incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000], size: 26, label: "step", labelSize: 16, labelGap: 0, labelFont: "12px system-ui" })].concat(options.axes),
        series: [{ label: "step" }].concat(series),
        legend: { live: true }, cursor: { drag: { x: true, y: false } },
        hooks: { drawAxes: [drawEpochs], draw: options.marks ? [(u) => drawMarks(u, options.marks)] : [], ready: [showLast], setLegend: [showLast] },
      },
      [numbers.steps].concat(data),
      place,
    );
    charts.push(chart);
  }

  function drawScores() {
    const stepped = uPlot.paths.stepped({ align: 1 });
    const flat = numbers.steps.map(() => numbers.baseline);
    const series = [
      line("baseline", "grey", { dash: [6, 4], width: 1.5 }),
      line("training " + (numbers.trained_on === "batch" ? "batch" : "tasks seen so far"), "sky", { dash: [2, 3], width: 1.5, points: { show: numbers.steps.length < 60, size: 5 } }),
      line("current", "blue", { paths: stepped, width: 3, ...alone() }),
    ];
    const data = [flat, numbers.train, numbers.current];
    if (numbers.best.some((value, index) => value !== numbers.current[index])) {
      series.push(line("best so far", "purple", { paths: stepped, dash: [8, 3, 2, 3], width: 1.5 }));
      data.push(numbers.best);
    }
    const kinds = [
      ["accepted", "green", "\u25b2 accepted"], ["rejected", "red", "\u2715 rejected"],
      ["rejected_early", "red", "\u25bd rejected early, at most"],
      ["slow_accepted", "green", "\u25c6 slow update taken"], ["slow_rejected", "green", "\u25c7 slow update refused"],
    ];
    const marks = [];
    for (const [key, name, label] of kinds) {
      if (numbers[key].every((value) => value == null)) continue;
      series.push(mark(label, name));
      data.push(numbers[key]);
      marks.push({ series: series.length, name, shape: key });
    }
    draw("chart-scores", series, data, {
      height: 340, scales: { y: { range: [-4, 104] } }, axes: [axis({ values: (u, ticks) => ticks.map((tick) => tick + " %") })], marks,
    });
  }

  function drawEdits() {
    const bars = uPlot.paths.bars({ size: [0.6, 40] });
    const filled = (label, name, value) => line(label, name, { paths: bars, fill: colour(name) + (value ? "" : "40"), width: 1, value: whole });
    const series = [filled("applied, accepted", "green", true), filled("applied, not accepted", "red", false),
      line("proposed", "grey", { paths: () => null, value: whole, points: { show: true, size: 6 } })];
    const data = [numbers.kept, numbers.lost, numbers.proposed];
    if (numbers.budget.some((value) => value != null)) {
      const only = numbers.budget.filter((value) => value != null).length === 1; // a line of one point would not be seen
      series.push(line("budget", "orange", { paths: uPlot.paths.stepped({ align: 0 }), value: whole, points: { show: only, size: 9 } }));
      data.push(numbers.budget);
    }
    const most = Math.max(1, ...data.flat().filter((value) => value != null));
    draw("chart-edits", series, data, {
      height: 230, scales: { y: { range: [0, most * 1.1] } }, axes: [axis({ incrs: [1, 2, 5, 10, 20, 50, 100] })],
    });
  }

  function drawSpending() {
    const tokens = (u, value) => (value == null ? "-" : compact(value));
    const dollars = (u, value) => (value == null ? "-" : "$" + value.toFixed(2));
    const series = [line("target, tokens", "blue", { value: tokens, ...alone() }), line("optimizer, tokens", "orange", { value: tokens, dash: [8, 3], ...alone() })];
    const data = [numbers.tokens.target, numbers.tokens.optimizer];
    const axes = [axis({ values: (u, ticks) => ticks.map(compact) })];
    const scales = { y: { range: (u, low, high) => [0, (high || 1) * 1.05] } };
    const priced = Object.keys(numbers.dollars);
    for (const role of priced) {
      series.push(line(role + ", dollars", role === "target" ? "blue" : "orange", { scale: "dollars", dash: [2, 3], value: dollars }));
      data.push(numbers.dollars[role]);
    }
    if (priced.length) {
      scales.dollars = { range: (u, low, high) => [0, (high || 1) * 1.05] };
      axes.push(axis({ scale: "dollars", side: 1, grid: { show: false }, values: (u, ticks) => ticks.map((tick) => "$" + +tick.toPrecision(3)) }));
    }
    draw("chart-spending", series, data, { height: 230, scales, axes });
  }

  function drawAll() {
    if (!numbers) return;
    charts.forEach((chart) => chart.destroy());
    charts = [];
    drawScores();
    drawEdits();
    drawSpending();
  }

  function openNamed() {
    const named = document.getElementById(location.hash.slice(1));
    if (named && named.tagName === "DETAILS") named.open = true;
  }

  // The page may get new numbers while it is open, or its first ones.
  function read() {
    const found = document.getElementById("numbers");
    if (!found || found.textContent === written) return;
    written = found.textContent;
    numbers = JSON.parse(written);
    drawAll();
  }

  let waiting;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(drawAll, 150); });
  looks.forEach((look) => look.addEventListener("change", drawAll));
  addEventListener("hashchange", openNamed);
  document.addEventListener("numbers", read);
  openNamed();
  read();
})();
