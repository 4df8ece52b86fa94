/* The view that compares two sets of runs. */
import * as api from "./api.js";
import { button, element, faint, fault, file, labelled, page, save } from "./dom.js";
import { withImage } from "./result.js";
import { kindOf, shown } from "./trend.js";
import { words } from "./words.js";

const MOST_COURSES = 12;
const { known } = charts;

const title = one => words.quantity(one.direction && one.direction !== "forward" ? `${one.quantity}:${one.direction}` : one.quantity, null);

/* The runs of both sides on one axis, and the interval of the change below. */
function strip(one) {
  const all = [...one.a.values, ...one.b.values].filter(known);
  if (!all.length) return null;
  const WIDTH = 500, LEFT = 26, RIGHT = 12, ROWS = [24, 56], AXIS = 76;
  const unit = charts.unit(kindOf(one), all.reduce((top, value) => Math.max(top, Math.abs(value)), 0)), scale = { ...unit, label: unit.label || one.unit };
  let low = all.reduce((least, value) => Math.min(least, value)) / scale.factor, high = all.reduce((top, value) => Math.max(top, value)) / scale.factor;
  if (low === high) { low -= Math.abs(low) / 20 || 1; high += Math.abs(high) / 20 || 1; }
  const room = (high - low) * 0.06, at = value => LEFT + 8 + (value / scale.factor - low + room) / (high - low + 2 * room) * (WIDTH - LEFT - RIGHT - 8);
  const svg = element("svg", { viewBox: `0 0 ${WIDTH} 118`, role: "img", tabindex: "0", "aria-label": `${title(one)}: ${one.verdict}` });
  for (const [value, label] of charts.ticks(low - room, high + room)) {
    const x = at(value * scale.factor);
    svg.append(element("line", { class: "grid", x1: x, x2: x, y1: 8, y2: AXIS }), element("text", { class: "x", x, y: AXIS + 16, "text-anchor": "middle" }, label));
  }
  svg.append(element("text", { x: WIDTH / 2, y: AXIS + 37, "text-anchor": "middle" }, scale.label));
  for (const [name, side, y, role] of [["A", one.a, ROWS[0], "1"], ["B", one.b, ROWS[1], "2"]]) {
    svg.append(element("g", { class: `r-${role}` }, element("text", { x: 4, y: y + 5 }, name),
      side.values.filter(known).map((value, index) => element("circle", { class: "dot", "fill-opacity": "0.55", cx: at(value), cy: y + (index % 3 - 1) * 4, r: 4 }, element("title", {}, `${name}: ${scale.bare(value)} ${scale.label}`))),
      known(side.median) ? element("path", { class: "stroke", d: `M${at(side.median)} ${y - 13}V${y + 13}` }) : null));
  }
  return element("figure", { class: "chart strip" }, element("h2", {}, title(one), " ", element("small", {}, one.verdict)), svg, interval(one) ?? "");
}

/* The change with its interval, beside what is of no interest. */
function interval(one) {
  if (!known(one.change)) return null;
  const text = element("p", { class: "change" }, words.changeOf(one));
  if (!known(one.change_lower) || !known(one.change_upper)) return text;
  const WIDTH = 500, MIDDLE = 250, far = Math.max(Math.abs(one.change_lower), Math.abs(one.change_upper), Math.abs(one.change)) * 1.1 || 1;
  const at = value => MIDDLE + value / far * (MIDDLE - 12), good = one.b_is_better === true, bad = one.b_is_better === false;
  const surely = ["surely", "likely", "little"].includes(one.significance);
  return element("div", { class: "interval" }, text, element("svg", { class: "bar", viewBox: `0 0 ${WIDTH} 24`, "aria-hidden": "true" },
    element("line", { class: "grid", x1: 12, x2: WIDTH - 12, y1: 12, y2: 12 }), element("line", { class: "zero-line", x1: MIDDLE, x2: MIDDLE, y1: 2, y2: 22 }),
    element("g", { class: `r-${surely && good ? "good" : surely && bad ? "bad" : "quiet"}` }, element("path", { class: "stroke thick", d: `M${at(one.change_lower)} 12H${at(one.change_upper)}` }),
      element("circle", { class: "dot", cx: at(one.change), cy: 12, r: 5 }))));
}

/* The rates of a run, all streams together. */
function course(report) {
  const rows = charts.whole(report.intervals.filter(row => !row.omitted), report.test.interval_seconds, report.test.requested_seconds), sums = new Map();
  const step = report.test.interval_seconds ?? rows.reduce((longest, row) => Math.max(longest, row.seconds), 0);
  for (const row of rows) {
    const key = Math.round(row.start_seconds / step), [from, to, sum] = sums.get(key) ?? [row.start_seconds, row.end_seconds, 0];
    sums.set(key, [Math.min(from, row.start_seconds), Math.max(to, row.end_seconds), sum + (row.bits_per_second ?? 0)]);
  }
  return [...sums.values()].sort((a, b) => a[0] - b[0]).map(([from, to, sum]) => [(from + to) / 2, sum]);
}
function mean(courses) {
  const longest = courses.reduce((most, one) => Math.max(most, one.length), 0);
  return Array.from({ length: longest }, (_, index) => courses.map(one => one[index]).filter(Boolean))
    .filter(points => points.length * 2 > courses.length)
    .map(points => [points.reduce((sum, [at]) => sum + at, 0) / points.length, points.reduce((sum, [, value]) => sum + value, 0) / points.length]);
}
async function courses(a, b) {
  const side = async (selection, role, name) => {
    const { runs } = await api.get(`/api/history?runs=${encodeURIComponent(selection)}&most=${MOST_COURSES}`);
    const all = (await Promise.all(runs.filter(run => !run.left_out).map(run => api.get(`/api/history/${run.run}/json`).catch(() => null))))
      .filter(report => report?.intervals?.length > 1).map(course).filter(points => points.length > 1);
    return all.length ? [...(all.length > 1 ? all.map(points => ({ name: words.oneRun(name), role, shape: "line", faint: true, points })) : []), { name: words.meanOf(name, all.length), role, shape: "line", points: mean(all) }] : [];
  };
  const series = [...await side(a, "1", "A"), ...await side(b, "2", "B")];
  return charts.chart({ title: words.titles.rate, kind: "rate", series, x: { name: words.seconds, from: 0 } });
}

