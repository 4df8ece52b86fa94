"use strict";
/* Charts of measurements, and the numbers of text. This file needs `charts.css` alone.

   charts.chart      values over time or over runs
   charts.distribution  which share of the samples is below a delay
   charts.update     shows new values in the place of a chart
   charts.thin       fewer points of a curve
   charts.digits, rate, size, millis, percent, unit  numbers as the text prints them */
const charts = (() => {
const SVG = "http://www.w3.org/2000/svg";
const SVG_NAMES = new Set(["svg", "path", "line", "text", "rect", "circle", "g", "title"]);
const known = value => typeof value === "number" && Number.isFinite(value);
const extent = values => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);

/* `make("p.faint", { id: "x" }, "text")`; a child that is text stays text, whatever it contains. */
function make(kind, ...children) {
  const [name, ...classes] = kind.split("."), given = children[0]?.constructor === Object ? children.shift() : {};
  const made = SVG_NAMES.has(name) ? document.createElementNS(SVG, name) : document.createElement(name);
  if (classes.length) made.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(given)) made.setAttribute(key, value);
  return fill(made, children);
}
/* Gives `made` other children. */
function fill(made, ...children) {
  made.replaceChildren(...children.flat(4).filter(child => child !== null && child !== undefined && child !== false));
  return made;
}
const fold = (name, kind, ...children) => make(`details${kind}`, make("summary", name), children);
/* A table; the first cell of each row names it. */
const table = (names, rows) => make("div.scroll", { tabindex: "0" }, make("table", make("thead", make("tr", names.map(name => make("th", { scope: "col" }, name)))),
  make("tbody", rows.map(row => make("tr", row.map((cell, column) => column ? make("td", cell) : make("th", { scope: "row" }, cell)))))));
const on = (target, event, act) => target.addEventListener(event, act);

/* Numbers: three significant digits, whole from 1000 on. */
const decimals = value => {
  const size = Math.abs(value);
  return size < 0.9995 ? 3 : size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
};
const digits = value => value === 0 ? "0" : value > 0 && value < 0.0005 ? "<0.001" : value.toFixed(decimals(value));

const UNITS = {
  rate: [[1, "bit/s"], [1e3, "kbit/s"], [1e6, "Mbit/s"], [1e9, "Gbit/s"], [1e12, "Tbit/s"]],
  size: [[1, "B"], [2 ** 10, "KiB"], [2 ** 20, "MiB"], [2 ** 30, "GiB"], [2 ** 40, "TiB"]],
  ms: [[1, "ms"]],
  percent: [[1, "%"]],
  count: [[1, ""]],
  number: [[1, ""]],
};
/* The unit that suits a value: its factor, its label, and numbers in it. */
function unit(kind, value) {
  const [factor, label] = UNITS[kind].findLast(([size]) => Math.abs(value) / size >= 0.9995) || UNITS[kind][0];
  const whole = kind === "count" || factor === 1 && (kind === "rate" || kind === "size");
  return { factor, label, bare: one => whole ? one.toFixed(0) : digits(one / factor) };
}
function named(kind, value) {
  const { bare, label } = unit(kind, value);
  return label ? `${bare(value)} ${label}` : bare(value);
}
const rate = value => named("rate", value), size = value => named("size", value);
const millis = value => named("ms", Math.max(0, value)), percent = value => named("percent", value);

