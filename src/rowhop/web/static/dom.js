// Elements are made here and nowhere else: text goes in as text, so that nothing from data or a model is ever markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, given, children) {
  for (const [name, value] of Object.entries(given || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "text") node.textContent = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

export const el = (tag, given, ...children) => fill(document.createElement(tag), given, children);
export const svg = (tag, given, ...children) => fill(document.createElementNS(SVG, tag), given, children);
export const $ = (id) => document.getElementById(id);

// Characters that turn the direction of what follows, or cannot be seen, are shown as what they are.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
export const clean = (text) =>
  String(text).replace(UNSEEN, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
export const cut = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
export const shown = (value) => (value === null || value === undefined ? "—" : clean(value));
export const count = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many || one + "s"}`;
export const isNumber = (value) => typeof value === "number";
