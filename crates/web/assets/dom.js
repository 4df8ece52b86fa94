/* Elements of the page. Text stays text: nothing here takes HTML. */
import { words } from "./words.js";

export const { element } = charts;

export function button(label, act, attributes = {}) {
  const made = element("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", event => act(made, event));
  return made;
}
export const link = (href, label, attributes = {}) => element("a", { href, ...attributes }, label);
export const file = (href, name, label) => link(href, label, { download: name, class: "button" });
export const page = (href, label) => link(href, label, { target: "_blank", rel: "noopener", class: "button" });

export const faint = (...text) => element("p.faint", ...text);
export const fault = text => element("p.fault", text);

/* A control under its name. */
export function labelled(name, control, ...more) {
  return element("label.labelled", element("span", name), control, ...more);
}
export function select(choices, chosen, act) {
  const made = element("select", choices.map(([value, name]) => element("option", { value }, name)));
  made.value = chosen;
  made.addEventListener("change", () => act(made.value));
  return made;
}

export function failure(title, text, hint) {
  return element("div.failure", { role: "alert" }, element("h2", title), element("p", text), hint && faint(hint));
}

/* Says something to who does not see the page. */
export function announce(text) {
  document.getElementById("status").textContent = text;
}

/* A line at the foot of the page for some seconds. */
export function toast(text, { seconds = 6, label, act, bad = false } = {}) {
  const made = element("div", { class: `toast${bad ? " bad" : ""}`, role: bad ? "alert" : "status" }, element("span", text));
  const timer = setTimeout(() => made.remove(), seconds * 1000);
  if (act) made.append(button(label, () => { clearTimeout(timer); made.remove(); act(); }));
  let all = document.querySelector(".toasts");
  if (!all) document.body.append(all = element("div.toasts"));
  all.append(made);
  return made;
}
export const complain = text => toast(text, { bad: true });

/* Puts a text into the clipboard; false where the browser does not allow it. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = element("textarea.unseen", { readonly: "" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/* A button that copies what `text` gives, and says so for a moment. */
export function copier(text, attributes) {
  return button(words.copy, async made => {
    made.textContent = await copy(text()) ? words.copied : words.copyFailed;
    setTimeout(() => { made.textContent = words.copy; }, 1500);
  }, attributes);
}

/* Runs `act` once, when the calls have stopped for `wait` milliseconds. */
export function later(wait, act) {
  let timer = null;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...given), wait);
  };
}

/* Hands a text over as a file. */
export function save(name, type, text) {
  const made = link(URL.createObjectURL(new Blob([text], { type })), "", { download: name });
  made.click();
  URL.revokeObjectURL(made.href);
}
