// The page: sources on the left, the question on top, the run below.

import { get, post, remove, upload } from "./api.js";
import { $, clean, count, cut, el, shown } from "./dom.js";
import { diagram } from "./pictures.js";
import { RunView } from "./run.js";
import { code } from "./steps.js";
import { table } from "./table.js";

const state = { sources: [], chosen: new Set(), talk: "", view: null, settings: null, content: null, asList: false };
const kept = {
  read: (key) => { try { return localStorage.getItem(`rowhop-${key}`) || ""; } catch { return ""; } },
  write: (key, value) => { try { localStorage.setItem(`rowhop-${key}`, value); } catch { /* a private window keeps nothing */ } },
};
const say = (text) => { $("say").textContent = ""; requestAnimationFrame(() => ($("say").textContent = text)); };

function trouble(id, error) {
  const place = $(id);
  place.hidden = !error;
  place.textContent = error ? clean(error.message || error) : "";
}

// ---- sources

function drawSources() {
  $("sources").replaceChildren(...state.sources.map((s) => el("li", {},
    el("label", { title: clean(s.name) },
      el("input", { type: "checkbox", checked: state.chosen.has(s.id), onchange: (e) => choose(s.id, e.target.checked) }),
      el("span", { class: "name", text: clean(s.name) })),
    el("button", { class: "quiet", type: "button", "aria-label": `Take ${clean(s.name)} off the list`, text: "×", onclick: () => drop(s.id) }))));
  $("welcome").hidden = state.sources.length > 0 || state.view !== null;
}

function choose(id, on) {
  state.chosen[on ? "add" : "delete"](id);
  fresh();
  drawSources();
  showContent();
}

async function drop(id) {
  try {
    state.sources = (await remove(`/api/sources/${id}`)).sources;
    state.chosen.delete(id);
    fresh();
    drawSources();
    showContent();
  } catch (error) {
    trouble("source-trouble", error);
  }
}

function added(reply) {
  state.sources = reply.sources;
  reply.added.forEach((id) => state.chosen.add(id));
  fresh();
  drawSources();
  showContent();
  $("question").focus();
}

async function addFiles(files) {
  trouble("source-trouble", "");
  const group = [...crypto.getRandomValues(new Uint8Array(8))].map((n) => n.toString(16).padStart(2, "0")).join("");
  try {
    if (!files.length) throw new Error("Nothing that could be read was dropped. Drop files, not folders.");
    for (const [i, file] of files.entries()) {
      // Before the settings are there the server itself refuses what is too large.
      if (file.size > state.settings?.upload_bytes) throw new Error(`${file.name} is larger than ${(state.settings.upload_bytes / 1e6).toFixed(0)} MB. Name it to rowhop serve instead.`);
      $("pick").textContent = `Adding ${cut(clean(file.name), 20)} (${i + 1} of ${files.length})…`;
      await upload(file, group);
    }
    added(await post("/api/sources", { group }));
    say(`Added ${count(files.length, "file")}.`);
  } catch (error) {
    trouble("source-trouble", error);
  } finally {
    $("pick").textContent = "Choose files…";
  }
}

async function named(path) {
  trouble("source-trouble", "");
  try {
    added(await post("/api/sources", { path }));
    $("path").value = "";
  } catch (error) {
    trouble("source-trouble", error);
  }
}

// ---- what is in them

async function showContent() {
  const ids = [...state.chosen];
  const card = $("content");
  state.content = null;
  if (!ids.length) { card.hidden = true; return; }
  card.hidden = false;
  $("content-body").replaceChildren(el("p", { class: "dim", text: "Reading…" }));
  try {
    const found = await get(`/api/content?${ids.map((i) => `source=${i}`).join("&")}`);
    if (String(ids) !== String([...state.chosen])) return;
    state.content = found;
    drawContent();
  } catch (error) {
    $("content-body").replaceChildren(el("p", { class: "trouble", text: clean(error.message) }));
  }
}

