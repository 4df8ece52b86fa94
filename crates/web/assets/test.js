/* The view of tests from this host. */
import * as api from "./api.js";
import { announce, button, make, failure, faint, fill, fold, lazily, link, on, relabel, starter } from "./dom.js";
import { Board, Course } from "./live.js";
import { Order } from "./order.js";
import { files, kept, result, terminal } from "./result.js";
import { tests } from "./tests.js";

const REDRAW = 400;

/* One test, from its queueing to its result. */
class Shown {
  node = make("section.shown", { "aria-label": words.resultOf });
  #board = new Board();
  #course = new Course();
  #timer = null;
  #drawn = 0;
  constructor(row) {
    this.test = row.test;
    this.head = make("div.now");
    this.notes = make("div");
    this.rows = fold(words.rows, ".rows");
    on(this.rows, "toggle", () => this.#later());
    this.node.append(this.head, this.notes, this.#board.node, this.rows);
    this.update(row);
    if (row.state !== "ended") tests.follow(row.test, event => this.#take(event));
  }
  close() { tests.unfollow(this.test); clearTimeout(this.#timer); }

  update(row) {
    const before = this.row?.state;
    this.row = row;
    if (row.state !== "ended") this.#later();
    else if (before !== "ended") this.#ended();
  }
  #take(event) {
    if (event === null) { this.#course = new Course(); this.#board.clear(); return; }
    // The next run of a series.
    if (event.event === "start" && this.#course.start) this.#take(null);
    this.#course.take(event);
    this.#later();
  }
  #later() {
    if (this.#timer || this.row.state === "ended") return;
    const slow = this.#course.isLong ? 3 : 1;
    this.#timer = setTimeout(() => { this.#timer = null; this.#draw(); }, Math.max(0, this.#drawn + REDRAW * slow - performance.now()));
  }
  #draw() {
    this.#drawn = performance.now();
    if (this.row.state === "ended" || document.hidden) { if (document.hidden) this.#later(); return; }
    const course = this.#course, wanted = course.start?.test.requested_seconds;
    const lines = course.now.map(({ way, rate }) => make("p.headline", charts.rate(rate), make("small", ` ${words.now(words.ways[way])}`)));
    const progress = wanted && make("progress", { max: `${wanted}`, value: `${Math.min(wanted, course.seconds)}`, "aria-label": words.progress });
    const state = this.row.state === "queued" ? words.queued : lines.length ? words.running(course.seconds, wanted) : words.connecting;
    fill(this.head, lines, progress, faint(state));
    if (course.warnings.length) fill(this.notes, documents.notes(course.warnings));
    this.#board.show(course.charts());
    this.rows.hidden = !course.rows.length;
    if (this.rows.open) {
      const scroll = this.rows.querySelector(".scroll"), at = scroll?.scrollTop ?? 0, fresh = course.table();
      if (scroll) fill(scroll, [...fresh.childNodes]); else this.rows.append(fresh);
      if (scroll) scroll.scrollTop = at;
    }
  }
  async #ended() {
    const { row } = this, base = `/api/tests/${row.test}`;
    clearTimeout(this.#timer);
    let reports = [];
    // A series has a line for each run.
    if (row.has_document) reports = await api.text(`${base}/json`).then(text => text.trim().split("\n").map(line => JSON.parse(line))).catch(() => []);
    const report = reports.at(-1), several = reports.length > 1;
    const error = row.error ?? report?.error?.text;
    const failed = error ? failure(words.failed, error, words.hintOf(error)) : null;
    const name = row.run ?? `test-${row.test}`;
    fill(this.node, failed, several ? this.#series(reports, name) : report ? result(report, name, error) : !error && make("p", words.noResult), kept(row),
      row.has_document ? files(base, name) : null, !several && report?.intervals?.length ? this.#intervals(report) : null, (row.has_document || row.code !== null) && terminal(`${base}/text`));
    announce(error ?? words.ended(this.node.querySelector(".headline")?.textContent ?? ""));
    tests.unfollow(row.test);
  }
  #series(reports, name) {
    return [make("h2.headline", words.runs(reports.length)), reports.map((report, index) => {
      const [head] = documents.shown(report).headlines;
      return lazily(`${index + 1}: ${head ? `${head.number} ${head.words ?? ""}` : words.noResult}`, ".rows", () => result(report, `${name}-${index + 1}`));
    })];
  }
  #intervals(report) {
    return lazily(words.rows, ".rows", () => {
      const course = new Course();
      course.rows = [...report.intervals].reverse();
      return course.table(2400);
    });
  }
}

export class TestView {
  title = words.views.test;
  #shown = null;
  constructor({ form, session, go }) {
    this.session = session;
    const kept = session.form?.job === "client" ? session.form.options : null;
    this.order = new Order(form, "client", kept ?? [["interval", "0.25"]]);
    on(this.order, "other", event => go("/server", event.detail));
    on(this.order, "plan", () => this.#buttons());
    this.start = starter(this, words.start, session);
    this.reset = button(words.reset, () => { this.order.set([["interval", "0.25"]]); this.order.form.focus("client"); }, { class: "quiet" });
    this.place = make("div.place");
    this.list = make("details.earlier", { hidden: "" });
    const targets = session.targets ? faint(words.targets(session.targets)) : null;
    this.node = this.order.page(words.testTitle, [targets, make("div.actions", this.start, this.reset)], [this.place, this.list], () => this.toggle());
    on(tests, "row", ({ detail }) => { if (detail.job === "client") this.#row(detail); });
    this.place.append(this.#welcome());
    const rows = tests.newest("client"), first = rows.find(row => row.state === "running") ?? rows[0];
    if (first) this.#show(first);
    this.#buttons();
  }
  enter() {
    if (!this.#shown && !matchMedia("(max-width: 560px)").matches || !this.order.form.get().some(([id]) => id === "client")) this.order.form.focus("client");
  }
  search() { this.order.form.search.focus(); }
  copy() { this.order.command.copy(); }
  /* Another view gives options, as if they had been typed. */
  take({ options }) { this.order.set(options); }

  async toggle() {
    this.start.disabled = true;
    const row = await this.order.toggle(this.#active(), this.session.read_only);
    this.start.disabled = false;
    if (row) {
      this.#show(row);
      announce(words.started);
      if (matchMedia("(max-width: 900px)").matches) this.place.scrollIntoView({ block: "start" });
    }
    this.#buttons();
  }

  #welcome() {
    return make("div.welcome", make("p", words.welcome), make("ol", words.steps.map(step => make("li", step))),
      faint(words.orHere, link("/server", words.views.server), "."));
  }
  /* The test that the button stops. */
  #active() {
    const open = tests.newest("client").filter(row => row.state !== "ended");
    return open.find(row => row.test === this.#shown?.test) ?? open.at(-1);
  }
  #buttons() { relabel(this.start, words.start, this.#active()?.state); }
  #show(row) {
    if (this.#shown?.test === row.test) { this.#shown.update(row); return; }
    this.#shown?.close();
    this.#shown = new Shown(row);
    fill(this.place, this.#shown.node);
    this.#lists();
    this.#buttons();
  }
  #row(row) {
    if (this.#shown?.test === row.test) this.#shown.update(row);
    else if (!this.#shown || row.state === "running" && tests.rows.get(this.#shown.test)?.state !== "running" && this.#shown.row.state !== "queued") this.#show(row);
    this.#lists();
    this.#buttons();
  }
  #lists() {
    const rows = tests.newest("client");
    this.list.hidden = rows.length < 2;
    const open = rows.filter(row => row.state !== "ended").length;
    const entry = row => make("li", { class: row.test === this.#shown?.test ? "chosen" : "" }, button(row.line || `${row.test}`, () => this.#show(row), { class: "quiet" }),
      make("span.faint", ` ${row.state === "ended" ? row.error ?? row.run ?? (row.code ? words.failedShort : words.states.ended) : words.states[row.state]}`));
    fill(this.list, make("summary", words.testsHere(rows.length, open)), make("ul", rows.map(entry)));
  }
}
