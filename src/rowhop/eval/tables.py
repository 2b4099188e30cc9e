"""Tables of results as Markdown: for `docs/benchmarks.md` and for reports."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime

from rowhop.eval.statistics import Interval, Paired
from rowhop.eval.summary import Summary

# Benchmark, variant, its summary (None: the same as the default) and its comparison with the default.
Row = tuple[str, str, Summary | None, Paired | None]

_TITLES = {"wikitq": "WikiTableQuestions, `random-split-1-dev`", "spider": "Spider, `dev.json`"}
_HEAD = (
    "variant", "n", "score", "95 % interval", "to default", "answered", "s median", "s 95 %", "own ms", "first prompt",
    "calls", "programs run",
)  # fmt: skip


def bench_table(rows: Sequence[Row]) -> str:
    """One table per benchmark."""
    parts = [f"Measured {datetime.now(UTC):%Y-%m-%d} on {machine()}.\n"]
    for benchmark in dict.fromkeys(row[0] for row in rows):
        mine = [row for row in rows if row[0] == benchmark]
        first = next((s for _, _, s, _ in mine if s is not None), None)
        metric, model = (first.metric, first.config.get("model", "")) if first else ("", "")
        parts.append(f"### {_TITLES.get(benchmark, benchmark)}\n\nMetric {metric}, model {model} where not said.\n")
        parts.append(markdown(_HEAD, [_cells(row, str(model)) for row in mine]))
    if any(s is not None and mixed(s) for _, _, s, _ in rows):
        parts.append(
            "† The program changed while this was measured: its questions were asked of more than one version.\n"
        )
    return "\n".join(parts)


def mixed(summary: Summary) -> bool:
    return len(summary.config.get("code", ())) > 1


def _cells(row: Row, usual_model: str) -> list[str]:
    _, name, s, versus = row
    if s is None:
        return [name, *["= default"], *[""] * (len(_HEAD) - 2)]
    model = str(s.config.get("model", ""))
    label = name if model == usual_model else f"{name} ({model})"
    label += "†" if mixed(s) else ""
    costs = s.costs
    return [
        label,
        str(s.n),
        f"{s.score.mean:.1%}",
        between(s.score),
        "" if versus is None else against(versus),
        f"{s.coverage:.0%}",
        f"{costs['seconds'].median:.1f}",
        f"{costs['seconds'].p95:.1f}",
        f"{1000 * costs['own_seconds'].median:.0f}",
        f"{costs['first_prompt_tokens'].median:.0f}",
        f"{costs['calls'].mean:.2f}",
        " ".join(f"{rounds}×{count}" for rounds, count in s.rounds.items()),
    ]


def between(score: Interval) -> str:
    return f"{100 * score.low:.1f} – {100 * score.high:.1f}"


def against(versus: Paired) -> str:
    return f"{100 * versus.difference:+.1f} (p = {versus.p:.2f}, n = {versus.n})"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def machine() -> str:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{platform.system()} {platform.machine()}, {cores} cores, Python {platform.python_version()}"
