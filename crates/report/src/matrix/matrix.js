"use strict";
/* Tests between many hosts: what stands out, a heat map of each number, and the charts of the test whose cell was
   chosen. This file needs `documents.js`.

   matrix.shown   what a page shows of a mesh, or of one that is `running`; `below` keeps the chosen test */
const matrix = (() => {
const { make, fill, fold, on, known, unit, millis, rate, percent } = charts;
const { counted, grid, joined, notes, limits, time } = documents;
const SHADES = 7;
/* Above, cells hold their number alone. */
const FEW_HOSTS = 14;
/* Longer names of columns stand upright. */
const SHORT_NAME = 10;
/* The darkest shade of what is worse than the median by less than a share: small differences stay pale. */
const PALE = [[0.02, 2], [0.05, 3], [0.1, 4]];
const QUANTITIES = [
  { id: "rate", member: "bits_per_second", name: "Throughput", kind: "rate", factor: 1, better: (a, b) => b - a },
  { id: "round_trip", member: "rtt_seconds", name: "Round trip", kind: "ms", factor: 1e3, better: (a, b) => a - b },
];
const paired = (from, to) => `${from}\n${to}`;

function covers(finding, cell) {
  const { subject, host, from, to } = finding;
  return subject === "sender" ? host === cell.from : subject === "receiver" ? host === cell.to :
    subject === "host" ? host === cell.from || host === cell.to :
    from === cell.from && to === cell.to || subject === "both_ways" && from === cell.to && to === cell.from;
}

/* The shade of each value: by its rank, the same for the same value. */
function ranked(values, better) {
  const sorted = [...values].sort(better), shade = new Map(), middle = sorted[Math.floor(sorted.length / 2)];
  sorted.forEach((value, rank) => {
    const worse = better(value, middle) / Math.max(value, middle), most = PALE.find(([share]) => worse < share)?.[1] ?? SHADES;
    if (!shade.has(value)) shade.set(value, Math.min(most, 1 + Math.floor(SHADES * rank / sorted.length)));
  });
  return shade;
}

/* One number of all tests as a table: a row for each sender, a column for each receiver. */
function heat(mesh, quantity, choose, chosen) {
  const names = mesh.hosts.map(host => host.name), cells = new Map(mesh.cells.map(cell => [paired(cell.from, cell.to), cell]));
  const value = cell => known(cell[quantity.member]) ? cell[quantity.member] * quantity.factor : null;
  const values = mesh.cells.map(value).filter(known);
  if (!values.length && !(mesh.running && quantity.id === "rate")) return [];
  const scale = unit(quantity.kind, Math.max(0, ...values)), shade = ranked(values, quantity.better), many = names.length > FEW_HOSTS;
  const upright = many || names.some(name => name.length > SHORT_NAME);
  const findings = mesh.findings.filter(one => one.quantity === quantity.id);
  const title = `${quantity.name}, ${scale.label}`;

  function content(from, to) {
    const cell = cells.get(paired(from, to));
    if (!cell) return make("div.none", from === to ? "·" : "");
    const number = value(cell), slow = known(number) && findings.some(one => covers(one, cell));
    const limit = cell.limited_by && quantity.id === "rate" ? limits[cell.limited_by] ?? cell.limited_by : null;
    const words = known(number) ? [`${scale.bare(number)} ${scale.label}`, slow && "stands out", limit && `limited by ${limit}`] : [cell.outcome === "measured" ? "not known" : cell.outcome];
    const label = `${from} to ${to}: ${joined(words, ", ")}`;
    const made = make("button", { type: "button", tabindex: "-1", title: label, "aria-label": label, "aria-pressed": `${chosen === paired(from, to)}`,
      class: known(number) ? `h${shade.get(number)}${slow ? " slow" : ""}` : "void" },
    known(number) ? [make("b", scale.bare(number)), limit && make("small", limit)] :
      make("span", cell.outcome === "measured" ? "-" : many ? cell.outcome[0].toUpperCase() : cell.outcome));
    on(made, "click", () => choose(cell, made));
    return made;
  }
  const table = make("table", make("caption.faint", "row to column"),
    make("thead", make("tr", make("td"), names.map(name => make("th", { scope: "col", title: name }, make("span", name))))),
    make("tbody", names.map(from => make("tr", make("th", { scope: "row", title: from }, from),
      names.map(to => make("td", content(from, to)))))));
  walk(table);
  const groups = Array.from({ length: SHADES }, (_, index) => values.filter(one => shade.get(one) === index + 1)).map((its, index) => [its, index + 1]);
  const key = make("p.shades", "Colour by rank, pale within 10 % of the median: ", groups.filter(([its]) => its.length).map(([its, index]) => {
    const [low, high] = [Math.min(...its), Math.max(...its)].map(scale.bare);
    return make("span", { class: `h${index}` }, low === high ? low : `${low} to ${high}`);
  }), findings.length ? make("span", "! stands out") : null,
  mesh.cells.some(cell => cell.outcome !== "measured") ? make("span.void", make("span", "no result")) : null);
  return [make("h2", title), make("div", { class: `heat${many ? " many" : ""}${upright ? " upright" : ""}`, role: "region", "aria-label": title }, table), key];
}

/* Tab reaches one cell of a table, arrows the others. */
function walk(table) {
  const reach = cell => {
    table.querySelector("[tabindex='0']")?.setAttribute("tabindex", "-1");
    cell?.setAttribute("tabindex", "0");
  };
  reach(table.querySelector("button"));
  on(table, "focusin", event => reach(event.target));
  on(table, "keydown", event => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key], from = event.target.closest("td");
    if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    let row = from.parentElement.rowIndex, column = from.cellIndex, next;
    do next = table.rows[row += step[0]]?.cells[column += step[1]]; while (next && !next.querySelector("button"));
    next?.querySelector("button").focus();
  });
}

