"use strict";
/* Several tests in one document: the runs of a series, the flows of a test. This file needs `documents.js`; what its
   functions return is as `documents.shown` has it. */
const several = (() => {
const { make, fold, known, digits, decimals, unit, rate, millis, percent } = charts;
const { card, notes, grid, cell, counted, joined, seconds, WAYS, limitWords, moodOf } = documents;
const LEVELS = ["good", "host-limited", "partial", "poor"];

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
  const shown = runs.map(documents.shown), counts = run => !excluded.has(run + 1);

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
        [`${limitWords(ordered[0][0])}, ${least} confidence`, joined([`in ${ordered[0].length} of ${counted(its.length, "run")}`, others], ", ")]));
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
    return made.length ? make("div.cards", made) : null;
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
  const unfold = shown.map((its, run) => fold([`Run ${run + 1}: `,
    its.headlines.map(one => one.number).join(", ") || "no result", excluded.has(run + 1) ? `, excluded: ${excluded.get(run + 1)}` : ""], "", its.nodes));
  const rows = shown.map((its, run) => ({ its, run }));
  return { headlines, setup: joined([first?.setup, counted(series.runs, "run")]), started: first?.started, who,
    nodes: [cards(), pictures.length ? make("div.charts", pictures) : null, ...sentences,
      series.quantities.length ? means : null, rows.length ? grid(columns, rows) : null, notes(warnings), ...unfold].filter(Boolean) };
}

/* Different flows in one test: what all carried, a row for each, and each flow to unfold. */
function flows({ flows, directions, latency_under_load: load, seconds: length, host }) {
  const way = direction => WAYS[direction] || "requests";
  const shown = flows.map(flow => ({ flow, its: documents.shown(flow.report) }));
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
  const latency = known(load?.idle?.p50_ms) && known(load.loaded?.p50_ms) ? make("div.cards", card("Latency under load", "plain",
    [load.bufferbloat_grade ?? millis(load.loaded.p50_ms), `${millis(load.idle.p50_ms)} idle, ${millis(load.loaded.p50_ms)} under load`])) : null;
  const unfold = shown.map(({ flow, its }) => fold([`Flow ${title(flow)}: `,
    its.headlines.map(one => one.number).join(", ") || "no result"], "", its.nodes));
  return { headlines, who, started: shown.map(({ its }) => its.started).filter(known).sort()[0],
    setup: joined([counted(flows.length, "flow"), known(length) && seconds(length)]),
    nodes: [latency, chart?.tagName === "FIGURE" ? make("div.charts", chart) : null, lines.length ? table : null, ...unfold].filter(Boolean) };
}

return { series, flows };
})();
