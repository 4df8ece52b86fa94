/* What a test found, and the ways to keep it. */
import * as api from "./api.js";
import { button, make, faint, file, lazily, link, page } from "./dom.js";
import { savePicture } from "./picture.js";

/* The parts of a document; `error`: a sentence that stands above them already. */
export function result(report, name, error = null) {
  const told = error ? { ...report, error: null, warnings: report.warnings.filter(one => one.text !== report.error?.text) } : report;
  let shown;
  try {
    shown = documents.shown(told);
  } catch {
    return [make("p", words.notDrawable)];
  }
  const heads = shown.headlines.map(headline);
  const nodes = [heads.length || error ? heads : make("h2.headline", words.noResult), faint(shown.setup), ...shown.nodes].flat();
  const all = make("div.result", nodes);
  for (const figure of all.querySelectorAll("figure.chart"))
    withImage(figure, name);
  return [all];
}

export const headline = one => make("h2.headline", one.number, one.words && make("small", ` ${one.words}`));

/* Where a result is kept. */
export const kept = ({ run, unsaved }) => run ? make("p.kept", words.savedAs, link(`/history?${run[0] === "s" ? "series" : "run"}=${run}`, run), ".") :
  unsaved && make("p.kept.faint", words.notSaved(unsaved));

/* A chart with a button that saves it as a picture. */
export function withImage(figure, name) {
  figure.insertBefore(button(words.saveImage, () => savePicture(figure, name), { class: "image quiet", "aria-label": words.saveImageOf(figure.querySelector("h2").textContent) }),
    figure.querySelector(":scope > .twin"));
  return figure;
}

/* Files of a result; `base` is its place in the API. */
export function files(base, name) {
  const forms = [["json", "json", "JSON"], ["csv", "csv", "CSV"], ["text", "txt", words.asText], ["page", "html", words.asPage]];
  return make("div.buttons", make("span.faint", words.saveAs), forms.map(([form, end, label]) => file(`${base}/${form}`, `${name}.${end}`, label)), page(`${base}/page`, words.openPage));
}

/* The text as the terminal has it. */
export const terminal = path => lazily(words.asInTerminal, ".terminal", async () =>
  make("pre.wide", { tabindex: "0" }, await api.text(path).catch(refusal => refusal.message)));