/* Axes: from 0, except where values are below 0 or spread by less than a tenth. */
function axis(values, { whole = false, wanted = 5 } = {}) {
  let [low, high] = extent(values);
  const most = Math.max(Math.abs(low), Math.abs(high)) || 1;
  if (high - low < most / 10) {
    const middle = (low + high) / 2;
    [low, high] = [Math.min(low, middle - most / 20), Math.max(high, middle + most / 20)];
  } else [low, high] = [Math.min(0, low), Math.max(0, high)];
  const step = nice((high - low) / wanted, whole);
  low = Math.floor(low / step + 1e-9) * step;
  high = Math.ceil(high / step - 1e-9) * step;
  return { low, high, ticks: steps(low, high, step) };
}
/* The next larger step of 1, 2, 2.5 or 5 times a power of ten; a whole number where it must be one. */
function nice(raw, whole) {
  const least = whole ? Math.max(1, raw) : raw, power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 2.5, 5, 10].find(factor => power * factor >= least * (1 - 1e-9) && !(whole && power * factor % 1));
}
function steps(low, high, step) {
  const power = Math.floor(Math.log10(step) + 1e-9), ticks = [];
  const places = Math.max(0, (step / 10 ** power).toFixed(1) === "2.5" ? 1 - power : -power);
  for (let number = Math.ceil(low / step - 1e-9); number * step <= high + step * 1e-9; number += 1)
    ticks.push([number * step, (number * step || 0).toFixed(places)]);
  return ticks;
}
const ticks = (low, high, wanted = 5) => steps(low, high, nice((high - low) / wanted, false));
/* An axis that grows by factors; of values above 0. */
function logarithmic(values) {
  let [low, high] = extent(values);
  [low, high] = [low * 0.95, high * 1.05];
  if (high / low < 5) return { low, high, ticks: ticks(low, high) };
  const parts = high / low > 1000 ? [1] : high / low > 100 ? [1, 3] : [1, 2, 5], marks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1)
    for (const part of parts) {
      const value = part * 10 ** power;
      if (value >= low && value <= high) marks.push([value, `${Number(value.toPrecision(1))}`]);
    }
  return { low, high, ticks: marks };
}

/* A curve through fewer points says nothing of a distribution. */
const LEAST_POINTS = 3;
const WIDTH = 500, HEIGHT = 250, LEFT = 58, RIGHT = 14, TOP = 10, BOTTOM = 46;

/* Rows under half an interval, and those after the requested time, in which buffers drain, measure no rate. */
function whole(rows, interval, requested) {
  const [, longest] = extent(rows.map(row => row.seconds));
  const least = Math.min(interval ?? longest, longest) / 2;
  return rows.filter(row => row.seconds >= least && !(row.start_seconds >= (requested ?? Infinity)));
}

/* A curve holds no more points: more than the widest screen has columns are not seen. */
const MOST_POINTS = 2400;

/* Of each group of neighbours the points with the least and the largest value, in their order; `low` and `high` are
   where a point has them. */
function thin(points, most = MOST_POINTS, low = 1, high = low) {
  if (points.length <= most) return points;
  const groups = Math.floor(most / 2), kept = [];
  for (let group = 0; group < groups; group += 1) {
    const [from, to] = [group, group + 1].map(one => Math.floor(one * points.length / groups));
    let least = from, largest = from;
    for (let at = from + 1; at < to; at += 1) {
      if (known(points[at][low]) && !(points[least][low] <= points[at][low] && known(points[least][low]))) least = at;
      if (known(points[at][high]) && !(points[largest][high] >= points[at][high] && known(points[largest][high]))) largest = at;
    }
    kept.push(...[...new Set([least, largest])].sort((a, b) => a - b).map(at => points[at]));
  }
  return kept;
}
function drawable(one) {
  if (one.shape === "level" || one.points.length <= MOST_POINTS) return one;
  if (one.shape === "stairs") return { ...one, shape: "line", points: thin(one.points.map(([, end, value]) => [end, value])) };
  return { ...one, points: thin(one.points, MOST_POINTS, 1, one.shape === "band" ? 2 : 1) };
}

/* What pages set: `tables`: each chart has its values as a table to unfold. */
const settings = { tables: false };

/* A chart, or a sentence where all values are 0; null where there are none.
   kind     the unit: rate, size, ms, percent, count (whole numbers) or number
   series   [{name, role, points, shape}]: the role gives the colour (charts.css), and no two lines share one;
            shape and points: line, dots or rings [x, y] (and a name of the point); stairs [start, end, y];
            band [x, low, high]; level [y, y]: over the whole width, dashed, a band from one to the other where they
            differ; `faint`: one of many, thinner and without a name in the key
   x        {name, whole, from, to}, `none` the sentence for a chart of zeros */
