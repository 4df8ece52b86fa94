/* The view of a server on this host, and the tests of its clients. */
import { announce, copier, make, failure, faint, fill, on, relabel, starter } from "./dom.js";
import { Course } from "./live.js";
import { Order } from "./order.js";
import { tests } from "./tests.js";

const REDRAW = 500, MOST_CLIENTS = 100, WIDTH = 120, HEIGHT = 26;

/* The rates as a small curve. */
function spark(course) {
  const lines = course.rates.map(stairs => charts.thin(stairs.map(([start, end, rate]) => [(start + end) / 2, rate]), WIDTH)), all = lines.flat();
  if (all.length < 2) return "-";
  const [far, top] = [0, 1].map(place => all.reduce((most, point) => Math.max(most, point[place]), 0) || 1);
  const point = ([at, rate]) => `${(at / far * WIDTH).toFixed(1)} ${(HEIGHT - 1 - rate / top * (HEIGHT - 3)).toFixed(1)}`;
  return make("svg.spark", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, role: "img", "aria-label": words.sparkOf(charts.rate(top)) },
    lines.map((line, index) => make("g", { class: `r-${index + 1}` }, !index && make("path.fill", { d: `M0 ${HEIGHT}L${line.map(point).join("L")}V${HEIGHT}Z` }),
      make("path.stroke", { d: `M${line.map(point).join("L")}` }))));
}

class Served {
  clients = new Map();
  warnings = [];
  #timer = null;
  constructor(row) {
    this.row = row;
    this.node = make("section.served");
    this.ports = make("div");
    this.table = make("div.clients");
    this.notes = make("div");
    this.node.append(this.ports, make("h2", words.clients), this.table, this.notes);
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
      fill(this.ports, error ? failure(words.serverFailed, error) : make("p.headline", words.serverEnded));
      return;
    }
    if (!listening) { fill(this.ports, faint(words.starting)); return; }
    const port = listening.tcp ?? listening.udp, udp = listening.tcp ? "" : " -u";
    const line = (name, address) => {
      const text = `${name} -c ${address}${port === (name === "iperf3" ? 5201 : 5001) ? "" : ` -p ${port}`}${udp}`;
      return make("li", make("code", text), copier(() => text, { title: words.copyOf(text) }));
    };
    const heard = ["tcp", "udp"].filter(one => listening[one]).map(one => `${one.toUpperCase()} ${listening[one]}`).join(", ");
    const shown = addresses.length ? addresses : [host];
    fill(this.ports, make("p.headline", words.listening, make("small", ` ${words.onPorts(heard)}`)), make("p", words.typeThere),
      shown.slice(0, 4).map(address => make("ul.lines", ["tapeline", "iperf", "iperf3"].map(name => line(name, address)))));
  }
  #draw() {
    const rows = [...this.clients].reverse();
    fill(this.table, rows.length ? documents.grid([[words.test, ([test]) => `${test}`],
      [words.client, ([, one]) => one.start?.peer.address ?? one.start?.peer.host ?? "-"],
      [words.program, ([, one]) => words.programOf(one.end ?? one.start)],
      [words.what, ([, one]) => one.start ? `${(one.start.test.transport ?? "").toUpperCase()} ${words.directionsShort[one.start.test.direction] ?? ""}`.trim() : "-"],
      [words.rateNow, ([, one]) => one.end ? words.sumOf(one.end) : one.now.map(({ rate }) => charts.rate(rate)).join(", ") || "-"],
      [words.course, ([, one]) => spark(one)],
      [words.total, ([, one]) => one.end ? words.bytesOf(one.end) : one.total.map(charts.size).join(", ") || "-"],
      [words.state, ([, one]) => one.end ? one.end.error?.text ?? (one.end.test.interrupted ? words.states.interrupted : words.states.ended) : words.states.running]], rows) :
      faint(this.row.state === "ended" ? words.noClients : words.noClientsYet));
    const warnings = [...this.warnings, ...rows.flatMap(([, one]) => one.warnings)].slice(-30);
    fill(this.notes, documents.notes(warnings));
  }
}

export class ServerView {
  title = words.views.server;
  #served = null;
  constructor({ form, session, go }) {
    this.session = session;
    this.order = new Order(form, "server", session.form?.job === "server" ? session.form.options : [["interval", "0.5"]]);
    on(this.order, "other", event => go("/test", event.detail));
    this.start = starter(this, words.startServer, session);
    this.place = make("div.place", make("div.welcome", make("p", words.serverWelcome), faint(words.serverHint)));
    this.node = this.order.page(words.serverTitle, [make("div.actions", this.start)], [this.place], () => this.toggle());
    tests.watch("server", row => this.#row(row));
    this.#buttons();
  }
  enter() {}
  search() { this.order.form.search.focus(); }
  copy() { this.order.command.copy(); }
  take({ options }) { this.order.set(options); }

  async toggle() {
    const row = await this.order.toggle(this.#active(), this.session.read_only);
    if (!row) return;
    this.#row(row);
    announce(words.serverStarted);
  }
  #active() { return tests.newest("server").find(row => row.state !== "ended"); }
  #buttons() { relabel(this.start, words.startServer, this.#active()?.state, words.stopServer); }
  #row(row) {
    if (row.test >= (this.#served?.row.test ?? 0)) {
      if (this.#served?.row.test !== row.test) {
        this.#served?.close();
        this.#served = new Served(row);
        fill(this.place, this.#served.node);
      }
      this.#served.update(row, this.session);
    }
    this.#buttons();
  }
}