/* The test of a cell: its numbers, and what the page of its report would show. */
function test(cell) {
  const facts = joined([known(cell.bits_per_second) && rate(cell.bits_per_second), known(cell.rtt_seconds) && `round trip ${millis(cell.rtt_seconds * 1e3)}`,
    cell.retransmits && counted(cell.retransmits, "retransmission"), known(cell.lost_ratio) && `${percent(100 * cell.lost_ratio)} lost`,
    cell.attempts > 1 && `${cell.attempts} attempts`]);
  const its = cell.report && cell.outcome === "measured" ? documents.shown(cell.report) : null;
  const failed = cell.outcome === "measured" ? null : notes([{ severity: "error", id: cell.outcome, text: cell.text ?? `the test was ${cell.outcome}` }]);
  return [make("h2", { tabindex: "-1" }, `${cell.from} → ${cell.to}`), make("p.faint", joined([facts, its?.setup])),
    its?.started && time(its.started), failed, its?.nodes];
}

function shown(mesh, below = make("section")) {
  const measured = mesh.cells.filter(cell => cell.outcome === "measured").length;
  const versions = [...new Set(mesh.hosts.map(host => host.version).filter(Boolean))];
  const kept = below.at && mesh.cells.find(cell => paired(cell.from, cell.to) === below.at);
  below.id = "test";
  below.setAttribute("aria-label", "The chosen test");
  fill(below, kept ? test(kept) : make("p.faint", "Choose a test in the matrix to see its charts: click, or arrow keys and Enter."));
  function choose(cell, made) {
    document.querySelectorAll(".heat button[aria-pressed='true']").forEach(other => other.setAttribute("aria-pressed", "false"));
    made.setAttribute("aria-pressed", "true");
    below.at = paired(cell.from, cell.to);
    fill(below, test(cell));
    below.querySelector("h2").focus({ preventScroll: true });
    below.scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  }
  const said = [...mesh.findings.map(one => ["warning", one.text]),
    ...mesh.hosts.filter(host => host.state !== "reached").map(host => ["error", `${host.name} ${host.state}: ${host.text}`]),
    ...mesh.notes.map(text => ["note", text])];
  const failed = mesh.cells.filter(cell => cell.outcome !== "measured");
  const state = grid([["host", host => host.name], ["address", host => host.address ?? "-"], ["groups", host => host.groups.join(", ") || "-"],
    ["tapeline", host => host.version ?? "-"], ["system", host => host.system ?? "-"], ["state", host => host.state]], mesh.hosts);
  const lost = failed.length ? fold(`${counted(failed.length, "test")} without a result`, "",
    grid([["test", cell => `${cell.from} → ${cell.to}`], ["outcome", cell => cell.outcome], ["reason", cell => cell.text ?? "-"], ["attempts", cell => `${cell.attempts}`]], failed)) : null;
  const words = `of ${counted(mesh.cells.length, "test")} between ${counted(mesh.hosts.length, "host")} measured`;
  if (mesh.hosts.length > FEW_HOSTS / 2) document.getElementById("page")?.classList.add("wide");
  return { headlines: [{ number: `${measured}`, words, title: `${mesh.hosts.length} hosts, ${counted(mesh.findings.length, "finding")}` }],
    who: "the hosts", started: new Date(1e3 * (mesh.started ?? 0)).toISOString(),
    setup: joined([`pattern ${mesh.pattern}`, mesh.test && `each test ${mesh.test}`, `${Math.round(mesh.seconds)} s in all`, versions.length && `tapeline ${versions.join(", ")}`]),
    nodes: [!mesh.running && (said.length ? make("ul.warnings", said.map(([severity, text]) => make("li", { class: severity }, text))) :
      measured > 0 && make("p", "No host and no path stands out.")),
      ...QUANTITIES.flatMap(quantity => heat(mesh, quantity, choose, below.at)), below,
      !mesh.running && fold("Hosts", "", state), lost] };
}

return { shown };
})();