function chart({ title, kind, series, x = { name: "seconds", from: 0 }, none }) {
  const values = one => one.points.flatMap(point => one.shape === "stairs" ? point.slice(2) :
    one.shape === "level" ? point : point.slice(1)).filter(known);
  series = series.filter(one => values(one).length).map(drawable);
  if (!series.length) return null;
  const all = series.flatMap(values);
  if (all.every(value => value === 0)) return make("p.zero", none || `${title}: 0 throughout.`);
  const scale = unit(kind, extent(all.map(Math.abs))[1]);
  const y = axis(all.map(value => value / scale.factor), { whole: kind === "count" });
  const xs = series.flatMap(one => one.shape === "level" ? [] : one.points.flatMap(point =>
    one.shape === "stairs" ? point.slice(0, 2) : point.slice(0, 1)));
  const [first, last] = extent(xs);
  const x0 = x.from ?? first, x1 = Math.max(x.to ?? last, last);
  const across = { low: x0, high: x1 > x0 ? x1 : x0 + 1 };
  across.ticks = steps(across.low, across.high, nice((across.high - across.low) / 6, x.whole));
  const label = scale.label ? `${title}, ${scale.label}` : title;
  return figure({ title: label, described: described(label, series, values, scale), series, across, up: y,
    place: value => value / scale.factor, scale, x: x.name });
}

/* What a chart shows, for those who do not see it. */
function described(title, series, values, scale) {
  const parts = series.filter(one => !one.faint).map(one => {
    const its = values(one), [low, high] = extent(its).map(scale.bare);
    const mean = scale.bare(its.reduce((sum, value) => sum + value, 0) / its.length);
    const range = low === high ? low : `${low} to ${high}`;
    return `${one.name} ${range}${one.shape === "band" || one.shape === "level" || low === high ? "" : `, mean ${mean}`}`;
  });
  return `${title}: ${parts.join("; ")}`;
}

/* Shares of samples below a delay, on a logarithmic axis.
   views    [{name, curves: [{name, role, points: [[delay, percent]]}]}]: one view is shown, a switch shows another */
function distribution({ title, views }) {
  views = views.map(view => ({ ...view, curves: view.curves.filter(curve => curve.points.length > LEAST_POINTS) }))
    .filter(view => view.curves.length);
  if (!views.length) return null;
  const drawn = view => {
    const delays = view.curves.flatMap(curve => curve.points.map(([delay]) => delay));
    // A delay by two clocks may be below 0 by their error.
    const log = extent(delays)[0] > 0, across = { ...(log ? logarithmic(delays) : axis(delays)), log };
    const at = (curve, share) => curve.points.find(point => point[1] >= share)?.[0];
    const parts = view.curves.map(curve => `${curve.name} median ${digits(at(curve, 50))}, largest ${digits(at(curve, 100))}`);
    return figure({ title, described: `${title}, ${view.name}: ${parts.join("; ")}`, across,
      up: { low: 0, high: 100, ticks: steps(0, 100, 20) }, place: value => value, scale: unit("percent", 1),
      x: view.name, remark: "% of samples up to a delay", series: view.curves.map(curve => ({ ...curve, shape: "line", bare: true })) });
  };
  const shown = drawn(views[0]);
  if (views.length > 1) {
    const choice = make("select", ...views.map((view, number) => make("option", { value: number }, view.name)));
    on(choice, "change", () => update(shown, drawn(views[choice.value])));
    shown.querySelector(".key").after(make("label.switch", "Show ", choice));
  }
  return shown;
}

