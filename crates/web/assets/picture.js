/* A chart as a picture that stands alone. */
import { make, save } from "./dom.js";

const COPIED = "fill fill-opacity stroke stroke-width stroke-opacity stroke-dasharray stroke-linejoin font-size font-family".split(" ");
const WIDTH = 500, TITLE = 34, LINE = 20, LETTER = 6.6;

function resolved(source, made) {
  const style = getComputedStyle(source);
  for (const name of COPIED) made.setAttribute(name, style.getPropertyValue(name));
  made.removeAttribute("class");
  [...source.children].forEach((child, index) => resolved(child, made.children[index]));
}

export function svg(figure) {
  const source = figure.querySelector(":scope > svg"), style = getComputedStyle(figure), family = getComputedStyle(document.body).fontFamily;
  source.querySelector(".cursor")?.remove();
  const chart = source.cloneNode(true);
  resolved(source, chart);
  const [, , width, height] = source.getAttribute("viewBox").split(" ").map(Number);
  for (const name of ["role", "tabindex", "viewBox", "aria-label"]) chart.removeAttribute(name);
  const text = (x, y, size, words, attributes = {}) => make("text", { x, y, "font-size": size, "font-family": family, fill: style.color, ...attributes }, words);
  const key = [];
  let x = 10, y = TITLE + height + LINE;
  for (const entry of figure.querySelectorAll(":scope > .key > span")) {
    const words = entry.textContent, room = 34 + words.length * LETTER + 12;
    if (x > 10 && x + room > WIDTH) { x = 10; y += LINE; }
    const swatch = entry.querySelector("svg").firstElementChild, mark = swatch.cloneNode(true);
    resolved(swatch, mark);
    key.push(make("g", { transform: `translate(${x} ${y - 10})` }, mark), text(x + 28, y, 12, words));
    x += room;
  }
  const all = y + 12, made = make("svg", { xmlns: "http://www.w3.org/2000/svg", width, height: all, viewBox: `0 0 ${width} ${all}` },
    make("title", source.getAttribute("aria-label")), make("rect", { width, height: all, fill: style.backgroundColor }),
    text(10, 22, 14, figure.querySelector("h2").textContent, { "font-weight": 600 }), make("g", { transform: `translate(0 ${TITLE})` }, ...chart.childNodes), key);
  return new XMLSerializer().serializeToString(made);
}

export function savePicture(figure, name) {
  const title = figure.querySelector("h2").textContent.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
  save(`${name}-${title}.svg`, "image/svg+xml", svg(figure));
}
