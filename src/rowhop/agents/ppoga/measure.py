"""What is done with the nodes at the end of a walk: listed, counted, or compared by a number or date of theirs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rowhop.agents.ppoga.choice import choose, numbered
from rowhop.agents.ppoga.memory import Memory
from rowhop.graph import Node
from rowhop.graph.routes import Explorer, Leap, Route
from rowhop.models import ChatModel
from rowhop.trace import Trace
from rowhop.types import Caution, Value

LOOKED_AT = 300  # nodes that are compared; more is said to be cut
SHOWN = 6
_NUMBER = re.compile(r"^[-+]?[\d,]*\.?\d+(e[-+]?\d+)?", re.IGNORECASE)

# Comparisons whose winner has the lesser value; who is older was born earlier.
_LOW = re.compile(
    r"\b(fewer|less|fewest|least|earlier|earliest|first|older|oldest|lower|smaller|shorter)\b", re.IGNORECASE
)

# Only these compare by how many there are; "the last" or "the largest" needs a date or a size.
_COUNTED = re.compile(r"\b(most|fewest|least|more|fewer)\b", re.IGNORECASE)


_VALUE = re.compile(
    r"((in|on|since) )?(when\b|how\b|(what|which) (is|was|are|were)? ?(the )?(\w+ )?"
    r"(year|date|day|month|number|value|age)s?\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Measured:
    values: tuple[Value, ...]
    nodes: tuple[Node, ...] = ()
    because: str = ""
    cautions: tuple[Caution, ...] = ()


def asks_value(question: str) -> bool:
    """Whether a number or date is asked for, and not what has it.

    >>> asks_value("In which year was the first one built?"), asks_value("Which boat has the most seats?")
    (True, False)
    """
    return bool(_VALUE.match(question.strip()))


def measured(
    model: ChatModel, explorer: Explorer, memory: Memory, found: Sequence[Node], by: Leap, trace: Trace
) -> Measured:
    """`by` leads to what extremes are compared by, where the plan has said it; else the model chooses."""
    operation = memory.strategic.operation
    # "How many seats has it" asks for a number that the graph states.
    if operation == "count" and not (found and all(number(n.name) is not None for n in found)):
        return Measured((len(found),), tuple(found), f"{len(found)} were found.")
    if operation in ("highest", "lowest") and len(found) > 1:
        high = operation == "highest"
        if by:
            values = [(n, _value(explorer, n, by, high)) for n in found[:LOOKED_AT]]
            known = [(n, v) for n, v in values if v is not None]
            return _picked(known, high, _by(explorer, by, found), len(found))
        best = _extreme(model, explorer, memory, found, high, trace)
        if best is not None:
            return best
    return Measured(tuple(n.name for n in found), tuple(found))


def _extreme(
    model: ChatModel, explorer: Explorer, memory: Memory, found: Sequence[Node], high: bool, trace: Trace
) -> Measured | None:
    some = tuple(found[:LOOKED_AT])
    own = [(n, v) for n in some if (v := number(n.name)) is not None]
    if len(own) == len(some):
        return _picked(own, high, "its own value", len(found))
    ranked = explorer.rank_leaps(explorer.leaps(some), (memory.strategic.question,))
    counts = bool(_COUNTED.search(memory.strategic.question))
    leaps = [leap for leap, _ in ranked if counts or _has_values(explorer, leap, some)][:SHOWN]
    if not leaps:
        return None
    lines = [_by(explorer, leap, some) for leap in leaps]
    chosen = choose(model, "measure", len(leaps), trace, question=memory.strategic.question, choices=numbered(lines))
    leap = leaps[chosen or 0]
    values = [(n, _value(explorer, n, leap, high)) for n in some]
    known = [(n, v) for n, v in values if v is not None]
    return _picked(known, high, lines[chosen or 0], len(found)) if known else None


def compared(explorer: Explorer, memory: Memory, topics: Sequence[Node], leaps: Sequence[Leap]) -> Measured:
    """The same walk from each topic: the topic with the greater (or lesser) value at its end."""
    values: list[tuple[Node, float]] = []
    for topic in topics:
        ends = explorer.walk(Route(topic.id, tuple(leaps)))
        own = [v for n in ends if (v := number(n.name)) is not None]
        if ends:
            values.append((topic, own[0] if len(ends) == 1 and own else float(len(ends))))
    if not values:
        return Measured(())
    low = bool(_LOW.search(memory.strategic.question))
    return _picked(values, not low, "value or number at the end of the walk", len(topics))


def _by(explorer: Explorer, leap: Leap, some: Sequence[Node]) -> str:
    said = explorer.lexicon.phrase([leap], "each")
    return said if _has_values(explorer, leap, some) else f"number of {said}"


def _has_values(explorer: Explorer, leap: Leap, some: Sequence[Node]) -> bool:
    ends = explorer.ends(some[:5], leap)
    return bool(ends) and all(number(n.name) is not None for n in ends)


def _value(explorer: Explorer, node: Node, leap: Leap, high: bool) -> float | None:
    ends = explorer.ends([node], leap)
    values = [v for n in ends if (v := number(n.name)) is not None]
    if ends and len(values) == len(ends):
        return max(values) if high else min(values)
    return float(len(ends)) if ends else None


def _picked(known: Sequence[tuple[Node, float]], high: bool, by: str, total: int) -> Measured:
    """All that share the extreme: a tie is no reason to drop one."""
    top = (max if high else min)(v for _, v in known)
    best = tuple(n for n, v in known if v == top)
    cautions = []
    if len(known) < total:
        cautions.append(Caution("without_value", f"{total - len(known)} of {total} have no value to compare by."))
    if len(best) > 1:
        cautions.append(Caution("tie", f"{len(best)} share the same value."))
    return Measured(tuple(n.name for n in best), best, f"Compared by the {by}: {top:g}.", tuple(cautions))


def number(text: str) -> float | None:
    """A number or the days of a date, so that dates of any precision compare.

    >>> number("1,200"), number("1999-12-31") > number("1999"), number("Ann")
    (1200.0, True, None)
    """
    if date := re.match(r"^(-?\d{3,4})(?:-(\d\d))?(?:-(\d\d))?(?:T.*)?$", text):
        year, month, day = (int(p) if p else 0 for p in date.groups())
        return year + month / 12.5 + day / 400 if month else float(year)
    found = _NUMBER.match(text.strip())
    if not found or found.end() < len(text.strip().split(" ")[0]):
        return None
    return float(found[0].replace(",", ""))
