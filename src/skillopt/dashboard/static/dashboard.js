"use strict";
(function () {
  // An element with data-refresh names a part of its page: when its stream says `changed`, that part is asked for anew,
  // under the address that stands in the browser, so that filters and pages stay as they are.
  let asking = false, again = false;

  async function refresh(part) {
    if (asking) { again = true; return; }
    asking = true;
    try {
      await htmx.ajax("GET", location.pathname + location.search, { target: part, select: part, swap: "outerMorph" });
    } finally {
      asking = false;
      if (again) { again = false; refresh(part); }
    }
  }

  addEventListener("changed", (event) => {
    const part = event.target instanceof Element && event.target.dataset.refresh;
    if (part) refresh(part);
  });

  // A chart that is drawn knows no templates: it is told that its numbers may be new.
  addEventListener("htmx:after:swap", () => document.dispatchEvent(new Event("numbers")));

  // What was known last stays to be seen, and a line says that it is old.
  function offline(lost) { document.getElementById("offline").hidden = !lost; }
  addEventListener("htmx:sse:error", () => offline(true));
  addEventListener("htmx:sse:after:connection", () => offline(false));
  // A stream that broke is begun again by itself; one that never began is not.
  function beginAgain(event) {
    const live = event.target;
    if (!(live instanceof Element) || !live.dataset.refresh) return;
    offline(true);
    setTimeout(() => htmx.trigger(live, "again"), 1000);
  }
  addEventListener("htmx:error", beginAgain);
  addEventListener("htmx:response:error", beginAgain);

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    if (event.key === "/") {
      const field = document.querySelector("[data-focus-key='/']");
      if (field) { event.preventDefault(); field.focus(); field.select(); }
    }
    if (event.key === "n" || event.key === "p") {
      const link = document.querySelector(event.key === "n" ? "a[rel=next]" : "a[rel=prev]");
      if (link) link.click();
    }
    if (event.key === "j" || event.key === "k") {
      const rows = [...document.querySelectorAll("[data-row]")];
      const now = rows.indexOf(document.activeElement);
      const next = rows[now < 0 ? 0 : now + (event.key === "j" ? 1 : -1)];
      if (next) next.focus();
    }
  });
})();