function figure({ title, described, series, across, up, place, scale, x, remark }) {
  const far = across.log ? Math.log(across.high / across.low) : across.high - across.low;
  const px = value => LEFT + (across.log ? Math.log(value / across.low) : value - across.low) / far * (WIDTH - LEFT - RIGHT);
  const height = value => HEIGHT - BOTTOM - (value - up.low) / (up.high - up.low) * (HEIGHT - TOP - BOTTOM), py = value => height(place(value));
  const at = (horizontal, vertical) => `${px(horizontal).toFixed(1)} ${py(vertical).toFixed(1)}`;
  const svg = make("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": described, tabindex: "0" });
  for (const [value, label] of up.ticks) {
    const y = height(value);
    svg.append(make("line", { class: value === 0 ? "zero-line" : "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y, y2: y }),
      make("text.y", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, label));
  }
  for (const [value, label] of across.ticks)
    svg.append(make("text.x", { x: px(value), y: HEIGHT - BOTTOM + 20, "text-anchor": "middle" }, label));
  svg.append(make("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 4, "text-anchor": "middle" }, x));
  const draw = { line, stairs, band, dots, rings, level };
  // Bands lie behind the levels, levels behind the lines and dots.
  const depth = one => ["band", "level"].indexOf(one.shape) + 1 || 3;
  const order = [...series].sort((a, b) => depth(a) - depth(b));
  for (const one of order) svg.append(make("g", { class: `series ${one.shape} r-${one.role}${one.faint ? " faint" : ""}` }, ...draw[one.shape](one)));

  function line({ name, points, bare }) {
    let path = "", broken = true;
    for (const [horizontal, vertical] of points) {
      if (known(vertical)) path += `${broken ? "M" : "L"}${at(horizontal, vertical)}`;
      broken = !known(vertical);
    }
    const marks = bare || points.length > 60 ? [] : dots({ name, points });
    return [make("path.stroke", { d: path }), ...marks];
  }
  function stairs({ points }) {
    let path = "", end = null;
    for (const [from, to, vertical] of points) {
      if (!known(vertical)) { end = null; continue; }
      // A step up or down joins intervals that follow each other.
      const joined = end !== null && Math.abs(from - end) < (to - from) / 10;
      path += `${joined ? "L" : "M"}${at(joined ? end : from, vertical)}L${at(to, vertical)}`;
      end = to;
    }
    return [make("path.stroke", { d: path })];
  }
  function band({ points }) {
    const its = points.filter(point => point.every(known));
    const upper = its.map(([horizontal, , high]) => at(horizontal, high));
    const lower = its.map(([horizontal, low]) => at(horizontal, low)).reverse();
    return [make("path.fill", { d: `M${[...upper, ...lower].join("L")}Z` })];
  }
  function dots({ name, points }, ring) {
    return points.filter(([, vertical]) => known(vertical)).map(([horizontal, vertical, label]) =>
      make("circle", { class: ring ? "ring" : "dot", cx: px(horizontal), cy: py(vertical), r: ring ? 4 : 3 },
        make("title", `${label ?? name}: ${scale.bare(vertical)} ${scale.label}`.trim())));
  }
  function rings(one) { return dots(one, true); }
  function level({ points: [[low, high]] }) {
    const [left, right] = [LEFT, WIDTH - RIGHT];
    return low === high ? [make("path.stroke.dashed", { d: `M${left} ${py(low)}H${right}` })] :
      [make("path.fill", { d: `M${left} ${py(low)}H${right}V${py(high)}H${left}Z` })];
  }

  const key = make("figcaption.key", ...series.filter(one => !one.faint).map(one => make("span", swatch(one), one.name)));
  const made = make("figure.chart", make("h2", title, remark && make("small", ` ${remark}`)), svg, key,
    make("p.said", { "aria-live": "polite" }));
  made.told = { series, title, scale, x, px, py };
  walk(made, svg);
  if (settings.tables) made.append(twin(made));
  return made;
}

/* Shows `fresh` in the place of `shown`: who has the focus, walks or has unfolded the table, goes on. */
function update(shown, fresh) {
  if (shown.tagName !== "FIGURE" || fresh.tagName !== "FIGURE") { shown.replaceWith(fresh); return fresh; }
  const [svg, next] = [shown, fresh].map(one => one.querySelector(":scope > svg"));
  fill(svg, [...next.childNodes]);
  svg.setAttribute("aria-label", next.getAttribute("aria-label"));
  for (const part of ["h2", ".key"]) shown.querySelector(`:scope > ${part}`).replaceWith(fresh.querySelector(`:scope > ${part}`));
  shown.told = fresh.told;
  shown.dispatchEvent(new Event("renewed"));
  return shown;
}

/* The points of a series that can be visited. */
const places = one => ["band", "level"].includes(one.shape) ? [] : one.points
  .map(point => one.shape === "stairs" ? [(point[0] + point[1]) / 2, point[2], null, point[1]] : [point[0], point[1], point[2], point[0]])
  .filter(([, value]) => known(value)).map(([at, value, label, said]) => ({ at, value, label, said }));
const plain = value => `${Number(value.toFixed(3))}`;

/* Left and right walk along the points of a series, up and down go to another one; each point is said. */
function walk(made, svg) {
  let line = 0, at = null;
  const visited = () => made.told.series.map(one => [one, places(one)]).filter(([, points]) => points.length);
  const nearest = (points, wanted) => points.reduce((best, point) => Math.abs(point.at - wanted) < Math.abs(best.at - wanted) ? point : best);
  function mark(point, one) {
    const { px, py, scale, x } = made.told, [horizontal, vertical] = [px(point.at), py(point.value)];
    unmark();
    svg.append(make("g", { class: `cursor r-${one.role}` }, make("line", { x1: horizontal, x2: horizontal, y1: TOP, y2: HEIGHT - BOTTOM }),
      make("circle.dot", { cx: horizontal, cy: vertical, r: 5 })));
    const value = `${scale.bare(point.value)} ${scale.label}`.trim();
    made.querySelector(".said").textContent = point.label ? `${point.label}: ${value}` : `${one.name}: ${value} at ${plain(point.said)} ${x}`;
    at = point.at;
  }
  function unmark() { svg.querySelector(".cursor")?.remove(); }
  on(svg, "keydown", event => {
    const all = visited(), step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    const turn = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (event.ctrlKey || event.altKey || event.metaKey || !all.length || !step && !turn) return;
    event.preventDefault();
    line = ((line + (turn ?? 0)) % all.length + all.length) % all.length;
    const [one, points] = all[line], now = at === null ? -1 : points.indexOf(nearest(points, at));
    const next = turn ? Math.max(0, now) : now < 0 ? (step > 0 && step < 2 ? 0 : points.length - 1) : now + step;
    mark(points[Math.max(0, Math.min(points.length - 1, next))], one);
  });
  on(svg, "pointermove", event => {
    const all = visited(), box = svg.getBoundingClientRect();
    if (!all.length) return;
    const [left, top] = [(event.clientX - box.left) * WIDTH / box.width, (event.clientY - box.top) * HEIGHT / box.height];
    const { px, py } = made.told;
    const found = all.map(([one, points]) => [one, points.reduce((best, point) =>
      Math.abs(px(point.at) - left) < Math.abs(px(best.at) - left) ? point : best)]);
    mark(...found.reduce((best, one) => Math.abs(py(one[1].value) - top) < Math.abs(py(best[1].value) - top) ? one : best).reverse());
  });
  for (const end of ["pointerleave", "blur"]) on(svg, end, () => {
    unmark();
    at = null;
    made.querySelector(".said").textContent = "";
  });
  on(made, "renewed", () => {
    const all = visited(), wanted = at;
    if (wanted === null || !all.length) return;
    const [one, points] = all[Math.min(line, all.length - 1)];
    mark(nearest(points, wanted), one);
  });
}

/* The values of a chart as a table, made when it is unfolded. */
function twin(made) {
  const folded = fold("Table", ".twin");
  const fill = () => {
    if (!folded.open) return;
    const { series, scale, x } = made.told, shown = series.filter(one => one.shape !== "level"), rows = new Map();
    shown.forEach((one, column) => one.points.forEach(point => {
      const [at, ...values] = one.shape === "stairs" ? point.slice(1) : point, key = typeof values[1] === "string" ? values[1] : plain(at);
      const numbers = values.filter(known).map(scale.bare);
      if (!rows.has(key)) rows.set(key, { at, cells: shown.map(() => "-") });
      if (numbers.length) rows.get(key).cells[column] = one.shape === "band" ? numbers.join(" to ") : numbers[0];
    }));
    const ordered = [...rows].sort(([, a], [, b]) => a.at - b.at);
    folded.querySelector(".scroll")?.remove();
    folded.append(table([x, ...shown.map(one => one.name)], ordered.map(([key, { cells }]) => [key, ...cells])));
  };
  on(folded, "toggle", fill);
  on(made, "renewed", fill);
  return folded;
}

function swatch({ role, shape, points }) {
  const filled = shape === "level" && points[0][0] !== points[0][1];
  const mark = { band: make("rect.fill", { x: 0, y: 1, width: 22, height: 10 }),
    dots: make("circle.dot", { cx: 11, cy: 6, r: 3.5 }), rings: make("circle.ring", { cx: 11, cy: 6, r: 4 }),
    level: make("path.stroke.dashed", { d: "M0 6H22" }) }[filled ? "band" : shape] ||
    make("path.stroke", { d: "M0 6H22" });
  return make("svg", { class: `swatch r-${role}`, viewBox: "0 0 22 12", "aria-hidden": "true" }, mark);
}

return { chart, distribution, update, thin, settings, whole, make, fill, fold, on, table, known, digits, decimals, unit, rate, size, millis, percent, axis, ticks, logarithmic };
})();
