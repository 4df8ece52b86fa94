/* One quantity of many runs, with what limited each by colour and form. */
import { words } from "./words.js";

const KINDS = { "bit/s": "rate", ms: "ms", "%": "percent" };
/* The groups of verdicts: [id, role, shape]. */
const GROUPS = [["network", "good", "dots"], ["asked", "1", "dots"], ["host", "warn", "rings"], ["unknown", "quiet", "dots"], ["left_out", "bad", "rings"]];

export function groupOf(run) {
  if (run.left_out || run.error) return "left_out";
  if (!run.limited_by) return "unknown";
  const mood = documents.moodOf(run.limited_by);
  return mood === "good" ? "network" : mood === "warn" ? "host" : "asked";
}

/* Numbers of a quantity as text. */
export function shown(quantity, value) {
  if (!charts.known(value)) return "–";
  const { bare, label } = charts.unit(kindOf(quantity), value);
  return `${bare(value)} ${label || (quantity?.unit ?? "")}`.trim();
}
export const kindOf = quantity => KINDS[quantity?.unit] ?? "number";

export const numberOf = run => Number(run.run.slice(1));

export function trend(runs, key, quantity) {
  const known = runs.filter(run => charts.known(run.quantities[key]));
  if (!known.length) return null;
  const kind = kindOf(quantity), at = known.map(numberOf);
  const low = at.reduce((least, one) => Math.min(least, one)), high = at.reduce((most, one) => Math.max(most, one));
  return charts.chart({ title: kind === "number" ? `${words.quantity(key, quantity)}, ${quantity.unit}` : words.quantity(key, quantity), kind,
    x: { name: words.runNumber, whole: true, from: low - 0.5, to: high + 0.5 }, none: words.allZero(words.quantity(key, quantity)),
    series: GROUPS.map(([id, role, shape]) => ({ name: words.groups[id], role, shape,
      points: known.filter(run => groupOf(run) === id).sort((a, b) => numberOf(a) - numberOf(b)).map(run => [numberOf(run), run.quantities[key], run.run]) })) });
}
