// Draws the charts, redraws them when the theme or the width class changes, lets a legend's name single out its line, and sorts tables.
"use strict";
(() => {
  const specs = JSON.parse(document.getElementById("specs").textContent);
  const onDark = JSON.parse(document.getElementById("on-dark").textContent);
  const charts = [...document.querySelectorAll(".chart")];
  const views = new Map();
  const narrow = window.matchMedia("(max-width: 600px)");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  let forced = null;

  const isDark = () => (forced === null ? dark.matches : forced === "dark");

  // The charts name colours for white.
  const shown = (colour) => (isDark() && Object.hasOwn(onDark, colour) ? onDark[colour] : colour);
  const coloured = (spec) => JSON.parse(JSON.stringify(spec), (_, value) => (typeof value === "string" ? shown(value) : value));

  function config() {
    const style = getComputedStyle(root);
    const colour = (name) => style.getPropertyValue(name).trim();
    const size = narrow.matches ? 11 : 12;
    return {
      background: null,
      font: 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif',
      view: { stroke: null },
      axis: {
        labelColor: colour("--text"), titleColor: colour("--soft"), gridColor: colour("--line"),
        domainColor: colour("--line"), tickColor: colour("--line"), labelFontSize: size, titleFontSize: size,
        titleFontWeight: "normal", labelLimit: narrow.matches ? 150 : 220,
      },
    };
  }

  async function draw(element) {
    const old = views.get(element.id);
    if (old) old.finalize();
    const spec = coloured(specs[element.id]);
    // ast: expressions are interpreted, because the page forbids code made from text.
    const options = { actions: false, renderer: "svg", ast: true, config: config() };
    try {
      const result = await vegaEmbed(element, spec, options);
      views.set(element.id, result);
      element.dataset.state = "drawn";
    } catch (error) {
      element.dataset.state = "failed";
      element.textContent = "This chart could not be drawn: " + error;
      console.error(element.id, error);
    }
  }

  let drawing = Promise.resolve();
  function drawAll() {
    root.dataset.theme = isDark() ? "dark" : "light";
    root.dataset.charts = "drawing";
    for (const sample of document.querySelectorAll(".legend svg")) {
      sample.setAttribute("stroke", shown(sample.dataset.colour));
      sample.setAttribute("fill", shown(sample.dataset.colour));
    }
    drawing = drawing.then(async () => {
      for (const element of charts) await draw(element);
      root.dataset.charts = "drawn";
    });
  }

  for (const button of document.querySelectorAll(".legend button")) {
    button.addEventListener("click", () => {
      const study = button.closest("section");
      const chosen = button.getAttribute("aria-pressed") === "true" ? "" : button.dataset.entry;
      for (const other of study.querySelectorAll(".legend button")) {
        other.setAttribute("aria-pressed", String(other.dataset.entry === chosen));
      }
      for (const element of study.querySelectorAll(".chart")) {
        const drawn = views.get(element.id);
        if (drawn && drawn.spec.params) drawn.view.signal("chosen", chosen).runAsync();
      }
    });
  }
  // By a heading: the least first, then the greatest; what is not known comes last both times.
  function sortBy(table, heading) {
    const column = heading.cellIndex;
    const down = heading.getAttribute("aria-sort") === "ascending";
    for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const known = (row) => column === 0 || row.cells[column].dataset.value !== undefined;
    const difference = (one, other) => {
      const [a, b] = [one.cells[column], other.cells[column]];
      return column === 0 ? a.textContent.localeCompare(b.textContent) : a.dataset.value - b.dataset.value;
    };
    const rows = [...body.rows].sort((one, other) => known(other) - known(one) || (known(one) ? (down ? -1 : 1) * difference(one, other) : 0));
    body.append(...rows);
  }
  for (const table of document.querySelectorAll("table.sortable")) {
    for (const heading of table.querySelectorAll("th")) {
      heading.firstElementChild.addEventListener("click", () => sortBy(table, heading));
    }
  }

  document.getElementById("theme").addEventListener("click", () => {
    forced = isDark() ? "light" : "dark";
    drawAll();
  });
  dark.addEventListener("change", drawAll);
  narrow.addEventListener("change", drawAll);
  drawAll();
})();
