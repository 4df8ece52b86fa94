/* The view of many hosts: their file, and the heat map as it fills. */
import * as api from "./api.js";
import { announce, button, complain, make, failure, faint, fault, fill, labelled, relabel, starter } from "./dom.js";
import { files, headline, kept, terminal } from "./result.js";
import { tests } from "./tests.js";

const REDRAW = 500;

export class MeshView {
  title = words.views.mesh;
  #row = null;
  #mesh = null;
  #timer = null;
  #chosen = make("section");
  constructor({ session }) {
    const box = (name, kind, attributes) => {
      this[name] = make(kind, { name, ...attributes });
      this[name].value = session.mesh[name];
      return labelled(words.meshFields[name], this[name]);
    };
    this.start = starter(this, words.startMesh, session);
    this.said = make("div", { role: "status" });
    this.place = make("div", make("div.welcome", words.meshWelcome));
    const form = make("div.form.front", box("hosts", "textarea", { rows: "16", wrap: "off" }), box("pattern", "input"), box("test", "input", { placeholder: words.asInFile }),
      this.said, make("div.actions", this.start, button(words.check, () => this.#ask("/plan"))));
    this.node = make("div.mesh", make("h1", words.meshTitle), make("div.columns", form, make("div.side", this.place)));
    tests.watch("mesh", row => this.#take(row));
  }
  enter() {}
  search() { this.hosts.focus(); }

  async toggle() {
    const { test, state } = this.#row ?? { state: "ended" };
    if (state === "ended") await this.#ask(""); else await api.post(`/api/tests/${test}/stop`).catch(refusal => complain(refusal.message));
  }
  /* Checks or starts it; a fault is shown in its line. */
  async #ask(path) {
    const { hosts } = this, body = Object.fromEntries(["hosts", "pattern", "test"].map(name => [name, this[name].value]));
    try {
      const { text } = await api.post(`/api/mesh${path}`, body);
      fill(this.said, text ?? words.started);
    } catch (refusal) {
      fill(this.said, fault(refusal.message));
      const line = refusal.answer?.line, lines = hosts.value.split("\n");
      if (!line) return;
      const from = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
      hosts.focus();
      hosts.setSelectionRange(from, from + (lines[line - 1]?.length ?? 0));
    }
  }

  #take(row) {
    const before = this.#row;
    if (row.test < before?.test || row.test === before?.test && before.state === "ended") return;
    this.#row = row;
    if (row.test !== before?.test) {
      this.#chosen.at = null;
      if (before) tests.unfollow(before.test);
      if (row.state !== "ended") tests.follow(row.test, event => this.#hear(event));
    }
    relabel(this.start, words.startMesh, row.state);
    if (row.state === "ended") this.#ended(row); else this.#later();
  }
  #hear(event) {
    const { event: kind, data } = event ?? {}, mesh = event ? this.#mesh : this.#mesh = { running: true, hosts: [], cells: [], findings: [], notes: [] };
    if (kind === "start") Object.assign(mesh, { all: data.cells, hosts: data.hosts.map(name => ({ name, state: "reached", groups: [] })) });
    if (kind === "progress") mesh.text = data.text;
    if (kind === "cell") mesh.cells = [...mesh.cells.filter(({ from, to }) => from !== data.from || to !== data.to), data];
    this.#later();
  }
  #later() { this.#timer ??= setTimeout(() => { this.#timer = null; this.#draw(); }, REDRAW); }
  #draw() {
    const { state } = this.#row, mesh = this.#mesh;
    if (state === "ended") return;
    const wait = state === "queued" ? words.queued : !mesh?.all && words.connecting;
    if (wait) this.#show(faint(wait)); else this.#show(make("progress", { max: mesh.all, value: mesh.cells.length, "aria-label": words.progress }), faint(mesh.text), matrix.shown(mesh, this.#chosen).nodes);
  }
  async #ended(row) {
    // A later one may be there.
    await null;
    if (row !== this.#row) return;
    const base = `/api/tests/${row.test}`, mesh = row.has_document ? await api.get(`${base}/json`).catch(() => null) : null;
    if (row !== this.#row) return;
    tests.unfollow(row.test);
    const name = row.run ?? `mesh-${row.test}`, shown = mesh && matrix.shown(mesh, this.#chosen);
    this.#show(row.error && failure(words.failed, row.error), mesh && [shown.headlines.map(headline), faint(shown.setup), shown.nodes, kept(row), files(base, name), terminal(`${base}/text`)]);
    announce(row.error ?? words.ended(this.place.querySelector(".headline, .warnings")?.textContent ?? ""));
  }
  /* Who is at a cell stays there. */
  #show(...nodes) {
    const heat = this.place.querySelector(".heat"), { scrollLeft = 0, scrollTop = 0 } = heat ?? {};
    const at = heat?.contains(document.activeElement) && document.activeElement.title.split(":")[0];
    fill(this.place, nodes);
    if (at) [...this.place.querySelectorAll(".heat button")].find(({ title }) => title.startsWith(`${at}:`))?.focus({ preventScroll: true });
    this.place.querySelector(".heat")?.scrollTo(scrollLeft, scrollTop);
  }
}
