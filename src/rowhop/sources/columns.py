"""Text columns become typed columns: the whole column decides, and the source's own writing is never lost.

Identifiers stay text (leading zeros, more than 15 digits); a number, date or truth value is recognised only where
(nearly) all cells are one. What was guessed or dropped on the way is said as cautions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rowhop.box import Dtype
from rowhop.sources.dates import Dates, read_date, read_dates
from rowhop.sources.figures import Decimal, Figures, leads_with_number, read_figure, read_figures
from rowhop.types import Caution

if TYPE_CHECKING:
    import pyarrow as pa

# Signs for "nothing here" that may fill any part of a column of numbers or dates.
_DASHES = frozenset(
    {"-", "–", "—", "−", "--", "---", "…", "...", ".", "*", "?", "??", "???", "n/a", "n.a.", "na", "#n/a", "n/d", "nan"}
    | {"null", "tba", "tbd", "tbc", "unknown", "not available", "not known", "no data", "data unavailable"}
    | {"unbekannt", "k. a.", "k.a.", "inconnu", "desconocido", "\\n"}
)
# Words for it, which may also mean something ("none" of what?): few of them are allowed.
_WORDS = frozenset(
    {"none", "nil", "pending", "present", "incumbent", "current", "not applicable", "cancelled", "canceled", "bye"}
    | {"dns", "dnf", "dnq", "dsq", "dq", "ret", "nc", "wd"}
    | {"did not play", "did not enter", "did not participate", "dnp", "not held", "not ranked", "unranked", "unplaced"}
)
# A label under the last number: its row is spoken of in a caution, the column stays a column of numbers.
TOTALS = frozenset(
    {
        "total",
        "totals",
        "sum",
        "overall",
        "grand total",
        "all",
        "gesamt",
        "summe",
        "insgesamt",
        "totale",
        "somme",
        "suma",
    }
)
MOST_WORDS = 0.10

# From here on Arrow's own readers are tried first; below, their start-up costs more than they save.
LONG = 20_000
# Cells looked at to see that a column is plain text.
GLANCE = 200
_TRUTH = {"true": True, "false": False}


@dataclass(frozen=True)
class Hints:
    """What is known from outside the column: the user's word, and what the rest of the file proves."""

    decimal: Decimal = ""
    day_first: bool | None = None
    file_day_first: bool | None = None
    keep_text: bool = False
    declared_text: bool = False  # the source has types and says text: bare digits stay text
    weak_comma: bool = False  # the file looks as if from a country of the decimal comma
    spanning: frozenset[str] = frozenset()  # texts that go over several cells of a row


@dataclass(frozen=True)
class Typed:
    """`proves_*` is what this column tells about the file; `undecided` that another column's proof would help."""

    values: pa.ChunkedArray
    dtype: Dtype
    parsed_from: str = ""
    about: str = ""
    cautions: tuple[Caution, ...] = ()
    proves_decimal: Decimal = ""
    proves_day_first: bool | None = None
    undecided: bool = False


def type_columns(texts: dict[str, pa.ChunkedArray], hints: dict[str, Hints]) -> dict[str, Typed]:
    """Type the columns of one file together: what one proves about decimal sign and day order helps the others."""
    typed = {name: type_column(name, column, hints[name]) for name, column in texts.items()}
    decimals = {t.proves_decimal for t in typed.values()} - {""}
    orders = {t.proves_day_first for t in typed.values()} - {None}
    for name, column in typed.items():
        if not column.undecided:
            continue
        better = hints[name]
        if len(decimals) == 1 and not better.decimal:
            better = replace(better, decimal=next(iter(decimals)))
        elif not decimals and better.weak_comma:
            better = replace(better, decimal=",")
        if len(orders) == 1:
            better = replace(better, file_day_first=next(iter(orders)))
        if better != hints[name]:
            typed[name] = type_column(name, texts[name], better)
        if better.decimal and not hints[name].decimal and not decimals:
            text = f"{typed[name].parsed_from!r} in {name!r} was read with a decimal comma, since semicolons separate."
            said = Caution("decimal_guessed", f"{text} State the decimal sign if that is wrong.")
            typed[name] = replace(typed[name], cautions=(*typed[name].cautions, said))
    return typed


