/* The page: its views, their addresses, its keys. */
import * as api from "./api.js";
import { button, make, fault, fill, fold, labelled, link, on, select } from "./dom.js";
import { CompareView } from "./compare.js";
import { HistoryView } from "./history.js";
import { MeshView } from "./mesh.js";
import { ServerView } from "./server.js";
import { TestView } from "./test.js";
import { tests } from "./tests.js";

const VIEWS = { "/test": TestView, "/server": ServerView, "/mesh": MeshView, "/history": HistoryView, "/compare": CompareView };
const app = document.getElementById("app"), shown = new Map();
const here = () => VIEWS[location.pathname] ? location.pathname : "/test";
let given = null, locked = false, reason = null;

charts.settings.tables = true;

/* The key of the address is traded for a cookie, and leaves the address at once. */
async function login() {
  const key = new URLSearchParams(location.hash.slice(1)).get("k");
  if (!key) return;
  history.replaceState(null, "", location.pathname + location.search);
  await api.post("/api/login", { key });
}

function keyForm() {
  const key = make("input", { type: "password", name: "key", autocomplete: "off" }), fault = make("p.fault", { role: "alert" }, reason ?? "");
  const open = async () => {
    const text = key.value.trim();
    try {
      await api.post("/api/login", { key: text.includes("#k=") ? text.split("#k=")[1] : text });
      locked = false;
      begin();
    } catch (refusal) {
      fault.textContent = refusal.message;
      key.select();
    }
  };
  const form = make("form.key-form", make("h1", words.keyTitle), make("p", words.keyHelp),
    make("div.inline", labelled(words.key, key), button(words.enter, open, { class: "primary" })), fault);
  on(form, "submit", event => { event.preventDefault(); open(); });
  fill(app, make("main", form));
  key.focus();
}

function frame() {
  const { session } = given;
  const nav = make("nav", { "aria-label": "tapeline" }, Object.keys(VIEWS).slice(session.read_only ? 3 : 0).map(path => link(path, words.views[path.slice(1)])));
  const banner = make("p.banner", { role: "status", hidden: "" }, words.lostLink);
  let timer = null;
  on(tests, "link", ({ detail }) => {
    clearTimeout(timer);
    if (detail) banner.hidden = true; else timer = setTimeout(() => { banner.hidden = false; }, 2000);
  });
  const keys = fold(words.keysTitle, ".keys", make("ul", words.keys.map(([key, what]) => make("li", make("kbd", key), ` ${what}`))));
  const colours = labelled(words.theme, select(theme.names.map(name => [name, words.themes[name]]), theme.get(), name => theme.set(name)));
  fill(app, link("#view", words.skip, { class: "skip" }), make("header.top", make("strong", "tapeline"), nav),
    banner, ...(session.read_only ? [make("p.banner", words.readOnly)] : []), make("main", { id: "view", tabindex: "-1" }),
    make("footer", make("span", words.version(session)), colours, keys));
}

/* Shows the view of the address, as it was left. */
function show(options = null) {
  const path = here(), main = document.getElementById("view");
  if (!shown.has(path)) shown.set(path, new VIEWS[path]({ ...given, go }));
  const view = shown.get(path);
  for (const one of document.querySelectorAll("header nav a")) {
    if (one.getAttribute("href") === path) one.setAttribute("aria-current", "page"); else one.removeAttribute("aria-current");
  }
  document.title = `${view.title} · tapeline`;
  if (!main.contains(view.node)) fill(main, view.node);
  if (options) view.take?.(options);
  view.enter();
}
/* Goes to an address of this page; `quiet`: the view is there already. */
function go(address, options = null, quiet = false) {
  if (address !== location.pathname + location.search) history.pushState(null, "", address);
  if (!quiet) { scrollTo(0, 0); show(options); }
}

addEventListener("popstate", () => { if (given && !locked) show(); });
addEventListener("locked", () => {
  if (locked) return;
  locked = true;
  keyForm();
});
on(document, "click", event => {
  const anchor = event.target.closest?.("a[href]");
  if (!anchor || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || anchor.target || anchor.download) return;
  const address = new URL(anchor.href);
  if (address.origin !== location.origin || !VIEWS[address.pathname] || address.hash) return;
  event.preventDefault();
  go(address.pathname + address.search);
});
on(document, "keydown", event => {
  if (!given || locked || event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.("input:not([type=checkbox]):not([type=radio]), textarea, select")) return;
  const view = shown.get(here());
  const act = { "/": () => view.search?.(), s: () => view.toggle?.(), c: () => view.copy?.() }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

async function begin() {
  // Whoever has the cookie needs no key.
  try { await login(); } catch (refusal) { reason = refusal.message; }
  try {
    given = { session: await api.get("/api/session"), form: await api.get("/api/form") };
    await tests.begin();
    if (location.pathname === "/") history.replaceState(null, "", given.session.read_only ? "/history" : "/test");
    shown.clear();
    frame();
    show();
  } catch (refusal) {
    if (refusal.status === 401) return;
    fill(app, make("main", fault(`${words.failedToLoad} ${refusal.message}`), button(words.again, begin)));
    if (!(refusal instanceof api.Refusal)) throw refusal;
  }
}
begin();
