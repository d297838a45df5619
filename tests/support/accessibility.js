() => {
  const faults = [];
  const told = (element) => element.outerHTML.slice(0, 160);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const seen = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });

  if (!document.documentElement.lang) faults.push("the page names no language");
  if (!document.title.trim()) faults.push("the page has no title");
  if (all("main").length !== 1) faults.push(`the page has ${all("main").length} main landmarks`);
  for (const nav of all("nav")) {
    if (all("nav").length > 1 && !nav.ariaLabel && !nav.getAttribute("aria-labelledby")) faults.push(`no name: ${told(nav)}`);
  }

  const levels = all("h1, h2, h3, h4, h5, h6").filter(seen).map((one) => Number(one.tagName[1]));
  if (levels.filter((level) => level === 1).length !== 1) faults.push("the page has not one h1");
  levels.reduce((before, level) => {
    if (level > before + 1) faults.push(`a heading of level ${level} follows one of level ${before}`);
    return level;
  }, 0);

  const ids = all("[id]").map((one) => one.id);
  for (const id of new Set(ids.filter((id, index) => ids.indexOf(id) !== index))) faults.push(`id ${id} stands there twice`);
  for (const name of ["aria-labelledby", "aria-describedby", "aria-controls", "for"]) {
    for (const one of all(`[${name}]`)) {
      for (const id of one.getAttribute(name).split(/\s+/)) {
        if (!document.getElementById(id)) faults.push(`${name} leads nowhere: ${told(one)}`);
      }
    }
  }
  for (const link of all("a[href^='#']")) {
    if (!document.getElementById(decodeURIComponent(link.hash.slice(1)))) faults.push(`leads nowhere: ${told(link)}`);
  }

  for (const table of all("table:not(.u-legend)")) {
    if (!table.caption || !table.caption.textContent.trim()) faults.push(`no caption: ${told(table)}`);
    if (!table.querySelector("th")) faults.push(`no headings: ${told(table)}`);
    for (const cell of table.querySelectorAll("th:not([scope])")) faults.push(`no scope: ${told(cell)}`);
  }
  for (const image of all("img:not([alt]), svg:not([aria-hidden]):not([aria-label]):not([aria-labelledby])")) {
    faults.push(`no text instead: ${told(image)}`);
  }
  for (const one of all("[tabindex]")) if (one.tabIndex > 0) faults.push(`an order of its own: ${told(one)}`);
  for (const one of all("body *").filter(seen)) {
    const style = getComputedStyle(one);
    const scrolls = (way, size, most) => /auto|scroll/.test(way) && size > most + 1;
    if (scrolls(style.overflowX, one.scrollWidth, one.clientWidth) || scrolls(style.overflowY, one.scrollHeight, one.clientHeight)) {
      if (one.tabIndex < 0 && !one.querySelector("a[href], button, input")) faults.push(`no key scrolls it: ${told(one)}`);
      if (one.tabIndex >= 0 && one.tagName !== "PRE" && !one.ariaLabel && !one.getAttribute("aria-labelledby")) faults.push(`no name: ${told(one)}`);
    }
  }

  // Colours in any notation become four numbers by being painted.
  const context = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const painted = (colour) => {
    if (!known.has(colour)) {
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = colour;
      context.fillRect(0, 0, 1, 1);
      const [red, green, blue, alpha] = context.getImageData(0, 0, 1, 1).data;
      known.set(colour, [red, green, blue, alpha / 255]);
    }
    return known.get(colour);
  };
  const over = (front, back) => [0, 1, 2].map((i) => front[i] * front[3] + back[i] * (1 - front[3])).concat(1);
  const behind = (element) => {
    if (!element) return painted("Canvas");
    const own = painted(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, behind(element.parentElement));
  };
  const luminance = (colour) => {
    const [red, green, blue] = colour.slice(0, 3).map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [dark, bright] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (bright + 0.05) / (dark + 0.05);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const poor = new Map();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !seen(element) || element.closest("script, style, [disabled], [aria-disabled=true]")) continue;
    const style = getComputedStyle(element);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const back = behind(element);
    const ratio = contrast(over(painted(style.color), back), back);
    if (ratio < (large ? 3 : 4.5)) poor.set(`${style.color} on ${back.slice(0, 3)}: ${ratio.toFixed(2)} to 1`, told(element));
  }
  for (const [what, where] of poor) faults.push(`contrast ${what}: ${where}`);
  return faults;
}