function drawContent() {
  const c = state.content;
  if (!c) return;
  $("as-diagram").setAttribute("aria-pressed", String(!state.asList));
  $("as-list").setAttribute("aria-pressed", String(state.asList));
  const body = $("content-body");
  const notes = c.cautions.map((t) => el("p", { class: "warning", text: clean(t) }));
  document.querySelector("#content .tabs").hidden = Boolean(c.schema);
  if (c.schema) {
    const s = c.schema;
    const size = [s.nodes !== null && count(s.nodes, "node"), s.triples !== null && count(s.triples, "edge")].filter(Boolean).join(", ");
    body.replaceChildren(...notes, el("p", { class: "dim small", text: `${clean(c.name.split("/").pop())}: ${size || "not counted"}. ${s.cut}` }),
      el("div", { class: "chips" }, s.types.slice(0, 30).map((t) => el("span", { class: "chip", text: `${clean(t.name)}${t.count === null ? "" : ` · ${t.count.toLocaleString("en")}`}` }))),
      table(["relation", "from", "to", "edges"], s.relations.map((r) => [r.name, r.domain.slice(0, 3).join(", "), r.range.slice(0, 3).join(", "), r.count]), { label: "Relations" }));
    return;
  }
  const room = body.clientWidth;
  const list = () => el("div", { class: "columns" }, c.boxes.map((b) => el("div", {}, el("h3", { text: `${clean(b.name)}${b.rows === null ? "" : ` · ${count(b.rows, "row")}`}` }),
    el("table", {}, el("tbody", {}, b.columns.map((col) => el("tr", {}, el("td", { title: clean(col.name), text: (b.keys.includes(col.name) ? "⚷ " : "") + clean(col.name) }), el("td", { class: "dim", text: col.dtype }), el("td", { class: "dim", text: col.samples.map(shown).join(", ") }))))))));
  body.replaceChildren(...notes, state.asList ? list() : diagram(c.boxes, c.foreign_keys, room));
  c.left_out.forEach((t) => body.append(el("p", { class: "dim small", text: clean(t) })));
}

// ---- asking

function fresh() {
  state.talk = "";
  drawContext();
}

function drawContext() {
  $("fresh").hidden = !state.talk;
  $("context").textContent = state.talk ? "A follow-up: it knows what was asked before." : state.chosen.size ? "" : "Choose a source first.";
  $("go").textContent = state.talk ? "Ask next" : "Ask";
}

const limit = (key) => { const n = Number(kept.read(key)); return n > 0 ? n : null; };

async function ask(question, choice = "") {
  trouble("ask-trouble", "");
  if (!question.trim()) { trouble("ask-trouble", "Type a question first."); return; }
  if (!state.talk && !state.chosen.size) { trouble("ask-trouble", state.sources.length ? "Choose a source on the left first." : "Drop a file on this page first, or name one on the left."); return; }
  const form = {
    question, choice, talk: state.talk, sources: state.talk ? [] : [...state.chosen], model: state.talk ? "" : kept.read("model"),
    method: kept.read("method") || "auto", seconds: limit("seconds"), calls: limit("calls"), tokens: limit("tokens"),
  };
  $("go").disabled = true;
  try {
    const { run, talk } = await post("/api/runs", form);
    state.talk = talk;
    $("question").value = "";
    open(run, question);
    drawHistory();
  } catch (error) {
    trouble("ask-trouble", error);
  } finally {
    $("go").disabled = false;
    drawContext();
  }
}

function open(id, question) {
  state.view?.leave();
  state.view = new RunView(id, question, {
    say,
    changed: (run, now) => { if (["answered", "failed", "stopped"].includes(now)) drawHistory(); },
    choose: (text, choice) => ask(text, choice),
    remember,
  });
  $("run").replaceChildren(state.view.root);
  $("welcome").hidden = true;
  const place = `#run-${id}`;
  if (location.hash !== place) history.pushState(null, "", place);
}

async function drawHistory() {
  const { runs } = await get("/api/runs").catch(() => ({ runs: [] }));
  $("no-history").hidden = runs.length > 0;
  $("history").replaceChildren(...runs.map((r) => {
    const open_ = { queued: "waiting…", running: "working…", stopping: "stopping…", stopped: "stopped", failed: "failed" };
    const said = open_[r.state] || r.value || { unknown: "no answer found", ambiguous: "which is meant?", gave_up: "gave up", answered: "nothing matches" }[r.status];
    return el("li", {}, el("button", { type: "button", title: clean(r.question), "aria-current": state.view?.id === r.id ? "true" : "false", onclick: () => look(r.id) },
      el("span", { class: "q", text: clean(r.question) }), el("span", { class: "v", text: clean(said ?? "") })));
  }));
}

async function look(id) {
  try {
    const run = await get(`/api/runs/${id}`);
    state.talk = run.talk;
    if (run.sources.length) state.chosen = new Set(run.sources);
    drawSources();
    drawContext();
    open(id, run.question);
    drawHistory();
    showContent();
    $("side").classList.remove("open");
  } catch (error) {
    trouble("ask-trouble", error);
    history.replaceState(null, "", "/");
  }
}

async function remember(view) {
  try {
    const entry = await get(`/api/runs/${view.id}/remember`);
    $("confirm-body").replaceChildren(el("p", {}, el("b", { text: clean(entry.question) })), code(entry.code, entry.language),
      el("details", {}, el("summary", { text: "With these tables, as they were shown" }), el("pre", { text: clean(entry.schema) })));
    const dialog = $("confirm");
    dialog.returnValue = "no";
    dialog.onclose = async () => {
      if (dialog.returnValue !== "yes") return;
      try {
        await post(`/api/runs/${view.id}/remember`);
        view.remembered();
        say("Remembered.");
      } catch (error) {
        trouble("ask-trouble", error);
      }
    };
    dialog.showModal();
  } catch (error) {
    trouble("ask-trouble", error);
  }
}

