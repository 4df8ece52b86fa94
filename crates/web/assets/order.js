/* A form and its command line, each following the other by way of the program (`POST /api/plan`). */
import { post } from "./api.js";
import { Command } from "./command.js";
import { complain, later, make, on } from "./dom.js";
import { Form } from "./form.js";
import { tests } from "./tests.js";

export class Order extends EventTarget {
  constructor(table, job, first) {
    super();
    this.job = job;
    this.form = new Form(table, job, name => { this.#touched.add(name); this.#changed(); });
    this.command = new Command(line => this.#typed(line));
    this.set(first);
  }
  plan = null;
  #touched = new Set();
  #turn = 0;
  #changed = later(120, () => this.#ask({ job: this.job, options: this.form.get() }));

  /* The command above the form, and beside it what comes of it. */
  page(title, actions, beside, start) {
    const { front, rest } = this.form, fields = make("form.form", { novalidate: "", autocomplete: "off" }, front, actions, make("h2", words.allOptions), rest);
    on(fields, "submit", event => event.preventDefault());
    on(fields, "keydown", event => {
      if (event.key === "Enter" && event.target.matches(".front input, .front select")) { event.preventDefault(); start(); }
    });
    return make("div", make("h1", title), this.command.node, make("div.columns", fields, make("div.side", beside)));
  }

  set(options) {
    this.form.set(options);
    return this.#ask({ job: this.job, options });
  }
  /* The options if a test can start with them; else says what is wrong. */
  async ready() {
    if (this.command.typing && !await this.#ask({ line: this.command.typing })) { this.command.line.focus(); return null; }
    const options = this.form.get();
    await this.#ask({ job: this.job, options }, true);
    if (this.plan && !this.plan.faults.length) return options;
    const fault = this.plan?.faults[0];
    if (fault?.option) this.form.focus(fault.option); else this.command.line.focus();
    return null;
  }
  /* Shows faults that an attempt to start brought. */
  refused(plan) {
    this.plan = { ...this.plan, faults: plan.faults ?? [], notes: plan.notes ?? [] };
    this.#say(true);
  }

  /* Stops what runs, or starts a test; its row. */
  async toggle(running, readOnly) {
    try {
      if (running) await post(`/api/tests/${running.test}/stop`);
      else if (readOnly) complain(words.readOnly);
      else {
        const { job } = this, options = await this.ready();
        if (!options) return null;
        const { test } = await post("/api/tests", { job, options });
        return tests.rows.get(test) ?? { test, job, state: "queued", line: "", options };
      }
    } catch (refusal) {
      if (refusal.answer?.faults) this.refused(refusal.answer); else complain(refusal.message);
    }
    return null;
  }

  #typed(line) { if (line) this.#ask({ line }); }
  async #ask(question, all = false) {
    const turn = this.#turn += 1;
    let plan;
    try {
      plan = await post("/api/plan", question);
    } catch (refusal) {
      if (turn === this.#turn) this.command.say([{ kind: "fault", text: refusal.message }]);
      return;
    }
    if (turn !== this.#turn) return;
    if (question.line !== undefined) {
      if (plan.options && plan.job !== this.job) {
        this.command.typing = "";
        this.dispatchEvent(new CustomEvent("other", { detail: plan }));
        return;
      }
      // A line that cannot be read leaves the form as it is.
      if (!plan.options) { this.command.say(plan.faults.map(one => ({ kind: "fault", text: one.text }))); return; }
      // A line hides its key.
      const key = this.form.get().find(([id]) => id === "permit-key");
      this.form.set(plan.options.map(one => one[0] === "permit-key" && one[1] === "…" && key ? key : one));
    }
    this.plan = plan;
    this.command.show(plan.names);
    this.#say(all || question.line !== undefined);
    this.dispatchEvent(new Event("plan"));
    return true;
  }
  /* A missing host is said once somebody was there or tried to start. */
  #say(all) {
    const { faults = [], notes = [] } = this.plan;
    const early = one => one.option === "client" && !all && !this.#touched.has("client");
    const worded = one => one.option === "client" && !this.form.get().some(([id]) => id === "client") ? { ...one, text: words.noHost } : one;
    const rest = this.form.say(faults.filter(one => !early(one)).map(worded), notes);
    this.command.say(rest.map(one => ({ kind: faults.includes(one) ? "fault" : "note", text: one.text })));
  }
}
