// Just enough of a browser to run the script of a page: prints the text that the page shows, and fails where a number
// is none. Arguments: the page.
"use strict";
const page = require("fs").readFileSync(process.argv[2], "utf8");

function sound(value, where) {
  if (/NaN|undefined|Infinity|null/.test(value)) throw new Error(`${where}: ${value}`);
  return value;
}

class Element {
  constructor(name) { this.name = name; this.children = []; }
  setAttribute(key, value) { sound(`${value}`, `${this.name} ${key}`); }
  append(child) { this.children.push(child); }
  replaceChildren(...children) { this.children = children; }
  lines() {
    const lines = this.children.flatMap(child => child instanceof Element ? child.lines() : [sound(`${child}`, this.name)]);
    return this.name === "svg" ? ["(chart)"] : lines;
  }
}

const main = new Element("main");
const report = { textContent: page.match(/id="report">(.*?)<\/script>/s)[1] };
const script = page.match(/<script>\n(.*?)<\/script>/s)[1];
const document = {
  title: "",
  getElementById: id => ({ report, page: main })[id],
  createElement: name => new Element(name),
  createElementNS: (_, name) => new Element(name),
};
new Function("document", script)(document);
console.log([sound(document.title, "title"), ...main.lines()].join("\n"));
