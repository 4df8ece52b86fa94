/* The page: its views, their addresses, its keys. */
import * as api from "./api.js";
import { button, element, fault, labelled, link, select } from "./dom.js";
import { CompareView } from "./compare.js";
import { HistoryView } from "./history.js";
import { ServerView } from "./server.js";
import { TestView } from "./test.js";
import { tests } from "./tests.js";
import { words } from "./words.js";

const VIEWS = { "/test": TestView, "/server": ServerView, "/history": HistoryView, "/compare": CompareView };
const app = document.getElementById("app"), shown = new Map();
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
  const key = element("input", { type: "password", name: "key", autocomplete: "off" }), fault = element("p.fault", { role: "alert" }, reason ?? "");
  const open = async () => {
    const text = key.value.trim();
    try {
      await api.post("/api/login", { key: text.includes("#k=") ? text.split("#k=")[1] : text });
      locked = false;
      begin();
    } catch (refusal) {
      fault.textContent = refusal.status === 403 ? words.wrongKey : refusal.status === 429 ? words.tooOften : refusal.message;
      key.select();
    }
  };
  const form = element("form.key-form", element("h1", words.keyTitle), element("p", words.keyHelp),
    element("div.inline", labelled(words.key, key), button(words.enter, open, { class: "primary" })), fault);
  form.addEventListener("submit", event => { event.preventDefault(); open(); });
  app.replaceChildren(element("main", form));
  key.focus();
}

function frame() {
  const { session } = given;
  const nav = element("nav", { "aria-label": "tapeline" }, Object.keys(VIEWS).slice(session.read_only ? 2 : 0).map(path => link(path, words.views[path.slice(1)])));
  const banner = element("p.banner", { role: "status", hidden: "" }, words.lostLink);
  let timer = null;
  tests.addEventListener("link", ({ detail }) => {
    clearTimeout(timer);
    if (detail) banner.hidden = true; else timer = setTimeout(() => { banner.hidden = false; }, 2000);
  });
  const keys = element("details.keys", element("summary", words.keysTitle), element("ul", words.keys.map(([key, what]) => element("li", element("kbd", key), ` ${what}`))));
  const colours = labelled(words.theme, select(theme.names.map(name => [name, words.themes[name]]), theme.get(), name => theme.set(name)));
  app.replaceChildren(link("#view", words.skip, { class: "skip" }), element("header.top", element("strong", "tapeline"), nav),
    banner, ...(session.read_only ? [element("p.banner", words.readOnly)] : []), element("main", { id: "view", tabindex: "-1" }),
    element("footer", element("span", words.version(session)), colours, keys));
}

/* Shows the view of the address, as it was left. */
function show(options = null) {
  const path = VIEWS[location.pathname] ? location.pathname : "/test", main = document.getElementById("view");
  if (!shown.has(path)) shown.set(path, new VIEWS[path]({ ...given, go }));
  const view = shown.get(path);
  for (const one of document.querySelectorAll("header nav a")) {
    if (one.getAttribute("href") === path) one.setAttribute("aria-current", "page"); else one.removeAttribute("aria-current");
  }
  document.title = `${view.title} · tapeline`;
  if (!main.contains(view.node)) main.replaceChildren(view.node);
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
document.addEventListener("click", event => {
  const anchor = event.target.closest?.("a[href]");
  if (!anchor || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || anchor.target || anchor.download) return;
  const address = new URL(anchor.href);
  if (address.origin !== location.origin || !VIEWS[address.pathname] || address.hash) return;
  event.preventDefault();
  go(address.pathname + address.search);
});
document.addEventListener("keydown", event => {
  if (!given || locked || event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.("input:not([type=checkbox]):not([type=radio]), textarea, select")) return;
  const view = shown.get(VIEWS[location.pathname] ? location.pathname : "/test");
  const act = { "/": () => view.search?.(), s: () => view.toggle?.(), c: () => view.copy?.() }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

async function begin() {
  // Whoever has the cookie needs no key.
  try { await login(); } catch (refusal) { reason = refusal.status === 429 ? words.tooOften : words.wrongKey; }
  try {
    given = { session: await api.get("/api/session"), form: await api.get("/api/form") };
    await tests.begin();
    if (location.pathname === "/") history.replaceState(null, "", given.session.read_only ? "/history" : "/test");
    shown.clear();
    frame();
    show();
  } catch (refusal) {
    if (refusal.status === 401) return;
    app.replaceChildren(element("main", fault(`${words.failedToLoad} ${refusal.message}`), button(words.again, begin)));
    if (!(refusal instanceof api.Refusal)) throw refusal;
  }
}
begin();
