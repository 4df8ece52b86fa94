/* What a test found, and the ways to keep it. */
import * as api from "./api.js";
import { button, element, faint, file, page } from "./dom.js";
import { savePicture } from "./picture.js";
import { words } from "./words.js";

/* The parts of a document; `error`: a sentence that stands above them already. */
export function result(report, name, error = null) {
  const told = error ? { ...report, error: null, warnings: report.warnings.filter(one => one.text !== report.error?.text) } : report;
  let shown;
  try {
    shown = documents.shown(told);
  } catch {
    return [element("p", words.notDrawable)];
  }
  const heads = shown.headlines.map(one => element("h2.headline", one.number, one.words && element("small", ` ${one.words}`)));
  const nodes = [heads.length || error ? heads : element("h2.headline", words.noResult), faint(shown.setup), ...shown.nodes].flat();
  const all = element("div.result", nodes);
  for (const figure of all.querySelectorAll("figure.chart"))
    withImage(figure, name);
  return [all];
}

/* A chart with a button that saves it as a picture. */
export function withImage(figure, name) {
  figure.insertBefore(button(words.saveImage, () => savePicture(figure, name), { class: "image quiet", "aria-label": words.saveImageOf(figure.querySelector("h2").textContent) }),
    figure.querySelector(":scope > .twin"));
  return figure;
}

/* Files of a result; `base` is its place in the API. */
export function files(base, name) {
  return element("div.buttons", element("span.faint", words.saveAs), file(`${base}/json`, `${name}.json`, "JSON"), file(`${base}/csv`, `${name}.csv`, "CSV"),
    file(`${base}/text`, `${name}.txt`, words.asText), file(`${base}/page`, `${name}.html`, words.asPage), page(`${base}/page`, words.openPage));
}

/* The text as the terminal has it. */
export function terminal(path) {
  const folded = element("details.terminal", element("summary", words.asInTerminal));
  folded.addEventListener("toggle", async () => {
    if (!folded.open || folded.querySelector("pre")) return;
    const text = await api.text(path).catch(refusal => refusal.message);
    folded.querySelector("pre")?.remove();
    folded.append(element("pre", { tabindex: "0", class: "wide" }, text));
  });
  return folded;
}
