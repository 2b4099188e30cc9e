// One run on the page: what it does while it runs, and its answer on top when it is over.

import { follow, get, post } from "./api.js";
import { clean, count, cut, el, shown, svg } from "./dom.js";
import { graph, plot } from "./pictures.js";
import { code, doing, step, walked } from "./steps.js";
import { table } from "./table.js";

const STATES = { queued: "Waiting", running: "Working", stopping: "Stopping", answered: "Done", failed: "Failed", stopped: "Stopped" };

export class RunView {
  // `hooks`: say(text) for a screen reader, changed(state), choose(text), remember(id)
  constructor(id, question, hooks) {
    Object.assign(this, { id, question, hooks, steps: 0, edges: [], state: "queued", began: performance.now() });
    this.line = el("span", {});
    this.clock = el("span", { class: "small dim" });
    this.stop = el("button", { class: "danger", type: "button", text: "Stop", onclick: () => this.halt() });
    this.head = el("div", { class: "state" }, el("span", { class: "dot" }), this.line, this.clock);
    this.answer = el("div", {});
    this.writing = el("pre", { "aria-hidden": "true" });
    this.live = el("div", { hidden: true }, el("h3", { text: "The model writes" }), this.writing);
    this.fetching = el("progress", { hidden: true, max: 1, "aria-label": "Fetching the model" });
    this.picture = el("div", {});
    this.list = el("ol", { class: "steps" });
    this.trail = el("details", { class: "section", open: true }, el("summary", { text: "Steps" }), this.list);
    this.trail.hidden = true;
    this.root = el("article", { class: "card", "aria-label": "Run" },
      el("div", { class: "row" }, el("h2", { class: "asked grow", text: clean(question) }), this.stop),
      this.head, this.fetching, this.answer, this.live, this.picture, this.trail);
    this.turn("queued");
    this.timer = setInterval(() => this.tick(), 200);
    this.close = follow(id, {
      state: (d) => this.turn(d.state, d.position),
      fetch: (d) => this.fetch(d),
      token: (d) => this.token(d.text),
      step: (d) => this.step(d.step),
      end: (d) => this.end(d),
      lost: () => this.end({ state: "failed", answer: null, error: "The connection to the server was lost. Is rowhop serve still running? Reload the page to look again." }),
    });
  }

  leave() {
    this.close();
    clearInterval(this.timer);
  }

  tick() {
    if (this.state === "running") this.clock.textContent = `${((performance.now() - this.began) / 1000).toFixed(1)} s`;
  }

  turn(state, position) {
    if (state === "running" && this.state !== "running") this.began = performance.now();
    this.state = state;
    this.root.className = `card ${state === "stopping" ? "running" : state}`;
    this.line.textContent = state === "queued" && position > 1 ? `Waiting, number ${position} in the queue` : `${STATES[state]}…`;
    this.hooks.changed(this.id, state);
  }

  fetch({ done, total }) {
    this.fetching.hidden = done >= total;
    this.fetching.value = total ? done / total : 0;
    this.line.textContent = done >= total ? "Working…" : `Fetching the model, once: ${(done / 1e6).toFixed(0)} of ${(total / 1e6).toFixed(0)} MB`;
  }

  token(text) {
    if (this.state !== "running") return;
    this.live.hidden = false;
    this.writing.textContent = (this.writing.textContent + clean(text)).slice(-4000);
    this.writing.scrollTop = this.writing.scrollHeight;
  }

  step(s) {
    this.steps += 1;
    this.trail.hidden = false;
    this.list.append(step(s));
    this.live.hidden = true;
    this.writing.textContent = "";
    if (this.state === "running") this.line.textContent = `${doing(s)}…`;
    const known = new Set(this.edges.map(String));
    const fresh = walked(s).filter((e) => !known.has(String(e)));
    if (fresh.length) {
      this.edges.push(...fresh);
      this.draw(graph(this.edges, [], [this.edges[0][0]]));
    }
  }

  draw(picture) {
    this.picture.replaceChildren(el("div", { class: "section" }, el("h3", { text: "Where it walked" }), picture));
  }

  async halt() {
    this.stop.disabled = true;
    try {
      await post(`/api/runs/${this.id}/stop`);
    } catch (error) {
      this.hooks.say(error.message);
    }
  }

