"""`make bench`: every cell of the table of results, first with few questions, then with more, until the time is up.

    python -m rowhop.eval.bench --minutes 60

It goes on where it stopped. The table is written after each step into `runs/bench/results.md`, and between the
marks of a document that `--write` names.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rowhop import config
from rowhop.errors import RowhopError
from rowhop.eval.evaluate import DATA, EvalOptions, evaluate
from rowhop.eval.runfolder import CONFIG, Run, read
from rowhop.eval.runner import Listen, Progress
from rowhop.eval.summary import Summary, compare, summarise
from rowhop.eval.tables import Row, bench_table

STAGES = (30, 60, 100, 200)
FOLDER = Path("runs") / "bench"
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
FAST = "qwen2.5-coder-0.5b"

Say = Callable[[str], object]
Ask = Callable[[EvalOptions, Listen], Summary]


@dataclass(frozen=True)
class Cell:
    """One line of the table: a benchmark with settings that differ from the default ones."""

    benchmark: str
    name: str
    ask: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""
    most: int = 100  # questions; ablations stop before the figures that are promised

    @property
    def id(self) -> str:
        return f"{self.benchmark}-{self.name}"


def _cells() -> tuple[Cell, ...]:
    return (
        Cell("wikitq", "default", most=200),
        Cell("spider", "default", most=200),
        Cell("wikitq", "samples5", {"samples": 5}, most=200),
        Cell("wikitq", "python", {"language": "python"}, most=200),
        Cell("spider", "python", {"language": "python"}, most=200),
        Cell("wikitq", "sql", {"language": "sql"}),
        Cell("spider", "sql", {"language": "sql"}),
        Cell("spider", "native", {"language": "native"}),
        Cell("wikitq", "no-guidance", {"repairs": 0}),
        Cell("spider", "no-guidance", {"repairs": 0}),
        Cell("wikitq", "no-demonstrations", {"demonstrations": 0}),
        Cell("spider", "no-demonstrations", {"demonstrations": 0}),
        Cell("wikitq", "small", model=FAST),
        Cell("spider", "small", model=FAST),
    )


CELLS = _cells()


@dataclass(frozen=True)
class Plan:
    """What is measured in this sitting."""

    folder: Path
    cells: tuple[Cell, ...]
    stages: tuple[int, ...]
    minutes: float | None
    data: Path | None
    model: str
    seed: int


def settings_of(cell: Cell, plan: Plan) -> config.Settings:
    model = cell.model or plan.model
    given: dict[str, dict[str, Any]] = {"ask": dict(cell.ask), "model": {"name": model} if model else {}}
    return config.load(given)


def measure(plan: Plan, say: Say = print, ask: Ask = evaluate) -> bool:
    """Work through the plan; returns whether all of it is done. A cell that cannot run is said and left."""
    end = None if plan.minutes is None else time.monotonic() + 60 * plan.minutes
    whole = True
    for stage in plan.stages:
        for cell in plan.cells:
            n = min(stage, cell.most)
            if _done(plan, cell) >= n or same_as_default(plan, cell):
                continue
            left = None if end is None else (end - time.monotonic()) / 60
            if left is not None and left <= 0:
                return False
            try:
                summary = ask(_options(plan, cell, n, left), _teller(cell, n))
            except RowhopError as error:
                say(f"{cell.id}: {error}")
                whole = False
                continue
            score = summary.score
            say(f"{cell.id}: {summary.metric} {score.mean:.1%} ({score.low:.1%} to {score.high:.1%}), n = {summary.n}")
            if summary.stopped:
                say(f"{cell.id}: {summary.stopped}")
                whole = False
            write(plan)
    return whole


def _options(plan: Plan, cell: Cell, n: int, left: float | None) -> EvalOptions:
    folder = plan.folder / cell.id
    return EvalOptions(
        cell.benchmark,
        settings_of(cell, plan),
        data=None if plan.data is None else plan.data / cell.benchmark,
        n=n,
        seed=plan.seed,
        run=folder,
        resume="retry" if (folder / CONFIG).exists() else "",
        minutes=left,
    )


def _run(plan: Plan, cell: Cell) -> Run | None:
    folder = plan.folder / cell.id
    return read(folder) if (folder / CONFIG).exists() else None


def _done(plan: Plan, cell: Cell) -> int:
    run = _run(plan, cell)
    return 0 if run is None else sum(not r.machine_fault for r in run.records)


def same_as_default(plan: Plan, cell: Cell) -> bool:
    """Whether the cell only asks for the language that the default has used for every question anyway."""
    if set(cell.ask) != {"language"} or cell.model:
        return False
    usual = _run(plan, Cell(cell.benchmark, "default"))
    if usual is None or not any(r.program for r in usual.records):
        return False
    return {_language(r.language, r.program_dialect) for r in usual.records if r.program} == {cell.ask["language"]}


def _language(language: str, dialect: str) -> str:
    """How the setting is called that makes programs in this language: over BOXes SQL is DuckDB's."""
    return "native" if language == "sql" and dialect not in ("", "duckdb") else language


