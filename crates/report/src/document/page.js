"use strict";
/* The page of a document (`--html`). */
(() => {
const { make, fill, fold, on, known, digits } = charts;
const { card, cell, counted, joined, grid, notes, time } = documents;
const told = JSON.parse(document.getElementById("report").textContent);

/* A method: what its numbers mean, criteria, charts, the page of the terminal, and its phases. */
function method({ view, ...document }) {
  const runs = document.series ? document.runs : [document], first = runs[0], last = runs[runs.length - 1];
  const who = first.peer.host ?? first.peer.address ?? "the server";
  const chart = one => charts.chart({ title: one.title, kind: one.kind, x: { name: one.abscissa }, series: one.series.map((its, index) => ({ name: its.name,
    role: its.mark === "expected" ? "quiet" : `${index % 8 + 1}`, shape: its.mark === "dots" ? "dots" : "line", points: its.points })) });
  const KINDS = { bits_per_second: "rate", ms: "ms", percent: "percent", bytes: "size" };
  const spread = one => charts.chart({ title: one.name, kind: KINDS[one.unit] ?? "count", x: { name: "run", whole: true, from: 0.5, to: runs.length + 0.5 }, series: [
    { name: "run", role: "1", shape: "dots", points: one.values.map((value, run) => [run + 1, value]) },
    { name: "mean", role: "sum", shape: "level", points: known(one.mean) ? [[one.mean, one.mean]] : [] }] });
  const drawn = [...view.charts.map(chart), ...(document.series?.quantities ?? []).map(spread)].filter(Boolean);
  const pictures = drawn.filter(one => one.tagName === "FIGURE"), sentences = drawn.filter(one => one.tagName !== "FIGURE");
  const passed = document.series ? [] : document.pass.map(one => card(`Limit: ${one.name}`, one.passed ? "good" : "bad", [one.passed ? "kept" : "missed",
    `${known(one.value) ? digits(one.value) : "not known"} ${one.unit}, limit ${digits(one.limit)} ${one.unit}`]));
  const phases = document.series ? null : grid([["phase", one => one.name], ["direction", one => one.direction ?? "-"], ["state", one => one.state],
    ["seconds", one => cell(value => value.toFixed(1), one.seconds)], ["planned", one => cell(value => value.toFixed(1), one.planned_seconds)], ["reason", one => one.reason ?? "-"]], document.phases);
  const deviations = document.series || !document.deviations.length ? null : fold(`Differs from ${document.standard || "the procedure"}`, "",
    make("ul", document.deviations.map(text => make("li", text))));
  const failed = document.error ? notes([{ severity: "error", ...document.error }]) : null;
  const words = document.series ? `to ${who}, ${counted(runs.length, "run")}` : `to ${who}`;
  return { headlines: [{ number: first.method, words, title: `${first.method} ${words}` }], who, started: first.started,
    setup: joined([first.standard, first.peer.program && `server ${first.peer.program} ${first.peer.version ?? ""}`.trim(),
      document.series ? null : `${digits(document.seconds)} s`, document.interrupted || document.series?.interrupted ? "interrupted" : null]),
    nodes: [failed, document.series ? null : make("p.verdict", last.verdict), passed.length ? make("div.cards", passed) : null,
      pictures.length ? make("div.charts", pictures) : null, ...sentences, view.page ? make("pre", view.page) : null,
      phases, deviations, notes(document.warnings)].filter(Boolean) };
}

function button(label, act) {
  const made = make("button", { type: "button" }, label);
  on(made, "click", () => act(made));
  return made;
}
function copy(made) {
  const range = document.createRange();
  range.selectNodeContents(document.getElementById("command"));
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  const done = document.execCommand("copy");
  made.textContent = done ? "Copied" : "Selected";
}
function save() {
  const { view, ...saved } = told, text = `${JSON.stringify(saved, null, 2)}\n`;
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: "tapeline.json" });
  link.click();
  URL.revokeObjectURL(link.href);
}

const shown = told.view ? method(told) : told.cells ? matrix.shown(told) : told.flows ? several.flows(told) :
  told.series ? several.series(told) : documents.shown(told);
const title = shown.headlines.map(one => one.title).join(", ");
document.title = title || `No result from ${shown.who}`;
fill(document.getElementById("page"),
  make("header", make("div", (shown.headlines.length ? shown.headlines : [{ number: "No result", words: "" }]).map(one =>
    make("h1", one.number, one.words && make("small", ` ${one.words}`)))), time(shown.started)),
  make("p.faint", shown.setup), shown.nodes,
  told.command && [make("h2", "Command"), make("pre", { id: "command" }, told.command)],
  make("p.buttons", told.command && button("Copy command", copy), button("Save results as JSON", save)),
  make("p.faint", `${told.imported ? `${told.version ?? "iperf"}, imported (${told.imported.from})` : `tapeline ${told.version}`} · ${told.schema} · “tapeline explain ID” says more about a warning`));
})();