def type_column(name: str, texts: pa.ChunkedArray, hints: Hints) -> Typed:
    """`texts` are the cells as written; an empty cell is missing."""
    import pyarrow.compute as pc

    if len(texts) >= LONG and not hints.keep_text:
        quick = _read_plainly(texts, hints)
        if quick is not None:
            return quick
    trimmed = pc.utf8_trim(texts, " \t\r\n\f\v\u00a0\u2007\u202f\u200b\ufeff")
    trimmed = pc.if_else(pc.equal(pc.binary_length(trimmed), 0), None, trimmed)
    if hints.keep_text:
        return Typed(trimmed, "text")
    if len(trimmed) >= LONG and _is_plain_text(trimmed):
        return Typed(trimmed, "text")
    return _read_distinct(name, trimmed, hints)


def _read_plainly(texts: pa.ChunkedArray, hints: Hints) -> Typed | None:
    """Long columns of bare integers, decimals and ISO dates, by Arrow's readers; None where anything is unusual."""
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = pc.if_else(pc.equal(texts, ""), None, texts)
    start = next((c for c in cells.slice(0, 10_000).to_pylist() if c is not None), None)
    if start is None:
        return None
    figure = read_figure(start)
    if figure is not None and figure.plain and not hints.declared_text:
        long_zero = pc.and_(pc.match_substring_regex(cells, r"^-?0\d|^0x"), True)
        if pc.any(long_zero).as_py() or (pc.max(pc.binary_length(cells)).as_py() or 0) > 24:
            return None
        try:
            whole = pc.cast(cells, pa.int64())
        except pa.ArrowInvalid:
            pass
        else:
            longest = pc.max(pc.binary_length(cells)).as_py() or 0
            return Typed(whole, "integer") if longest <= 15 else None
        if hints.decimal == "," or not pc.all(pc.match_substring_regex(cells, r"^-?\d+(\.\d+)?$")).as_py():
            return None
        thousands = r"^-?\d{1,3}(\.\d{3})?$"
        if re.match(thousands, start) and pc.all(pc.match_substring_regex(cells, thousands)).as_py():
            return None  # "1.234" may be a thousand: the careful road decides
        return Typed(pc.cast(cells, pa.float64()), "number", proves_decimal=".")
    written = read_date(start)
    if written is not None and written.iso and written.offset is None:
        kinds: list[tuple[Any, Dtype]] = [(pa.date32(), "date"), (pa.timestamp("us"), "datetime")]
        for kind, dtype in kinds:
            try:
                return Typed(pc.cast(cells, kind), dtype)
            except pa.ArrowInvalid:
                continue
    return None


def _is_plain_text(trimmed: pa.ChunkedArray) -> bool:
    glance = [c for c in trimmed.slice(0, 5_000).to_pylist() if c is not None][:GLANCE]
    if not glance:
        return False
    odd = sum(1 for c in glance if not _is_blank(c) and read_figure(c) is None and read_date(c) is None)
    return odd > len(glance) / 2 and not any(c.lower() in _TRUTH for c in glance[:10])


def _is_blank(cell: str) -> bool:
    lower = cell.lower()
    return lower in _DASHES or lower in _WORDS


def _is_header(cell: str, name: str) -> bool:
    """Long tables repeat their header row."""
    return not cell[0].isdigit() and " ".join(cell.split()) == " ".join(name.split())


def is_total(cell: str) -> bool:
    return cell.strip(" :*").lower() in TOTALS


