/* The view of a server on this host, and the tests of its clients. */
import * as api from "./api.js";
import { announce, button, complain, copier, element, failure, faint } from "./dom.js";
import { Course } from "./live.js";
import { Order } from "./order.js";
import { tests } from "./tests.js";
import { words } from "./words.js";

const REDRAW = 500, MOST_CLIENTS = 100, SPARK = { width: 120, height: 26 };

/* The rates as a small curve. */
function spark(course) {
  const lines = course.rates.map(stairs => charts.thin(stairs.map(([start, end, rate]) => [(start + end) / 2, rate]), 120));
  const all = lines.flat();
  if (all.length < 2) return "-";
  const far = all.reduce((most, [at]) => Math.max(most, at), 0) || 1, top = all.reduce((most, [, rate]) => Math.max(most, rate), 0) || 1;
  const point = ([at, rate]) => `${(at / far * SPARK.width).toFixed(1)} ${(SPARK.height - 1 - rate / top * (SPARK.height - 3)).toFixed(1)}`;
  const floor = `L${(lines[0].at(-1)[0] / far * SPARK.width).toFixed(1)} ${SPARK.height}L${(lines[0][0][0] / far * SPARK.width).toFixed(1)} ${SPARK.height}Z`;
  return element("svg.spark", { viewBox: `0 0 ${SPARK.width} ${SPARK.height}`, width: SPARK.width, height: SPARK.height, role: "img", "aria-label": words.sparkOf(charts.rate(top)) },
    lines.map((line, index) => element("g", { class: `r-${index + 1}` }, index ? null : element("path.fill", { d: `M${line.map(point).join("L")}${floor}` }),
      element("path.stroke", { d: `M${line.map(point).join("L")}` }))));
}

class Served {
  clients = new Map();
  warnings = [];
  #timer = null;
  constructor(row) {
    this.row = row;
    this.node = element("section.served");
    this.ports = element("div");
    this.table = element("div.clients");
    this.notes = element("div");
    this.node.append(this.ports, element("h2", words.clients), this.table, this.notes);
    tests.follow(row.test, event => this.#take(event));
  }
  close() { tests.unfollow(this.row.test); clearTimeout(this.#timer); }
  update(row, session) {
    this.row = row;
    this.session = session;
    this.#ports();
    this.#later();
  }
  #take(event) {
    if (event === null) { this.clients.clear(); this.warnings = []; return; }
    if (event.event === "warning" && !this.clients.has(event.test)) this.warnings.push(event.data);
    else if (event.test !== undefined) {
      if (!this.clients.has(event.test)) this.clients.set(event.test, new Course());
      const course = this.clients.get(event.test);
      course.take(event);
      course.at ??= event.at;
      for (const old of [...this.clients.keys()].slice(0, -MOST_CLIENTS)) this.clients.delete(old);
    }
    this.#later();
  }
  #later() { this.#timer ??= setTimeout(() => { this.#timer = null; this.#draw(); }, REDRAW); }

  #ports() {
    const { listening, state, error } = this.row, { addresses, host } = this.session;
    if (state === "ended") {
      this.ports.replaceChildren(error ? failure(words.serverFailed, error) : element("p.headline", words.serverEnded));
      return;
    }
    if (!listening) { this.ports.replaceChildren(faint(words.starting)); return; }
    const port = listening.tcp ?? listening.udp, udp = listening.tcp ? "" : " -u";
    const line = (name, address) => {
      const text = `${name} -c ${address}${port === (name === "iperf3" ? 5201 : 5001) ? "" : ` -p ${port}`}${udp}`;
      return element("li", element("code", text), copier(() => text, { title: words.copyOf(text) }));
    };
    const heard = ["tcp", "udp"].filter(one => listening[one]).map(one => `${one.toUpperCase()} ${listening[one]}`).join(", ");
    const shown = addresses.length ? addresses : [host];
    this.ports.replaceChildren(element("p.headline", words.listening, element("small", ` ${words.onPorts(heard)}`)), element("p", words.typeThere),
      ...shown.slice(0, 4).map(address => element("ul.lines", ["tapeline", "iperf", "iperf3"].map(name => line(name, address)))));
  }
  #draw() {
    const rows = [...this.clients].reverse();
    this.table.replaceChildren(rows.length ? documents.grid([[words.test, ([test]) => `${test}`],
      [words.client, ([, one]) => one.start?.peer.address ?? one.start?.peer.host ?? "-"],
      [words.program, ([, one]) => words.programOf(one.end ?? one.start)],
      [words.what, ([, one]) => one.start ? `${(one.start.test.transport ?? "").toUpperCase()} ${words.directionsShort[one.start.test.direction] ?? ""}`.trim() : "-"],
      [words.rateNow, ([, one]) => one.end ? words.sumOf(one.end) : one.now.map(({ rate }) => charts.rate(rate)).join(", ") || "-"],
      [words.course, ([, one]) => spark(one)],
      [words.total, ([, one]) => one.end ? words.bytesOf(one.end) : one.total.map(charts.size).join(", ") || "-"],
      [words.state, ([, one]) => one.end ? one.end.error?.text ?? (one.end.test.interrupted ? words.states.interrupted : words.states.ended) : words.states.running]], rows) :
      faint(this.row.state === "ended" ? words.noClients : words.noClientsYet));
    const warnings = [...this.warnings, ...rows.flatMap(([, one]) => one.warnings)].slice(-30);
    this.notes.replaceChildren(...(warnings.length ? [documents.notes(warnings)] : []));
  }
}

