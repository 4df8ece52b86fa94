/* Elements of the page. Text stays text: nothing here takes HTML. */

export const { make, fill, fold, on } = charts;

export function button(label, act, attributes = {}) {
  const made = make("button", { type: "button", ...attributes }, label);
  on(made, "click", event => act(made, event));
  return made;
}
/* What starts and stops the test of a view. */
export function starter(view, label, { read_only: readOnly }) {
  const made = button(label, () => view.toggle(), { class: "primary", title: words.keyOf("s") });
  made.hidden = readOnly;
  return made;
}
/* Says what it does by the state of its test. */
export function relabel(made, start, state, stop = words.stop) {
  made.textContent = { queued: words.withdraw, running: stop }[state] ?? start;
  made.classList.toggle("stop", made.textContent !== start);
}
export const link = (href, label, attributes = {}) => make("a", { href, ...attributes }, label);
export const file = (href, name, label) => link(href, label, { download: name, class: "button" });
export const page = (href, label) => link(href, label, { target: "_blank", rel: "noopener", class: "button" });

export const faint = (...text) => make("p.faint", ...text);
export const fault = text => make("p.fault", text);

/* Something to unfold that `load` makes then. */
export function lazily(name, kind, load) {
  const made = fold(name, kind);
  made.addEventListener("toggle", async () => made.append(...[await load()].flat()), { once: true });
  return made;
}

/* A control under its name. */
export function labelled(name, control, ...more) {
  return make("label.labelled", make("span", name), control, ...more);
}
export const choices = named => named.map(([value, name]) => make("option", { value }, name));
export function select(named, chosen, act) {
  const made = make("select", choices(named));
  made.value = chosen;
  on(made, "change", () => act(made.value));
  return made;
}

export function failure(title, text, hint) {
  return make("div.failure", { role: "alert" }, make("h2", title), make("p", text), hint && faint(hint));
}

/* Says something to who does not see the page. */
export function announce(text) {
  document.getElementById("status").textContent = text;
}

/* A line at the foot of the page for some seconds. */
export function toast(text, { seconds = 6, label, act, bad = false } = {}) {
  const made = make("div", { class: `toast${bad ? " bad" : ""}`, role: bad ? "alert" : "status" }, make("span", text));
  const timer = setTimeout(() => made.remove(), seconds * 1000);
  if (act) made.append(button(label, () => { clearTimeout(timer); made.remove(); act(); }));
  let all = document.querySelector(".toasts");
  if (!all) document.body.append(all = make("div.toasts"));
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
    const area = make("textarea.unseen", { readonly: "" });
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
