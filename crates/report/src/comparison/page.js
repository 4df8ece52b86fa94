"use strict";
/* The page of a comparison (`compare --html`). */
(() => {
const { make, fill } = charts;
const { comparison, runs, text, version } = JSON.parse(document.getElementById("report").textContent);
const title = `${comparison.b.name} compared with ${comparison.a.name}`, figure = comparisons.courses(runs.a, runs.b);
const courses = make("section", figure ? [make("h2", "Over time"), make("div.charts.single", figure)] : []);
const page = document.getElementById("page");
document.title = title;
page.className = "compare";
fill(page, make("header", make("h1", title)), comparisons.shown(comparison, courses),
  make("h2", "In the terminal"), make("pre.wide", { tabindex: "0" }, text),
  make("p.faint", `tapeline ${version} · ${comparison.schema}`));
})();
