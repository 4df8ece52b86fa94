"use strict";
/* Two sets of runs in words, a table and charts. This file needs `charts.js` and `documents.js`.

   comparisons.shown     what a page shows of a comparison; the courses in time stand in the element that it is given
   comparisons.courses   the rates of both sides' runs on one axis: of each side the reports
   comparisons.quantity, number, kindOf   a quantity's name, its number as text, its kind of chart */
const comparisons = (() => {
const { make, known, digits } = charts, { counted } = documents;
const NAMES = { rate: "Throughput", sent_rate: "Sent", trips_per_second: "Round trips per second", connects_per_second: "Connections per second", rtt: "Round trip", rtt_p95: "Round trip, 95 % below",
  rtt_p99: "Round trip, 99 % below", loaded_rtt: "Round trip under load", latency_increase: "Latency increase", one_way_delay: "One-way delay", jitter: "Jitter", lost_percent: "Loss",
  lost_network_percent: "Loss in the network", reordered_percent: "Reordered", retransmits_per_gigabyte: "Retransmissions per GB", longest_outage: "Longest outage", connect_time: "Time to connect",
  sender_cpu_per_gigabyte: "Sender's CPU per GB", receiver_cpu_per_gigabyte: "Receiver's CPU per GB" };
const WAYS_OF = { forward: "to server", reverse: "from server", round_trip: "of requests" };
const signed = (value, unit) => value === 0 ? `0 ${unit}` : `${value > 0 ? "+" : "−"}${digits(Math.abs(value))} ${unit}`;
const unitOf = one => one.compared_as === "ratio" ? "%" : one.unit;
const KINDS = { "bit/s": "rate", ms: "ms", "%": "percent" };
const plain = value => `${Number(value.toFixed(1))}`;
const kindOf = quantity => KINDS[quantity?.unit] ?? "number";
const least = values => values.reduce((low, value) => Math.min(low, value)), most = values => values.reduce((high, value) => Math.max(high, value));

function quantity(key, info) {
  const [name, way] = key.split(":");
  return `${NAMES[name] ?? info?.title ?? name}${way ? ` ${WAYS_OF[way] ?? way}` : ""}`;
}
function number(info, value) {
  if (!known(value)) return "–";
  const { bare, label } = charts.unit(kindOf(info), value);
  return `${bare(value)} ${label || (info?.unit ?? "")}`.trim();
}
const title = one => quantity(one.direction && one.direction !== "forward" ? `${one.quantity}:${one.direction}` : one.quantity);

const interval = one => known(one.change_lower) && known(one.change_upper);
const signedOf = (one, value) => signed(value, unitOf(one));
const between = (one, and) => `${signedOf(one, one.change_lower)} ${and} ${signedOf(one, one.change_upper)}`;
const COLUMNS = [["", title], ["A", one => number(one, one.a.median)], ["B", one => number(one, one.b.median)],
  ["change", one => known(one.change) ? signedOf(one, one.change) : "-"], ["95 % confidence", one => interval(one) ? between(one, "to") : "-"],
  ["chance that B is better", one => one.pairs ? `${plain(one.better_pairs)} of ${one.pairs}` : "-"], ["verdict", one => one.verdict]];

function verdict(one, confidence) {
  const sure = interval(one) ? ` (${confidence} % confidence: ${between(one, "to")})` : "";
  const change = one.change === 0 ? "No change" : `${digits(Math.abs(one.change))} ${unitOf(one)} ${one.change > 0 ? "higher" : "lower"} than A`;
  return `${quantity(one.quantity)} of B: ${one.verdict}.${known(one.change) ? ` ${change}${sure}.` : ""}`;
}
function side(name, one) {
  return make("p", make("b", { class: `side-${name}` }, `${name.toUpperCase()} `),
    [one.name, `${counted(one.runs, "run")}${one.left_out ? `, ${one.left_out} left out` : ""}`, ...one.test].join(" · "));
}

/* The runs of both sides on one axis, and the interval of the change below. */
function strip(one) {
  const all = [...one.a.values, ...one.b.values].filter(known);
  if (!all.length) return null;
  const WIDTH = 500, LEFT = 26, RIGHT = 12, AXIS = 76;
  const unit = charts.unit(kindOf(one), most(all.map(Math.abs))), label = unit.label || one.unit;
  let low = least(all) / unit.factor, high = most(all) / unit.factor;
  if (low === high) { low -= Math.abs(low) / 20 || 1; high += Math.abs(high) / 20 || 1; }
  const room = (high - low) * 0.06, at = value => LEFT + 8 + (value / unit.factor - low + room) / (high - low + 2 * room) * (WIDTH - LEFT - RIGHT - 8);
  const svg = make("svg", { viewBox: `0 0 ${WIDTH} 118`, role: "img", tabindex: "0", "aria-label": `${title(one)}: ${one.verdict}` });
  for (const [value, text] of charts.ticks(low - room, high + room)) {
    const x = at(value * unit.factor);
    svg.append(make("line.grid", { x1: x, x2: x, y1: 8, y2: AXIS }), make("text.x", { x, y: AXIS + 16, "text-anchor": "middle" }, text));
  }
  svg.append(make("text", { x: WIDTH / 2, y: AXIS + 37, "text-anchor": "middle" }, label));
  for (const [name, its, y, role] of [["A", one.a, 24, "1"], ["B", one.b, 56, "2"]]) {
    svg.append(make("g", { class: `r-${role}` }, make("text", { x: 4, y: y + 5 }, name),
      its.values.filter(known).map((value, index) => make("circle.dot", { "fill-opacity": "0.55", cx: at(value), cy: y + (index % 3 - 1) * 4, r: 4 }, make("title", `${name}: ${unit.bare(value)} ${label}`))),
      known(its.median) ? make("path.stroke", { d: `M${at(its.median)} ${y - 13}V${y + 13}` }) : null));
  }
  return make("figure.chart.strip", make("h2", title(one), " ", make("small", one.verdict)), svg, change(one) ?? "");
}

/* The change with its interval, beside what is of no interest. */
function change(one) {
  if (!known(one.change)) return null;
  const sure = interval(one), text = make("p.change", `Change ${signedOf(one, one.change)}${sure ? `, between ${between(one, "and")}` : ""}`);
  if (!sure) return text;
  const WIDTH = 500, MIDDLE = 250, far = most([one.change_lower, one.change_upper, one.change].map(Math.abs)) * 1.1 || 1;
  const at = value => MIDDLE + value / far * (MIDDLE - 12), significant = ["surely", "likely", "little"].includes(one.significance);
  const mood = !significant || one.b_is_better === null ? "quiet" : one.b_is_better ? "good" : "bad";
  return make("div", text, make("svg.bar", { viewBox: `0 0 ${WIDTH} 24`, "aria-hidden": "true" },
    make("line.grid", { x1: 12, x2: WIDTH - 12, y1: 12, y2: 12 }), make("line.zero-line", { x1: MIDDLE, x2: MIDDLE, y1: 2, y2: 22 }),
    make("g", { class: `r-${mood}` }, make("path.stroke.thick", { d: `M${at(one.change_lower)} 12H${at(one.change_upper)}` }),
      make("circle.dot", { cx: at(one.change), cy: 12, r: 5 }))));
}

/* The rates of a run, all streams together. */
function course({ intervals, test }) {
  const rows = charts.whole(intervals.filter(row => !row.omitted), test.interval_seconds, test.requested_seconds), sums = new Map();
  const step = test.interval_seconds ?? most(rows.map(row => row.seconds));
  for (const row of rows) {
    const key = Math.round(row.start_seconds / step), [from, to, sum] = sums.get(key) ?? [row.start_seconds, row.end_seconds, 0];
    sums.set(key, [Math.min(from, row.start_seconds), Math.max(to, row.end_seconds), sum + (row.bits_per_second ?? 0)]);
  }
  return [...sums.values()].sort((a, b) => a[0] - b[0]).map(([from, to, sum]) => [(from + to) / 2, sum]);
}
function mean(all) {
  const of = (points, place) => points.reduce((sum, point) => sum + point[place], 0) / points.length;
  return Array.from({ length: most(all.map(one => one.length)) }, (_, index) => all.map(one => one[index]).filter(Boolean))
    .filter(points => points.length * 2 > all.length).map(points => [of(points, 0), of(points, 1)]);
}
/* A figure, or nothing where no run has rates in time. */
function courses(a, b) {
  const series = [["A", "1", a], ["B", "2", b]].flatMap(([name, role, reports]) => {
    const all = reports.filter(report => report?.intervals?.length > 1).map(course).filter(points => points.length > 1);
    if (!all.length) return [];
    const each = all.length > 1 ? all.map(points => ({ name: `a run of ${name}`, role, shape: "line", faint: true, points })) : [];
    return [...each, { name: each.length ? `${name}, mean of ${all.length} runs` : name, role, shape: "line", points: mean(all) }];
  });
  return series.length ? charts.chart({ title: NAMES.rate, kind: "rate", series, x: { name: "seconds", from: 0 } }) : null;
}

function shown({ a, b, quantities, differs, notes, confidence_percent }, place) {
  const main = quantities.find(one => one.main) ?? quantities[0];
  const mood = !main || main.significance === "unclear" || main.b_is_better === null ? "plain" : main.b_is_better ? "good" : "bad";
  const unlike = differs.map(one => make("li", { class: one.of_the_test ? "warning" : "note" }, `${one.what} differs: ${one.a.join(", ") || "none"} (A), ${one.b.join(", ") || "none"} (B)`));
  const remarks = notes.map(text => make("li.note", text));
  return [make("div", { class: `card verdict ${mood}` }, make("p.value", main ? verdict(main, confidence_percent) : "The runs have no quantity in common."), side("a", a), side("b", b)),
    ...(unlike.length || remarks.length ? [make("ul.warnings", unlike, remarks)] : []),
    documents.grid(COLUMNS, quantities), place, make("h2", "Each run"), make("div.charts", quantities.map(strip).filter(Boolean))];
}

return { shown, courses, quantity, number, kindOf, plain };
})();
