"use strict";
(function () {
  const place = document.getElementById("chart-compare");
  const numbers = JSON.parse(document.getElementById("numbers").textContent);
  // One colour and one dash for each letter: no two lines are told apart by colour alone.
  const names = ["blue", "orange", "green", "red", "purple", "sky", "grey", "ink"];
  const dashes = [[], [8, 3], [3, 3], [10, 3, 2, 3], [1, 3], [14, 4], [6, 2, 2, 2, 2, 2], [4, 6]];
  let chart = null;

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  }

  function axis(more) {
    return Object.assign({ stroke: colour("quiet"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" }, more);
  }

  // While no step is under the pointer, the numbers are those of the last one.
  function showLast(chart) {
    if (chart.legend.idx == null) chart.setLegend({ idx: numbers.steps.length - 1 });
  }

  function draw() {
    if (chart) chart.destroy();
    const last = numbers.steps[numbers.steps.length - 1];
    const stepped = uPlot.paths.stepped({ align: 1 });
    const series = numbers.letters.map((letter, at) => ({
      label: letter, stroke: colour(names[at]), dash: dashes[at], width: 2, paths: stepped, points: { show: numbers.steps.length < 60, size: 6 },
      value: (u, value) => (value == null ? "-" : value.toFixed(1) + " %"),
    }));
    chart = new uPlot(
      {
        width: place.clientWidth, height: 320,
        scales: { x: { time: false, range: [-0.5, Math.max(last, 1) + 0.5] }, y: { range: [-4, 104] } },
        axes: [axis({ incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000], label: "step", labelSize: 16, labelGap: 0, size: 26, labelFont: "12px system-ui" }),
          axis({ values: (u, ticks) => ticks.map((tick) => tick + " %") })],
        series: [{ label: "step" }].concat(series),
        cursor: { drag: { x: true, y: false } },
        hooks: { ready: [showLast], setLegend: [showLast] },
      },
      [numbers.steps].concat(numbers.current),
      place,
    );
  }

  let waiting;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(draw, 150); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
