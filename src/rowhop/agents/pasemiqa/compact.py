"""How an embedded model is asked: short lines, and a grammar in which it can only choose among what it was shown."""

from __future__ import annotations

from collections.abc import Sequence

from rowhop.agents.pasemiqa.actions import Board, one_line
from rowhop.agents.pasemiqa.planner import Candidate, Plan
from rowhop.graph.verbal import words
from rowhop.types import TripleEvidence

ROUNDS = 1  # what T is unless it is said; what a small model would look for, the plan has seen
SHOWN = 5  # candidates that enter the prompt
TEXT_LENGTH = 160
LIKELY = 0.8  # see `PasemiqaSettings.likely`; at 0.5 it overruled right first candidates and mended no wrong one
SURE = 0.6  # share of the first candidate, or of the best path, from which the model is not asked
_CHAIN = 200  # characters of a path
_MOST = 99  # nodes that a grammar can name

_ACT = """
root ::= "Action: " action
action ::= "Finish[" number ("; " number)? "]" | "Search[" number "]" | "Query[" words "]"
number ::= {numbers}
words ::= [a-zA-Z0-9 ,'-]{{3,60}}
"""


def line(told: str, chain: Sequence[TripleEvidence], start: str = "") -> str:
    """A candidate with the edges that lead to it, as sentences: a small model does not read arrows. `start` is the text
    of the node at the beginning where the question does not name it: by that text it was found."""
    said = "; ".join(dict.fromkeys(f"{e.subject} {words(e.relation)} {e.object}" for e in chain))
    if not said:
        return told
    return f"{told} ({one_line(said, _CHAIN)}{': ' + start if start else ''})"


def acting(board: Board) -> str:
    """One action of any kind; nodes by number."""
    return _ACT.format(numbers=_numbers(board)).strip()


def choosing(board: Board) -> str:
    return f'root ::= "Action: Finish[" number ("; " number)? "]"\nnumber ::= {_numbers(board)}'


def _numbers(board: Board) -> str:
    return " | ".join(f'"{n + 1}"' for n in range(min(len(board.seen), _MOST))) or '"unknown"'


def shown(plan: Plan, most: int, likely: float, ranked: bool) -> list[Candidate]:
    """The plan's candidates that a model sees. With a ranker those at least `likely` times as likely as the first;
    without one those of the type that the question asks for, which a small model misjudges."""
    some = list(plan.candidates)
    if ranked:
        return [c for c in some[:most] if c.score >= likely * some[0].score]
    return [c for c in some if c.record.kind in plan.asked][:most] or some[:most]


def sure(plan: Plan, ranked: bool) -> str:
    """Why a small model has nothing to decide, "" where it has; see docs/agents.md."""
    if not plan.candidates:
        return ""
    first = plan.candidates[0]
    if ranked:
        return (
            f"The plan gives its first candidate {first.score:.0%}; no model was asked." if first.score >= SURE else ""
        )
    best = plan.paths[0] if plan.paths else None
    named = best is not None and best.start.end > best.start.start and best.probability >= SURE
    if named and best is not None and list(best.ends) == [first.position] and first.record.kind in plan.asked:
        return "One path leads from what the question names to the type it asks for; no model was asked."
    return ""
