"use strict";
/* The document of a test in words, cards, charts and tables. This file needs `charts.js`, and the words of limits as the
   JSON of the page's element `limits`.

   documents.shown   what a page shows of a document: {headlines, setup, started, who, nodes}
   documents.time, card, notes, grid   its parts: a time, a card, warnings, a table
   documents.limits  limits in words, by their names in documents */
const documents = (() => {
const { make, fold, known, digits, decimals, unit, rate, size, millis, percent } = charts;
const LIMITS = JSON.parse(document.getElementById("limits").textContent);
/* Above, a chart shows the median of all streams and their extremes, and the table their sum. */
const FEW_STREAMS = 8;
const PROGRAMS = { iperf2: "iperf 2", iperf3: "iperf3" };
const WAYS = { forward: "to server", reverse: "from server", round_trip: "" };
const seconds = value => `${digits(value)} s`;
const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
const joined = (parts, between = " · ") => parts.filter(Boolean).join(between);
const cell = (show, value) => known(value) ? show(value) : "-";

/* A card: what it is about, its answer, and the reason; `mood` colours what the words say. */
function card(label, mood, ...lines) {
  return make("section", { class: `card ${mood}` }, make("h2", label),
    lines.map(([value, reason]) => [make("p.value", value), reason && make("p.faint", reason)]));
}

function moodOf(limit) {
  return limit === "network" ? "good" : ["requested_rate", "input", "application"].includes(limit) ? "plain" :
    limit ? "warn" : "plain";
}

/* A limit as the text names it, by what was requested. */
function limitWords(verdict) {
  const finding = verdict.evidence?.[0] ?? "";
  if (verdict.limited_by === "requested_rate" && finding.includes("--fq-rate")) return "your --fq-rate";
  if (verdict.limited_by === "requested_rate" && finding.includes("on schedule")) return "the requested frames";
  return LIMITS[verdict.limited_by] ?? "unknown";
}

function notes(warnings) {
  return warnings.length ? make("ul.warnings", warnings.map(one => make("li", { class: one.severity },
    `${one.severity}: ${one.text} `, make("code", `[${one.id}]`)))) : null;
}

/* A row for each of `rows`; columns: [name, cell of a row], those without any value left out. */
function grid(columns, rows) {
  const filled = columns.map(([name, show]) => [name, rows.map(show)]).filter(([, cells]) => cells.some(text => text !== "-"));
  return charts.table(filled.map(([name]) => name), rows.map((_, row) => filled.map(([, cells]) => cells[row])));
}

/* What a page shows of one test. */
function shown(report) {
const { peer, test, sum } = report;
const client = test.role === "client";
const who = peer.address ?? peer.host ?? (client ? "the server" : "the client");
const directions = sum.directions.filter(one => one.direction !== "round_trip");
const both = directions.length > 1;
const requests = report.streams.find(stream => stream.requests);
const udp = test.transport === "udp";

/* `939 Mbit/s received by 192.0.2.7`, and the same in the page's title. */
function throughput(one) {
  const sends = client === (one.direction === "forward");
  const received = one.receiver.bits_per_second, sent = one.sender.bits_per_second;
  const number = known(received) ? received : sent;
  if (!known(number)) return null;
  const title = `${rate(number)} ${sends ? "to" : "from"} ${who}`;
  const counter = known(received) ? "" : " (sender's count)";
  const words = both || !known(received) && !udp ? `${sends ? "to" : "from"} ${who}${counter}` :
    !known(received) ? `sent to ${who}` : sends ? `received by ${who}` : `received from ${who}`;
  const requested = udp && !both && known(received) && known(sent) ? `, of ${rate(sent)} sent` : "";
  return { number: rate(number), words: words + requested, title };
}

function headlines() {
  if (requests?.requests.responses) {
    const trip = requests.rtt?.p50_ms ?? requests.rtt?.mean_ms;
    const kind = known(requests.rtt?.p50_ms) ? "median" : "mean";
    return known(trip) ? [{ number: millis(trip), words: `round trip to ${who}, ${kind}`, title: `${millis(trip)} round trip to ${who}` }] : [];
  }
  if (known(report.connect_times?.mean_ms)) {
    const mean = millis(report.connect_times.mean_ms);
    return [{ number: mean, words: `to connect to ${who}, mean`, title: `${mean} to connect to ${who}` }];
  }
  // What no receiver has counted may not have arrived, where the test failed.
  const moved = report.streams.some(stream => stream.receiver.bytes || stream.sender.bytes && !(udp && report.error && !peer.program));
  return moved ? directions.map(throughput).filter(Boolean) : [];
}

/* `TCP to server · 1 stream · 5 s · cubic · server tapeline 0.1.0`. */
function setup() {
  const transport = (test.transport ?? "").toUpperCase();
  const way = { forward: "to server", reverse: "from server (reverse)", bidirectional: "to and from server" }[test.direction];
  const named = client && peer.host && peer.host !== peer.address ? ` ${peer.host}` : "";
  const work = { request_response: "requests to server", connect_only: "connections to server" }[test.workload];
  const program = peer.program ?? (test.workload === "stream" && PROGRAMS[test.protocol]);
  return joined([`${transport} ${work ?? way ?? ""}${work || way ? named : ""}`.trim(),
    known(test.streams) && counted(test.streams, "stream"),
    known(test.requested_seconds) ? `${test.requested_seconds} s` : known(test.requested_bytes) && size(test.requested_bytes),
    known(test.requested_bits_per_second) && `at ${rate(test.requested_bits_per_second)}${test.streams > 1 ? " each" : ""}`,
    udp && known(test.length_bytes) && `${test.length_bytes}-byte datagrams`,
    test.transport === "tcp" && test.congestion_control,
    program && `${client ? "server" : "client"} ${program} ${peer.version ?? ""}`.trim()]);
}

/* `0.195 % lost (83 of 42517), 60 in the network, 23 in the receiver's host`, for each direction of datagrams. */
function losses() {
  return directions.filter(one => known(one.receiver.lost)).map(one => {
    const its = one.receiver, streams = report.streams.filter(stream => stream.direction === one.direction);
    const all = known(its.packets) ? its.packets + its.lost : null;
    const place = member => streams.every(stream => known(stream.receiver[member])) ?
      streams.reduce((total, stream) => total + stream.receiver[member], 0) : 0;
    const places = [["lost_network", "in the network"], ["lost_receiver_host", "in the receiver's host"], ["lost_sender_host", "in the sender's host"]]
      .filter(([member]) => its.lost && place(member)).map(([member, words]) => `, ${place(member)} ${words}`).join("");
    const of = all === null ? "" : ` of ${all}`;
    const loss = its.lost ? `Loss ${cell(percent, its.lost_percent)} (${its.lost}${of})${places}` : `Loss none (0${of} datagrams)`;
    const jitter = its.jitter_mean_ms ?? its.jitter_ms;
    return make("p", both ? `${WAYS[one.direction]}: ` : "", loss, known(jitter) ? ` · jitter ${millis(jitter)}` : "");
  });
}

function cards() {
  const made = [];
  // Where a result says little, its trust gives the reason.
  const verdicts = directions.map(one => [one.direction, one.verdict]).filter(([, verdict]) =>
    verdict && test.workload !== "request_response" && (verdict.limited_by || report.trust?.level !== "poor"));
  if (verdicts.length) {
    const worst = report.verdict?.limited_by ?? null;
    made.push(card("Limited by", moodOf(worst), ...verdicts.map(([direction, verdict]) => {
      const named = both ? `${WAYS[direction]}: ` : "", finding = verdict.evidence?.[0];
      return verdict.limited_by ? [`${named}${limitWords(verdict)}, ${verdict.confidence} confidence`, finding] :
        [`${named}unknown`, finding ?? `the ${client ? "server" : "client"}'s side is not visible`];
    })));
  }
  const load = report.latency_under_load;
  if (known(load?.idle?.p50_ms) && known(load.loaded?.p50_ms)) {
    const more = load.increase_ms ?? load.loaded.p50_ms - load.idle.p50_ms;
    const increase = more < 0.0005 ? "no increase" : `+${more.toFixed(decimals(load.loaded.p50_ms))} ms`;
    const grade = load.bufferbloat_grade;
    const mood = !grade ? "plain" : grade.startsWith("A") ? "good" : "BC".includes(grade) ? "warn" : "bad";
    made.push(card("Latency under load", mood, [grade ? `${grade}, ${increase}` : increase,
      `${millis(load.idle.p50_ms)} idle, ${millis(load.loaded.p50_ms)} under load`]));
  }
  if (requests && known(requests.rtt?.min_ms)) {
    const { min_ms, p90_ms, p99_ms, max_ms } = requests.rtt;
    const range = [[min_ms, "min"], [p90_ms, "p90"], [p99_ms, "p99"], [max_ms, "max"]].filter(([value]) => known(value));
    made.push(card("Round trip", "plain", [range.map(([value, name]) => `${digits(value)} ${name}`).join(", "),
      `in ms, of ${counted(requests.requests.responses, "request")}`]));
  }
  if (report.trust) made.push(card("Trust", { good: "good", poor: "bad" }[report.trust.level] ?? "warn",
    [report.trust.level, report.trust.reasons.join("; ")]));
  return made.length ? make("div.cards", made) : null;
}

/* Charts. */
const rows = charts.whole(report.intervals.filter(row => !row.omitted), test.interval_seconds, test.requested_seconds);
const keyOf = row => `${row.stream ?? row.id} ${row.direction}`;
const numberOf = key => Number(key.split(" ")[0]);
const grouped = new Map();
for (const row of rows) {
  if (!grouped.has(keyOf(row))) grouped.set(keyOf(row), []);
  grouped.get(keyOf(row)).push(row);
}
const keys = [...grouped.keys()].sort((a, b) => numberOf(a) - numberOf(b) || (a < b ? -1 : 1));
const ways = [...new Set(keys.map(key => key.split(" ")[1]))].sort();
const several = keys.length > 1;
const rowsOf = key => grouped.get(key);
const name = key => {
  const [id, direction] = key.split(" "), way = ways.length > 1 ? WAYS[direction] : "";
  return keys.length === ways.length && way ? way : joined([`stream ${id}`, way], " ");
};
/* A stream has one colour in all charts; directions, where only their sums are drawn, have the first ones. */
const role = key => keys.indexOf(key) + 1;
const few = keys.length <= FEW_STREAMS;

/* The rows of all streams of a direction that belong to one interval. */
const interval = test.interval_seconds ?? rows.reduce((longest, row) => Math.max(longest, row.seconds), 0);
function steps(way) {
  const found = [];
  for (const row of rows) if (row.direction === way) (found[Math.round(row.start_seconds / interval)] ??= []).push(row);
  return Object.values(found);
}
const total = (step, member) => step.reduce((sum, row) => known(row[member]) ? sum + row[member] : null, 0);
const across = (step, member) => step.map(row => row[member]).filter(known).sort((a, b) => a - b);

/* Sums of all streams of each direction. */
function sums(member, only = "sum") {
  return ways.map((way, index) => ({ name: joined([ways.length > 1 && WAYS[way], "all streams"], ", "),
    role: ways.length > 1 ? `${index + 1}` : only, shape: "stairs",
    points: steps(way).map(step => [step[0].start_seconds, step[0].end_seconds, total(step, member)]) }));
}
/* The median of many streams, and a band from the least to the largest. */
function spread(member) {
  return ways.flatMap((way, index) => {
    const found = steps(way).map(step => [step[0].end_seconds, across(step, member)]).filter(([, values]) => values.length);
    const named = ways.length > 1 ? `${WAYS[way]}, ` : "";
    return [{ name: `${named}lowest to highest stream`, role: `${index + 1}`, shape: "band",
      points: found.map(([at, values]) => [at, values[0], values[values.length - 1]]) },
    { name: `${named}median stream`, role: `${index + 1}`, shape: "line",
      points: found.map(([at, values]) => [at, values[Math.floor(values.length / 2)]]) }];
  });
}
/* A level over each interval, and a value at its end. */
function levels(value) {
  return keys.map(key => ({ name: name(key), role: role(key), shape: "stairs",
    points: rowsOf(key).map(row => [row.start_seconds, row.end_seconds, value(row)]) }));
}
function ends(member) {
  return few ? keys.map(key => ({ name: name(key), role: role(key), shape: "line",
    points: rowsOf(key).map(row => [row.end_seconds, row[member]]) })) : spread(member);
}

/* What one end counted in each interval; what the other one counted is known of the whole test. */
function throughputChart() {
  const counters = [...new Set(rows.map(row => row.counted_by))];
  const word = counters.length === 1 ? { sender: "sent", receiver: "received" }[counters[0]] : null;
  const series = few ? levels(row => row.bits_per_second) : [];
  if (!several && word) series.forEach(one => { one.name = word; });
  if (keys.length > ways.length) series.push(...sums("bits_per_second").map((one, index) => ways.length > 1 && few ?
    { ...one, role: ["sum", "quiet"][index] } : one));
  const other = { sent: ["received", "receiver"], received: ["sent", "sender"] }[word];
  const mean = other && directions.length === 1 ? directions[0][other[1]].bits_per_second : null;
  if (known(mean)) series.push({ name: `${other[0]}, whole test`, role: "quiet", shape: "level", points: [[mean, mean]] });
  return charts.chart({ title: "Throughput", kind: "rate", series });
}

/* Values of the whole test: all streams have the same in an interval. */
function wholes(...members) {
  const found = new Map();
  for (const row of rows) if (members.every(member => known(row[member]))) found.set(row.end_seconds.toFixed(3), row);
  return [...found.values()].sort((a, b) => a.end_seconds - b.end_seconds)
    .map(row => [row.end_seconds, ...members.map(member => row[member])]);
}
function latencyChart() {
  const idle = report.latency_under_load?.idle?.p50_ms;
  return charts.chart({ title: "Latency", kind: "ms", series: [
    { name: "under load, lowest to highest", role: "load", shape: "band", points: wholes("probe_min_ms", "probe_max_ms") },
    { name: "under load, mean", role: "load", shape: "line", points: wholes("probe_mean_ms") },
    { name: "idle, median", role: "quiet", shape: "level", points: known(idle) ? [[idle, idle]] : [] }] });
}
function delayChart() {
  const series = few ? keys.flatMap(key => [{ name: several ? `${name(key)}, lowest to highest` : "lowest to highest", role: role(key), shape: "band",
    points: several ? [] : rowsOf(key).map(row => [row.end_seconds, row.delay_min_ms, row.delay_max_ms]) },
  { name: several ? `${name(key)}, mean` : "mean", role: role(key), shape: "line",
    points: rowsOf(key).map(row => [row.end_seconds, row.delay_mean_ms]) }]) : spread("delay_mean_ms");
  return charts.chart({ title: requests ? "Round trip" : "One-way delay", kind: "ms", series });
}
function lossChart() {
  const share = row => known(row.lost) && known(row.packets) && row.lost + row.packets > 0 ?
    100 * Math.max(0, row.lost) / (row.lost + row.packets) : null;
  const series = few ? levels(share) : ways.map((way, index) => ({ name: `${WAYS[way]}, all streams`, role: index + 1, shape: "stairs",
    points: steps(way).map(step => [step[0].start_seconds, step[0].end_seconds,
      share({ lost: total(step, "lost"), packets: total(step, "packets") })]) }));
  return charts.chart({ title: "Loss", kind: "percent", series, none: "Loss: no datagram was lost." });
}
function retransmissionChart() {
  const series = few ? levels(row => row.retransmits) : sums("retransmits");
  return charts.chart({ title: "Retransmissions", kind: "count", series, none: "Retransmissions: none." });
}
function processorChart() {
  const own = client ? "client" : "server", peers = client ? "server" : "client";
  return charts.chart({ title: "CPU (100 % = one core)", kind: "percent", series: [["cpu_percent", own], ["peer_cpu_percent", peers]]
    .map(([member, end]) => ({ name: end, role: end, shape: "line", points: wholes(member) })) });
}
function distributionChart() {
  const SHARES = [["min_ms", 0], ["p50_ms", 50], ["p90_ms", 90], ["p95_ms", 95], ["p99_ms", 99], ["p999_ms", 99.9], ["max_ms", 100]];
  const curve = (title, its, delays) => {
    const points = SHARES.filter(([member]) => known(delays?.[member])).map(([member, share]) => [delays[member], share]);
    (delays?.quantiles_ms ?? []).forEach((delay, step, all) => known(delay) && points.push([delay, 100 * step / (all.length - 1)]));
    return { name: title, role: its, points: points.sort((a, b) => a[1] - b[1] || a[0] - b[0]) };
  };
  const load = report.latency_under_load;
  const streams = report.streams.filter(stream => keys.slice(0, FEW_STREAMS).includes(keyOf(stream)))
    .sort((a, b) => role(keyOf(a)) - role(keyOf(b)));
  const view = (title, member) => ({ name: title, curves: streams.map(stream =>
    curve(name(keyOf(stream)), role(keyOf(stream)), stream[member])) });
  const trips = requests ? [view("Round trip, ms", "rtt")] : [];
  return charts.distribution({ title: "Latency distribution", views: [...trips,
    { name: "Round trip of probes, ms", curves: load ? [curve("idle", "quiet", load.idle), curve("under load", "load", load.loaded)] : [] },
    view("One-way delay, ms", "one_way_delay"), view("One-way delay back, ms", "one_way_delay_reverse"),
    ...requests ? [] : [view("Smoothed round trip (TCP), ms", "rtt")]] });
}

/* Columns of what `pick` finds in a row: [name, member, how it is shown]. */
const columns = (pick, ...all) => all.map(([name, member, show = String]) => [name, row => cell(show, pick(row)[member])]);

/* Both ends' totals, of each stream and of all. */
function table() {
  const times = [["mean ms", "mean_ms", digits], ["min ms", "min_ms", digits]], most = ["max ms", "max_ms", digits];
  if (report.connect_times) return grid(columns(one => one, ["connections", "samples"], ["failed", "failed"], ...times, most), [report.connect_times]);
  if (requests) return grid(columns(({ requests, rtt }) => ({ ...rtt, ...requests }), ["round trips", "responses"], ["median ms", "p50_ms", digits], ...times,
    ["p90 ms", "p90_ms", digits], ["p99 ms", "p99_ms", digits], most, ["retrans", "retransmits"]), report.streams.filter(stream => stream.requests));
  const ends = (title, one) => [[title, "sent", one.sender], [title, "received", one.receiver]].filter(([, , end]) => known(end.bytes));
  const each = [...report.streams].sort((a, b) => a.id - b.id)
    .flatMap(one => ends(joined([`stream ${one.id}`, both && WAYS[one.direction]], " "), one));
  const all = directions.filter(one => one.stream_count > 1).flatMap(one => ends(both ? `all ${WAYS[one.direction]}` : "sum", one));
  const lines = [...each, ...all];
  if (!lines.length) return null;
  const top = member => lines.reduce((most, [, , end]) => Math.max(most, end[member] ?? 0), 0);
  const rates = unit("rate", top("bits_per_second")), sizes = unit("size", top("bytes"));
  const shown = [["stream", ([title]) => title], ["", ([, counter]) => counter], ...columns(([, , end]) => ({ ...end, jitter: end.jitter_mean_ms ?? end.jitter_ms, reordered: end.reordered || null, send_errors: end.send_errors || null }),
    ["seconds", "seconds", value => value.toFixed(2)], [rates.label, "bits_per_second", rates.bare], [sizes.label, "bytes", sizes.bare], ["retrans", "retransmits"], ["datagrams", "packets"],
    ["lost", "lost"], ["loss %", "lost_percent", digits], ["jitter ms", "jitter", digits], ["reordered", "reordered"], ["errors", "send_errors"], ["CPU %", "cpu_percent", digits])];
  if (report.streams.length <= FEW_STREAMS) return grid(shown, lines);
  return make("div", grid(shown, all), fold(`All ${report.streams.length} streams`, "", grid(shown, each)));
}

const found = headlines();
const curves = [...new Set(rows.map(row => row.end_seconds))].length > 1;
const drawn = !found.length ? [] : !curves ? [distributionChart()].filter(Boolean) : [requests ? delayChart() : throughputChart(), latencyChart(), retransmissionChart(), lossChart(),
  charts.chart({ title: "Congestion window", kind: "size", series: ends("cwnd_bytes") }), processorChart(),
  charts.chart({ title: "Smoothed round trip (TCP)", kind: "ms", series: ends("rtt_ms") }), requests ? null : delayChart(),
  charts.chart({ title: "Jitter", kind: "ms", series: ends("jitter_ms") }), distributionChart()].filter(Boolean);
const pictures = drawn.filter(one => one.tagName === "FIGURE"), sentences = drawn.filter(one => one.tagName !== "FIGURE");
const nodes = [found.length ? losses() : null, found.length || !report.error || report.warnings.some(one => one.text === report.error.text) ? null :
  notes([{ severity: "error", ...report.error }]), found.length ? cards() : null,
  pictures.length ? make("div.charts", pictures) : null, sentences, found.length ? table() : null, notes(report.warnings)];
return { headlines: found, setup: setup(), started: test.started, who, nodes, limit: report.verdict,
  trust: report.trust };
}

/* A time by the reader's clock: `22 Nov 2026, 12:40:20 UTC`. */
function time(started) {
  const at = new Date(started ?? NaN);
  if (Number.isNaN(at.getTime())) return null;
  const shown = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit",
    second: "2-digit", timeZoneName: "short" }).format(at);
  return make("time", { datetime: started }, shown);
}

return { shown, time, card, notes, grid, cell, counted, joined, seconds, WAYS, PROGRAMS, limits: LIMITS, limitWords, moodOf };
})();
