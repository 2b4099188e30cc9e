// Pictures as SVG: tables with their keys, a walked graph, a plot of a result.

import { clean, cut, el, shown, svg } from "./dom.js";

const WIDTH = 210;
const LINE = 20;
const COLUMNS = 9;
const TABLES = 40;

function frame(width, height, label, ...children) {
  const drawn = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label }, ...children);
  return el("div", { class: "picture", tabindex: 0, role: "group", "aria-label": label }, drawn);
}

const arrow = (id) =>
  svg("defs", {}, svg("marker", { id, viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
    svg("path", { d: "M0 0 8 4 0 8z", class: "tip" })));

// Tables that point to each other stand side by side: around the one with the most keys, then around the next.
function ordered(boxes, keys) {
  const left = new Map(boxes.map((b) => [b.name, b]));
  const beside = (name) => keys.flatMap((k) => (k.box === name ? [k.to_box] : k.to_box === name ? [k.box] : []));
  const found = [];
  while (left.size) {
    const hub = [...left.keys()].reduce((a, b) => (beside(b).length > beside(a).length ? b : a));
    const group = [left.get(hub)];
    left.delete(hub);
    for (const name of beside(hub)) {
      if (!left.has(name)) continue;
      group.length % 2 ? group.push(left.get(name)) : group.unshift(left.get(name));
      left.delete(name);
    }
    found.push(...group);
  }
  return found;
}

// Tables as boxes in a row-wise layout, keys first; a line for each foreign key.
export function diagram(boxes, keys, room) {
  const drawn = ordered(boxes, keys).slice(0, TABLES);
  const perRow = Math.max(1, Math.floor((room - 30) / (WIDTH + 60)));
  const spots = new Map();
  let y = 16;
  const parts = [];
  for (let start = 0; start < drawn.length; start += perRow) {
    let tallest = 0;
    drawn.slice(start, start + perRow).forEach((box, i) => {
      const linked = new Set(keys.flatMap((k) => [k.box === box.name && k.field, k.to_box === box.name && k.to_field]));
      const first = box.columns.filter((c) => box.keys.includes(c.name) || linked.has(c.name));
      const columns = [...first, ...box.columns.filter((c) => !first.includes(c))];
      const list = columns.slice(0, COLUMNS);
      const more = columns.length - list.length;
      const height = 30 + list.length * LINE + (more > 0 ? LINE : 0) + 8;
      const x = 16 + i * (WIDTH + 60);
      const rows = list.map((c, n) => {
        const at = y + 30 + n * LINE + 14;
        spots.set(`${box.name}\0${c.name}`, { x, y: at - 4 });
        const key = box.keys.includes(c.name) ? "⚷ " : "";
        return svg("g", {}, svg("title", { text: `${clean(c.name)}: ${c.dtype}` }),
          svg("text", { x: x + 10, y: at, "font-size": 12.5, text: key + cut(clean(c.name), 20) }),
          svg("text", { x: x + WIDTH - 10, y: at, "font-size": 11.5, "text-anchor": "end", class: "soft", text: c.dtype }));
      });
      if (more > 0) rows.push(svg("text", { x: x + 10, y: y + 30 + list.length * LINE + 14, "font-size": 12, class: "soft", text: `${more} more` }));
      parts.push(svg("g", {}, svg("title", { text: clean(box.name) }),
        svg("rect", { x, y, width: WIDTH, height, rx: 8, class: "box" }),
        svg("path", { d: `M${x} ${y + 26}v-18a8 8 0 0 1 8-8h${WIDTH - 16}a8 8 0 0 1 8 8v18z`, class: "box-head" }),
        svg("text", { x: x + 10, y: y + 18, "font-size": 13, "font-weight": 650, text: cut(clean(box.name), 19) }),
        svg("text", { x: x + WIDTH - 10, y: y + 18, "font-size": 11.5, "text-anchor": "end", class: "soft", text: box.rows === null ? "" : `${box.rows.toLocaleString("en")} rows` }),
        rows));
      tallest = Math.max(tallest, height);
    });
    y += tallest + 34;
  }
  const lines = keys.map((k) => {
    const a = spots.get(`${k.box}\0${k.field}`);
    const b = spots.get(`${k.to_box}\0${k.to_field}`);
    if (!a || !b) return null;
    // Out at the side that is nearer, in by the same rule.
    const right = a.x < b.x;
    const x1 = right ? a.x + WIDTH : a.x;
    const x2 = a.x === b.x ? b.x : right ? b.x : b.x + WIDTH;
    const bend = a.x === b.x ? -34 : right ? 30 : -30;
    const d = `M${x1} ${a.y}C${x1 + bend} ${a.y} ${x2 - (a.x === b.x ? -bend : bend)} ${b.y} ${x2} ${b.y}`;
    return svg("path", { d, class: "link", "marker-end": "url(#key-tip)" },
      svg("title", { text: `${clean(k.box)}.${clean(k.field)} → ${clean(k.to_box)}.${clean(k.to_field)}` }));
  });
  const said = `${drawn.length} tables` + (keys.length ? `; ${keys.map((k) => `${k.box}.${k.field} points to ${k.to_box}.${k.to_field}`).join("; ")}` : "");
  const width = 16 + Math.min(perRow, drawn.length) * (WIDTH + 60) - 60 + 16;
  const whole = frame(width, y, said, arrow("key-tip"), lines, parts);
  return boxes.length > TABLES ? el("div", {}, whole, el("p", { class: "dim small", text: `${boxes.length - TABLES} more tables are in the list.` })) : whole;
}

// Nodes in columns by their distance from where the walk began; `edges` are [from, label, to].
export function graph(edges, answers, topics, note = "") {
  const most = 60;
  const drawn = edges.slice(0, most);
  const near = new Map();
  const join = (a, b) => near.has(a) ? near.get(a).add(b) : near.set(a, new Set([b]));
  for (const [a, , b] of drawn) { join(a, b); join(b, a); }
  const starts = topics.filter((t) => near.has(t));
  if (!starts.length && drawn.length) starts.push(drawn[0][0]);
  const column = new Map(starts.map((s) => [s, 0]));
  const queue = [...starts];
  for (let i = 0; i < queue.length; i++) {
    for (const other of near.get(queue[i]) || []) {
      if (!column.has(other)) { column.set(other, column.get(queue[i]) + 1); queue.push(other); }
    }
  }
  for (const n of near.keys()) if (!column.has(n)) column.set(n, 0);
  const layers = [];
  for (const [name, c] of column) (layers[c] ||= []).push(name);
  const step = 280;
  const tall = Math.max(1, ...layers.map((l) => (l ? l.length : 0))) * 44;
  const spot = new Map();
  layers.forEach((names, c) => names?.forEach((n, r) => spot.set(n, { x: 16 + c * step, y: 16 + (tall - names.length * 44) / 2 + r * 44 })));
  const nodes = [...spot].map(([name, at]) =>
    svg("g", { class: "appear" }, svg("title", { text: clean(name) }),
      svg("rect", { x: at.x, y: at.y, width: 170, height: 30, rx: 15, class: `node${answers.includes(name) ? " answer" : topics.includes(name) ? " topic" : ""}` }),
      svg("text", { x: at.x + 85, y: at.y + 20, "font-size": 12, "text-anchor": "middle", text: cut(clean(name), 25) })));
  const lines = drawn.map(([a, label, b]) => {
    const [p, q] = [spot.get(a), spot.get(b)];
    const ahead = p.x < q.x;
    const [x1, x2] = p.x === q.x ? [p.x + 170, q.x + 170] : ahead ? [p.x + 170, q.x] : [p.x, q.x + 170];
    const [y1, y2] = [p.y + 15, q.y + 15];
    const d = p.x === q.x ? `M${x1} ${y1}C${x1 + 40} ${y1} ${x2 + 40} ${y2} ${x2} ${y2}` : `M${x1} ${y1}L${x2} ${y2}`;
    return svg("g", {}, svg("path", { d, fill: "none", class: "edge", "marker-end": "url(#edge-tip)" }, svg("title", { text: `${clean(a)} — ${clean(label)} → ${clean(b)}` })),
      svg("text", { x: (x1 + x2) / 2, y: y1 + (y2 - y1) * 0.5 - 4, "font-size": 10.5, "text-anchor": "middle", class: "soft", text: cut(clean(label.split(/[./#]/).pop().replaceAll("_", " ")), 18) }));
  });
  const said = drawn.map(([a, r, b]) => `${a} ${r} ${b}`).join("; ");
  const whole = frame((layers.length - 1) * step + 170 + 32, tall + 32, `Graph: ${cut(said, 600)}`, arrow("edge-tip"), lines, nodes);
  const left = edges.length - drawn.length;
  return el("div", {}, whole, (left > 0 || note) && el("p", { class: "dim small", text: [left > 0 && `${left} more edges are not drawn.`, note].filter(Boolean).join(" ") }));
}

// Null where the result is nothing to plot: one label and one number per row, 2 to 40 rows.
export function plot(columns, rows) {
  if (rows.length < 2 || rows.length > 40 || columns.length < 2 || columns.length > 6) return null;
  const number = columns.map((_, c) => rows.every((r) => typeof r[c] === "number"));
  const time = columns.findIndex((n, c) => /year|date|month|day|week|jahr|datum/i.test(n) && rows.every((r) => r[c] !== null));
  const label = time >= 0 ? time : columns.findIndex((_, c) => rows.every((r) => typeof r[c] === "string"));
  const value = columns.findLastIndex((_, c) => number[c] && c !== label);
  if (label < 0 || value < 0) return null;
  return time >= 0 && rows.length > 2 ? line(columns, rows, label, value) : bars(columns, rows, label, value);
}

function bars(columns, rows, label, value) {
  const values = rows.map((r) => r[value]);
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const room = 380;
  const scale = (v) => ((v - low) / (high - low || 1)) * room;
  const left = 190;
  const parts = rows.map((r, i) => {
    const [a, b] = [scale(Math.min(0, r[value])), scale(Math.max(0, r[value]))];
    return svg("g", {}, svg("title", { text: `${shown(r[label])}: ${shown(r[value])}` }),
      svg("text", { x: left - 8, y: 33 + i * 26, "font-size": 12.5, "text-anchor": "end", text: cut(shown(r[label]), 26) }),
      svg("rect", { x: left + a, y: 19 + i * 26, width: Math.max(1, b - a), height: 19, rx: 3, class: "bar-mark" }),
      svg("text", { x: left + b + 6, y: 33 + i * 26, "font-size": 12, class: "soft", text: shown(r[value]) }));
  });
  return frame(left + room + 100, 26 + rows.length * 26, `Bars: ${clean(columns[value])} by ${clean(columns[label])}`, 
    svg("line", { x1: left + scale(0), x2: left + scale(0), y1: 12, y2: 20 + rows.length * 26, class: "axis" }), parts);
}

function line(columns, rows, label, value) {
  const sorted = [...rows].sort((a, b) => (a[label] < b[label] ? -1 : a[label] > b[label] ? 1 : 0));
  const values = sorted.map((r) => r[value]);
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const [w, h, left] = [640, 220, 70];
  const x = (i) => left + (i / (sorted.length - 1)) * w;
  const y = (v) => 16 + (1 - (v - low) / (high - low || 1)) * h;
  const ticks = [low, (low + high) / 2, high].map((v) => svg("g", {}, svg("line", { x1: left, x2: left + w, y1: y(v), y2: y(v), class: "axis" }),
    svg("text", { x: left - 8, y: y(v) + 4, "font-size": 11, "text-anchor": "end", class: "soft", text: Number(v.toPrecision(4)).toLocaleString("en") })));
  const every = Math.ceil(sorted.length / 10);
  return frame(left + w + 40, h + 56, `Line: ${clean(columns[value])} over ${clean(columns[label])}`, ticks,
    svg("path", { d: sorted.map((r, i) => `${i ? "L" : "M"}${x(i)} ${y(r[value])}`).join(""), class: "link" }),
    sorted.map((r, i) => svg("g", {}, svg("circle", { cx: x(i), cy: y(r[value]), r: 3.5, class: "bar-mark" }, svg("title", { text: `${shown(r[label])}: ${shown(r[value])}` })),
      i % every === 0 && svg("text", { x: x(i), y: h + 38, "font-size": 11, "text-anchor": "middle", class: "soft", text: cut(shown(r[label]), 12) }))));
}
