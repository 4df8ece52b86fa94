/* One run of the history: what it found, its note and tags, its files. */
import * as api from "./api.js";
import { button, complain, make, fault, labelled, link, on } from "./dom.js";
import { files, result, terminal } from "./result.js";

/* `row` is the run in the list; `changed` is called for a new note or tag. */
export async function run(row, { readOnly, remove, changed }) {
  const base = `/api/history/${row.run}`, report = await api.get(`${base}/json`);
  const post = async (path, body) => {
    try {
      await api.post(path, { runs: row.run, ...body });
      changed();
    } catch (refusal) { complain(refusal.message); }
  };
  const note = make("textarea", { rows: "2", name: "note" });
  note.value = row.note ?? "";
  const tag = make("input", { type: "text", name: "tag", placeholder: words.tagExample });
  const add = () => {
    const [key, ...value] = tag.value.trim().split("=");
    if (key) post("/api/history/tag", { key, value: value.join("=") });
  };
  on(tag, "keydown", event => { if (event.key === "Enter") { event.preventDefault(); add(); } });
  const tags = Object.entries(row.tags ?? {}).map(([key, value]) => make("li", value ? `${key}=${value}` : key,
    readOnly ? null : button("×", () => post("/api/history/tag", { key, value: null }), { class: "quiet", "aria-label": words.removeTag(key) })));
  const marks = make("section.marks", make("h2", words.marksTitle), tags.length ? make("ul.tags", tags) : null,
    readOnly ? make("p", row.note ?? "") : [make("div.inline", labelled(words.newTag, tag), button(words.addTag, add)),
      make("div.inline", labelled(words.note, note), button(words.saveNote, () => post("/api/history/note", { text: note.value.trim() })))]);
  return make("article.run",
    make("p", link("/history", words.backToHistory)),
    make("h1", words.runTitle(row.run), " ", make("small", documents.time(row.time) ?? "")),
    row.command ? make("pre.wide", row.command) : null, row.left_out ? fault(words.leftOut(row.left_out)) : null,
    ...result(report, row.run), files(base, row.run), terminal(`${base}/text`), marks,
    readOnly ? null : make("div.buttons", button(words.deleteRun(row.run), remove, { class: "danger" })));
}
