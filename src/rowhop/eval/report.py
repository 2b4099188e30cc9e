"""A report of one or several runs: Markdown, and one HTML page that needs nothing but itself.

The page holds tables, plots, the wrong answers by error type, and the steps of up to 50 of them per run.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from rowhop.errors import OperatorError
from rowhop.eval import errortypes, plots
from rowhop.eval.errortypes import Fault
from rowhop.eval.evaluate import told
from rowhop.eval.metrics import listed
from rowhop.eval.runfolder import Run, read
from rowhop.eval.scoring import Record
from rowhop.eval.summary import Summary, compare, summarise
from rowhop.eval.tables import against, between, machine, markdown
from rowhop.trace import BoxesOpened, CodeRun, GraphRead, ModelCall, Note, Saved, Step

SHOWN = 50  # wrong answers per run whose steps stand in the page; the others link to their trace files
_MOST = 4000  # characters of one step

_STYLE = """
body{font:15px/1.45 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:1em 0}td,th{border-bottom:1px solid #ddd;padding:.25em .7em;text-align:left;
vertical-align:top}td.n{text-align:right;font-variant-numeric:tabular-nums}svg text{font:12px system-ui,sans-serif}
pre{background:#f6f6f6;padding:.6em;white-space:pre-wrap;overflow-wrap:anywhere}summary{cursor:pointer}
details{margin:.2em 0}.dim{color:#777}
"""


@dataclass(frozen=True)
class Part:
    """All that the report knows of one run."""

    run: Run
    summary: Summary
    traces: Mapping[str, Saved]
    faults: Mapping[str, Fault]


def write_report(folders: Sequence[Path], out: Path) -> tuple[Path, Path]:
    """Write `out`.md and `out`.html over the runs in these folders; returns both paths. Raises SourceError."""
    parts = [_part(read(folder)) for folder in folders]
    page, text = out.with_suffix(".html"), out.with_suffix(".md")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        text.write_text(as_markdown(parts), encoding="utf-8")
        page.write_text(as_html(parts, out.parent), encoding="utf-8")
    except OSError as error:
        raise OperatorError(f"The report could not be written to {out.parent}: {error.strerror}.") from error
    return text, page


def _part(run: Run) -> Part:
    traces = errortypes.load_traces(run)
    return Part(run, summarise(run), traces, errortypes.faults(run, traces))


_HEAD = (
    "run", "benchmark", "model", "settings", "n", "metric", "score", "95 % interval", "answered", "s median", "s 95 %",
    "s worst", "calls", "tokens", "money",
)  # fmt: skip


def _row(s: Summary) -> list[str]:
    seconds, tokens = s.costs["seconds"], s.costs["prompt_tokens"].mean + s.costs["reply_tokens"].mean
    return [
        s.name,
        str(s.config.get("benchmark", "")),
        str(s.config.get("model", "")),
        told(s.config),
        str(s.n),
        s.metric,
        f"{s.score.mean:.1%}",
        between(s.score),
        f"{s.coverage:.0%}",
        f"{seconds.median:.1f}",
        f"{seconds.p95:.1f}",
        f"{seconds.worst:.1f}",
        f"{s.costs['calls'].mean:.2f}",
        f"{tokens:.0f}",
        "" if s.money is None else f"${s.money:.4f}",
    ]


def _all_scores(parts: Sequence[Part]) -> list[list[str]]:
    return [
        [p.run.name, name, f"{score.mean:.1%}", between(score), str(score.n)]
        for p in parts
        for name, score in p.summary.scores.items()
    ]


def _pairs(parts: Sequence[Part]) -> list[list[str]]:
    """Each run against the first one of its benchmark, over the questions that both asked."""
    rows = []
    firsts: dict[str, Part] = {}
    for part in parts:
        first = firsts.setdefault(str(part.summary.config.get("benchmark")), part)
        if first is not part:
            found = compare(first.run, part.run)
            rows.append([part.run.name, first.run.name, against(found), found.because])
    return rows


def _errors(parts: Sequence[Part]) -> dict[str, dict[str, int]]:
    return {p.run.name: dict(Counter(f.kind for f in p.faults.values()).most_common()) for p in parts if p.faults}


def as_markdown(parts: Sequence[Part]) -> str:
    lines = ["# Evaluation\n", f"Written on {machine()}.\n", markdown(_HEAD, [_row(p.summary) for p in parts])]
    if any(len(p.summary.scores) > 1 for p in parts):
        lines += ["## All metrics\n", markdown(("run", "metric", "mean", "95 % interval", "n"), _all_scores(parts))]
    if pairs := _pairs(parts):
        lines += ["## Compared\n", markdown(("run", "against", "difference", "in words"), pairs)]
    if errors := _errors(parts):
        rows = [[name, kind, str(count)] for name, counts in errors.items() for kind, count in counts.items()]
        lines += ["## Errors\n", markdown(("run", "type", "questions"), rows)]
    rounds = [[p.run.name, str(k), str(v)] for p in parts for k, v in p.summary.rounds.items()]
    lines += ["## Programs run per question\n", markdown(("run", "programs", "questions"), rounds)]
    return "\n".join(lines)


def as_html(parts: Sequence[Part], base: Path) -> str:
    """`base` is the page's folder: trace files are linked relative to it."""
    body = ["<h1>Evaluation</h1>", f'<p class="dim">Written on {escape(machine())}.</p>']
    body.append(_table(_HEAD, [_row(p.summary) for p in parts]))
    points = [
        plots.Point(p.run.name, p.summary.costs["seconds"].median, s.mean, s.low, s.high)
        for p in parts
        if (s := p.summary.score)
    ]
    body += ["<h2>Scores</h2>", plots.scores(points)]
    body += ["<h2>Cost</h2>", plots.cost_over_score(points, "seconds per question (median)")]
    if errors := _errors(parts):
        body += ["<h2>Errors</h2>", plots.shares(errors)]
    rounds = {p.run.name: {f"{k} programs": v for k, v in p.summary.rounds.items()} for p in parts}
    body += ["<h2>Programs run per question</h2>", plots.shares(rounds)]
    body += ["<h2>All metrics</h2>", _table(("run", "metric", "mean", "95 % interval", "n"), _all_scores(parts))]
    if pairs := _pairs(parts):
        body += ["<h2>Compared</h2>", _table(("run", "against", "difference", "in words"), pairs)]
    for part in parts:
        body.append(f"<h2>{escape(part.run.name)}</h2>")
        if len(part.summary.levels) > 1:
            levels = [[k, f"{v.mean:.1%}", between(v), str(v.n)] for k, v in part.summary.levels.items()]
            body.append(_folded("By group", _table(("group", "score", "95 % interval", "n"), levels)))
        body.append(_cases(part, base))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Evaluation</title><style>{_STYLE}</style>'
        f"<body>{''.join(body)}</body></html>\n"
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"


def _cell(text: str) -> str:
    number = text.strip("$%+- ").replace(".", "", 1).isdigit()
    return f'<td class="n">{escape(text)}</td>' if number else f"<td>{escape(text)}</td>"


def _folded(title: str, inside: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{inside}</details>"


def _cases(part: Part, base: Path) -> str:
    """Wrong answers by error type, each with its steps or a link to them, then the right ones as links."""
    wrong = [r for r in part.run.records if r.id in part.faults]
    shown = {r.id for r in wrong[:SHOWN]}
    blocks = []
    for kind, _ in Counter(part.faults[r.id].kind for r in wrong).most_common():
        cases = [r for r in wrong if part.faults[r.id].kind == kind]
        inside = "".join(_case(part, r, base, r.id in shown) for r in cases)
        blocks.append(_folded(f"{kind}: {len(cases)}", inside))
    right = [r for r in part.run.records if r.score >= 1.0]
    links = "".join(f"<li>{_link(part, r, base)} {escape(r.question)}</li>" for r in right)
    return "".join(blocks) + _folded(f"right: {len(right)}", f"<ul>{links}</ul>")


def _link(part: Part, record: Record, base: Path) -> str:
    path = os.path.relpath(part.run.folder / record.trace, base)
    return f'<a href="{escape(Path(path).as_posix(), quote=True)}">{escape(record.id)}</a>'


def _case(part: Part, record: Record, base: Path, with_steps: bool) -> str:
    facts = [
        ("because", part.faults[record.id].because),
        ("score", record.scores[0].because if record.scores else ""),
        ("answer", listed(record.predicted, 20)),
        ("gold", record.gold_sql or listed(record.gold, 20)),
    ]
    rows = "".join(f"<tr><td>{name}</td><td>{escape(_cut(text))}</td></tr>" for name, text in facts if text)
    program = f"<pre>{escape(_cut(record.program))}</pre>" if record.program else ""
    saved = part.traces.get(record.id) if with_steps else None
    steps = _folded("steps", "".join(_step(s) for s in saved.steps)) if saved else ""
    return _folded(record.question, f"<p>Trace: {_link(part, record, base)}</p><table>{rows}</table>{program}{steps}")


def _step(step: Step) -> str:
    match step:
        case ModelCall():
            sent = "\n".join(f"[{m.role}] {m.content}" for m in step.messages)
            replies = "\n--- another sample\n".join(step.replies)
            tokens = f"{step.prompt_tokens} + {step.reply_tokens} tokens in {step.seconds:.1f} s"
            return _folded(f"{step.model} ({step.purpose}), {tokens}", _pre(sent) + _pre(replies))
        case CodeRun():
            told_ = step.error or (repr(step.result.rows[:5]) if step.result else "")
            return _folded(f"program: {step.status}", _pre(step.program.code) + _pre(told_))
        case BoxesOpened():
            return _folded(f"tables: {', '.join(step.boxes)}", _pre(step.shown))
        case GraphRead():
            return _folded(f"read: {step.query[:100]}", _pre("\n".join(step.found)))
        case Note():
            return _folded(step.topic, _pre(step.text))


def _pre(text: str) -> str:
    return f"<pre>{escape(_cut(text))}</pre>" if text else ""


def _cut(text: str) -> str:
    return text if len(text) <= _MOST else f"{text[:_MOST]}… ({len(text) - _MOST} more characters in the trace)"
