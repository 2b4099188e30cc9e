"""Denotation accuracy of WikiTableQuestions: are two sets of answers the same?

Agrees with the official evaluator 1.0.2. Without canonical values for the gold answer (the published ones come
from CoreNLP) a gold item is a number or a date only when it is written as one: that score is named "DA-raw".
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from rowhop.eval.metrics import Score, as_text, listed
from rowhop.types import Value

TOLERANCE = 1e-6  # within which two numbers are one, and a number counts as whole

_PLAIN = str.maketrans({**dict.fromkeys("‘’´`", "'"), **dict.fromkeys("“”", '"'), **dict.fromkeys("‐‑‒–—−", "-")})
_BLANKS = re.compile("[ \t\n\r\f\v]+")
_UNKNOWN = -1  # a field of a date that is not known

# A mark that a table sets behind a cell: a bracketed remark (not the whole cell), a footnote number, a symbol.
_FOOTNOTES = re.compile(r"(?: (?<!^) \[ [^\]]* \] | \[ [0-9]+ \] | [•♦†‡*\#+] )+ $", re.VERBOSE)
_REMARKS = re.compile(r"(?<!^) (?: [ ] \( [^)]* \) )+ $", re.VERBOSE)
_QUOTED = re.compile(r'^"([^"]*)"$')

Date = tuple[int, int, int]


@dataclass(frozen=True)
class Item:
    """One answer: a number, a date (year, month, day; -1 is unknown) or a text, and how it is written."""

    value: float | Date | str
    written: str

    def matches(self, other: Item) -> bool:
        if self.written == other.written:
            return True
        if isinstance(self.value, tuple):
            return self.value == other.value
        if isinstance(self.value, int | float) and isinstance(other.value, int | float):
            return abs(self.value - other.value) < TOLERANCE
        return False


def written(text: str) -> str:
    """A text without accents, footnotes, remarks in parentheses, outer quotes, final period, case and extra blanks."""
    text = "".join(c for c in unicodedata.normalize("NFKD", text) if unicodedata.category(c) != "Mn")
    text = text.translate(_PLAIN)
    before = None
    while text != before:
        before = text
        text = _FOOTNOTES.sub("", text.strip())
        text = _REMARKS.sub("", text.strip())
        text = _QUOTED.sub(r"\1", text.strip())
    text = text.removesuffix(".")
    return _BLANKS.sub(" ", text).strip().lower()


def number(text: str) -> float | None:
    """The plain number that a text is; thousands commas, units, percent signs and `1_234` make it text."""
    if "_" in text:
        return None
    try:
        value: float = int(text)
    except ValueError:
        try:
            value = float(text)
        except ValueError:
            return None
    if not math.isfinite(value):
        return None
    # The official evaluator cuts here rather than rounds; the same is done so that merged items agree.
    return int(value) if abs(value - round(value)) < TOLERANCE else value


def date(text: str) -> Date | None:
    """The date that `year-month-day` is, with `xx` for an unknown field."""
    parts = text.lower().split("-")
    if len(parts) != 3 or "_" in text:
        return None
    try:
        year = _UNKNOWN if parts[0] in ("xx", "xxxx") else int(parts[0])
        month, day = (_UNKNOWN if part == "xx" else int(part) for part in parts[1:])
    except ValueError:
        return None
    if (year, month, day) == (_UNKNOWN,) * 3 or month not in (_UNKNOWN, *range(1, 13)):
        return None
    return (year, month, day) if day in (_UNKNOWN, *range(1, 32)) else None


def item(text: str, canonical: str = "") -> Item:
    """Read an answer; `canonical` is what the benchmark says the text means, e.g. "1234" for "1,234"."""
    meaning, look = canonical or text, written(text)
    if (amount := number(meaning)) is not None:
        return Item(amount, look)
    if (day := date(meaning)) is not None:
        # A year alone is the number of that year.
        return Item(day[0], look) if day[1:] == (_UNKNOWN, _UNKNOWN) else Item(day, look)
    return Item(look, look)


def items(texts: Sequence[str], canonical: Sequence[str] = ()) -> list[Item]:
    """Read answers as a set: equal numbers, dates or normalised texts are one item."""
    meanings = canonical or [""] * len(texts)
    read = [item(text, meaning) for text, meaning in zip(texts, meanings, strict=True)]
    return list({(type(i.value) in (int, float), i.value): i for i in reversed(read)}.values())


def denotation(gold: Sequence[str], predicted: Sequence[Value], canonical: Sequence[str] = ()) -> Score:
    """1 if both sets have the same size and every gold item is met.

    >>> denotation(["5"], ["5.0"]).value
    1.0
    """
    name = "DA" if canonical else "DA-raw"
    want, have = items(gold, canonical), items([_said(v) for v in predicted])
    if len(want) != len(have):
        return Score(name, 0.0, f"{len(have)} distinct items were answered, {len(want)} are wanted: {listed(gold)}.")
    for one in want:
        if not any(one.matches(other) for other in have):
            return Score(name, 0.0, f"The answer {listed(predicted)} does not contain {one.written!r}.")
    return Score(name, 1.0, f"All {len(want)} gold items are met.")


def _said(value: Value) -> str:
    """The benchmark answers a yes-or-no question with those words, a program with a truth value."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return as_text(value)


def unescape(field: str) -> list[str]:
    """The items of a `targetValue` field: joined by a bar, with `\\n`, `\\p` (the bar) and `\\\\` escaped.

    >>> unescape("a\\\\pb|c")
    ['a|b', 'c']
    """
    letters = {"n": "\n", "p": "|", "\\": "\\"}
    return [re.sub(r"\\([np\\])", lambda m: letters[m.group(1)], part) for part in field.split("|")]
