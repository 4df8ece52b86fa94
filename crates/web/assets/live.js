/* The course of a test while it runs, from the lines of `--json-stream`. */
import { make, fill } from "./dom.js";

const MOST = 2400, FEW_STREAMS = 8, MOST_ROWS = 200;
const { known } = charts;

/* One value for each interval, from the parts that the streams add. More points than a curve may have are
   thinned to half of that. */
class Curve {
  points = [];
  constructor(value) { this.value = value; }
  add(start, end, parts) {
    if (!parts.every(known)) return;
    const near = (end - start) / 4;
    let at = this.points.length - 1;
    while (at >= 0 && this.points.length - at < 64 && this.points[at][0] > start + near) at -= 1;
    const found = this.points[at];
    if (found && Math.abs(found[0] - start) <= near) {
      found[3].forEach((part, index) => { found[3][index] = part + parts[index]; });
      [found[1], found[2]] = [Math.max(found[1], end), this.value(found[3])];
    } else this.points.splice(at + 1, 0, [start, end, this.value(parts), [...parts]]);
    if (this.points.length > MOST) this.points = charts.thin(this.points, MOST / 2, 2);
  }
  get stairs() { return this.points.map(([start, end, value]) => [start, end, value]); }
  get line() { return this.points.map(([, end, value]) => [end, value]); }
}
const first = ([value]) => value, mean = ([sum, count]) => sum / count, share = ([part, all]) => all > 0 ? 100 * Math.max(0, part) / all : null;
const lost = row => [row.lost, known(row.packets) && known(row.lost) ? row.packets + row.lost : null];
const counted = value => [value, known(value) ? 1 : null];
/* What is followed: [name, the parts of a row, their value]. */
const FOLLOWED = [
  ["rate", row => [row.bits_per_second], first],
  ["loss", lost, share],
  ["retransmits", row => [row.retransmits], first],
  ["trip", row => counted(row.rtt_ms), mean], ["probe", row => counted(row.probe_mean_ms), mean],
  ["delay", row => counted(row.delay_mean_ms), mean], ["jitter", row => counted(row.jitter_ms), mean]];

export class Course {
  start = null;
  end = null;
  warnings = [];
  rows = [];
  #curves = new Map();
  /* What the receiver has counted so far, and its rates. */
  #received = new Curve(first);
  #progress = { seconds: 0, bytes: 0 };
  #streams = new Map();

  take({ event, data }) {
    if (event === "start") this.start = data;
    else if (event === "interval") this.#interval(data);
    else if (event === "peer_progress") {
      const { seconds, bytes } = this.#progress, took = data.seconds - seconds;
      if (took > 0.1) {
        this.#received.add(seconds, data.seconds, [known(data.bytes) ? Math.max(0, data.bytes - bytes) * 8 / took : null]);
        this.#progress = data;
      }
    } else if (event === "warning") this.warnings.push(data);
    else if (event === "end") this.end = data;
  }
  #curve(name, way, value) {
    const key = `${name} ${way}`;
    if (!this.#curves.has(key)) this.#curves.set(key, new Curve(value));
    return this.#curves.get(key);
  }
  #interval(row) {
    const { direction, stream, start_seconds: start, end_seconds: end } = row;
    this.rows.push(row);
    if (this.rows.length > 2 * MOST_ROWS) this.rows = this.rows.slice(-MOST_ROWS);
    if (row.omitted) return;
    for (const [name, parts, value] of FOLLOWED) this.#curve(name, direction, value).add(start, end, parts(row));
    const own = `${stream} ${direction}`;
    if (!this.#streams.has(own)) this.#streams.set(own, this.#streams.size < 2 * FEW_STREAMS ? new Curve(first) : null);
    this.#streams.get(own)?.add(start, end, [row.bits_per_second]);
  }

