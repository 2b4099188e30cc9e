"""Which BOXes and columns of a source a question's prompt shows, with the cells that the question names.

Small sources are shown whole. Of large ones the nearest by name, by cell and by meaning are kept until the room
is used up; what was left out is said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from rowhop.agents.pandora.words import COMMON, mentioned, runs, words
from rowhop.box import Box, BoxSet, Column, ForeignKey
from rowhop.models import Embedder
from rowhop.sources import Source

# Cells looked at per column, columns looked at per question: matching must cost milliseconds.
CELLS = 2_000
COLUMNS = 120
# BOXes of more rows than this are not scanned for cells.
ROWS = 300_000


@dataclass(frozen=True)
class Room:
    """What a prompt has room for, in characters (about 3.5 to a token)."""

    characters: int
    columns_each: int = 60


def choose(
    source: Source,
    boxes: BoxSet,
    question: str,
    room: Room,
    size: Callable[[Box], int],
    embedder: Embedder | None = None,
    match_cells: bool = True,
) -> BoxSet:
    """`size` tells how many characters a BOX takes when shown."""
    question_runs = runs(question)
    small = sum(size(box) for box in boxes.boxes) <= room.characters
    kept = boxes if small else _fit(boxes, question, room, size, embedder)
    if not match_cells:
        return kept
    left = COLUMNS
    shown: list[Box] = []
    for box in kept.boxes:
        shown.append(_with_cells(source, box, question_runs, left))
        left = max(0, left - len(box.columns))
    return replace(kept, boxes=tuple(shown))


def _with_cells(source: Source, box: Box, question_runs: frozenset[str], left: int) -> Box:
    if box.rows is not None and box.rows > ROWS:
        return box
    columns: list[Column] = []
    for i, column in enumerate(box.columns):
        if i < left and column.dtype in ("text", "mixed"):
            cells = mentioned(question_runs, source.distinct(box.name, column.name, CELLS))
            column = replace(column, matched=cells)
        columns.append(column)
    return replace(box, columns=tuple(columns))


def _fit(boxes: BoxSet, question: str, room: Room, size: Callable[[Box], int], embedder: Embedder | None) -> BoxSet:
    scores = _scores(boxes, question, embedder)
    keys = {(key.box, key.field) for key in boxes.foreign_keys} | {
        (key.to_box, key.to_field) for key in boxes.foreign_keys
    }
    narrowed = {box.name: _narrow(box, scores, keys, room, size) for box in boxes.boxes}
    ranked = sorted(boxes.boxes, key=lambda box: -_box_score(box, scores))
    order = _with_bridges([box.name for box in ranked], boxes.foreign_keys)
    kept: list[str] = []
    used = 0
    for name in order:
        cost = size(narrowed[name])
        if kept and used + cost > room.characters:
            continue
        kept.append(name)
        used += cost
    inside = tuple(narrowed[box.name] for box in boxes.boxes if box.name in kept)
    links = tuple(k for k in boxes.foreign_keys if k.box in kept and k.to_box in kept)
    return BoxSet(inside, links, boxes.left_out + _left_out(boxes, inside))


def _left_out(before: BoxSet, after: Sequence[Box]) -> tuple[str, ...]:
    kept = {box.name: box for box in after}
    said = []
    gone = [box.name for box in before.boxes if box.name not in kept]
    if gone:
        named = ", ".join(gone[:8]) + (" …" if len(gone) > 8 else "")
        said.append(f"{len(gone)} of {len(before.boxes)} tables were not shown to the model: {named}")
    for box in before.boxes:
        if box.name in kept and (cut := len(box.columns) - len(kept[box.name].columns)):
            said.append(f"{cut} of {len(box.columns)} columns of {box.name} were not shown to the model")
    return tuple(said)


def _with_bridges(ranked: Sequence[str], links: Sequence[ForeignKey]) -> list[str]:
    """After the two best BOXes come those that join them: a table between two others has a telling name seldom."""
    best = set(ranked[:2])
    near: dict[str, set[str]] = {}
    for link in links:
        near.setdefault(link.box, set()).add(link.to_box)
        near.setdefault(link.to_box, set()).add(link.box)
    bridges = [name for name in ranked[2:] if len(near.get(name, set()) & best) == 2]
    return [*ranked[:2], *bridges, *(name for name in ranked[2:] if name not in bridges)]


def _narrow(
    box: Box, scores: Mapping[str, float], keys: set[tuple[str, str]], room: Room, size: Callable[[Box], int]
) -> Box:
    if len(box.columns) <= room.columns_each and size(box) <= room.characters:
        return box
    must = {c.name for c in box.columns if c.name in box.keys or (box.name, c.name) in keys}
    ranked = sorted(box.columns, key=lambda c: (c.name not in must, -scores[f"{box.name}.{c.name}"]))
    kept: list[Column] = []
    for column in ranked[: room.columns_each]:
        if kept and size(replace(box, columns=(*kept, column))) > room.characters:
            break
        kept.append(column)
    names = {c.name for c in kept}
    return replace(box, columns=tuple(c for c in box.columns if c.name in names))


def _box_score(box: Box, scores: Mapping[str, float]) -> float:
    columns = sorted((scores[f"{box.name}.{c.name}"] for c in box.columns), reverse=True)[:3]
    return 2 * scores[box.name] + sum(columns) / max(len(columns), 1)


def _scores(boxes: BoxSet, question: str, embedder: Embedder | None) -> dict[str, float]:
    """Nearness of each BOX and column to the question: shared words, rare ones weighing more, and meaning."""
    names = {box.name: " ".join(filter(None, (_spaced(box.name), box.about))) for box in boxes.boxes}
    for box in boxes.boxes:
        for column in box.columns:
            names[f"{box.name}.{column.name}"] = " ".join(filter(None, (_spaced(column.name), column.about)))
    asked = {_stem(w) for w in words(question) if w not in COMMON}
    stems = {key: {_stem(w) for w in words(text)} for key, text in names.items()}
    frequency: dict[str, int] = {}
    for found in stems.values():
        for stem in found:
            frequency[stem] = frequency.get(stem, 0) + 1
    rare = {stem: 1 / (1 + math.log(count)) for stem, count in frequency.items()}
    scores = {key: sum(rare[s] for s in found & asked) / math.sqrt(max(len(found), 1)) for key, found in stems.items()}
    if embedder is not None:
        vectors = embedder.embed([text or key for key, text in names.items()])
        near = vectors @ embedder.embed([question], query=True)[0]
        for key, value in zip(names, near, strict=True):
            scores[key] += float(value)
    return scores


def _spaced(name: str) -> str:
    """`shipToCity` and `ship_to_city` read as "ship To City", "ship to city"."""
    out = []
    for before, char in zip(" " + name, name, strict=False):
        if char.isupper() and before.islower():
            out.append(" ")
        out.append(" " if char == "_" else char)
    return "".join(out)


def _stem(word: str) -> str:
    """Rough English plural: enough to let "orders" meet "order"."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word
