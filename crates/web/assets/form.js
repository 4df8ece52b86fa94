/* A form of the options of a client or a server, made from the program's own table (`GET /api/form`). */
import { button, choices, make, faint, fill, fold, labelled, on } from "./dom.js";

const DIRECTIONS = ["reverse", "full-duplex", "dualtest", "tradeoff"];
/* Options that may be given again and again: a line for each. */
const REPEATED = new Set(["flow", "limit"]);
const USUAL = { client: ["client", "port", "udp", "bandwidth", "time", "parallel", ...DIRECTIONS], server: ["port", "udp", "bind", "singleclient", "allow"] };
const names = option => [option.letter && `-${option.letter}`, option.id.length > 1 && `--${option.id}`].filter(Boolean).join(", ");
const sentence = text => text.charAt(0).toUpperCase() + text.slice(1);

/* An option's field: `get` gives what belongs in the list of options, `set` takes all its values. */
class Field {
  constructor(options, node, get, set) {
    Object.assign(this, { options, node, get, set });
    this.fault = make("p.fault", { id: `fault-${options[0].id}-${Field.#count += 1}` });
    this.node.append(this.fault);
    this.controls = [...node.querySelectorAll("input, select, textarea")];
  }
  static #count = 0;
  say(texts, kind) {
    this.fault.textContent = texts.join(" ");
    this.node.classList.toggle("faulty", texts.length > 0 && kind === "fault");
    for (const control of this.controls) {
      control.toggleAttribute("aria-invalid", texts.length > 0 && kind === "fault");
      if (texts.length) control.setAttribute("aria-describedby", this.fault.id); else control.removeAttribute("aria-describedby");
    }
  }
}

function box(option) {
  const attributes = { name: option.id, placeholder: option.value ?? "", "aria-label": `${option.help} ${names(option)}` };
  return REPEATED.has(option.id) ? make("textarea", { ...attributes, rows: "2", placeholder: `${option.value}, ${words.lineEach}` }) :
    make("input", { ...attributes, type: "text" });
}

/* How a switch is read and set. */
const ticked = (option, check) => [() => check.checked ? [[option.id]] : [], values => { check.checked = values !== null; }];

/* A folded field: its name, what it does, and its value. */
function plain(option) {
  const what = make("span.what", sentence(option.help), " ", make("code", names(option)));
  const more = option.details ? make("small.faint", option.details) : null;
  const field = (kind, nodes, get, set) => new Field([option], make(`div.field${kind}`, nodes, more), get, set);
  if (option.kind === "switch") {
    const check = make("input", { type: "checkbox", name: option.id });
    return field(".switchable", make("label", check, what), ...ticked(option, check));
  }
  if (option.kind === "choice") {
    const choice = make("select", { name: option.id, "aria-label": `${option.help} ${names(option)}` },
      choices([["", words.defaultChoice], ...(option.value_needed ? [] : [[" ", words.bareChoice]]), ...option.choices.map(one => [one, one])]));
    return field("", make("label", what, choice),
      () => choice.value === " " ? [[option.id]] : choice.value ? [[option.id, choice.value]] : [], values => { choice.value = values ? values[0] ?? " " : ""; });
  }
  const value = box(option);
  if (option.value_needed) {
    return field("", make("label", what, value),
      () => value.value.split("\n").map(one => one.trim()).filter(Boolean).map(one => [option.id, one]), values => { value.value = values?.join("\n") ?? ""; });
  }
  // The value may be left out: a switch says whether the option is given at all.
  const check = make("input", { type: "checkbox", name: `${option.id}-given` });
  on(value, "input", () => { if (value.value) check.checked = true; });
  return field(".optional", [make("label", check, what), value],
    () => !check.checked ? [] : value.value.trim() ? [[option.id, value.value.trim()]] : [[option.id]],
    values => { check.checked = values !== null; value.value = values?.[0] ?? ""; });
}

/* One of the usual fields, by a short name of its own. */
function short(option) {
  const name = option.id === "udp" ? words.udpOnly : words.usual[option.id] ?? sentence(option.help);
  if (option.kind === "switch") {
    const check = make("input", { type: "checkbox", name: option.id });
    return new Field([option], make("div.usual.switchable", make("label", check, make("span", name))), ...ticked(option, check));
  }
  const value = box(option);
  value.removeAttribute("aria-label");
  value.placeholder = words.examples[option.id] ?? option.value ?? "";
  return new Field([option], make("div", { class: `usual of-${option.id}` }, labelled(name, value)),
    () => value.value.trim() ? [[option.id, value.value.trim()]] : [], values => { value.value = values?.[0] ?? ""; });
}

function transport(option) {
  const radio = (value, name, checked) => {
    const one = make("input", { type: "radio", name: "transport", value });
    one.checked = checked;
    return [one, make("label", one, make("span", name))];
  };
  const [tcp, first] = radio("tcp", "TCP", true), [udp, second] = radio("udp", "UDP", false);
  return new Field([option], make("fieldset.usual.pair", make("legend", words.usual.udp), make("div.segments", first, second)),
    () => udp.checked ? [["udp"]] : [], values => { udp.checked = values !== null; tcp.checked = values === null; });
}

