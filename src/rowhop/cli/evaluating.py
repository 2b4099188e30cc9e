"""`rowhop eval`, `compare` and `report`: ask a benchmark's questions, keep what came of each, and sum up."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rowhop.cli import screen

if TYPE_CHECKING:
    from rowhop.config import Settings
    from rowhop.eval.evaluate import EvalOptions
    from rowhop.eval.runner import Progress


def evaluate(options: EvalOptions, as_json: bool) -> int:
    """Returns 0 when every question was asked, else 4; what was done is kept either way."""
    from rowhop.cli import ANSWERED, GAVE_UP
    from rowhop.eval.evaluate import evaluate as measure
    from rowhop.eval.summary import render

    summary = measure(options, _tell)
    if as_json:
        print(json.dumps(_plain(summary), ensure_ascii=not screen.utf8(), indent=2))
    else:
        screen.out().print(screen.plain(render(summary)))
    return GAVE_UP if summary.stopped else ANSWERED


def with_switches(settings: Settings, repairs: int | None, demonstrations: int | None) -> Settings:
    """What only measuring switches: rounds of repair and demonstrations."""
    from rowhop import config

    given = {"repairs": repairs, "demonstrations": demonstrations}
    return config.changed(settings, {"ask": {name: value for name, value in given.items() if value is not None}})


def compare(first: Path, second: Path) -> int:
    from rowhop.eval.runfolder import read
    from rowhop.eval.summary import compare as paired
    from rowhop.eval.summary import percent, summarise

    runs = [read(first), read(second)]
    for run in runs:
        summary = summarise(run)
        screen.out().print(screen.plain(f"{run.folder}: {summary.metric} {percent(summary.score)}"))
    screen.out().print(screen.plain(paired(*runs).because))
    return 0


def report(runs: Sequence[Path], out: Path) -> int:
    from rowhop.eval.report import write_report

    for path in write_report(runs, out):
        screen.out().print(screen.plain(str(path)))
    return 0


def _tell(progress: Progress) -> None:
    last = progress.last
    if last is None:
        return
    left = f", {progress.seconds_left / 60:.0f} min left" if progress.seconds_left is not None else ""
    mark = "right" if last.score >= 1 else last.status if last.status != "answered" else "wrong"
    screen.say(f"{progress.done}/{progress.total}  {progress.mean:.1%}{left}  {screen.one_line(last.id, 40)}: {mark}")


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value
