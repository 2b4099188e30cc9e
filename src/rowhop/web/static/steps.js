// The steps of a run, one list item each, exactly those of the saved trace.

import { clean, count, cut, el } from "./dom.js";
import { table } from "./table.js";

const WORDS = new Set(("False None True and as assert break class continue def del elif else except finally for from if import in is lambda not or pass raise return try while with yield " +
  "select from where join left right inner outer full cross on group by order having limit offset as and or not in is null case when then else end distinct count sum avg min max union all with desc asc between like exists optional filter prefix").split(" "));
const PIECE = /(#[^\n]*|--[^\n]*)|("""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(\b\d[\d_.]*\b)|([A-Za-z_]\w*)|([\s\S])/g;

// A program with its words coloured. In SPARQL a # may stand inside an address, so that only quotes are coloured there.
export function code(text, language) {
  const out = el("pre", { tabindex: 0, "aria-label": `Program in ${language}` });
  let plain = "";
  const put = (kind, piece) => {
    if (!kind) { plain += piece; return; }
    if (plain) out.append(plain);
    plain = "";
    out.append(el("span", { class: kind, text: piece }));
  };
  for (const [whole, comment, string, number, word] of clean(text).matchAll(PIECE)) {
    if (comment && (language === "sparql" || (language === "python") !== comment.startsWith("#"))) put("", whole);
    else if (comment) put("cm", whole);
    else if (string) put("st", whole);
    else if (number) put("nu", whole);
    else if (word && WORDS.has(language === "python" ? word : word.toLowerCase())) put("kw", whole);
    else put("", whole);
  }
  if (plain) out.append(plain);
  return out;
}

const pre = (text) => el("pre", { tabindex: 0, text: clean(text) });
const fold = (title, ...inside) => el("details", {}, el("summary", { text: title }), inside);
const NOTES = { plan: "Plan", topic: "What the question is about", observe: "Observation", predict: "Prediction", think: "Thought", thought: "Thought", verdict: "Verdict", recall: "Recalled examples", error: "Difference", fallback: "Fallback" };

const titled = (word) => clean(word).replaceAll("_", " ").replace(/^./, (c) => c.toUpperCase());

const show = {
  boxes_opened: (s) => [
    `Opened ${s.boxes.length === 1 ? clean(s.boxes[0]) : count(s.boxes.length, "table")}`,
    el("div", { class: "chips" }, s.boxes.slice(0, 12).map((b) => el("span", { class: "chip", text: clean(b) }))),
    s.left_out.map((line) => el("p", { class: "dim small", text: `Left out: ${clean(line)}` })),
    fold("As the model sees them", pre(s.shown)),
  ],
  model_call: (s) => [
    `Asked ${clean(s.model)} (${clean(s.purpose).replaceAll("_", " ")})`,
    el("p", { class: "dim small", text: `${s.prompt_tokens.toLocaleString("en")} + ${s.reply_tokens.toLocaleString("en")} tokens, ${s.from_cache ? "from the cache" : `${s.seconds.toFixed(1)} s`}` }),
    s.replies.slice(0, 1).map(pre),
    s.replies.length > 1 && fold(`${s.replies.length - 1} more replies`, s.replies.slice(1).map(pre)),
    fold("What was sent", s.messages.map((m) => [el("h3", { text: m.role }), pre(m.content)])),
  ],
  code_run: (s) => [
    s.status === "ok" ? `Ran the program in ${s.seconds.toFixed(2)} s` : s.status === "refused" ? "The program was refused" : `The program ended: ${clean(s.status)}`,
    code(s.program.code, s.program.language),
    s.error && el("p", { class: "trouble", text: clean(s.error) }),
    s.result && table(s.result.columns, s.result.rows.slice(0, 5), { label: "First rows of the result" }),
    s.result && s.result.total > 5 && el("p", { class: "dim small", text: `${s.result.total.toLocaleString("en")} rows in all` }),
    s.warnings.map((w) => el("p", { class: "warning", text: clean(w.text) })),
  ],
  graph_read: (s) => [
    /^\w+\[/.test(s.query) || !/select/i.test(s.query) ? cut(clean(s.query), 90) : "Read the graph",
    /select/i.test(s.query) && code(s.query, "sparql"),
    el("p", { class: "note", text: s.found.map(clean).join("\n") || "Nothing was found." }),
    s.total > s.found.length && el("p", { class: "dim small", text: `${s.total.toLocaleString("en")} in all` }),
  ],
  note: (s) => [NOTES[s.topic] || titled(s.topic), el("p", { class: "note", text: clean(s.text) })],
};

export function step(s) {
  const [head, ...rest] = (show[s.kind] || ((o) => [o.kind, pre(JSON.stringify(o, null, 1))]))(s);
  const bad = s.kind === "code_run" && s.status !== "ok";
  return el("li", { class: bad ? "bad" : "", "data-kind": s.kind },
    el("div", { class: "head" }, el("b", { text: head }), el("time", { text: `${s.at.toFixed(2)} s` })), rest);
}

// In a few words, for the line above the steps and for a screen reader.
export function doing(s) {
  if (s.kind === "boxes_opened") return "Waiting for the model";
  if (s.kind === "model_call") return "Reading the reply";
  if (s.kind === "code_run") return s.status === "ok" ? "Reading the result" : "Mending the program";
  if (s.kind === "graph_read") return "Walking the graph";
  return NOTES[s.topic] || cut(clean(s.topic), 30);
}

const local = (iri) => decodeURIComponent(iri.split(/[/#]/).filter(Boolean).pop() || iri).replaceAll("_", " ");
const bare = (text) => text.replace(/^\[\d+\]\s*/, "").replace(/\s*\([^)]*\)\s*$/, "").trim();

// The edges that a read of the graph went along, as far as the step tells them: [from, label, to].
export function walked(s) {
  if (s.kind !== "graph_read") return [];
  const search = s.query.match(/^Search\[(.*)\]$/);
  if (search) {
    return s.found.flatMap((line) => {
      const hop = line.match(/^(–(.+)→|←(.+)–)\s+(.*)$/);
      if (!hop) return [];
      return hop[4].split(";").map(bare).filter((n) => n && !/^… /.test(n))
        .map((n) => (hop[2] ? [search[1], hop[2], n] : [n, hop[3], search[1]]));
    });
  }
  const pattern = [...s.query.matchAll(/(<[^>\s]+>|\?\w+)\s+(<[^>\s]+>)\s+(<[^>\s]+>|\?\w+)/g)];
  const start = pattern.flatMap((p) => [p[1], p[3]]).find((t) => t.startsWith("<"));
  if (!start || !s.found.length) return [];
  const label = pattern.map((p) => local(p[2].slice(1, -1))).join(" / ");
  return s.found.slice(0, 8).map((f) => [local(start.slice(1, -1)), label, clean(f)]);
}
