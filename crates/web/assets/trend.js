/* One quantity of many runs, with what limited each by colour and form. */

/* The groups of verdicts: [id, role, shape]. */
const GROUPS = [["network", "good", "dots"], ["asked", "1", "dots"], ["host", "warn", "rings"], ["unknown", "quiet", "dots"], ["left_out", "bad", "rings"]];

export function groupOf(run) {
  if (run.left_out || run.error) return "left_out";
  if (!run.limited_by) return "unknown";
  const mood = documents.moodOf(run.limited_by);
  return mood === "good" ? "network" : mood === "warn" ? "host" : "asked";
}

export const numberOf = run => Number(run.run.slice(1));

export function trend(runs, key, quantity) {
  const known = runs.filter(run => charts.known(run.quantities[key]));
  if (!known.length) return null;
  const kind = comparisons.kindOf(quantity), at = known.map(numberOf);
  const low = at.reduce((least, one) => Math.min(least, one)), high = at.reduce((most, one) => Math.max(most, one));
  const name = comparisons.quantity(key, quantity);
  return charts.chart({ title: kind === "number" ? `${name}, ${quantity.unit}` : name, kind,
    x: { name: words.runNumber, whole: true, from: low - 0.5, to: high + 0.5 }, none: words.allZero(name),
    series: GROUPS.map(([id, role, shape]) => ({ name: words.groups[id], role, shape,
      points: known.filter(run => groupOf(run) === id).sort((a, b) => numberOf(a) - numberOf(b)).map(run => [numberOf(run), run.quantities[key], run.run]) })) });
}
