"use strict";
/* Light or dark, as the system or the switch says. */
const theme = (() => {
const NAMES = ["system", "light", "dark"];
const kept = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
let name = NAMES.includes(kept()) ? kept() : "system";

/* Rules for a dark screen hold always or never, unless the system decides. */
function apply() {
  const medium = { system: "(prefers-color-scheme: dark)", light: "not all", dark: "all" }[name];
  for (const sheet of document.styleSheets)
    for (const rule of sheet.cssRules)
      if (rule.dark || rule.media?.mediaText.includes("prefers-color-scheme")) { rule.dark = true; rule.media.mediaText = medium; }
  document.documentElement.className = name;
}
function set(next) {
  name = next;
  try { localStorage.setItem("theme", name); } catch { /* kept for this page alone */ }
  apply();
}
apply();
return { names: NAMES, get: () => name, set };
})();
