"""Whether a result is of the kind that its question asks for: a second look that costs no model call.

Only what is nearly always a slip is doubted, and only in English questions; a doubt leads to a repair, never to a
refusal. The paper's execution guidance sees errors alone; this is ours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rowhop.agents.pandora.words import fold, words
from rowhop.box import BoxSet
from rowhop.types import Value

_IS = r"(?:is|was|are|were)"
_AMOUNT = r"(?:total |combined )?(?:number|count|sum|difference|average)"
_NUMBER = re.compile(rf"\bhow many\b|^(?:the )?(?:total )?number of\b|\bwhat {_IS} the {_AMOUNT}\b")
_ASKED = re.compile(r"\b(?:which|what|whose)\s+([\w'-]+(?:\s+[\w'-]+)?)")
_SEVERAL = re.compile(r"\b(?:and|each|every|per|by)\b")
# The question names the cells to choose from, or asks for a truth.
_CHOICE = re.compile(r"\b(?:or|between|both|among)\b|^(?:is|are|was|were|did|does|do|has|have|had|can|will)\b")
# "which is higher, A or B", "did it have more or less": the answer is one of the alternatives. "3 or more" are none.
_OR = re.compile(r"\bor\b")
_NO_OTHER = re.compile(
    r"(?<!more )(?<!less )(?<!fewer )\bor (?:more|less|fewer|greater|not|higher|lower|over|under|above|below|earlier"
    r"|later|better|so|no)\b"
)
_COMPARES = re.compile(r"\b(?:more|less|fewer|first|last|before|after|sooner|most|least|\w+er|\w+est)\b")
_TRUTH = re.compile(r"^(?:is|are|was|were|did|does|do|has|have|had)\b")
_WHICH = re.compile(r"^(?:which|who|what|whose|where|when)\b")
# "the earliest winner" asks for a cell of "winner".
_MOST = re.compile(
    r"\b(?:what|who) (?:is|was) the (?:first|last|next|previous|only|top|most \w+|least \w+|\w+est) (\w+)"
)
# Where a table is a list of people, "who" asks for one of these fields.
_PERSONS = frozenset("name player athlete driver rider winner artist candidate person director swimmer author".split())
_SHOWN = 40  # characters of a value in a complaint


def doubt(question: str, values: Sequence[Value], boxes: BoxSet) -> str:
    """What is odd about the values, as the model is told it; empty where nothing is.

    >>> from rowhop.box import Box, BoxSet, Column
    >>> towns = BoxSet((Box("towns", (Column("town", "text"), Column("people", "integer"))),))
    >>> doubt("which town has the most people?", [610000], towns)
    "The question asks for a cell of 'town', and the program gives the number 610000."
    """
    asked, found = fold(question), [v for v in values if v is not None]
    if not found:
        return ""
    if _NUMBER.search(asked):
        return _no_number(found, asked)
    if len(found) > 1:
        return ""
    value = found[0]
    if said := _no_alternative(value, asked):
        return said
    if isinstance(value, str):
        said = " ".join(words(value))
        if said and not _CHOICE.search(asked) and f" {said} " in f" {' '.join(words(question))} ":
            return f"{value[:_SHOWN]!r} stands in the question already; another cell is asked for."
    elif not isinstance(value, bool) and (field := _field_asked(asked, boxes)):
        return f"The question asks for a cell of {field!r}, and the program gives the number {value}."
    return ""


def _no_alternative(value: Value, asked: str) -> str:
    if not _OR.search(asked) or _NO_OTHER.search(asked):
        return ""
    truth = _TRUTH.search(asked) and not isinstance(value, str)
    which = _WHICH.search(asked) and _COMPARES.search(asked) and not set(words(str(value))) & set(words(asked))
    if not (truth or which):
        return ""
    return f"The question names what to choose from, and the program gives {str(value)[:_SHOWN]}: give the one chosen."


def _no_number(found: Sequence[Value], asked: str) -> str:
    first = found[0]
    if len(found) == 1 and isinstance(first, str) and not re.search(r"\d", first):
        return f"The question asks for a number, and the program gives {first[:_SHOWN]!r}."
    if len(found) > 1 and not _SEVERAL.search(asked):
        return (
            f"The question asks for one number, and the program gives {len(found)} values: count them or add them up."
        )
    return ""


def _field_asked(asked: str, boxes: BoxSet) -> str:
    """The field of texts that "which tournament …" or "who …" asks for; none where a field of numbers is as near."""
    columns = [c for box in boxes.boxes for c in box.columns]
    for named in (_ASKED.search(asked), _MOST.search(asked)):
        for word in words(named.group(1)) if named else ():
            near = [c for c in columns if word.rstrip("s") in {w.rstrip("s") for w in words(c.name)}]
            if near:
                return near[0].name if all(c.dtype in ("text", "mixed") for c in near) else ""
    if asked.startswith("who "):
        return next((c.name for c in columns if c.dtype == "text" and _PERSONS & set(words(c.name))), "")
    return ""