export class CompareView {
  title = words.views.compare;
  #turn = 0;
  constructor({ go }) {
    this.go = go;
    const box = (name, text) => element("input", { type: "text", name, placeholder: text, autocomplete: "off", spellcheck: "false" });
    this.a = box("a", words.exampleA);
    this.b = box("b", words.exampleB);
    this.notice = element("input", { type: "number", name: "notice", min: "0", max: "100", step: "any", value: "2" });
    this.place = element("div", { "aria-live": "polite" });
    const form = element("form", { class: "filters", novalidate: "" }, labelled(words.sideA, this.a), labelled(words.sideB, this.b), labelled(words.notice, this.notice), button(words.compare, () => this.#ask(), { class: "primary" }));
    form.addEventListener("submit", event => event.preventDefault());
    form.addEventListener("keydown", event => { if (event.key === "Enter" && event.target.matches("input")) { event.preventDefault(); this.#ask(); } });
    this.node = element("div", { class: "compare" }, element("h1", {}, words.compareTitle), form, element("details", { class: "help" }, element("summary", {}, words.selections), element("ul", {}, words.selectionList.map(([code, what]) => element("li", {}, element("code", {}, code), ` ${what}`)))), this.place);
    this.place.append(element("div", { class: "welcome" }, element("p", {}, words.compareWelcome)));
  }
  enter() {
    const given = new URLSearchParams(location.search), next = ["a", "b"].map(name => given.get(name) ?? "");
    if (given.get("notice")) this.notice.value = given.get("notice");
    if (next.every(Boolean) && (next[0] !== this.a.value || next[1] !== this.b.value)) { [this.a.value, this.b.value] = next; this.#compare(); }
    else if (!this.a.value) this.a.focus();
  }
  search() { this.a.focus(); }

  #ask() {
    const [a, b] = [this.a, this.b].map(one => one.value.trim());
    const missing = !a ? this.a : !b ? this.b : null;
    if (missing) { missing.focus(); this.place.replaceChildren(fault(words.bothSides)); return; }
    this.go(`/compare?${new URLSearchParams({ a, b, ...(this.notice.value !== "2" ? { notice: this.notice.value } : {}) })}`, null, true);
    this.#compare();
  }
  async #compare() {
    const body = { a: this.a.value.trim(), b: this.b.value.trim(), notice: Number(this.notice.value) || 0 }, turn = this.#turn += 1;
    this.place.replaceChildren(faint(words.loading));
    try {
      const { comparison, text } = await api.post("/api/compare", body);
      if (turn !== this.#turn) return;
      this.#show(comparison, text, body);
      const figure = await courses(body.a, body.b).catch(() => null);
      if (turn === this.#turn && figure?.tagName === "FIGURE") {
        this.courses.replaceChildren(element("h2", {}, words.bothCourses), element("div", { class: "charts single" }, withImage(figure, "comparison")));
      }
    } catch (refusal) {
      if (turn === this.#turn) this.place.replaceChildren(fault(refusal.message));
    }
  }
  #show(comparison, text, body) {
    const { a, b, quantities, differs, notes } = comparison, main = quantities.find(one => one.main) ?? quantities[0];
    const side = (name, one, role) => element("p", {}, element("b", { class: `side-${role}` }, `${name} `), words.sideOf(one));
    const mood = one => !one || one.significance === "unclear" || one.b_is_better === null ? "plain" : one.b_is_better ? "good" : "bad";
    const unlike = differs.map(one => element("li", { class: one.of_the_test ? "warning" : "note" }, words.differs(one)));
    const remarks = notes.map(one => element("li", { class: "note" }, typeof one === "string" ? one : one.text ?? ""));
    const address = `/api/compare/page?${new URLSearchParams(body)}`;
    this.courses = element("section", {});
    const cells = [title, one => shown(one, one.a.median), one => shown(one, one.b.median), words.changed, words.between, words.chance, one => one.verdict];
    const table = documents.grid(words.comparisonColumns.map((name, index) => [name, cells[index]]), quantities);
    this.place.replaceChildren(
      element("div", { class: `card verdict ${mood(main)}` }, element("p", { class: "value" }, main ? words.verdictOf(main, comparison) : words.nothingToCompare), side("A", a, "a"), side("B", b, "b")),
      ...(unlike.length || remarks.length ? [element("ul", { class: "warnings" }, unlike, remarks)] : []),
      table, this.courses, element("h2", {}, words.eachRun), element("div", { class: "charts" }, quantities.map(strip).filter(Boolean)),
      element("div", { class: "buttons" }, file(address, "comparison.html", words.asPage), page(address, words.openPage), button("JSON", () => save("comparison.json", "application/json", `${JSON.stringify(comparison, null, 2)}\n`)), button(words.asText, () => save("comparison.txt", "text/plain", text))),
      element("details", { class: "terminal", open: "" }, element("summary", {}, words.asInTerminal), element("pre", { tabindex: "0", class: "wide" }, text)));
  }
}
