// Draws the charts, redraws them when the theme or the width class changes, lets a legend's name single out its line, sorts tables, and hides what does not meet the limits set.
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

  // A table that is wider than its box scrolls in it, by the arrow keys too.
  const sizes = new ResizeObserver((entries) => {
    for (const box of new Set(entries.map((entry) => entry.target.closest(".scroll")))) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  });
  for (const box of document.querySelectorAll(".scroll")) {
    sizes.observe(box);
    sizes.observe(box.firstElementChild);
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
  for (const button of document.querySelectorAll("table.sortable th button")) {
    button.addEventListener("click", () => sortBy(button.closest("table"), button.closest("th")));
  }

  // Limits are numbers with a unit of their kind: times, sizes, or none.
  const units = {
    ns: { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9 },
    bytes: { b: 1, kb: 1e3, mb: 1e6, gb: 1e9, kib: 1024, mib: 1024 ** 2, gib: 1024 ** 3 },
    other: { "": 1, k: 1e3, m: 1e6 },
  };
  const examples = { ns: "20 ms", bytes: "50 MiB", other: "10,000" };
  const kindOf = (input) => (Object.hasOwn(units, input.dataset.kind) ? input.dataset.kind : "other");

  function limitOf(input) {
    // A comma stands between thousands only: "1,5" is a mistake and not 15.
    const found = /^((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+) *([a-zµ]*)$/.exec(input.value.trim().toLowerCase());
    const factor = found && units[kindOf(input)][found[2]];
    const limit = factor ? Number(found[1].replaceAll(",", "")) * factor : NaN;
    const wrong = input.value.trim() !== "" && !Number.isFinite(limit);
    input.setCustomValidity(wrong ? `expected a number such as ${examples[kindOf(input)]}` : "");
    input.setAttribute("aria-invalid", String(wrong));
    return wrong || input.value.trim() === "" ? null : limit;
  }

  // "met", "perhaps" where the limit lies within the range of the trials, which is open on the side of a missing bound, "missed" or "unknown".
  function judge(cell, limit, least) {
    const { value, low, high } = cell.dataset;
    if (value === undefined) return "unknown";
    const ranged = low !== undefined || high !== undefined;
    if (ranged && Number(low ?? -Infinity) < limit && limit < Number(high ?? Infinity)) return "perhaps";
    return (least ? value >= limit : value <= limit) ? "met" : "missed";
  }

  function choose(choice) {
    const limits = [...choice.querySelectorAll("input[data-kind]")].map((input) => ({
      column: Number(input.dataset.limit) + 1, limit: limitOf(input), least: input.dataset.least !== undefined,
    })).filter((one) => one.limit !== null);
    const language = choice.querySelector("[data-limit=language]").value;
    const permissive = choice.querySelector("[data-limit=permissive]").checked;
    const rows = [...choice.querySelector("tbody").rows];
    let [met, perhaps, unknown] = [0, 0, 0];
    for (const row of rows) {
      for (const cell of row.cells) cell.classList.remove("perhaps");
      const wanted = (language === "" || row.dataset.language === language) && (!permissive || row.dataset.permissive !== undefined);
      const found = limits.map((one) => judge(row.cells[one.column], one.limit, one.least));
      limits.forEach((one, index) => row.cells[one.column].classList.toggle("perhaps", found[index] === "perhaps"));
      row.hidden = !wanted || found.includes("missed") || found.includes("unknown");
      if (!row.hidden) found.includes("perhaps") ? perhaps++ : met++;
      if (wanted && !found.includes("missed") && found.includes("unknown")) unknown++;
    }
    const asked = limits.length > 0 || language !== "" || permissive;
    choice.querySelector("[role=status]").textContent = asked
      ? `${met} of ${rows.length} meet it` + (perhaps ? `, ${perhaps} more perhaps (?)` : "") + (unknown ? `; of ${unknown} it is not known` : "")
      : "";
  }
  for (const choice of document.querySelectorAll(".choice")) {
    for (const input of choice.querySelectorAll("input[data-kind]")) input.placeholder = examples[kindOf(input)];
    choice.addEventListener("input", () => choose(choice));
  }

  document.getElementById("theme").addEventListener("click", () => {
    forced = isDark() ? "light" : "dark";
    drawAll();
  });
  dark.addEventListener("change", drawAll);
  narrow.addEventListener("change", drawAll);
  drawAll();
})();
