"""Finds the nodes that a question speaks of, in four modes.

exact    the names (and aliases) that stand in the question
text     the k nodes whose text is nearest to the question
hybrid   as in the PASemiQA paper: exact, and only where no name stands there, text
fused    ours: exact, then names written a little differently (likeness >= 0.88), then text, weighted
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rowhop.graph import textgraph_names as names
from rowhop.graph.textgraph import TextGraph

Mode = Literal["exact", "text", "hybrid", "fused"]
MODES: tuple[Mode, ...] = ("exact", "text", "hybrid", "fused")

LIKENESS = 0.88  # least likeness of a fuzzy mention (rapidfuzz partial ratio); below it, other names appear
SHARED = 5  # nodes of one name that are kept
_POOL = 100  # names that share a word with the question and are compared letter by letter
_SHORTEST = 5  # letters of a name that is looked for by likeness
_TEXT_WEIGHT = 0.5  # of the best text match in "fused", against 1.0 of a name


@dataclass(frozen=True)
class Mention:
    """A node that is meant, by position; `start` to `end` is where its name stands, 0 to 0 where text found it."""

    position: int
    score: float
    how: Literal["name", "fuzzy", "text"]
    start: int = 0
    end: int = 0


def match(graph: TextGraph, question: str, mode: Mode = "fused", k: int = 5) -> list[Mention]:
    """At most `k` mentions by text; names are never cut. Best first."""
    if mode == "text":
        return by_text(graph, question, k)
    exact = by_name(graph, question)
    if mode == "exact" or (mode == "hybrid" and exact):
        return exact
    if mode == "hybrid":
        return by_text(graph, question, k)
    found = exact + by_likeness(graph, question, exact)
    known = {m.position for m in found}
    text = [m for m in by_text(graph, question, k) if m.position not in known]
    return found + [Mention(m.position, _TEXT_WEIGHT * m.score, "text") for m in text]


def by_name(graph: TextGraph, question: str) -> list[Mention]:
    """Names that stand in the question, the longest first; a name inside a longer one is not meant."""
    spans = names.spans(question)
    taken: list[tuple[int, int]] = []
    found: list[Mention] = []
    for span, owners in zip(spans, graph.store.named_many([s.folded for s in spans]), strict=True):
        if not owners or any(span.start < b and a < span.end for a, b in taken):
            continue
        written = question[span.start : span.end]
        records = graph.store.records(owners, 0)
        meant = [p for p, r in records.items() if _is_named(written, span.folded, (r.name, *r.aliases))]
        if meant:
            taken.append((span.start, span.end))
            # A name shared by several nodes: those written the very same first, then the better connected.
            meant.sort(key=lambda p: (records[p].name != written, -int(graph.degree[p]), p))
            found += [Mention(p, 1.0 / min(len(meant), SHARED), "name", span.start, span.end) for p in meant[:SHARED]]
    return found


def _is_named(written: str, folded: str, all_names: Sequence[str]) -> bool:
    return any(names.fold(n) == folded and names.telling(written, n) for n in all_names)


def by_likeness(graph: TextGraph, question: str, exact: Sequence[Mention]) -> list[Mention]:
    """Names written a little differently: a plural, a hyphen, a slip."""
    from rapidfuzz import fuzz

    taken = [(m.start, m.end) for m in exact]
    lowered = question.lower() if len(question.lower()) == len(question) else question
    pool = graph.store.search(question, _POOL, field="name")
    scored: list[tuple[float, int, int, int]] = []
    for position, record in graph.store.records((p for p, _ in pool), 0).items():
        for name in (record.name, *record.aliases):
            if len(name) < _SHORTEST:
                continue
            spot = fuzz.partial_ratio_alignment(name.lower(), lowered, score_cutoff=100 * LIKENESS)
            if spot is None or len(name) > len(lowered) or not _at_words(lowered, spot.dest_start, spot.dest_end):
                continue
            scored.append((spot.score / 100, position, spot.dest_start, spot.dest_end))
    found: list[Mention] = []
    for score, position, start, end in sorted(scored, key=lambda s: (s[2] - s[3], -s[0], s[1])):
        if not any(start < b and a < end for a, b in taken):
            taken.append((start, end))
            found.append(Mention(position, score, "fuzzy", start, end))
    return found


def _at_words(text: str, start: int, end: int) -> bool:
    """Whether a stretch begins at the start of a word and ends near the end of one (a plural may hang over)."""
    begins = start == 0 or not text[start - 1].isalnum()
    rest = re.match(r"\w*", text[end:])
    return begins and rest is not None and len(rest.group()) <= 2


def by_text(graph: TextGraph, question: str, k: int) -> list[Mention]:
    """The nodes nearest in text: by meaning where there are vectors, else by words. Scores are 1 for the best."""
    found = graph.nearest(question, k)
    top = max((m.score for m in found), default=1.0) or 1.0
    at = graph.store.positions([m.node.id for m in found])
    return [Mention(at[m.node.id], max(m.score, 0.0) / top, "text") for m in found]
