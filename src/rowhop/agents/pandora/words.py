"""Words of a question, and the cells of a source that they name.

A cell that the question mentions is worth more in a prompt than any other sample: it shows the model how the
source writes the value.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

# Words that say how to compute, not what about; a cell is never matched by these alone.
COMMON = frozenset(
    """the a an of in on at to for and or is was were are be by with from did do does how many much what which who
    whom whose when where that this these those most more than least less first last total number before after
    only have has had not no any it its their his her as same other each there between over under during all
    list name show find give tell me us average mean sum count maximum minimum highest lowest top per out up
    about into if different every both either also one two three them they you your we our i""".split()
)
# Longer runs of words are not looked for; cells that long are prose.
LONGEST = 6
_WORD = re.compile(r"[^\W_]+")


def fold(text: str) -> str:
    """Case, accents and width taken off: "Łódź Café" → "łodz cafe"."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def words(text: str) -> list[str]:
    return _WORD.findall(fold(text))


def runs(text: str) -> frozenset[str]:
    """All runs of up to LONGEST words in a row."""
    found = words(text)
    return frozenset(" ".join(found[i : i + n]) for n in range(1, LONGEST + 1) for i in range(len(found) - n + 1))


def mentioned(question_runs: frozenset[str], cells: Iterable[str], most: int = 3) -> tuple[str, ...]:
    """The cells of one column that the question names, best first; empty where too many fit to tell anything.

    A cell fits when all its words stand in the question in a row, or when a telling part of it does.
    """
    whole: list[tuple[int, str]] = []
    parts: list[tuple[int, str]] = []
    for cell in cells:
        if len(cell) > 80:
            continue
        cell_words = words(cell)
        if not cell_words:
            continue
        joined = " ".join(cell_words)
        if joined in question_runs and joined not in COMMON:
            whole.append((len(cell_words), cell))
        elif weight := _shared(question_runs, cell_words):
            parts.append((weight, cell))
    if whole:
        return tuple(cell for _, cell in sorted(whole, key=lambda found: -found[0])[:most])
    if not parts:
        return ()
    best = max(weight for weight, _ in parts)
    fitting = [cell for weight, cell in parts if weight == best]
    return tuple(fitting[:most]) if len(fitting) <= most + 1 else ()


def _shared(question_runs: frozenset[str], cell_words: Sequence[str]) -> int:
    """How many telling words of the cell stand in the question in one row; 0 when that is chance."""
    for n in range(min(LONGEST, len(cell_words)), 0, -1):
        for i in range(len(cell_words) - n + 1):
            part = cell_words[i : i + n]
            if " ".join(part) not in question_runs:
                continue
            telling = [w for w in part if w not in COMMON and len(w) > 2]
            alone = n == 1 and telling and len(telling[0]) > 3 and not telling[0].isdigit()
            if len(telling) >= 2 or alone or (telling and len(cell_words) <= 3):
                return len(telling)
    return 0