function direction(options) {
  const choice = make("select", { name: "direction" }, choices([["", words.directions.forward], ...options.map(({ id }) => [id, words.directions[id]])]));
  return new Field(options, make("div.usual", labelled(words.usual.direction, choice)),
    () => choice.value ? [[choice.value]] : [], (values, all) => { choice.value = DIRECTIONS.find(id => all.has(id)) ?? ""; });
}

export class Form {
  /* `change` is called after each change by the user. */
  constructor(table, job, change) {
    const suits = option => option[job] && !(option.id === "client" && job === "server") && option.id !== "server";
    const offered = table.options.filter(option => suits(option) && !option.refused), find = id => offered.find(option => option.id === id);
    this.refused = table.options.filter(option => option.refused && (option.client || option.server));
    const usual = USUAL[job].filter(find), ways = DIRECTIONS.map(find).filter(Boolean);
    const front = usual.filter(id => !DIRECTIONS.includes(id)).map(id => id === "udp" && job === "client" ? transport(find(id)) : short(find(id)));
    if (job === "client" && ways.length) front.push(direction(ways));
    this.front = make("div.front", front.map(field => field.node));
    this.fields = [...front];
    this.groups = table.groups.map(name => {
      const fields = offered.filter(option => option.group === name && !usual.includes(option.id)).map(plain);
      this.fields.push(...fields);
      const count = make("span.count");
      const node = fold([name, " ", count], ".group", make("div.fields", fields.map(field => field.node)));
      return { name, fields, count, node };
    }).filter(({ fields }) => fields.length);
    this.search = make("input", { type: "search", placeholder: words.searchOptions, "aria-label": words.searchOptions });
    on(this.search, "input", () => this.#find());
    on(this.search, "keydown", event => { if (event.key === "Escape") { this.search.value = ""; this.#find(); } });
    this.none = make("div.none");
    this.rest = make("div.rest", make("div.search", this.search), this.none, this.groups.map(({ node }) => node));
    for (const part of [this.front, this.rest]) on(part, "input", event => {
      if (event.target === this.search) return;
      this.#counts();
      change(event.target.name);
    });
    this.job = job;
    this.set([]);
  }

  get() { return this.fields.flatMap(field => field.get()); }
  set(options) {
    const all = new Map();
    for (const [id, ...value] of options) all.set(id, [...(all.get(id) ?? []), ...value]);
    for (const field of this.fields) field.set(all.get(field.options[0].id) ?? null, all);
    this.#counts();
  }
  /* Says faults and notes at their fields; what has no field is returned. */
  say(faults, notes) {
    const rest = [];
    const at = list => {
      const found = new Map();
      for (const one of list) {
        const field = this.fields.find(field => field.options.some(option => option.id === one.option));
        if (field) found.set(field, [...(found.get(field) ?? []), one.text]); else rest.push(one);
      }
      return found;
    };
    const wrong = at(faults), noted = at(notes);
    for (const field of this.fields) {
      field.say(wrong.get(field) ?? noted.get(field) ?? [], wrong.has(field) ? "fault" : "note");
      if (wrong.has(field)) { const group = field.node.closest("details"); if (group) group.open = true; }
    }
    return rest;
  }
  focus(id) {
    const field = this.fields.find(field => field.options.some(option => option.id === id));
    const group = field?.node.closest("details");
    if (group) group.open = true;
    field?.controls[0].focus();
  }

  #counts() {
    for (const { fields, count } of this.groups) {
      const given = fields.flatMap(field => field.get()).map(([id, value]) => value === undefined ? id : `${id} ${value}`);
      count.textContent = given.join(", ");
    }
  }
  #find() {
    const wanted = this.search.value.trim().toLowerCase().replace(/^-+/, "");
    const hit = option => [option.id, names(option), option.help, option.details, option.group].some(text => text?.toLowerCase().includes(wanted)) ||
      option.letter?.toLowerCase() === wanted;
    let found = 0;
    for (const { fields, node } of this.groups) {
      let here = 0;
      for (const field of fields) {
        const shown = !wanted || field.options.some(hit);
        field.node.hidden = !shown;
        here += shown;
      }
      node.hidden = !here;
      if (wanted) node.open = here > 0; else node.open = false;
      found += here;
    }
    const above = wanted ? this.fields.filter(field => this.front.contains(field.node) && field.options.some(hit)) : [];
    const refused = wanted ? this.refused.filter(hit) : [];
    fill(this.none, above.map(field => button(words.above(words.usual[field.options.length > 1 ? "direction" : field.options[0].id] ?? field.options[0].help), () => field.controls[0].focus(), { class: "quiet" })),
      refused.map(option => faint(make("code", names(option)), ` ${words.notOffered(option.refused)}`)),
      wanted && !found && !above.length && !refused.length && faint(words.noOption(this.search.value)));
  }
}
