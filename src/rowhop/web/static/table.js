// A result as a table. However many rows there are, only those in view are in the page.

import { clean, el, isNumber, shown } from "./dom.js";

const HEIGHT = 30;
const AROUND = 12;
const SAMPLE = 200;

function widths(columns, rows) {
  return columns.map((name, c) => {
    let most = name.length + 2;
    for (let r = 0; r < Math.min(rows.length, SAMPLE); r++) most = Math.max(most, shown(rows[r][c]).length);
    return Math.min(340, Math.max(64, most * 8 + 28));
  });
}

// `numbers`: what stands before each row. `hits`: texts whose cells are marked. `onpick(row, column)`: a cell was chosen.
export function table(columns, rows, { numbers = null, hits = null, onpick = null, label = "Result" } = {}) {
  const numeric = columns.map((_, c) => rows.length > 0 && rows.slice(0, SAMPLE).every((r) => r[c] === null || isNumber(r[c])));
  const size = widths(columns, rows);
  if (numbers) size.unshift(70);
  const body = el("tbody");
  const inner = el(
    "table",
    { "aria-rowcount": rows.length + 1 },
    el("colgroup", {}, size.map((w) => { const c = el("col"); c.style.width = `${w}px`; return c; })),
    el("thead", {}, el("tr", {},
      numbers && el("th", { scope: "col", class: "n", text: "row" }),
      columns.map((name, c) => el("th", { scope: "col", class: numeric[c] ? "n" : "", title: clean(name), text: clean(name) })))),
    body,
  );
  inner.style.tableLayout = "fixed";
  inner.style.width = `${size.reduce((a, b) => a + b, 0)}px`;
  const view = el("div", { class: onpick ? "grid pick" : "grid", role: "region", tabindex: 0, "aria-label": label }, inner);

  let from = -1;
  let to = -1;
  const spacer = (height) => {
    const cell = el("td", { colspan: size.length });
    cell.style.height = `${height}px`;
    return el("tr", { class: "pad", "aria-hidden": "true" }, cell);
  };
  const cell = (r, c) => {
    const value = rows[r][c];
    const text = shown(value);
    const kind = [numeric[c] && "n", value === null && "nil", hits?.has(text) && "hit"].filter(Boolean).join(" ");
    return el("td", {
      class: kind || undefined, title: text.length > 30 ? text : undefined, text,
      ...(onpick && {
        tabindex: 0, onclick: () => onpick(r, c),
        onkeydown: (e) => (e.key === "Enter" || e.key === " ") && (e.preventDefault(), onpick(r, c)),
      }),
    });
  };
  const draw = () => {
    const seen = view.clientHeight || 420;
    const first = Math.max(0, Math.floor(view.scrollTop / HEIGHT) - AROUND);
    const last = Math.min(rows.length, Math.ceil((view.scrollTop + seen) / HEIGHT) + AROUND);
    if (first === from && last === to) return;
    [from, to] = [first, last];
    const lines = [];
    if (first > 0) lines.push(spacer(first * HEIGHT));
    for (let r = first; r < last; r++) {
      lines.push(el("tr", { "aria-rowindex": r + 2 },
        numbers && el("td", { class: "no", text: numbers[r] ?? "" }), columns.map((_, c) => cell(r, c))));
    }
    if (last < rows.length) lines.push(spacer((rows.length - last) * HEIGHT));
    body.replaceChildren(...lines);
  };
  let asked = false;
  view.addEventListener("scroll", () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; draw(); });
  }, { passive: true });
  draw();
  return view;
}
