"""The messages between rowhop and the processes that run programs: JSON and file descriptors, nothing else.

What comes back from a child is read here with the suspicion it deserves: it is sized before it is parsed and
checked field by field, and the worst it can be is a wrong answer.
"""

from __future__ import annotations

import json
import os
import struct
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rowhop.sandbox.run import Limits, Run, Shape
from rowhop.types import Value

if TYPE_CHECKING:
    import pyarrow as pa

_LENGTH = struct.Struct("!I")
MANY_ROWS = 1_000_000  # in BOXes with more, the rows an answer rests on are not looked for
MOST_WARNINGS, LONGEST_WARNING, LONGEST_ERROR, MOST_ROWS = 20, 500, 4_000, 1_000

# column kind → how the parent builds it; the values travel as JSON (dates as counts since 1970)
_KINDS = ("bool", "int64", "double", "string", "date32", "timestamp")


class BadReply(Exception):
    """The child's bytes are not a reply. Stays inside the sandbox package."""


@dataclass(frozen=True)
class Request:
    """`evidence` asks for the rows behind the answer; for SQL, `probes` are the statements that find them."""

    language: str
    code: str
    boxes: tuple[str, ...]
    limits: Limits
    evidence: bool = True
    probes: tuple[tuple[str, str, str], ...] = ()
    known: tuple[str, ...] = ()  # all BOXes there are, for a program that misspells one

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @staticmethod
    def from_bytes(data: bytes) -> Request:
        plain = json.loads(data)
        return Request(
            language=plain["language"],
            code=plain["code"],
            boxes=tuple(plain["boxes"]),
            limits=Limits(**plain["limits"]),
            evidence=plain["evidence"],
            probes=tuple((kind, name, sql) for kind, name, sql in plain["probes"]),
            known=tuple(plain["known"]),
        )


def write_frame(fd: int, message: dict[str, Any]) -> None:
    write_bytes(fd, json.dumps(message, allow_nan=False).encode())


def write_reply(fd: int, message: dict[str, Any], limits: Limits) -> None:
    """The child's first frame. An answer over the limit is measured here, so that the parent need not read it."""
    message["peak_mb"] = _peak_mb()
    body = json.dumps(message, allow_nan=False).encode()
    if message["status"] == "ok" and len(body) > limits.result_bytes:
        words = f"The answer is larger than {limits.result_bytes >> 20} MB. Return only what was asked for."
        kept = {name: message[name] for name in ("output", "warnings", "peak_mb") if name in message}
        body = json.dumps({"status": "too_big", "error": words, **kept}).encode()
    write_bytes(fd, body)


def _peak_mb() -> float:
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def write_bytes(fd: int, body: bytes) -> None:
    left = memoryview(_LENGTH.pack(len(body)) + body)
    while left:
        left = left[os.write(fd, left[: 1 << 20]) :]


def take_frame(buffer: bytearray) -> dict[str, Any] | None:
    """The first whole frame of what has arrived so far, or None."""
    if len(buffer) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack_from(buffer)
    end = _LENGTH.size + length
    if len(buffer) < end:
        return None
    body = bytes(buffer[_LENGTH.size : end])
    del buffer[:end]
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadReply("not JSON") from error
    if not isinstance(message, dict):
        raise BadReply("not an object")
    return message


def largest_reply(limits: Limits) -> int:
    """Escapes can make text six times as long in JSON."""
    return limits.result_bytes + 6 * limits.output_bytes + 6 * MOST_WARNINGS * LONGEST_WARNING + 65_536