export class ServerView {
  title = words.views.server;
  #served = null;
  constructor({ form, session, go }) {
    this.session = session;
    this.order = new Order(form, "server", session.form?.job === "server" ? session.form.options : [["interval", "0.5"]]);
    this.order.addEventListener("other", event => go("/test", event.detail));
    this.start = button(words.startServer, () => this.toggle(), { class: "primary", title: words.keyOf("s") });
    this.place = element("div.place", element("div.welcome", element("p", words.serverWelcome), faint(words.serverHint)));
    this.node = this.order.page(words.serverTitle, [element("div.actions", this.start)], [this.place], () => this.toggle());
    tests.addEventListener("row", ({ detail }) => { if (detail.job === "server") this.#row(detail); });
    for (const row of [...tests.rows.values()]) if (row.job === "server") this.#row(row);
    this.#buttons();
    this.start.hidden = session.read_only;
  }
  enter() {}
  search() { this.order.form.search.focus(); }
  copy() { this.order.command.copy(); }
  take({ options }) { this.order.set(options); }

  async toggle() {
    const running = this.#active();
    try {
      if (running) { await api.post(`/api/tests/${running.test}/stop`); return; }
      if (this.session.read_only) { complain(words.readOnly); return; }
      const options = await this.order.ready();
      if (!options) return;
      const { test } = await api.post("/api/tests", { job: "server", options });
      this.#row(tests.rows.get(test) ?? { test, job: "server", state: "queued", listening: null });
      announce(words.serverStarted);
    } catch (refusal) {
      if (refusal.answer?.faults) this.order.refused(refusal.answer); else complain(refusal.message);
    }
  }
  #active() { return tests.newest("server").find(row => row.state !== "ended"); }
  #buttons() {
    const active = this.#active();
    this.start.textContent = active ? words.stopServer : words.startServer;
    this.start.classList.toggle("stop", Boolean(active));
  }
  #row(row) {
    if (row.test >= (this.#served?.row.test ?? 0)) {
      if (this.#served?.row.test !== row.test) {
        this.#served?.close();
        this.#served = new Served(row);
        this.place.replaceChildren(this.#served.node);
      }
      this.#served.update(row, this.session);
    }
    this.#buttons();
  }
}
