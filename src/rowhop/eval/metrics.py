"""Scores of answers against gold. A name says what is computed, a `because` why this answer got its score.

Here are the metrics over lists and rankings; `wikitq` and `spider` hold the two official ones.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from rowhop.types import Value


@dataclass(frozen=True)
class Score:
    """`value` lies between 0 and 1; `because` is one sentence for people."""

    metric: str
    value: float
    because: str


def as_text(value: Value) -> str:
    """A cell as a benchmark writes it: whole floats without their zero, a missing value as the empty text.

    >>> as_text(1990.0)
    '1990'
    """
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def normal(value: Value) -> str:
    """NFKC, lower case, no outer blanks, single inner blanks."""
    return " ".join(unicodedata.normalize("NFKC", as_text(value)).lower().split())


def listed(values: Sequence[Value], most: int = 5) -> str:
    """A few values for a sentence."""
    if not values:
        return "nothing"
    shown = ", ".join(_short(as_text(v)) for v in values[:most])
    return shown + (f" and {len(values) - most} more" if len(values) > most else "")


def _short(text: str, most: int = 60) -> str:
    return repr(text if len(text) <= most else text[: most - 1] + "…")


def _keys(values: Sequence[Value], identifiers: bool) -> list[str]:
    """Normalised values in order, each once at its first place; identifiers are compared as they are."""
    return list(dict.fromkeys(as_text(v) if identifiers else normal(v) for v in values))


def hits_at_1(predicted: Sequence[Value], gold: Sequence[Value], identifiers: bool = False) -> Score:
    """Strict: the first answer, and no part of it, is a gold answer."""
    return hit_at(predicted, gold, 1, identifiers, "Hits@1")


def hit_at(ranking: Sequence[Value], gold: Sequence[Value], k: int, identifiers: bool = False, name: str = "") -> Score:
    """1 if one of the first k is a gold answer."""
    name = name or f"Hit@{k}"
    head, wanted = _keys(ranking, identifiers)[:k], set(_keys(gold, identifiers))
    if not head:
        return Score(name, 0.0, "Nothing was answered.")
    for rank, key in enumerate(head, 1):
        if key in wanted:
            return Score(name, 1.0, f"Answer {rank}, {_short(key)}, is a gold answer.")
    return Score(name, 0.0, f"{listed(head)} is not among the gold answers {listed(gold)}.")


def loose_hits_at_1(predicted: Sequence[Value], gold: Sequence[Value]) -> Score:
    """What many papers report as Hits@1: some gold answer occurs somewhere in the text of the answers."""
    text = "\n".join(normal(v) for v in predicted)
    for value in gold:
        if (key := normal(value)) and key in text:
            return Score("Hits@1-loose", 1.0, f"{_short(key)} occurs in the answer.")
    return Score("Hits@1-loose", 0.0, f"No gold answer occurs in {listed(predicted)}.")


def set_f1(predicted: Sequence[Value], gold: Sequence[Value], identifiers: bool = False) -> Score:
    """The harmonic mean of precision and recall over the two sets; both empty is 1."""
    have, want = set(_keys(predicted, identifiers)), set(_keys(gold, identifiers))
    if not have and not want:
        return Score("F1", 1.0, "Nothing is wanted and nothing was answered.")
    shared = len(have & want)
    because = f"{shared} of {len(have)} answers are gold, of {len(want)} wanted."
    return Score("F1", 2 * shared / (len(have) + len(want)), because)


def exact_set(predicted: Sequence[Value], gold: Sequence[Value], identifiers: bool = False) -> Score:
    """1 if both sets are equal; order and repetition do not count."""
    have, want = set(_keys(predicted, identifiers)), set(_keys(gold, identifiers))
    if have == want:
        return Score("EM", 1.0, f"All {len(want)} gold answers and no others.")
    missing, extra = sorted(want - have), sorted(have - want)
    parts = [f"missing: {listed(missing)}"] * bool(missing) + [f"too much: {listed(extra)}"] * bool(extra)
    return Score("EM", 0.0, f"The sets differ; {'; '.join(parts)}.")


def reciprocal_rank(ranking: Sequence[Value], gold: Sequence[Value], identifiers: bool = True) -> Score:
    """1 / rank of the first gold answer over the whole ranking, without a cut; the mean over questions is MRR."""
    wanted = set(_keys(gold, identifiers))
    for rank, key in enumerate(_keys(ranking, identifiers), 1):
        if key in wanted:
            return Score("MRR", 1 / rank, f"The first gold answer, {_short(key)}, has rank {rank}.")
    return Score("MRR", 0.0, f"No gold answer among {len(ranking)} ranked.")


def recall_at(ranking: Sequence[Value], gold: Sequence[Value], k: int = 20, identifiers: bool = True) -> Score:
    """The share of all gold answers among the first k; with more than k gold answers 1 cannot be reached."""
    wanted = set(_keys(gold, identifiers))
    found = len(wanted.intersection(_keys(ranking, identifiers)[:k]))
    value = found / len(wanted) if wanted else 0.0
    return Score(f"Recall@{k}", value, f"{found} of {len(wanted)} gold answers are among the first {k}.")


def mean(scores: Sequence[Score]) -> float:
    """Every question weighs the same: the mean of set F1 is the macro F1, that of reciprocal ranks the MRR."""
    return sum(s.value for s in scores) / len(scores) if scores else 0.0
