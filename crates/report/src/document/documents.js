"use strict";
/* A document of a test or of several runs in words, cards, charts and tables. This file needs `charts.js`, and the
   words of limits as the JSON of the page's element `limits`.

   documents.shown   what a page shows of a document: {headlines, setup, started, who, nodes}
   documents.time, card, notes, grid   its parts: a time, a card, warnings, a table
   documents.limits  limits in words, by their names in documents */
const documents = (() => {
const { element, known, digits, decimals, unit, rate, size, millis, percent } = charts;
const LIMITS = JSON.parse(document.getElementById("limits").textContent);
/* Above, a chart shows the median of all streams and their extremes, and the table their sum. */
const FEW_STREAMS = 8;
const PROGRAMS = { iperf2: "iperf 2", iperf3: "iperf3" };
const WAYS = { forward: "to server", reverse: "from server", round_trip: "" };
const LEVELS = ["good", "host-limited", "partial", "poor"];
const seconds = value => `${digits(value)} s`;
const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
const cell = (show, value) => known(value) ? show(value) : "-";

/* A card: what it is about, its answer, and the reason; `mood` colours what the words say. */
function card(label, mood, ...lines) {
  return element("section", { class: `card ${mood}` }, element("h2", {}, label),
    lines.map(([value, reason]) => [element("p", { class: "value" }, value), reason && element("p", { class: "faint" }, reason)]));
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
  return warnings.length ? element("ul", { class: "warnings" }, warnings.map(one => element("li", { class: one.severity },
    `${one.severity}: ${one.text} `, element("code", {}, `[${one.id}]`)))) : null;
}

/* A row for each of `rows`; columns: [name, cell of a row], those without any value left out. */
function grid(columns, rows) {
  const filled = columns.map(([name, show]) => [name, rows.map(show)]).filter(([, cells]) => cells.some(text => text !== "-"));
  return element("div", { class: "scroll", tabindex: "0" }, element("table", {},
    element("thead", {}, element("tr", {}, filled.map(([name]) => element("th", { scope: "col" }, name)))),
    element("tbody", {}, rows.map((_, row) => element("tr", {}, filled.map(([, cells], column) =>
      element(column ? "td" : "th", column ? {} : { scope: "row" }, cells[row])))))));
}

/* What a page shows of one test. */
function content(report) {
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
  return [`${transport} ${work ?? way ?? ""}${work || way ? named : ""}`.trim(),
    known(test.streams) && counted(test.streams, "stream"),
    known(test.requested_seconds) ? `${test.requested_seconds} s` : known(test.requested_bytes) && size(test.requested_bytes),
    known(test.requested_bits_per_second) && `at ${rate(test.requested_bits_per_second)}${test.streams > 1 ? " each" : ""}`,
    udp && known(test.length_bytes) && `${test.length_bytes}-byte datagrams`,
    test.transport === "tcp" && test.congestion_control,
    program && `${client ? "server" : "client"} ${program} ${peer.version ?? ""}`.trim()].filter(Boolean).join(" · ");
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
    return element("p", {}, both ? `${WAYS[one.direction]}: ` : "", loss, known(jitter) ? ` · jitter ${millis(jitter)}` : "");
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
  return made.length ? element("div", { class: "cards" }, made) : null;
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
  return keys.length === ways.length && way ? way : [`stream ${id}`, way].filter(Boolean).join(" ");
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
  return ways.map((way, index) => ({ name: [ways.length > 1 && WAYS[way], "all streams"].filter(Boolean).join(", "),
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

/* Both ends' totals, of each stream and of all. */
function table() {
  if (report.connect_times) {
    const its = report.connect_times;
    return grid([["connections", one => cell(String, one.samples)], ["failed", one => cell(String, one.failed)], ["mean ms", one => cell(digits, one.mean_ms)],
      ["min ms", one => cell(digits, one.min_ms)], ["max ms", one => cell(digits, one.max_ms)]], [its]);
  }
  if (requests) return grid([["round trips", one => cell(String, one.requests.responses)], ["median ms", one => cell(digits, one.rtt?.p50_ms)],
    ["mean ms", one => cell(digits, one.rtt?.mean_ms)], ["min ms", one => cell(digits, one.rtt?.min_ms)], ["p90 ms", one => cell(digits, one.rtt?.p90_ms)],
    ["p99 ms", one => cell(digits, one.rtt?.p99_ms)], ["max ms", one => cell(digits, one.rtt?.max_ms)],
    ["retrans", one => cell(String, one.requests.retransmits)]], report.streams.filter(stream => stream.requests));
  const ends = (title, one) => [[title, "sent", one.sender], [title, "received", one.receiver]].filter(([, , end]) => known(end.bytes));
  const each = [...report.streams].sort((a, b) => a.id - b.id)
    .flatMap(one => ends([`stream ${one.id}`, both && WAYS[one.direction]].filter(Boolean).join(" "), one));
  const all = directions.filter(one => one.stream_count > 1).flatMap(one => ends(both ? `all ${WAYS[one.direction]}` : "sum", one));
  const lines = [...each, ...all];
  if (!lines.length) return null;
  const most = member => lines.reduce((top, [, , end]) => Math.max(top, end[member] ?? 0), 0);
  const rates = unit("rate", most("bits_per_second")), sizes = unit("size", most("bytes"));
  const columns = [["stream", ([title]) => title], ["", ([, counter]) => counter],
    ["seconds", ([, , end]) => cell(value => value.toFixed(2), end.seconds)],
    [rates.label, ([, , end]) => cell(rates.bare, end.bits_per_second)], [sizes.label, ([, , end]) => cell(sizes.bare, end.bytes)],
    ["retrans", ([, , end]) => cell(String, end.retransmits)], ["datagrams", ([, , end]) => cell(String, end.packets)],
    ["lost", ([, , end]) => cell(String, end.lost)], ["loss %", ([, , end]) => cell(digits, end.lost_percent)],
    ["jitter ms", ([, , end]) => cell(digits, end.jitter_mean_ms ?? end.jitter_ms)],
    ["reordered", ([, , end]) => end.reordered ? `${end.reordered}` : "-"], ["errors", ([, , end]) => end.send_errors ? `${end.send_errors}` : "-"],
    ["CPU %", ([, , end]) => cell(digits, end.cpu_percent)]];
  if (report.streams.length <= FEW_STREAMS) return grid(columns, lines);
  return element("div", {}, grid(columns, all), element("details", {},
    element("summary", {}, `All ${report.streams.length} streams`), grid(columns, each)));
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
  pictures.length ? element("div", { class: "charts" }, pictures) : null, sentences, found.length ? table() : null, notes(report.warnings)];
return { headlines: found, setup: setup(), started: test.started, who, nodes: nodes.flat().filter(Boolean), limit: report.verdict,
  trust: report.trust };
}

/* Several runs: their means, the values of each run, and each run to unfold. */
function series({ series, runs, warnings }) {
  const NAMES = { bits_per_second: ["Throughput", "rate"], lost_percent: ["Loss", "percent"], jitter_ms: ["Jitter", "ms"],
    retransmits: ["Retransmissions", "count"], rtt_mean_ms: ["Round trip", "ms"], one_way_delay_mean_ms: ["One-way delay", "ms"],
    connect_mean_ms: ["Time to connect", "ms"] };
  const REASONS = { warm_up: "warm-up" };
  const both = new Set(series.quantities.filter(one => one.quantity === "bits_per_second").map(one => one.direction)).size > 1;
  const title = one => `${NAMES[one.quantity]?.[0] ?? one.quantity}${both && WAYS[one.direction] ? ` ${WAYS[one.direction]}` : ""}`;
  const kind = one => NAMES[one.quantity]?.[1] ?? "count";
  const isMain = one => ["bits_per_second", "connect_mean_ms"].includes(one.quantity) || one.quantity === "rtt_mean_ms" && one.direction === "round_trip";
  const excluded = new Map(series.excluded.map(one => [one.run, REASONS[one.reason] ?? one.reason]));
  const shown = runs.map(content), counts = run => !excluded.has(run + 1);

  /* `941 ± 5 Mbit/s`: as many decimals as the mean's digits or the first digit of the interval need. */
  function interval(one, bare) {
    if (!known(one.mean)) return "-";
    const scale = kind(one) === "count" ? { factor: 1, label: "" } : unit(kind(one), one.mean);
    const mean = one.mean / scale.factor, half = known(one.ci_upper) ? (one.ci_upper - one.ci_lower) / 2 / scale.factor : null;
    const needed = half > 0 ? Math.min(6, -Math.floor(Math.log10(half))) : 0;
    const places = Math.max(0, mean === 0 ? 0 : kind(one) === "count" ? 1 : decimals(mean), half === null ? 0 : needed);
    const number = half === null ? mean.toFixed(places) : `${mean.toFixed(places)} ± ${half > 0 ? half.toFixed(places) : "0"}`;
    return bare || !scale.label ? number : `${number} ${scale.label}`;
  }
  /* Only a delay by two clocks may be below 0, by their error. */
  const least = one => one.quantity === "one_way_delay_mean_ms" ? one.ci_lower : Math.max(0, one.ci_lower);
  const drawn = series.quantities.map(one => {
    const values = one.values.map((value, run) => [run + 1, value]), its = charts.chart({ title: title(one), kind: kind(one),
      x: { name: "run", whole: true, from: 0.5, to: runs.length + 0.5 }, none: `${title(one)}: 0 in each run.`,
      series: [{ name: "run", role: "1", shape: "dots", points: values.filter(([run]) => !excluded.has(run)) },
        { name: "excluded run", role: "2", shape: "rings", points: values.filter(([run]) => excluded.has(run)) },
        { name: `${series.confidence_percent} % confidence interval`, role: "quiet", shape: "level",
          points: one.ci_upper > one.ci_lower ? [[least(one), one.ci_upper]] : [] },
        { name: "mean", role: "sum", shape: "level", points: known(one.mean) ? [[one.mean, one.mean]] : [] }] });
    return its;
  }).filter(Boolean);
  const pictures = drawn.filter(one => one.tagName === "FIGURE"), sentences = drawn.filter(one => one.tagName !== "FIGURE");
  const mains = series.quantities.filter(one => isMain(one) && known(one.mean));
  const first = shown[0], who = first?.who ?? "the server";
  const headlines = mains.map(one => {
    const rated = one.quantity === "bits_per_second", to = one.direction === "reverse" ? "from" : "to";
    const words = rated ? `${to} ${who}` : one.quantity === "connect_mean_ms" ? `to connect to ${who}` : `round trip to ${who}`;
    return { number: interval(one), words: `${words}, mean of ${counted(one.runs, "run")}`, title: `${interval(one)} ${words}` };
  });

  function cards() {
    const made = [], its = shown.filter((_, run) => counts(run)), limits = new Map();
    for (const { limit } of its) if (limit?.limited_by) limits.set(limit.limited_by, [...(limits.get(limit.limited_by) ?? []), limit]);
    const ordered = [...limits.values()].sort((a, b) => b.length - a.length);
    if (ordered.length) {
      const least = ["low", "medium", "high"].find(word => ordered[0].some(limit => limit.confidence === word)) ?? "low";
      const others = ordered.slice(1).map(one => `${limitWords(one[0])} in ${one.length}`).join(", ");
      made.push(card("Limited by", moodOf(ordered[0][0].limited_by),
        [`${limitWords(ordered[0][0])}, ${least} confidence`, [`in ${ordered[0].length} of ${counted(its.length, "run")}`, others].filter(Boolean).join(", ")]));
    }
    const main = mains[0];
    if (main && known(main.deviation) && main.mean > 0) {
      const scale = unit(kind(main), main.mean), share = value => value < 10 ? `${value.toFixed(2)} %` : percent(value);
      made.push(card("Spread", "plain", [`${share(100 * main.deviation / main.mean)} standard deviation`,
        `${scale.bare(main.min)} to ${scale.bare(main.max)} ${scale.label}`]));
    }
    const levels = its.map(one => one.trust).filter(Boolean).sort((a, b) => LEVELS.indexOf(b.level) - LEVELS.indexOf(a.level));
    const part = series.interrupted || its.length < 2, worst = levels[0]?.level ?? (mains.length ? "good" : null);
    if (worst) {
      const level = part && LEVELS.indexOf(worst) < LEVELS.indexOf("partial") ? "partial" : worst;
      const reasons = [series.interrupted && `interrupted after ${series.runs} of ${series.max_runs} runs`,
        worst !== "good" && levels[0]?.reasons[0], `${its.length} of ${counted(series.runs, "run")} count`];
      made.push(card("Trust", { good: "good", poor: "bad" }[level] ?? "warn", [level, reasons.filter(Boolean).join("; ")]));
    }
    return made.length ? element("div", { class: "cards" }, made) : null;
  }

  const scales = series.quantities.map(one => unit(kind(one), one.values.filter(known).reduce((top, value) => Math.max(top, value), 0)));
  const columns = [["run", ({ run }) => `${run + 1}`],
    ...series.quantities.map((one, index) => [`${title(one)}${scales[index].label ? `, ${scales[index].label}` : ""}`,
      ({ run }) => cell(kind(one) === "count" ? value => value.toFixed(0) : value => digits(Math.max(0, value) / scales[index].factor), one.values[run])]),
    ["limited by", ({ its }) => its.limit?.limited_by ? limitWords(its.limit) : "-"],
    ["trust", ({ its }) => its.trust?.level ?? "-"], ["excluded", ({ run }) => excluded.get(run + 1) ?? "-"]];
  const means = grid([["mean", title], ["", one => interval(one)], ["runs", one => `${one.runs}`],
    ["least", one => known(one.min) ? unit(kind(one), one.mean).bare(Math.max(0, one.min)) : "-"],
    ["largest", one => known(one.max) ? unit(kind(one), one.mean).bare(one.max) : "-"]], series.quantities);
  const unfold = shown.map((its, run) => element("details", {}, element("summary", {}, `Run ${run + 1}: `,
    its.headlines.map(one => one.number).join(", ") || "no result", excluded.has(run + 1) ? `, excluded: ${excluded.get(run + 1)}` : ""), ...its.nodes));
  const rows = shown.map((its, run) => ({ its, run }));
  return { headlines, setup: [first?.setup, counted(series.runs, "run")].filter(Boolean).join(" · "), started: first?.started, who,
    nodes: [cards(), pictures.length ? element("div", { class: "charts" }, pictures) : null, ...sentences,
      series.quantities.length ? means : null, rows.length ? grid(columns, rows) : null, notes(warnings), ...unfold].filter(Boolean) };
}

/* Different flows in one test: what all carried, a row for each, and each flow to unfold. */
function flows({ flows, directions, latency_under_load: load, seconds: length, host }) {
  const way = direction => WAYS[direction] || "requests";
  const shown = flows.map(flow => ({ flow, its: content(flow.report) }));
  const who = shown[0]?.its.who ?? host;
  const title = flow => [flow.flow, flow.name].filter(known).join(" ");
  const headlines = directions.filter(one => known(one.bits_per_second)).map(one => ({ number: rate(one.bits_per_second),
    words: `${way(one.direction)}, ${counted(one.flows, "flow")}${one.received ? "" : " (sender's count)"}`,
    title: `${rate(one.bits_per_second)} ${way(one.direction)}` }));
  const lines = shown.flatMap(({ flow, its }) => flow.report.sum.directions.map(sum => ({ flow, its, sum,
    end: known(sum.receiver.bytes) ? sum.receiver : sum.sender })));
  const series = lines.filter(({ sum }) => sum.direction !== "round_trip").map(({ flow, sum }, index) => {
    const sums = new Map();
    for (const row of flow.report.intervals) {
      if (row.direction !== sum.direction || row.omitted) continue;
      const key = Math.round(row.start_seconds * 100), [from, to, bits] = sums.get(key) ?? [row.start_seconds, row.end_seconds, 0];
      sums.set(key, [from, Math.max(to, row.end_seconds), bits + (row.bits_per_second ?? 0)]);
    }
    return { name: `${title(flow)} ${way(sum.direction)}`, role: `${index % 8 + 1}`, shape: "stairs",
      points: [...sums.values()].map(([from, to, bits]) => [from + flow.start_seconds, to + flow.start_seconds, bits]) };
  });
  const chart = charts.chart({ title: "Throughput of each flow", kind: "rate", series });
  const rates = unit("rate", lines.reduce((top, { end }) => Math.max(top, end.bits_per_second ?? 0), 0));
  const table = grid([["flow", ({ flow }) => title(flow)], ["", ({ flow, sum }) => `${(flow.report.test.transport ?? "").toUpperCase()} ${way(sum.direction)}`],
    ["start s", ({ flow }) => `${flow.start_seconds}`], ["DSCP", ({ flow }) => `${flow.dscp}`], [rates.label, ({ end }) => cell(rates.bare, end.bits_per_second)],
    ["lost %", ({ sum }) => cell(digits, sum.receiver.lost_percent)], ["retrans", ({ sum }) => cell(String, sum.sender.retransmits)],
    ["limited by", ({ sum }) => sum.verdict?.limited_by ? `${limitWords(sum.verdict)} (${sum.verdict.confidence})` : "-"],
    ["trust", ({ its }) => its.trust?.level ?? "-"], ["options", ({ flow }) => flow.options]], lines);
  const latency = known(load?.idle?.p50_ms) && known(load.loaded?.p50_ms) ? element("div", { class: "cards" }, card("Latency under load", "plain",
    [load.bufferbloat_grade ?? millis(load.loaded.p50_ms), `${millis(load.idle.p50_ms)} idle, ${millis(load.loaded.p50_ms)} under load`])) : null;
  const unfold = shown.map(({ flow, its }) => element("details", {}, element("summary", {}, `Flow ${title(flow)}: `,
    its.headlines.map(one => one.number).join(", ") || "no result"), ...its.nodes));
  return { headlines, who, started: shown.map(({ its }) => its.started).filter(known).sort()[0],
    setup: [counted(flows.length, "flow"), known(length) && seconds(length)].filter(Boolean).join(" · "),
    nodes: [latency, chart?.tagName === "FIGURE" ? element("div", { class: "charts" }, chart) : null, lines.length ? table : null, ...unfold].filter(Boolean) };
}

/* A time by the reader's clock: `22 Nov 2026, 12:40:20 UTC`. */
function time(started) {
  const at = new Date(started ?? NaN);
  if (Number.isNaN(at.getTime())) return null;
  const shown = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit",
    second: "2-digit", timeZoneName: "short" }).format(at);
  return element("time", { datetime: started }, shown);
}

function shown(told) {
  return told.flows ? flows(told) : told.series ? series(told) : content(told);
}

return { shown, time, card, notes, grid, limits: LIMITS, moodOf };
})();