  end({ state, answer, error }) {
    this.leave();
    this.turn(state);
    this.stop.remove();
    this.live.hidden = true;
    this.fetching.hidden = true;
    const status = answer?.status;
    const said = { answered: "Answered", unknown: "No answer was found", ambiguous: "The question can mean several things", gave_up: "Gave up before an answer was certain" };
    this.line.textContent = state === "answered" ? said[status] : STATES[state];
    this.clock.textContent = "";
    this.trail.open = state !== "answered" || status !== "answered";
    this.trail.firstChild.textContent = `Steps (${this.steps})`;
    this.answer.replaceChildren();
    if (error) this.answer.append(el("p", { class: "trouble", role: "alert", text: clean(error) }));
    if (answer) this.result(answer);
    const first = answer?.values?.length ? `: ${answer.values.slice(0, 5).map(shown).join(", ")}` : "";
    this.hooks.say(error || `${said[status]}${first}`);
  }

  result(a) {
    const parts = [];
    const pick = (values) => this.evidenceFor(values);
    if (a.status !== "answered" && a.because) parts.push(el("p", { class: "because", text: clean(a.because) }));
    if (a.status === "ambiguous") {
      parts.push(el("div", { class: "row" }, a.choices.map((c) => el("button", { type: "button", text: clean(c), onclick: () => this.hooks.choose(this.question, c) }))));
    }
    const wide = a.table && (a.table.columns.length > 1 || a.table.total > 1) && a.method !== "pasemiqa";
    if (!wide && a.values.length) {
      const size = String(a.values[0]).length > 60 || a.values.length > 3 ? "value small" : "value";
      parts.push(el("div", { class: size }, a.values.slice(0, 20).map((v) => el("div", {}, el("button", { type: "button", title: "Show what this rests on", text: shown(v), onclick: () => pick([v]) })))));
    } else if (!wide && a.status === "answered") {
      parts.push(el("p", { class: "value small", text: "Nothing matches: the result is empty." }));
    }
    if (a.table && (wide || (a.method === "pasemiqa" && a.table.total > 1))) {
      const shown_ = this.table(a.table, pick);
      parts.push(wide ? shown_ : el("details", {}, el("summary", { text: `What else came into question (${a.table.total})` }), shown_));
    }
    if (a.status === "answered" && a.because) parts.push(el("p", { class: "because", text: clean(a.because) }));
    a.warnings.forEach((w) => parts.push(el("p", { class: "warning", text: `⚠ ${clean(w.text)}` })));
    parts.push(this.meta(a));
    if (a.program) parts.push(this.program(a.program));
    this.behind = el("div", { class: "section", hidden: !a.evidence.length });
    this.evidence = a.evidence;
    this.evidenceFor(null);
    parts.push(this.behind);
    this.answer.append(...parts);
    const triples = a.evidence.filter((e) => e.kind === "triple").map((e) => [e.subject, e.relation, e.object]);
    if (triples.length) {
      const named = [...new Set(triples.flatMap((t) => [t[0], t[2]]))];
      this.draw(graph(triples, a.values.map(String), named.filter((n) => this.question.toLowerCase().includes(n.toLowerCase()))));
    }
  }

  table(t, pick) {
    const body = el("div", {});
    const rows = t.rows;
    const grid = table(t.columns, rows, { label: "Result", onpick: (r, c) => pick([rows[r][c], ...rows[r]]) });
    const drawn = plot(t.columns, rows);
    const size = `${count(t.total, "row")}${rows.length < t.total ? `, the first ${rows.length.toLocaleString("en")} kept` : ""}`;
    const head = el("div", { class: "row" }, el("span", { class: "dim small grow", text: size }));
    body.append(grid);
    if (drawn) {
      const toggle = (chart) => {
        body.replaceChildren(chart ? drawn : grid);
        buttons.forEach((b, i) => b.setAttribute("aria-pressed", String((i === 1) === chart)));
      };
      const buttons = ["Table", "Plot"].map((text, i) => el("button", { type: "button", text, "aria-pressed": i === 0 ? "true" : "false", onclick: () => toggle(i === 1) }));
      head.append(...buttons);
    }
    return el("div", {}, head, body);
  }

  meta(a) {
    const c = a.cost;
    const cost = [
      c.calls ? `${count(c.calls, "model call")}, ${(c.prompt_tokens + c.reply_tokens).toLocaleString("en")} tokens` : "no call to a model",
      `${c.seconds.toFixed(1)} s`, c.money && `$${c.money.toFixed(4)}`,
      a.confidence !== null && `${Math.round(a.confidence * 100)} % of the samples agree`, a.method, a.model && clean(a.model),
    ].filter(Boolean);
    const line = el("div", { class: "meta" }, cost.map((t) => el("span", { text: t })), el("span", { class: "grow" }));
    if (a.status === "answered" && a.program) {
      this.thumb = el("button", { type: "button", class: "quiet", onclick: () => this.hooks.remember(this) },
        svg("svg", { viewBox: "0 0 16 16", width: 14, height: 14, "aria-hidden": "true", class: "thumb" },
          svg("path", { d: "M1.5 7h2.6v7H1.5zM5.5 7l3-5.5c1 0 1.8.8 1.6 1.9L9.6 6h3.7c.9 0 1.5.8 1.3 1.7l-1.1 5c-.2.8-.8 1.3-1.6 1.3H5.5z" })), " This is right");
      line.append(this.thumb);
    }
    line.append(this.download("answer.json", "Answer"), this.download("trace.jsonl", "Trace"), a.table && a.table.total ? this.download("result.csv", "CSV") : "");
    return line;
  }