def read_run(message: dict[str, Any], limits: Limits) -> Run:
    """The child's first frame as a Run. Raises BadReply where it is not shaped as the child's code shapes it."""
    status = message.get("status")
    if status not in ("ok", "error", "memory", "too_big", "timeout"):
        raise BadReply("no status")
    shape: Shape = "none"
    values: tuple[Value, ...] = ()
    table: pa.Table | None = None
    if status == "ok":
        shape = message.get("shape", "")
        if shape in ("scalar", "list"):
            values = _read_values(message.get("values"))
            if shape == "scalar" and len(values) != 1:
                raise BadReply("a scalar is one value")
        elif shape in ("series", "frame"):
            table = read_table(message.get("columns"))
        else:
            raise BadReply("no shape")
    line = message.get("line", 0)
    return Run(
        status=status,
        shape=shape,
        values=values,
        table=table,
        error=_text(message.get("error", ""), LONGEST_ERROR),
        line=line if isinstance(line, int) and 0 <= line < 1 << 31 else 0,
        output=_text(message.get("output", ""), limits.output_bytes),
        warnings=read_warnings(message),
        peak_mb=peak if isinstance(peak := message.get("peak_mb", 0.0), float) else 0.0,
    )


def read_warnings(message: dict[str, Any]) -> tuple[str, ...]:
    warnings = message.get("warnings", [])
    if not isinstance(warnings, list):
        raise BadReply("warnings are a list")
    return tuple(_text(w, LONGEST_WARNING) for w in warnings[:MOST_WARNINGS])


def read_rows(message: dict[str, Any], sizes: dict[str, int]) -> tuple[dict[str, tuple[int, ...]], dict[str, int]]:
    """Row numbers per BOX; only BOXes that were given and rows that they have."""
    rows: dict[str, tuple[int, ...]] = {}
    totals: dict[str, int] = {}
    claimed, counts = message.get("rows", {}), message.get("rows_total", {})
    if not isinstance(claimed, dict) or not isinstance(counts, dict):
        raise BadReply("rows are given per BOX")
    for box, numbers in claimed.items():
        total = counts.get(box)
        if box not in sizes or not isinstance(numbers, list) or type(total) is not int:
            raise BadReply("rows of a BOX that was not given")
        if any(type(n) is not int or not 0 <= n < sizes[box] for n in numbers) or not 0 <= total <= sizes[box]:
            raise BadReply("a row that the BOX does not have")
        rows[box] = tuple(numbers[:MOST_ROWS])
        totals[box] = total
    return rows, totals


def _text(value: object, most: int) -> str:
    if not isinstance(value, str):
        raise BadReply("text was expected")
    return _without_surrogates(value[:most])


def _without_surrogates(text: str) -> str:
    """Half a character cannot be written to a file or a terminal."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _read_values(values: object) -> tuple[Value, ...]:
    if not isinstance(values, list):
        raise BadReply("values are a list")
    read: list[Value] = []
    for value in values:
        if value is not None and type(value) not in (str, int, float, bool):
            raise BadReply("a value is a JSON scalar")
        read.append(_without_surrogates(value) if isinstance(value, str) else value)
    return tuple(read)


def read_table(columns: object) -> pa.Table:
    import pyarrow as pa

    if not isinstance(columns, list):
        raise BadReply("a table has columns")
    types = {
        "bool": pa.bool_(),
        "int64": pa.int64(),
        "double": pa.float64(),
        "string": pa.string(),
        "date32": pa.date32(),
        "timestamp": pa.timestamp("us"),
    }
    arrays, names = [], []
    for column in columns:
        if not isinstance(column, dict) or not isinstance(column.get("values"), list):
            raise BadReply("a column has values")
        kind = column.get("kind")
        if kind not in _KINDS:
            raise BadReply("a column of no known kind")
        try:
            values = _read_values(column["values"]) if kind == "string" else column["values"]
            arrays.append(pa.array(values, type=types[kind]))
        except (pa.ArrowException, OverflowError, TypeError) as error:
            raise BadReply("values that do not fit their column") from error
        names.append(_text(column.get("name"), LONGEST_ERROR))
    if len({len(a) for a in arrays}) > 1:
        raise BadReply("columns of different lengths")
    return pa.table(arrays, names=names)