def _read_distinct(name: str, trimmed: pa.ChunkedArray, hints: Hints) -> Typed:
    """The careful road: each distinct cell is read once, then spread over the rows."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    encoded = pc.dictionary_encode(trimmed).combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0) if encoded.num_chunks else pa.array([], pa.dictionary(pa.int32(), pa.string()))
    distinct: list[str] = encoded.dictionary.to_pylist()
    indices = encoded.indices
    counts = np.bincount(indices.drop_null().to_numpy(zero_copy_only=False), minlength=len(distinct)).tolist()
    last = distinct[indices[-1].as_py()] if len(indices) and indices[-1].is_valid else ""
    total = last if is_total(last) and counts[distinct.index(last)] == 1 else None
    nothing = {c for c in distinct if _is_blank(c) or c == total or _is_header(c, name) or c in hints.spanning}
    cells = [c for c in distinct if c not in nothing]
    if not cells:
        return Typed(trimmed, "text")
    often = [n for c, n in zip(distinct, counts, strict=True) if c not in nothing]
    words = sum(n for c, n in zip(distinct, counts, strict=True) if c.lower() in _WORDS and c.lower() not in _DASHES)

    def spread(values: Sequence[Any], kind: pa.DataType) -> pa.ChunkedArray:
        by_cell = dict(zip(cells, values, strict=True))
        return pa.chunked_array([pa.array([by_cell.get(c) for c in distinct], kind).take(indices)])

    if all(c.lower() in _TRUTH for c in distinct):
        return Typed(spread([_TRUTH[c.lower()] for c in cells], pa.bool_()), "boolean")
    fits = words <= MOST_WORDS * sum(counts)
    figures = read_figures(cells, often, hints.decimal, name) if fits else None
    if figures is not None and not (hints.declared_text and figures.whole and not figures.example):
        return _typed_figures(name, figures, spread, hints)
    dates = read_dates(cells, often, hints.day_first, hints.file_day_first) if fits else None
    if dates is not None:
        return _typed_dates(name, dates, spread)
    return Typed(trimmed, "mixed" if _is_mixed(cells, often) else "text")


def _typed_figures(name: str, figures: Figures, spread: Any, hints: Hints) -> Typed:
    import pyarrow as pa

    whole = figures.whole and all(v is None or abs(v) < 2**63 for v in figures.values)
    cautions: tuple[Caution, ...] = ()
    if figures.remarks:
        shown = ", ".join(repr(r) for r in figures.remarks[:3])
        cautions = (Caution("remarks_dropped", f"Cells of {name!r} with a remark were read as their number: {shown}."),)
    values = figures.values if whole else [None if v is None else float(v) for v in figures.values]
    undecided = not figures.decimal and not hints.decimal and any(s in figures.example for s in ".,")
    return Typed(
        spread(values, pa.int64() if whole else pa.float64()),
        "integer" if whole else "number",
        figures.example,
        cautions=cautions,
        proves_decimal=figures.decimal,
        undecided=undecided or (not whole and not figures.decimal and not hints.decimal),
    )


def _typed_dates(name: str, dates: Dates, spread: Any) -> Typed:
    import pyarrow as pa

    cautions: tuple[Caution, ...] = ()
    if dates.guessed:
        text = (
            f"Day and month of {name!r} could be exchanged (e.g. {dates.example!r}); the order was guessed. "
            "State it if it is wrong."
        )
        cautions = (Caution("day_month_guessed", text),)
    if dates.partial:
        text = f"Some dates of {name!r} are years only or impossible ({', '.join(map(repr, dates.partial[:3]))})."
        cautions = (*cautions, Caution("dates_partial", f"{text} A year counts as its first day."))
    return Typed(
        spread(dates.values, pa.timestamp("us") if dates.timed else pa.date32()),
        "datetime" if dates.timed else "date",
        dates.example,
        about=f"clock times in {dates.zone}" if dates.zone else "",
        cautions=cautions,
        proves_day_first=dates.day_first,
        undecided=dates.guessed,
    )


def _is_mixed(cells: Sequence[str], often: Sequence[int]) -> bool:
    """At least half the cells are numbers or dates, yet not all: worth a word to the reader."""
    cells, often = cells[:GLANCE], often[:GLANCE]
    partly = sum(n for c, n in zip(cells, often, strict=True) if leads_with_number(c) or read_date(c) is not None)
    if partly == sum(often):
        return not all(_is_bare(c) for c in cells)
    return partly * 2 >= sum(often)


def _is_bare(cell: str) -> bool:
    """Digits only: a post code, a long id."""
    return cell.isdigit()