  remembered() {
    this.thumb?.replaceWith(el("span", { text: "Remembered as right" }));
  }

  download(name, text) {
    return el("a", { href: `/api/runs/${this.id}/download/${name}`, download: "", text: text || name, "aria-label": `Download ${name}` });
  }

  program(p) {
    const copy = el("button", { type: "button", text: "Copy", onclick: async () => {
      try {
        await navigator.clipboard.writeText(p.code);
        copy.textContent = "Copied";
      } catch {
        copy.textContent = "Select it and press Ctrl-C";
      }
      setTimeout(() => (copy.textContent = "Copy"), 1500);
    } });
    const name = { python: "Python", sql: "SQL", sparql: "SPARQL" }[p.language];
    return el("div", { class: "section" },
      el("div", { class: "row" }, el("h3", { class: "grow", text: `The program that ran (${name})` }), copy,
        this.download("program.py", ".py"), p.language !== "python" && this.download(`program.${p.language}`, `.${p.language}`)),
      code(p.code, p.language));
  }

  // What the answer rests on; cells that show one of `values` are marked.
  evidenceFor(values) {
    if (!this.behind) return;
    const hits = values ? new Set(values.filter((v) => v !== null).map(shown)) : null;
    const parts = [el("h3", { text: "What this rests on" + (values ? `: ${cut(shown(values[0]), 60)}` : "") })];
    for (const e of this.evidence.filter((one) => one.kind === "rows")) parts.push(this.rows(e, hits));
    const triples = this.evidence.filter((e) => e.kind === "triple");
    const near = hits ? triples.filter((t) => hits.has(t.subject) || hits.has(t.object)) : triples;
    for (const t of (near.length ? near : triples).slice(0, 40)) {
      parts.push(el("div", { class: "triple" }, clean(t.subject), el("span", { class: "rel", text: ` — ${clean(t.relation)} → ` }), clean(t.object)));
    }
    const texts = this.evidence.filter((e) => e.kind === "text");
    const about = hits ? texts.filter((t) => hits.has(t.node)) : texts;
    for (const t of (about.length ? about : texts).slice(0, 20)) {
      parts.push(el("div", {}, el("b", { text: clean(t.node) }), el("blockquote", { text: clean(t.text) })));
    }
    this.behind.replaceChildren(...parts);
    this.behind.hidden = false;
    if (!this.evidence.length) this.behind.append(el("p", { class: "dim", text: "The run left no rows or edges to show for this answer; the program says how it came about." }));
    if (values) {
      this.behind.setAttribute("tabindex", "-1");
      this.behind.focus({ preventScroll: true });
      this.behind.scrollIntoView({ block: "nearest", behavior: "smooth" });
    }
  }

  rows(e, hits) {
    const numbers = e.row_numbers.slice(0, e.rows.length).map((n) => (n + 1).toLocaleString("en"));
    const place = e.source && e.source !== e.box ? `${clean(e.box)} (${clean(e.source.split(/[\\/]/).pop())})` : clean(e.box);
    const first = e.total > e.rows.length ? `, the first ${e.rows.length}` : "";
    const body = el("div", {}, table(e.columns, e.rows, { numbers, hits, label: `Rows of ${clean(e.box)}` }));
    const more = e.row_numbers.length > e.rows.length && el("button", { type: "button", text: "Show more", onclick: async () => {
      more.disabled = true;
      try {
        const got = [];
        for (let start = 0; start < Math.min(1000, e.row_numbers.length); start += 200) {
          got.push(...(await get(`/api/runs/${this.id}/rows?box=${encodeURIComponent(e.box)}&start=${start}&count=200`)).rows);
        }
        body.replaceChildren(table(e.columns, got, { numbers: e.row_numbers.map((n) => (n + 1).toLocaleString("en")), hits, label: `Rows of ${clean(e.box)}` }));
        more.remove();
      } catch (error) {
        more.replaceWith(el("p", { class: "trouble", text: clean(error.message) }));
      }
    } });
    return el("div", {}, el("div", { class: "row" }, el("p", { class: "small grow", text: `${count(e.total, "row")} of ${place}${first}` }), more), body);
  }
}
