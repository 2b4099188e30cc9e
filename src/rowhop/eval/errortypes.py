"""Why a question went wrong, in the error types of the Pandora paper, as far as a rule can tell.

A person's word wins: a file `labels.tsv` in the run's folder (id, type, reason) corrects single questions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rowhop.errors import SourceError
from rowhop.eval.metrics import normal
from rowhop.eval.runfolder import Run
from rowhop.eval.scoring import Record
from rowhop.trace import CodeRun, Saved

# "logic or intent" stands for the paper's "reasoning logic" and "query intent", which no rule tells apart;
# "machine" is not the paper's: the model, the disk or the sandbox failed.
ErrorType = Literal[
    "execution failure", "BOX error", "field error", "output format", "no answer", "logic or intent",
    "reasoning logic", "query intent", "machine",
]  # fmt: skip
ERROR_TYPES: tuple[ErrorType, ...] = ErrorType.__args__  # type: ignore[attr-defined]
LABELS = "labels.tsv"

_FIELD = re.compile(r"KeyError|column|field|attribute", re.IGNORECASE)
_BOX = re.compile(r"NameError|is not defined|table with name|no such table|no table|unknown name", re.IGNORECASE)


@dataclass(frozen=True)
class Fault:
    kind: ErrorType
    because: str


def fault(record: Record, saved: Saved | None) -> Fault | None:
    """The type of a wrong answer; None for a right one."""
    if record.score >= 1.0:
        return None
    if record.machine_fault:
        return Fault("machine", record.error)
    last = next((s for s in reversed(saved.steps if saved else ()) if isinstance(s, CodeRun)), None)
    if last is not None and last.status != "ok":
        return _failed(last)
    if record.error or (last is None and not record.program):
        return Fault("execution failure", record.error or "No program ran.")
    if record.status != "answered":
        return Fault("no answer", record.scores[0].because if record.scores else record.status)
    return _wrong(record)


def _failed(last: CodeRun) -> Fault:
    told = last.error.strip().splitlines()
    because = told[-1][:300] if told else last.status
    if _BOX.search(last.error):
        return Fault("BOX error", because)
    if _FIELD.search(last.error):
        return Fault("field error", because)
    return Fault("execution failure", because)


def _wrong(record: Record) -> Fault:
    because = record.scores[0].because
    if " columns, the gold result " in because:
        return Fault("output format", because)
    have = {_bare(v) for v in map(normal, record.predicted)} - {""}
    want = {_bare(v) for v in map(normal, record.gold)} - {""}
    if have and want and (have == want or (len(have) == len(want) == 1 and _near(have.pop(), want.pop()))):
        return Fault("output format", f"The same but for how it is written. {because}")
    return Fault("logic or intent", because)


def _near(one: str, other: str) -> bool:
    """Whether one text stands in the other, and is not just a letter or two of it."""
    short, long = sorted((one, other), key=len)
    return len(short) >= 3 and short in long


def _bare(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.lower())


def labels(run: Run) -> Mapping[str, Fault]:
    """What a person has set right. Raises SourceError for a type that does not exist."""
    file = run.folder / LABELS
    if not file.exists():
        return {}
    found = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        name, _, rest = line.partition("\t")
        kind, _, reason = rest.partition("\t")
        known = next((t for t in ERROR_TYPES if t == kind.strip()), None)
        if line.strip() and known is None:
            raise SourceError(
                f"Line {number} of {file} has the error type {kind!r}. There are: {', '.join(ERROR_TYPES)}."
            )
        if known is not None:
            found[name] = Fault(known, reason or "set by hand")
    return found


def faults(run: Run, traces: Mapping[str, Saved]) -> dict[str, Fault]:
    """Every wrong answer of a run with its type."""
    by_hand = labels(run)
    found = {r.id: by_hand.get(r.id) or fault(r, traces.get(r.id)) for r in run.records if r.score < 1.0}
    return {name: f for name, f in found.items() if f is not None}


def load_traces(run: Run) -> dict[str, Saved]:
    """The traces of the wrong answers; one that is missing or broken is left out."""
    from rowhop.trace import load

    traces = {}
    for record in run.records:
        path = run.folder / Path(record.trace)
        if record.score < 1.0 and path.exists():
            try:
                traces[record.id] = load(path)
            except SourceError:
                continue
    return traces
