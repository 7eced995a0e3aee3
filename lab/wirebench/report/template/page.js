// Draws the charts, redraws them when the theme or the width class changes, and lets a legend's name single out its line.
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
  document.getElementById("theme").addEventListener("click", () => {
    forced = isDark() ? "light" : "dark";
    drawAll();
  });
  dark.addEventListener("change", drawAll);
  narrow.addEventListener("change", drawAll);
  drawAll();
})();
