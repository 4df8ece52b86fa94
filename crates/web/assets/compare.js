/* The view that compares two sets of runs. */
import * as api from "./api.js";
import { button, element, faint, fault, file, labelled, page, save } from "./dom.js";
import { withImage } from "./result.js";
import { words } from "./words.js";

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
    const box = (name, text) => element("input", { type: "text", name, placeholder: text, autocomplete: "off", spellcheck: "false" });
    this.a = box("a", words.exampleA);
    this.b = box("b", words.exampleB);
    this.notice = element("input", { type: "number", name: "notice", min: "0", max: "100", step: "any", value: "2" });
    this.place = element("div", { "aria-live": "polite" });
    const form = element("form.filters", { novalidate: "" }, labelled(words.sideA, this.a), labelled(words.sideB, this.b), labelled(words.notice, this.notice), button(words.compare, () => this.#ask(), { class: "primary" }));
    form.addEventListener("submit", event => event.preventDefault());
    form.addEventListener("keydown", event => { if (event.key === "Enter" && event.target.matches("input")) { event.preventDefault(); this.#ask(); } });
    this.node = element("div.compare", element("h1", words.compareTitle), form, element("details.help", element("summary", words.selections), element("ul", words.selectionList.map(([code, what]) => element("li", element("code", code), ` ${what}`)))), this.place);
    this.place.append(element("div.welcome", element("p", words.compareWelcome)));
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
      const figure = comparisons.courses(...await Promise.all([body.a, body.b].map(reports)).catch(() => [[], []]));
      if (turn === this.#turn && figure) this.courses.replaceChildren(element("h2", words.bothCourses), element("div.charts.single", withImage(figure, "comparison")));
    } catch (refusal) {
      if (turn === this.#turn) this.place.replaceChildren(fault(refusal.message));
    }
  }
  #show(comparison, text, body) {
    const address = `/api/compare/page?${new URLSearchParams(body)}`;
    this.courses = element("section");
    this.place.replaceChildren(...comparisons.shown(comparison, this.courses),
      element("div.buttons", file(address, "comparison.html", words.asPage), page(address, words.openPage), button("JSON", () => save("comparison.json", "application/json", `${JSON.stringify(comparison, null, 2)}\n`)), button(words.asText, () => save("comparison.txt", "text/plain", text))),
      element("details.terminal", { open: "" }, element("summary", words.asInTerminal), element("pre", { tabindex: "0", class: "wide" }, text)));
  }
}
