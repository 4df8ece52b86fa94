"use strict";
/* The page of a comparison (`compare --html`). */
(() => {
const { element } = charts;
const { comparison, runs, text, version } = JSON.parse(document.getElementById("report").textContent);
const title = `${comparison.b.name} compared with ${comparison.a.name}`, figure = comparisons.courses(runs.a, runs.b);
const courses = element("section", figure ? [element("h2", "Over time"), element("div.charts.single", figure)] : []);
const page = document.getElementById("page");
document.title = title;
page.className = "compare";
page.replaceChildren(element("header", element("h1", title)), ...comparisons.shown(comparison, courses),
  element("h2", "In the terminal"), element("pre.wide", { tabindex: "0" }, text),
  element("p.faint", `tapeline ${version} · ${comparison.schema}`));
})();