// ---- settings

function drawSettings() {
  const s = state.settings;
  const used = kept.read("model");
  $("set-model").replaceChildren(...s.models.map((m) => el("option", { value: m, text: clean(m), selected: m === (used || s.model) })));
  $("set-method").value = kept.read("method") || s.method;
  for (const key of ["seconds", "calls", "tokens"]) $(`set-${key}`).value = kept.read(key) || s.budget[key] || "";
  $("set-theme").value = kept.read("theme");
  const named = used && s.models.includes(used) ? used : s.model;
  $("model-now").textContent = clean(named.startsWith("replay:") ? `replay of ${named.split(/[\\/]/).pop()}` : named);
  const shares = { schema: "names and types of columns", samples: "names, types and a few sample cells", all: "names, sample cells and results" };
  $("share-note").textContent = `Prompts may hold: ${shares[s.share]}. rowhop serve was started so; the page cannot change it.`;
}

function keepSettings() {
  const s = state.settings;
  kept.write("model", $("set-model").value === s.model ? "" : $("set-model").value);
  kept.write("method", $("set-method").value);
  for (const key of ["seconds", "calls", "tokens"]) kept.write(key, $(`set-${key}`).value);
  kept.write("theme", $("set-theme").value);
  theme();
  drawSettings();
}

function theme() {
  const wanted = kept.read("theme");
  if (wanted) document.documentElement.dataset.theme = wanted;
  else delete document.documentElement.dataset.theme;
}

// ---- all together

function listen() {
  $("ask").addEventListener("submit", (e) => { e.preventDefault(); ask($("question").value); });
  $("question").addEventListener("keydown", (e) => {
    if (e.key === "Enter" && !e.shiftKey && !e.isComposing) { e.preventDefault(); ask($("question").value); }
  });
  $("fresh").addEventListener("click", () => { fresh(); $("question").focus(); });
  $("pick").addEventListener("click", () => $("files").click());
  $("files").addEventListener("change", async (e) => { await addFiles([...e.target.files]); e.target.value = ""; });
  $("name-form").addEventListener("submit", (e) => { e.preventDefault(); named($("path").value); });
  $("as-diagram").addEventListener("click", () => { state.asList = false; drawContent(); });
  $("as-list").addEventListener("click", () => { state.asList = true; drawContent(); });
  $("open-settings").addEventListener("click", () => { drawSettings(); $("settings").showModal(); });
  $("settings").addEventListener("close", keepSettings);
  $("menu").addEventListener("click", () => $("menu").setAttribute("aria-expanded", String($("side").classList.toggle("open"))));
  addEventListener("popstate", () => { const id = location.hash.match(/^#run-(\w+)$/)?.[1]; if (id && id !== state.view?.id) look(id); });
  addEventListener("keydown", (e) => {
    if (e.key === "/" && !/INPUT|TEXTAREA|SELECT/.test(document.activeElement?.tagName) && !document.querySelector("dialog[open]")) { e.preventDefault(); $("question").focus(); }
  });
  let depth = 0;
  addEventListener("dragenter", (e) => { e.preventDefault(); depth += 1; $("drop-veil").hidden = false; });
  addEventListener("dragleave", () => { depth = Math.max(0, depth - 1); if (!depth) $("drop-veil").hidden = true; });
  addEventListener("dragover", (e) => e.preventDefault());
  addEventListener("drop", (e) => { e.preventDefault(); depth = 0; $("drop-veil").hidden = true; addFiles([...e.dataTransfer.files]); });
}

async function begin() {
  theme();
  // The token has become a cookie; it need not stay where it can be read over a shoulder.
  if (location.search) history.replaceState(null, "", `/${location.hash}`);
  listen();
  try {
    const [settings, listed] = await Promise.all([get("/api/settings"), get("/api/sources")]);
    Object.assign(state, { settings, sources: listed.sources, chosen: new Set(listed.sources.map((s) => s.id)) });
    drawSettings();
    drawSources();
    drawContext();
    drawHistory();
    const id = location.hash.match(/^#run-(\w+)$/)?.[1];
    if (id) await look(id);
    else showContent();
    const { files } = await get("/api/files");
    $("offers").append(...files.slice(0, 8).map((f) => el("button", { type: "button", text: clean(f), onclick: () => named(f) })));
    $("offers").hidden = !files.length;
    $("known-files").replaceChildren(...files.map((f) => el("option", { value: f })));
  } catch (error) {
    trouble("ask-trouble", error);
  }
}

begin();
