/* The command line of a form, under three names. */
import { button, copier, make, fill, later, on } from "./dom.js";

const NAMES = ["tapeline", "iperf", "iperf3"];

export class Command {
  /* `typed` gets a line that the user typed or pasted. */
  constructor(typed) {
    // What the form does not have yet.
    this.typing = "";
    this.name = NAMES[0];
    this.names = {};
    this.tabs = NAMES.map(name => {
      const tab = button(name, () => this.#choose(name), { role: "tab" });
      on(tab, "keydown", event => {
        const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!step) return;
        event.preventDefault();
        event.stopPropagation();
        const next = this.tabs[(NAMES.indexOf(name) + step + NAMES.length) % NAMES.length];
        next.click();
        next.focus();
      });
      return tab;
    });
    this.line = make("textarea", { rows: "1", "aria-label": words.command });
    this.why = make("p.why");
    this.said = make("div.faults");
    this.copied = copier(() => this.names[this.name]?.line ?? "", { title: words.keyOf("c") });
    this.node = make("section.command", { "aria-label": words.command },
      make("div.tabs", { role: "tablist", "aria-label": words.sameTestAs }, this.tabs),
      make("div.line", make("span.prompt", { "aria-hidden": "true" }, "$"), this.line, this.why, this.copied), this.said);
    const read = later(350, () => typed(this.#text()));
    on(this.line, "input", () => { this.typing = this.#text(); this.#grow(); read(); });
    on(this.line, "keydown", event => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      typed(this.#text());
    });
    // What was typed gives way to the program's own words once it is in the form.
    on(this.line, "blur", () => { if (!this.typing) this.#draw(); });
    addEventListener("resize", () => this.#grow());
    this.#choose(this.name);
  }

  show(names) {
    this.names = names ?? {};
    this.typing = "";
    if (document.activeElement !== this.line) this.#draw();
    for (const tab of this.tabs) tab.classList.toggle("cannot", Boolean(this.names[tab.textContent]?.why));
  }
  say(rest) { fill(this.said, rest.map(one => make("p", { class: one.kind }, one.text))); }
  copy() { this.copied.click(); }

  #text() { return this.line.value.replace(/\\\n/g, " ").replace(/\s*\n\s*/g, " ").trim(); }
  #choose(name) {
    this.name = name;
    for (const tab of this.tabs) {
      tab.setAttribute("aria-selected", tab.textContent === name);
      tab.tabIndex = tab.textContent === name ? 0 : -1;
    }
    this.#draw();
  }
  #draw() {
    const { line, why } = this.names[this.name] ?? {};
    this.line.hidden = Boolean(why);
    this.why.hidden = !why;
    this.why.textContent = why ?? "";
    this.copied.disabled = !line;
    if (line !== undefined) this.line.value = line;
    this.#grow();
  }
  #grow() {
    this.line.rows = 1;
    while (this.line.rows < 8 && this.line.scrollHeight > this.line.clientHeight + 2) this.line.rows += 1;
  }
}