def _teller(cell: Cell, n: int) -> Listen:
    def tell(progress: Progress) -> None:
        if progress.last is not None and sys.stderr.isatty():
            left = f", {progress.seconds_left / 60:.0f} min left" if progress.seconds_left is not None else ""
            print(f"\r{cell.id}: {progress.done} of {n}, {progress.mean:.1%}{left}   ", end="", file=sys.stderr)
            if progress.done == progress.total:
                print(file=sys.stderr)

    return tell


def write(plan: Plan, document: Path | None = None) -> str:
    """The table of what has been measured so far, into the run's folder and, between its marks, a document."""
    runs = [(cell, _run(plan, cell)) for cell in CELLS]
    rows: list[Row] = []
    for cell, run in runs:
        if run is None or not run.records:
            if same_as_default(plan, cell):
                rows.append((cell.benchmark, cell.name, None, None))
            continue
        usual = _run(plan, Cell(cell.benchmark, "default"))
        versus = compare(usual, run) if usual is not None and cell.name != "default" else None
        rows.append((cell.benchmark, cell.name, summarise(run), versus))
    text = bench_table(rows)
    plan.folder.mkdir(parents=True, exist_ok=True)
    (plan.folder / "results.md").write_text(text, encoding="utf-8")
    if document is not None:
        before, mark, rest = document.read_text(encoding="utf-8").partition(BEGIN)
        _, end, after = rest.partition(END)
        if not mark or not end:
            raise SystemExit(f"{document} has no lines {BEGIN} and {END} to write between.")
        document.write_text(f"{before}{BEGIN}\n{text}{END}{after}", encoding="utf-8")
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m rowhop.eval.bench", description="Measure rowhop; resumable.")
    parser.add_argument("--minutes", type=float, help="stop after so many minutes (a question that runs is finished)")
    parser.add_argument("--data", type=Path, help=f"folder with wikitq/ and spider/ (default: ${DATA})")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where runs are kept")
    parser.add_argument("--only", default="", help="cells or benchmarks, separated by commas")
    parser.add_argument("--n", type=int, help="one stage with so many questions instead of 30, 60, 100, 200")
    parser.add_argument("--model", default="", help="instead of the embedded one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path, metavar="FILE", help="also write the table into a document")
    parser.add_argument("--again", action="store_true", help="put the cells' earlier runs aside and begin anew")
    parser.add_argument("--list", action="store_true", help="list the cells and how far they are")
    parser.add_argument("--table", action="store_true", help="write the table and measure nothing")
    given = parser.parse_args(arguments)
    plan = Plan(
        given.folder, chosen(given.only), (given.n,) if given.n else STAGES, given.minutes, given.data, given.model,
        given.seed,
    )  # fmt: skip
    if given.again:
        put_aside(plan)
    if given.list:
        for cell in plan.cells:
            print(f"{cell.id:<28} {_done(plan, cell):>4} of {cell.most}")
        return 0
    if given.table:
        print(write(plan, given.write))
        return 0
    if given.data is None and not os.environ.get(DATA):
        print(f"There is nothing to measure with: set {DATA} or give --data (see docs/benchmarks.md).", file=sys.stderr)
        return 2
    try:
        whole = measure(plan)
    except KeyboardInterrupt:
        print("Stopped; the same command goes on from here.", file=sys.stderr)
        return 130
    finally:
        print(write(plan, given.write))
    return 0 if whole or given.minutes is not None else 1


def put_aside(plan: Plan) -> None:
    """Keep earlier runs under `old/`: figures made by an older program are not mixed with those of this one."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    for cell in plan.cells:
        if (plan.folder / cell.id).exists():
            (plan.folder / "old").mkdir(exist_ok=True)
            (plan.folder / cell.id).rename(plan.folder / "old" / f"{cell.id}-{stamp}")


def chosen(only: str) -> tuple[Cell, ...]:
    words = {word.strip() for word in only.split(",") if word.strip()}
    cells = tuple(c for c in CELLS if not words or words & {c.id, c.benchmark, c.name})
    if not cells:
        raise SystemExit(f"There is no cell {only}. There are: {', '.join(c.id for c in CELLS)}.")
    return cells


if __name__ == "__main__":
    raise SystemExit(main())
