"""Names as keys: how a name is folded, hashed and found again inside a question. Pure functions."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

LONGEST = 16  # words of a name that are looked for in a question
_WORD = re.compile(r"[^\W_]+")

# A name that is only such words is met in nearly every question and says nothing.
COMMON = frozenset(
    re.findall(
        r"\w+",
        " a an and are as at be by can do does for from had has have how i if in into is it its list may me my"
        " name names no not of on one or out she so some such than that the their them then there these they"
        " this those to two type use used was we were what when where which who whom whose why will with you"
        " your all any other new",
    )
)


def words(text: str) -> list[tuple[str, int, int]]:
    """Folded words with their span in `text`."""
    # NFKC may change lengths, so folding is done word by word to keep the spans true.
    return [(fold_word(m.group()), m.start(), m.end()) for m in _WORD.finditer(text)]


def fold_word(word: str) -> str:
    plain = unicodedata.normalize("NFKD", word).casefold()
    return "".join(c for c in plain if not unicodedata.combining(c))


def fold(name: str) -> str:
    """`"IL-2  receptor (α)"` -> `"il 2 receptor α"`. A name without letters or digits folds to itself."""
    return " ".join(w for w, _, _ in words(name)) or name.strip()


def key(folded: str) -> int:
    return int.from_bytes(hashlib.blake2b(folded.encode(), digest_size=8).digest(), "little")


def keys(folded: Iterable[str]) -> np.ndarray:
    return np.fromiter((key(f) for f in folded), dtype=np.uint64)


@dataclass(frozen=True)
class Span:
    """A stretch of a question that may be a name."""

    folded: str
    start: int
    end: int
    words: int


def spans(text: str, longest: int = LONGEST) -> list[Span]:
    """Every stretch of 1 to `longest` words, the longest first."""
    found = words(text)
    return [
        Span(" ".join(w for w, _, _ in found[i : i + n]), found[i][1], found[i + n - 1][2], n)
        for n in range(min(longest, len(found)), 0, -1)
        for i in range(len(found) - n + 1)
    ]


def telling(written: str, name: str) -> bool:
    """Whether a name that stands in a question is likely meant: "SET" is a gene where "set" is a verb."""
    folded = fold(name)
    if all(w in COMMON for w in folded.split()):
        return written == name and len(name) > 1 and not name.islower()
    if len(folded) < 3:
        return written == name and any(c.isupper() or c.isdigit() for c in name)
    if len(folded) <= 5 and name.isupper() and name.isalpha():
        return written == name  # short all-capital symbols are words of the language in lower case
    return True
