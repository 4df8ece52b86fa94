/* The view that compares two sets of runs. */
import * as api from "./api.js";
import { button, make, faint, fault, file, fill, labelled, fold, on, page, save } from "./dom.js";
import { withImage } from "./result.js";

const MOST_COURSES = 12;

/* Reports of a side's runs. */
async function reports(selection) {
  const { runs } = await api.get(`/api/history?runs=${encodeURIComponent(selection)}&most=${MOST_COURSES}`);
  return Promise.all(runs.filter(run => !run.left_out).map(run => api.get(`/api/history/${run.run}/json`).catch(() => null)));
}

export class CompareView {
  title = words.views.compare;
  #turn = 0;
  constructor({ go }) {
    this.go = go;
    const box = (name, text) => make("input", { type: "text", name, placeholder: text });
    this.a = box("a", words.exampleA);
    this.b = box("b", words.exampleB);
    this.notice = make("input", { type: "number", name: "notice", min: "0", max: "100", step: "any", value: "2" });
    this.place = make("div", { "aria-live": "polite" });
    const form = make("form.filters", { novalidate: "", autocomplete: "off" }, labelled(words.sideA, this.a), labelled(words.sideB, this.b), labelled(words.notice, this.notice), button(words.compare, () => this.#ask(), { class: "primary" }));
    on(form, "submit", event => event.preventDefault());
    on(form, "keydown", event => { if (event.key === "Enter" && event.target.matches("input")) { event.preventDefault(); this.#ask(); } });
    this.node = make("div.compare", make("h1", words.compareTitle), form, fold(words.selections, ".help", make("ul", words.selectionList.map(([code, what]) => make("li", make("code", code), ` ${what}`)))), this.place);
    this.place.append(make("div.welcome", make("p", words.compareWelcome)));
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
    if (missing) { missing.focus(); fill(this.place, fault(words.bothSides)); return; }
    this.go(`/compare?${new URLSearchParams({ a, b, ...(this.notice.value !== "2" ? { notice: this.notice.value } : {}) })}`, null, true);
    this.#compare();
  }
  async #compare() {
    const body = { a: this.a.value.trim(), b: this.b.value.trim(), notice: Number(this.notice.value) || 0 }, turn = this.#turn += 1;
    fill(this.place, faint(words.loading));
    try {
      const { comparison, text } = await api.post("/api/compare", body);
      if (turn !== this.#turn) return;
      this.#show(comparison, text, body);
      const figure = comparisons.courses(...await Promise.all([body.a, body.b].map(reports)).catch(() => [[], []]));
      if (turn === this.#turn && figure) fill(this.courses, make("h2", words.bothCourses), make("div.charts.single", withImage(figure, "comparison")));
    } catch (refusal) {
      if (turn === this.#turn) fill(this.place, fault(refusal.message));
    }
  }
  #show(comparison, text, body) {
    const terminal = fold(words.asInTerminal, ".terminal", make("pre.wide", { tabindex: "0" }, text));
    terminal.open = true;
    const address = `/api/compare/page?${new URLSearchParams(body)}`;
    this.courses = make("section");
    fill(this.place, comparisons.shown(comparison, this.courses),
      make("div.buttons", file(address, "comparison.html", words.asPage), page(address, words.openPage), button("JSON", () => save("comparison.json", "application/json", `${JSON.stringify(comparison, null, 2)}\n`)), button(words.asText, () => save("comparison.txt", "text/plain", text))),
      terminal);
  }
}
