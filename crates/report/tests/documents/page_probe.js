"use strict";
/* Draws pages in a browser, each in a frame, and writes down what they show. */
const given = JSON.parse(document.getElementById("given").textContent);

/* Shares of light and what of it reaches the eye (WCAG 2.2, relative luminance). */
function luminance(colour) {
  const parts = (colour.match(/[\d.]+/g) ?? [colour]).map(Number).slice(0, 3).map(part => part / 255);
  const [red, green, blue] = parts.map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
function contrast(one, other) {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}
function paper(element, view) {
  for (let at = element; at; at = at.parentElement) {
    const colour = view.getComputedStyle(at).backgroundColor;
    if (!/, 0\)$/.test(colour)) return colour;
  }
  return "rgb(255, 255, 255)";
}
/* The least contrasts of text and of lines, and the colours of text and of the paper. */
function colours(page, view) {
  const texts = [...page.querySelectorAll("body *")].filter(one =>
    [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim()) && !["SCRIPT", "STYLE", "title", "OPTION", "NOSCRIPT"].includes(one.tagName));
  const inks = texts.map(one => [view.getComputedStyle(one)[one.namespaceURI.endsWith("svg") ? "fill" : "color"], paper(one, view)]);
  const marks = [...page.querySelectorAll(".stroke")].map(one => [view.getComputedStyle(one).stroke, paper(one, view)]);
  const least = pairs => pairs.reduce((low, [ink, sheet]) => Math.min(low, contrast(ink, sheet)), 21);
  return { text: least(inks), lines: least(marks), marks: [...new Set(marks.map(([ink]) => ink))], inks: [...new Set(inks.map(([ink]) => ink))], paper: paper(page.body, view) };
}
/* As on a dark screen or on paper: the rules of that medium hold, those of the other do not. */
function under(medium, page, view) {
  const rules = [...page.styleSheets].flatMap(sheet => [...sheet.cssRules]).filter(rule => rule.media);
  const before = rules.map(rule => rule.media.mediaText);
  rules.forEach(rule => {
    const text = rule.media.mediaText;
    if (text.includes("dark") || text === "print") rule.media.mediaText = text.includes(medium) ? "all" : "not all";
  });
  const seen = colours(page, view);
  rules.forEach((rule, number) => { rule.media.mediaText = before[number]; });
  return seen;
}

const text = element => element.textContent.replace(/\s+/g, " ").trim();
const all = (root, selector) => [...root.querySelectorAll(selector)];

function chart(figure, view) {
  const svg = figure.querySelector("svg"), box = svg.viewBox.baseVal;
  const grid = all(svg, ".grid, .zero-line").map(line => Number(line.getAttribute("y1")));
  const within = mark => {
    const { x, y, width, height } = mark.getBBox();
    return y >= Math.min(...grid) - 5 && y + height <= Math.max(...grid) + 5 && x >= 0 && x + width <= box.width;
  };
  const series = all(svg, "g.series").map(group => ({ shape: group.classList[1], role: group.classList[2],
    colour: view.getComputedStyle(group.querySelector("path, circle")).getPropertyValue("--tint"),
    within: all(group, "path, circle").every(within), from: group.getBBox().x, to: group.getBBox().x + group.getBBox().width,
    marks: all(group, "circle").length }));
  return { title: text(figure.querySelector("h2")), role: svg.getAttribute("role"), label: svg.getAttribute("aria-label"),
    y: all(svg, "text.y").map(text), x: all(svg, "text.x").map(text), at: all(svg, "text.x").map(one => Number(one.getAttribute("x"))),
    cut: all(svg, "text").some(one => one.getBBox().x < -12),
    key: all(figure, ".key span").map(text), swatches: all(figure, ".key svg > *").map(mark => mark.getAttribute("class")),
    choices: all(figure, "option").map(text), series };
}

/* What the buttons copy and save. */
function pressed(page, view) {
  // Without a command there is nothing to copy.
  const [save, copy] = all(page, ".buttons button").reverse(), saved = {};
  if (copy) copy.click();
  view.URL.createObjectURL = blob => { [saved.type, saved.size] = [blob.type, blob.size]; return "data:,"; };
  view.URL.revokeObjectURL = () => {};
  view.HTMLAnchorElement.prototype.click = function () { saved.name = this.download; };
  save.click();
  return { ...saved, copied: view.getSelection().toString(), label: copy && text(copy) };
}

function shown(page, view) {
  const details = all(page, "details");
  details.forEach(one => { one.open = true; });
  const main = page.getElementById("page");
  const charts = all(main, "figure").map(figure => chart(figure, view));
  const buttons = all(main, "button").map(text), saved = pressed(page, view);
  const select = main.querySelector("select");
  if (select) { select.value = "1"; select.dispatchEvent(new view.Event("change")); }
  return { title: page.title, headlines: all(page, "h1").map(text), time: page.querySelector("time")?.textContent ?? null,
    cards: all(main, ".card").map(card => ({ label: text(card.querySelector("h2")), mood: card.classList[1], lines: all(card, "p").map(text) })),
    charts, switched: select ? chart(select.closest("figure"), view) : null, sentences: all(main, ".zero").map(text),
    rows: all(main, "tr").map(row => all(row, "th, td").map(text)), warnings: all(main, ".warnings li").map(text),
    buttons, command: page.getElementById("command")?.textContent, saved, details: details.map(one => text(one.querySelector("summary"))),
    text: text(main), width: page.documentElement.scrollWidth, scripts: all(page, "script, img, iframe, link").length,
    light: colours(page, view), dark: under("dark", page, view), print: under("print", page, view) };
}
/* Text and attributes that no page may have: numbers that are none. */
function unsound(page) {
  const texts = all(page.getElementById("page"), "*").flatMap(one => [...[...one.attributes].map(({ name, value }) => `${one.tagName} ${name}=${value}`),
    ...[...one.childNodes].filter(node => node.nodeType === 3).map(node => node.data)]);
  return texts.concat(page.title).filter(one => /\bNaN\b|\bundefined\b|\bInfinity\b|\bnull\b|\[object/.test(one));
}

const results = {};
for (const [name, source, brief] of given.pages) {
  const frame = document.createElement("iframe");
  frame.width = 400;
  frame.style.border = "0";
  document.body.append(frame);
  const page = frame.contentDocument, errors = [];
  frame.contentWindow.addEventListener("error", event => errors.push(event.message));
  page.open();
  frame.contentWindow.onerror = message => { errors.push(message); };
  page.write(source);
  page.close();
  results[name] = { errors, unsound: unsound(page), drawn: Boolean(page.querySelector("h1")) };
  if (!brief && results[name].drawn) Object.assign(results[name], shown(page, frame.contentWindow));
  frame.remove();
}
for (const expression of given.expressions) results[expression] = eval(expression);
document.body.replaceChildren(JSON.stringify(results));
