"""Cells of loosely typed columns: which type a column has by what is in it, and its values as Arrow of that type.

SQLite lets any cell hold anything, and people keep numbers and dates in text columns. The type is found from the
first rows; where a later row does not fit, the whole column becomes a wider type rather than lose a value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rowhop.box import Dtype
from rowhop.types import Value

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST_SAMPLE = 200  # characters
SAMPLES = 3

# Texts that stand for "no value" among numbers and dates; in a column of text they stay what they are.
MISSING = ("", "null", "none", "n/a", "na", "nan", "-", "nil")

_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.(\d{1,12}))?")
_DATE = re.compile(r"(?!0000)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])")
_DATETIME = re.compile(_DATE.pattern + r"(?:[ T](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?)?")


def is_missing(text: str) -> bool:
    return text.strip().lower() in MISSING


def find_type(declared: str, cells: Iterable[object]) -> tuple[Dtype, str]:
    """A column's type, and an example of how it is written where the type was read out of text.

    >>> find_type("TEXT", ["2024-01-05", None]), find_type("VARCHAR(5)", ["02134"]), find_type("TEXT", ["18", "null"])
    (('date', '2024-01-05'), ('text', ''), ('integer', '18'))
    """
    present = [c for c in cells if c is not None]
    numbers = [c for c in present if isinstance(c, int | float)]
    texts = [c for c in present if isinstance(c, str)]
    if len(numbers) + len(texts) < len(present):
        return "text", ""  # binary
    written = [t for t in texts if not is_missing(t)]
    if not present:
        return _declared_type(declared), ""
    if not numbers:
        return _text_type(written)
    if written:
        return "mixed", ""
    if any(isinstance(n, float) for n in numbers):
        return "number", ""
    if "BOOL" in declared.upper() and set(numbers) <= {0, 1}:
        return "boolean", ""
    return ("number" if _declared_type(declared) == "number" else "integer"), ""


def are_other_dates(cells: Iterable[object]) -> bool:
    """Texts that are all dates, though not all as SQL compares them: '2024-1-5' sorts after '2024-01-10'."""
    from rowhop.sources.dates import read_date

    texts = [c for c in cells if c is not None]
    written = [t for t in texts if isinstance(t, str) and not is_missing(t)]
    return bool(written) and all(isinstance(t, str) for t in texts) and all(read_date(t) is not None for t in written)


def _declared_type(declared: str) -> Dtype:
    up = declared.upper()
    if "INT" in up:
        return "integer"
    if any(w in up for w in ("CHAR", "CLOB", "TEXT", "BLOB")):
        return "text"
    if any(w in up for w in ("REAL", "FLOA", "DOUB", "DEC", "NUM", "MONEY")):
        return "number"
    if "BOOL" in up:
        return "boolean"
    if "DATETIME" in up or "TIMESTAMP" in up:
        return "datetime"
    return "date" if up == "DATE" else "text"


def _text_type(written: Sequence[str]) -> tuple[Dtype, str]:
    if not written:
        return "text", ""
    if all(_DATE.fullmatch(t) for t in written):
        return "date", written[0]
    if all(_DATETIME.fullmatch(t) for t in written):
        return "datetime", written[0]
    if all(_INTEGER.fullmatch(t) for t in written):
        return "integer", written[0]
    found = [_NUMBER.fullmatch(t) for t in written]
    if all(found):
        decimals = [m[1] or "" for m in found if m]
        # 1.10 beside 1.9 is a version, not a number: reading it would lose the last zero.
        if len({len(d) for d in decimals}) == 1 or not any(d.endswith("0") for d in decimals):
            return "number", written[0]
    return "text", ""


def samples(cells: Iterable[object], show: Callable[[object], Value]) -> tuple[Value, ...]:
    """Up to 3 different cells, in order."""
    found: list[Value] = []
    for cell in cells:
        if cell is None or (isinstance(cell, str) and not cell.strip()):
            continue
        value = show(cell)
        if isinstance(value, str) and len(value) > LONGEST_SAMPLE:
            value = value[: LONGEST_SAMPLE - 1] + "…"
        if value not in found:
            found.append(value)
            if len(found) == SAMPLES:
                break
    return tuple(found)


def sample_of(dtype: Dtype) -> Callable[[object], Value]:
    def show(cell: object) -> Value:
        if isinstance(cell, bytes | bytearray | memoryview):
            return f"(binary, {len(cell):,} bytes)"
        if dtype in ("integer", "number") and isinstance(cell, str):
            if is_missing(cell):
                return None
            return int(cell) if dtype == "integer" else float(cell)
        if dtype == "boolean" and isinstance(cell, int):
            return bool(cell)
        return cell if isinstance(cell, str | int | float | bool) else str(cell)

    return show


def arrow_type(dtype: Dtype) -> pa.DataType:
    import pyarrow as pa

    return {
        "integer": pa.int64(),
        "number": pa.float64(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "datetime": pa.timestamp("us"),
        "list": pa.list_(pa.string()),
    }.get(dtype, pa.string())


def fit(array: pa.ChunkedArray, dtype: Dtype) -> tuple[pa.ChunkedArray, bool]:
    """The column as `dtype`; where a cell does not fit, as the next wider type, and False."""
    import pyarrow as pa
    import pyarrow.compute as pc

    want = arrow_type(dtype)
    if pa.types.is_null(array.type):
        return array.cast(want), True
    if array.type == want:
        return array, True
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        if dtype in ("text", "mixed"):
            return array, True
        missing = pc.is_in(pc.utf8_lower(pc.utf8_trim_whitespace(array)), value_set=pa.array(MISSING))
        kept = pc.if_else(missing, pa.scalar(None, array.type), array)
        if dtype in ("integer", "number") and pc.any(pc.match_substring_regex(kept, r"^[+-]?0\d")).as_py():
            return array, False  # a code: its leading zeros would be lost
        wider = {"integer": [want, pa.float64()], "date": [want, pa.timestamp("us")], "boolean": []}.get(dtype, [want])
        if dtype == "integer" and pc.all(pc.match_substring_regex(kept, r"^[+-]?\d+$")).as_py():
            wider = [want]  # an integer of more than 64 bits keeps its digits as text
        for number, target in enumerate(wider):
            try:
                return kept.cast(target), number == 0
            except pa.ArrowInvalid:
                continue
        return array, False
    if dtype == "integer" and pa.types.is_floating(array.type):
        try:
            return array.cast(want), True
        except pa.ArrowInvalid:
            return array, False
    if dtype == "number" and pa.types.is_integer(array.type):
        return array.cast(want, safe=False), True
    if dtype == "boolean" and pa.types.is_integer(array.type):
        only = set(pc.unique(array).to_pylist()) <= {0, 1, None}
        return (array.cast(want), True) if only else (array, False)
    if dtype in ("text", "mixed"):
        return array.cast(pa.string()), True
    return array, False


def as_text(cell: Any) -> str | None:
    """A cell as its source writes it; binary as hexadecimal digits unless it is text."""
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bytes | bytearray | memoryview):
        return bytes(cell).hex()
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return str(cell)


def column_of(cells: Sequence[object]) -> pa.Array:
    """Cells of any kind as one Arrow column: of their own type where they share one, else text."""
    import pyarrow as pa

    plain = [_plain(c) for c in cells]
    kinds = {type(c) for c in plain if c is not None}
    if kinds == {int, float}:
        plain, kinds = [None if c is None else float(c) for c in plain], {float}  # type: ignore[arg-type]
    try:
        if kinds <= {str}:
            return pa.array(plain, pa.string())
        if len(kinds) == 1:
            return pa.array(plain)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        pass  # integers of more than 64 bits, lists of several kinds
    return pa.array([as_text(c) for c in plain], pa.string())


def _plain(cell: object) -> object:
    """What a driver returns, as a kind that answers have. Times of day, intervals and records become text."""
    if cell is None or isinstance(cell, str | int | float | list):
        return cell
    if isinstance(cell, bytes | bytearray | memoryview):
        return bytes(cell).hex()
    if isinstance(cell, Decimal):
        # a sum of integers comes as a decimal without a fraction and is an integer
        return int(cell) if cell.is_finite() and cell.as_tuple().exponent == 0 else float(cell)
    if isinstance(cell, datetime):
        return cell.astimezone(UTC).replace(tzinfo=None) if cell.tzinfo else cell
    if isinstance(cell, date):
        return cell
    if isinstance(cell, dict):
        return json.dumps(cell, ensure_ascii=False, default=str)
    return str(cell)


def finite(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Dates and times as they are, or as text where some are infinite: Python has no such dates."""
    import pyarrow as pa
    import pyarrow.compute as pc

    raw = column.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64())
    per_day = 1 if pa.types.is_date32(column.type) else 86_400_000_000
    if (pc.max(pc.abs(raw)).as_py() or 0) < 700_000 * per_day:  # days from 1970 back to the year 53
        return column
    kinds = [(n > 0) if n is not None and abs(n) > 5_000_000 * per_day else None for n in raw.to_pylist()]
    texts = column.filter(pa.array([k is None for k in kinds])).cast(pa.string()).to_pylist()
    rest = iter(texts)
    shown = [next(rest) if k is None else "infinity" if k else "-infinity" for k in kinds]
    return pa.chunked_array([pa.array(shown, pa.string())])


def as_interval(value: Any) -> str | None:
    """Arrow's (months, days, nanoseconds) in words: `1 year 2 months 3 days 04:05:06`."""
    if value is None:
        return None
    months, days, nanoseconds = value
    years, months = divmod(months, 12) if months >= 0 else (0, months)
    parts = [
        f"{n} {word}{'' if n == 1 else 's'}" for n, word in ((years, "year"), (months, "month"), (days, "day")) if n
    ]
    if nanoseconds or not parts:
        minutes, seconds = divmod(abs(nanoseconds) // 1000 / 1e6, 60)
        hours, minutes = divmod(int(minutes), 60)
        shown = f"{seconds:09.6f}".rstrip("0").rstrip(".")
        parts.append(f"{'-' if nanoseconds < 0 else ''}{hours:02}:{minutes:02}:{shown}")
    return " ".join(parts)
