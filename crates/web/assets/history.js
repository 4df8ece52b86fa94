/* The view of results that were kept. */
import * as api from "./api.js";
import { announce, button, complain, element, faint, fault, labelled, later, link, select, toast } from "./dom.js";
import { run as runView } from "./run.js";
import { tests } from "./tests.js";
import { groupOf, numberOf, trend } from "./trend.js";
import { words } from "./words.js";

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
    this.text = element("input", { type: "search", name: "text", placeholder: words.searchRuns, "aria-label": words.searchRuns, autocomplete: "off", spellcheck: "false" });
    this.text.addEventListener("input", later(120, change));
    const filter = name => element("select", { name });
    this.filters = { host: filter("host"), tag: filter("tag"), transport: filter("transport"), time: filter("time") };
    for (const one of Object.values(this.filters)) one.addEventListener("change", change);
    this.filters.time.append(...[["", words.anyTime], ...Object.entries(words.spans)].map(([value, name]) => element("option", { value }, name)));
    this.file = element("input", { type: "file", multiple: "", hidden: "" });
    this.file.addEventListener("change", () => { this.#takeIn([...this.file.files]); this.file.value = ""; });
    this.import = button(words.importFiles, () => this.file.click());
    this.import.hidden = session.read_only || !session.history;
    this.chart = element("div.trend");
    this.table = element("div.runs");
    this.bar = element("div.sides", { "aria-live": "polite" });
    this.more = element("p.faint");
    this.list = element("div", element("h1", words.historyTitle), element("div.filters", { role: "search" }, labelled(words.search, this.text),
      Object.entries(this.filters).map(([name, one]) => labelled(words.filters[name], one)), this.import, this.file), this.bar, this.chart, this.table, this.more);
    this.node = element("div.history");
    this.node.addEventListener("dragover", event => { if (this.import.hidden) return; event.preventDefault(); this.node.classList.add("over"); });
    this.node.addEventListener("dragleave", event => { if (!this.node.contains(event.relatedTarget)) this.node.classList.remove("over"); });
    this.node.addEventListener("drop", event => {
      if (this.import.hidden) return;
      event.preventDefault();
      this.node.classList.remove("over");
      this.#takeIn([...event.dataTransfer.files]);
    });
    tests.addEventListener("history", later(200, () => { if (this.node.isConnected) this.#load(); else this.#answer = null; }));
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
      this.node.replaceChildren(element("h1", words.historyTitle), element("p", words.noHistory));
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
      this.node.replaceChildren(this.list);
      this.table.replaceChildren(fault(refusal.message));
    }
  }
  async #open(again = false) {
    const name = wanted("run");
    if (!this.session.history) return;
    if (!name) {
      if (!this.list.isConnected) this.node.replaceChildren(this.list);
      return;
    }
    if (!again) this.node.replaceChildren(faint(words.loading));
    try {
      const row = this.#answer?.runs.find(one => one.run === name) ?? (await api.get(`/api/history?runs=${encodeURIComponent(name)}&most=1`)).runs[0];
      if (!row) throw new Error(words.noRun(name));
      const node = await runView(row, { readOnly: this.session.read_only, remove: () => { this.#delete([name]); this.go("/history"); },
        changed: async () => { await this.#load(); await this.#open(true); } });
      if (wanted("run") === name) this.node.replaceChildren(node);
    } catch (refusal) {
      this.node.replaceChildren(element("p", link("/history", words.backToHistory)), fault(refusal.message));
    }
  }

  #choices() {
    const { runs } = this.#answer, unlike = values => [...new Set(values.filter(Boolean))].sort();
    const fill = (one, all, choices) => {
      const before = one.value;
      one.replaceChildren(element("option", { value: "" }, all), ...choices.map(choice => element("option", { value: choice }, choice)));
      one.value = choices.includes(before) ? before : "";
    };
    fill(this.filters.host, words.anyHost, unlike(runs.map(run => run.host)));
    fill(this.filters.tag, words.anyTag, unlike(runs.flatMap(tagsOf)));
    fill(this.filters.transport, words.anyTransport, unlike(runs.map(run => run.transport?.toUpperCase())));
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
    if (!wanted("run") && !this.list.isConnected) this.node.replaceChildren(this.list);
    const { runs, total } = this.#answer, chosen = this.#filtered();
    this.#bars();
    if (!runs.length) {
      this.chart.replaceChildren();
      this.table.replaceChildren(element("div.welcome", element("p", words.emptyHistory), element("p", link("/test", words.firstTest, { class: "button primary" })), faint(words.orImport)));
      this.more.replaceChildren();
      return;
    }
    this.#trend(chosen);
    this.table.replaceChildren(chosen.length ? this.#rows(chosen) : element("p", words.noneMatches));
    this.more.replaceChildren(words.shownOf(chosen.length, total), " ", ...(runs.length < total && this.#most < MOST ? [button(words.showMore, () => { this.#most = MOST; this.#load(); }, { class: "quiet" })] : []));
  }
  #trend(runs) {
    const of = name => this.#answer.quantities.find(one => one.name === name.split(":")[0]);
    const keys = [...new Set(runs.flatMap(run => Object.keys(run.quantities)))].filter(of);
    const order = this.#answer.quantities.map(one => one.name);
    keys.sort((a, b) => order.indexOf(a.split(":")[0]) - order.indexOf(b.split(":")[0]) || a.length - b.length);
    if (!keys.includes(this.#quantity)) this.#quantity = keys[0] ?? null;
    if (!this.#quantity) { this.chart.replaceChildren(); return; }
    const made = trend(runs, this.#quantity, of(this.#quantity));
    const choice = select(keys.map(key => [key, comparisons.quantity(key, of(key))]), this.#quantity, value => { this.#quantity = value; this.#draw(); this.chart.querySelector("select")?.focus(); });
    const values = runs.map(run => run.quantities[this.#quantity]).filter(charts.known).sort((a, b) => a - b), count = values.length;
    const middle = (values[count >> 1] + values[(count - 1) >> 1]) / 2;
    this.chart.replaceChildren(labelled(words.trendOf, choice), made ?? "", count > 1 ? faint(
      words.median(count, ...[middle, values[0], values[count - 1]].map(value => comparisons.number(of(this.#quantity), value)))) : "");
  }
  #rows(runs) {
    const rateOf = run => run.quantities.rate ?? run.quantities["rate:reverse"];
    const quantity = name => this.#answer.quantities.find(one => one.name === name);
    const side = (run, name) => {
      const made = button(name.toUpperCase(), () => { this.#tick(run.run, name); made.setAttribute("aria-pressed", this.#sides[name].has(run.run)); this.#bars(); },
        { class: `side-${name}`, "aria-pressed": `${this.#sides[name].has(run.run)}`, "aria-label": words.takeAs(run.run, name.toUpperCase()) });
      return made;
    };
    const columns = [[words.run, run => [link(`/history?run=${run.run}`, run.run), run.series && [" ", link(`/history?series=${run.series}`, run.series)]]], [words.compareColumn, run => [side(run, "a"), side(run, "b")]],
      [words.when, run => words.shortTime(run.time)], [words.host, run => run.host ?? "–"], [words.what, run => words.testOf(run)],
      [words.rate, run => comparisons.number(quantity("rate"), rateOf(run))], [words.trip, run => comparisons.number(quantity("rtt"), run.quantities.rtt ?? run.quantities["rtt:round_trip"])],
      [words.loss, run => comparisons.number(quantity("lost_percent"), run.quantities.lost_percent ?? run.quantities["lost_percent:reverse"])],
      [words.limitedBy, run => element("span", { class: `limit ${groupOf(run)}` }, run.error ? words.failedShort : run.left_out ? words.leftOutShort : documents.limits[run.limited_by] ?? "–")],
      [words.marks, run => [...tagsOf(run).map(tag => element("span.tag", tag)), run.note ? element("span.faint", run.note) : null]]];
    if (!this.session.read_only) columns.push([element("span.unseen", words.deleteColumn), run => button(words.delete, () => this.#delete([run.run]), { class: "quiet", "aria-label": words.deleteRun(run.run) })]);
    return documents.grid(columns, runs);
  }
  #tick(run, name) {
    const other = this.#sides[name === "a" ? "b" : "a"], own = this.#sides[name];
    if (own.has(run)) own.delete(run); else own.add(run);
    if (other.delete(run)) this.#draw();
  }
  #bars() {
    const { a, b } = this.#sides, ordered = side => [...side].sort((one, next) => numberOf({ run: one }) - numberOf({ run: next }));
    if (!a.size && !b.size) { this.bar.replaceChildren(faint(words.tickHint)); return; }
    const address = `/compare?${new URLSearchParams({ a: api.together(ordered(a)), b: api.together(ordered(b)) })}`;
    const name = side => ordered(side).join(", ") || words.nothing;
    this.bar.replaceChildren(element("p", element("b.side-a", "A "), name(a), " ", element("b.side-b", "B "), name(b)),
      ...(a.size && b.size ? [link(address, words.compare, { class: "button primary" })] : [element("span.faint", words.otherSide(a.size ? "B" : "A"))]),
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
