"""Compared values written as the source writes them: `city = 'rome'` where the cell is "Rome".

Used on Python programs by `mend` and on SQL statements by `mendsql`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowhop.agents.pandora.words import fold, words
from rowhop.box import BoxSet

if TYPE_CHECKING:
    from rowhop.agents.pandora.mend import Cells

_MOST_CELLS = 20


def written_as(field: str, value: str, boxes: BoxSet, cells: Cells) -> list[str] | None:
    """The cells of a field that `value` stands for: the same but for case and accents, else those that hold it as
    whole words. None where it is a cell itself, or nothing is near, or too much is."""
    holders = [
        (b.name, c.name)
        for b in boxes.boxes
        for c in b.columns
        if c.name.lower() == field.lower() and c.dtype in ("text", "mixed")
    ]
    if not holders or not value.strip():
        return None
    known = list(dict.fromkeys(cell for box, name in holders for cell in cells(box, name)))
    if value in known:
        return None
    wanted = fold(value).strip()
    same = [cell for cell in known if fold(cell).strip() == wanted]
    if not same and (begin := _cut_off(wanted)):
        same = [cell for cell in known if fold(cell).strip().startswith(begin)]
    if not same and (run := " ".join(words(value))):
        same = [cell for cell in known if f" {run} " in f" {' '.join(words(cell))} "]
    return same if 0 < len(same) <= _MOST_CELLS else None


def elsewhere(field: str, value: str, boxes: BoxSet, cells: Cells) -> str | None:
    """The one other field of texts that has `value` as a cell, where all BOXes with `field` are one; else None."""
    holders = [b for b in boxes.boxes if b.column(field) is not None]
    if len(holders) != 1 or not value.strip():
        return None
    box, wanted = holders[0], fold(value).strip()
    if not any(c.isalpha() for c in wanted):
        return None
    texts = [c.name for c in box.columns if c.dtype in ("text", "mixed")]
    having = [name for name in texts if any(fold(cell).strip() == wanted for cell in cells(box.name, name))]
    return having[0] if len(having) == 1 and having[0] != field else None


def _cut_off(wanted: str) -> str:
    """What stands before the dots of a value that was copied from a prompt, where long cells are cut."""
    for dots in ("…", "..."):
        if wanted.endswith(dots):
            return wanted.removesuffix(dots).rstrip()
    return ""
