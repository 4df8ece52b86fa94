/* The view of results that were kept. */
import * as api from "./api.js";
import { announce, button, choices, complain, make, faint, fault, fill, labelled, later, link, on, select, toast } from "./dom.js";
import { run as runView } from "./run.js";
import { tests } from "./tests.js";
import { groupOf, numberOf, trend } from "./trend.js";

const PAGE = 200, MOST = 2000, DAY = 86400e3;
const SPANS = { day: DAY, week: 7 * DAY, month: 30 * DAY, year: 365 * DAY };
const wanted = name => new URLSearchParams(location.search).get(name);
const tagsOf = run => Object.entries(run.tags ?? {}).map(([key, value]) => value ? `${key}=${value}` : key);

export class HistoryView {
  title = words.views.history;
  #answer = null;
  #most = PAGE;
  #sides = { a: new Set(), b: new Set() };
  #turn = 0;
  #quantity = null;
  constructor({ session, go }) {
    this.session = session;
    this.go = go;
    const change = () => this.#draw();
    this.text = make("input", { type: "search", name: "text", placeholder: words.searchRuns, "aria-label": words.searchRuns });
    on(this.text, "input", later(120, change));
    this.filters = Object.fromEntries(Object.keys(words.filters).map(name => [name, make("select", { name })]));
    for (const one of Object.values(this.filters)) on(one, "change", change);
    fill(this.filters.time, choices([["", words.anyTime], ...Object.entries(words.spans)]));
    this.file = make("input", { type: "file", multiple: "", hidden: "" });
    on(this.file, "change", () => { this.#takeIn([...this.file.files]); this.file.value = ""; });
    this.import = button(words.importFiles, () => this.file.click());
    this.import.hidden = session.read_only || !session.history;
    this.chart = make("div.trend");
    this.table = make("div.runs");
    this.bar = make("div.sides", { "aria-live": "polite" });
    this.more = make("p.faint");
    this.list = make("div", make("h1", words.historyTitle), make("div.filters", { role: "search" }, labelled(words.search, this.text),
      Object.entries(this.filters).map(([name, one]) => labelled(words.filters[name], one)), this.import, this.file), this.bar, this.chart, this.table, this.more);
    this.node = make("div.history");
    for (const kind of ["dragover", "dragleave", "drop"]) on(this.node, kind, event => {
      if (this.import.hidden) return;
      event.preventDefault();
      this.node.classList.toggle("over", kind === "dragover");
      if (kind === "drop") this.#takeIn([...event.dataTransfer.files]);
    });
    on(tests, "history", later(200, () => { if (this.node.isConnected) this.#load(); else this.#answer = null; }));
  }
  async enter() {
    const series = wanted("series");
    if (series) this.text.value = series;
    if (!this.#answer) await this.#load();
    await this.#open();
  }
  search() { if (!wanted("run")) this.text.focus(); }

  async #load() {
    if (!this.session.history) {
      fill(this.node, make("h1", words.historyTitle), make("p", words.noHistory));
      return;
    }
    const turn = this.#turn += 1;
    try {
      const answer = await api.get(`/api/history?most=${this.#most}`);
      if (turn !== this.#turn) return;
      this.#answer = answer;
      this.#choices();
      this.#draw();
    } catch (refusal) {
      fill(this.node, this.list);
      fill(this.table, fault(refusal.message));
    }
  }
  async #open(again = false) {
    const name = wanted("run");
    if (!this.session.history) return;
    if (!name) {
      if (!this.list.isConnected) fill(this.node, this.list);
      return;
    }
    if (!again) fill(this.node, faint(words.loading));
    try {
      const row = this.#answer?.runs.find(one => one.run === name) ?? (await api.get(`/api/history?runs=${encodeURIComponent(name)}&most=1`)).runs[0];
      if (!row) throw new Error(words.noRun(name));
      const node = await runView(row, { readOnly: this.session.read_only, remove: () => { this.#delete([name]); this.go("/history"); },
        changed: async () => { await this.#load(); await this.#open(true); } });
      if (wanted("run") === name) fill(this.node, node);
    } catch (refusal) {
      fill(this.node, make("p", link("/history", words.backToHistory)), fault(refusal.message));
    }
  }

  #choices() {
    const { runs } = this.#answer, unlike = values => [...new Set(values.filter(Boolean))].sort();
    const offer = (one, all, names) => {
      const before = one.value;
      fill(one, choices([["", all], ...names.map(name => [name, name])]));
      one.value = names.includes(before) ? before : "";
    };
    offer(this.filters.host, words.anyHost, unlike(runs.map(run => run.host)));
    offer(this.filters.tag, words.anyTag, unlike(runs.flatMap(tagsOf)));
    offer(this.filters.transport, words.anyTransport, unlike(runs.map(run => run.transport?.toUpperCase())));
  }
  #filtered() {
    const { host, tag, transport, time } = this.filters, parts = this.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const since = Date.now() - SPANS[time.value];
    return this.#answer.runs.filter(run => (!host.value || run.host === host.value) && (!transport.value || run.transport?.toUpperCase() === transport.value) &&
      (!tag.value || tagsOf(run).includes(tag.value)) && (!time.value || Date.parse(run.time) >= since) &&
      parts.every(part => /^[rs]\d+$/.test(part) ? [run.run, run.series].includes(part) :
        [run.command, run.host, run.note, run.program, run.transport, ...tagsOf(run)].some(text => text?.toLowerCase().includes(part))));
  }

  #draw() {
    if (!this.#answer) return;
    if (!wanted("run") && !this.list.isConnected) fill(this.node, this.list);
    const { runs, total } = this.#answer, chosen = this.#filtered();
    this.#bars();
    if (!runs.length) {
      fill(this.chart);
      fill(this.table, make("div.welcome", make("p", words.emptyHistory), make("p", link("/test", words.firstTest, { class: "button primary" })), faint(words.orImport)));
      fill(this.more);
      return;
    }
    this.#trend(chosen);
    fill(this.table, chosen.length ? this.#rows(chosen) : make("p", words.noneMatches));
    fill(this.more, words.shownOf(chosen.length, total), " ",
      runs.length < total && this.#most < MOST && button(words.showMore, () => { this.#most = MOST; this.#load(); }, { class: "quiet" }));
  }
  #of(name) { return this.#answer.quantities.find(one => one.name === name.split(":")[0]); }
  #trend(runs) {
    const of = name => this.#of(name);
    const keys = [...new Set(runs.flatMap(run => Object.keys(run.quantities)))].filter(of);
    const order = key => this.#answer.quantities.indexOf(of(key));
    keys.sort((a, b) => order(a) - order(b) || a.length - b.length);
    if (!keys.includes(this.#quantity)) this.#quantity = keys[0] ?? null;
    if (!this.#quantity) { fill(this.chart); return; }
    const made = trend(runs, this.#quantity, of(this.#quantity));
    const choice = select(keys.map(key => [key, comparisons.quantity(key, of(key))]), this.#quantity, value => { this.#quantity = value; this.#draw(); this.chart.querySelector("select")?.focus(); });
    const values = runs.map(run => run.quantities[this.#quantity]).filter(charts.known).sort((a, b) => a - b), count = values.length;
    const middle = (values[count >> 1] + values[(count - 1) >> 1]) / 2;
    fill(this.chart, labelled(words.trendOf, choice), made, count > 1 && faint(
      words.median(count, ...[middle, values[0], values[count - 1]].map(value => comparisons.number(of(this.#quantity), value)))));
  }
  #rows(runs) {
    const number = (run, name, way = "reverse") => comparisons.number(this.#of(name), run.quantities[name] ?? run.quantities[`${name}:${way}`]);
    const side = (run, name) => {
      const made = button(name.toUpperCase(), () => { this.#tick(run.run, name); made.setAttribute("aria-pressed", this.#sides[name].has(run.run)); this.#bars(); },
        { class: `side-${name}`, "aria-pressed": `${this.#sides[name].has(run.run)}`, "aria-label": words.takeAs(run.run, name.toUpperCase()) });
      return made;
    };
    const columns = [[words.run, run => [link(`/history?run=${run.run}`, run.run), run.series && [" ", link(`/history?series=${run.series}`, run.series)]]], [words.compareColumn, run => [side(run, "a"), side(run, "b")]],
      [words.when, run => words.shortTime(run.time)], [words.host, run => run.host ?? "–"], [words.what, run => words.testOf(run)],
      [words.rate, run => number(run, "rate")], [words.trip, run => number(run, "rtt", "round_trip")], [words.loss, run => number(run, "lost_percent")],
      [words.limitedBy, run => make("span", { class: `limit ${groupOf(run)}` }, run.error ? words.failedShort : run.left_out ? words.leftOutShort : documents.limits[run.limited_by] ?? "–")],
      [words.marks, run => [...tagsOf(run).map(tag => make("span.tag", tag)), run.note ? make("span.faint", run.note) : null]]];
    if (!this.session.read_only) columns.push([make("span.unseen", words.deleteColumn), run => button(words.delete, () => this.#delete([run.run]), { class: "quiet", "aria-label": words.deleteRun(run.run) })]);
    return documents.grid(columns, runs);
  }
  #tick(run, name) {
    const other = this.#sides[name === "a" ? "b" : "a"], own = this.#sides[name];
    if (own.has(run)) own.delete(run); else own.add(run);
    if (other.delete(run)) this.#draw();
  }
  #bars() {
    const { a, b } = this.#sides, ordered = side => [...side].sort((one, next) => numberOf({ run: one }) - numberOf({ run: next }));
    if (!a.size && !b.size) { fill(this.bar, faint(words.tickHint)); return; }
    const address = `/compare?${new URLSearchParams({ a: api.together(ordered(a)), b: api.together(ordered(b)) })}`;
    const name = side => ordered(side).join(", ") || words.nothing;
    fill(this.bar, make("p", make("b.side-a", "A "), name(a), " ", make("b.side-b", "B "), name(b)),
      a.size && b.size ? link(address, words.compare, { class: "button primary" }) : make("span.faint", words.otherSide(a.size ? "B" : "A")),
      button(words.clear, () => { a.clear(); b.clear(); this.#draw(); }, { class: "quiet" }));
  }

  async #delete(runs) {
    try {
      const { undo, seconds } = await api.post("/api/history/delete", { runs: api.together(runs) });
      for (const run of runs) { this.#sides.a.delete(run); this.#sides.b.delete(run); }
      toast(words.deleted(runs), { seconds, label: words.undo, act: async () => {
        try { await api.post("/api/history/undo", { undo }); await this.#load(); announce(words.undone(runs)); } catch (refusal) { complain(refusal.message); }
      } });
      await this.#load();
    } catch (refusal) { complain(refusal.message); }
  }
  async #takeIn(all) {
    for (const one of all) {
      try {
        const { runs } = await api.upload(`/api/history/import?name=${encodeURIComponent(one.name)}`, one);
        toast(words.imported(one.name, runs));
      } catch (refusal) { toast(`${one.name}: ${refusal.message}`, { bad: true, seconds: 12 }); }
    }
    await this.#load();
  }
}