  /* So long that it is drawn less often. */
  get isLong() { return [...this.#curves.values()].some(curve => curve.points.length > MOST / 4); }
  get ways() { return [...this.#curves].filter(([key, curve]) => key.startsWith("rate ") && curve.points.length).map(([key]) => key.slice(5)).sort(); }
  /* The last whole interval of each direction. */
  get now() {
    const streams = way => [...this.#streams.keys()].filter(key => key.endsWith(` ${way}`)).length;
    return this.ways.map(way => {
      const { points } = this.#curves.get(`rate ${way}`), latest = this.rows.findLast(row => row.direction === way);
      const fresh = this.rows.filter(row => row.direction === way && row.start_seconds === latest?.start_seconds).length;
      const [, , rate] = points.length > 1 && fresh < streams(way) ? points.at(-2) : points.at(-1);
      return { way, rate };
    });
  }
  get seconds() { return this.rows.reduce((most, row) => Math.max(most, row.end_seconds), 0); }
  get rates() { return this.ways.map(way => this.#curves.get(`rate ${way}`).stairs); }
  get total() { return this.ways.map(way => this.#curves.get(`rate ${way}`).points.reduce((sum, [start, end, rate]) => sum + rate * (end - start) / 8, 0)); }

  /* The charts that the values are enough for: [name, figure]. */
  charts() {
    const { ways } = this, udp = this.start?.test.transport === "udp", to = this.start?.test.requested_seconds ?? undefined;
    const x = { name: words.seconds, from: 0, to }, whole = ways.length > 1;
    const of = (name, shape, label, role) => ways.map((way, index) => ({ name: whole ? label ? `${words.ways[way]}, ${label}` : words.ways[way] : label || words.all,
      role: role ?? `${index + 1}`, shape, points: this.#curves.get(`${name} ${way}`)?.[shape === "stairs" ? "stairs" : "line"] ?? [] }));
    const streams = [...this.#streams].filter(([, curve]) => curve), several = this.#streams.size > ways.length, few = this.#streams.size <= FEW_STREAMS;
    const each = several && few ? streams.map(([key, curve], index) => {
      const [id, way] = key.split(" ");
      return { name: words.stream(id, whole ? words.ways[way] : ""), role: `${index + 1}`, shape: "stairs", points: curve.stairs };
    }) : [];
    const sums = of("rate", "stairs", several ? words.all : whole ? "" : words.counted(this.rows.at(-1)?.counted_by))
      .map((one, index) => each.length ? { ...one, role: ["sum", "quiet"][index] } : one);
    const chart = (title, kind, series, none) => charts.chart({ title, kind, series, x, none });
    const made = [
      ["rate", chart(words.titles.rate, "rate", [...each, ...sums, ...(udp && ways.join() === "forward" ? [{ name: words.counted("receiver"), role: "load", shape: "stairs", points: this.#received.stairs }] : [])])],
      ["loss", udp ? chart(words.titles.loss, "percent", of("loss", "stairs", ""), words.noLoss) : null],
      ["retransmits", chart(words.titles.retransmits, "count", of("retransmits", "stairs", ""), words.noRetransmits)],
      ["trip", chart(words.titles.trip, "ms", [...of("probe", "line", "").slice(0, 1).map(one => ({ ...one, name: words.probes, role: "load" })), ...of("trip", "line", words.smoothed)])],
      ["delay", chart(this.start?.test.workload === "request_response" ? words.titles.trip : words.titles.delay, "ms", of("delay", "line", words.mean))],
      ["jitter", udp ? chart(words.titles.jitter, "ms", of("jitter", "line", "")) : null]];
    return made.filter(([, figure]) => figure);
  }

  /* The latest rows, newest first. */
  table(most = MOST_ROWS) {
    const rows = this.rows.slice(-most).reverse(), scale = charts.unit("rate", rows.reduce((top, row) => Math.max(top, row.bits_per_second ?? 0), 0));
    const { cell } = documents;
    const digits = (name, of) => [name, row => cell(charts.digits, of(row))];
    const columns = [[words.seconds, row => `${row.start_seconds.toFixed(2)}–${row.end_seconds.toFixed(2)}`], [words.streamColumn, row => `${row.stream}`],
      ["", row => words.ways[row.direction] ?? "-"], [scale.label, row => cell(scale.bare, row.bits_per_second)], [words.retransmitsColumn, row => cell(String, row.retransmits)],
      digits(words.lossColumn, row => share(lost(row))), digits(words.jitterColumn, row => row.jitter_ms),
      digits(words.delayColumn, row => row.delay_mean_ms), digits(words.tripColumn, row => row.rtt_ms), digits(words.probeColumn, row => row.probe_mean_ms)];
    return documents.grid(columns, rows);
  }
}

/* Charts in their places: those that are there get new values. */
export class Board {
  node = make("div.charts");
  #shown = new Map();
  show(all) {
    for (const [name, figure] of all) {
      const before = this.#shown.get(name);
      if (before) this.#shown.set(name, charts.update(before, figure));
      else { this.node.append(figure); this.#shown.set(name, figure); }
    }
  }
  clear() { this.#shown.clear(); fill(this.node); }
}
