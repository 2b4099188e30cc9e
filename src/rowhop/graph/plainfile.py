"""Plain triple files: one `subject|relation|object` or tab-separated line per fact, with or without a header."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rowhop.errors import SourceError

# First lines that name the three fields instead of giving a fact.
_HEADER = (
    {"subject", "subj", "s", "head", "h", "source", "from", "start", "x_id", "node1"},
    {"relation", "rel", "r", "predicate", "pred", "p", "property", "label", "type", "edge"},
    {"object", "obj", "o", "tail", "t", "target", "to", "end", "y_id", "node2"},
)


def looks_like_triples(path: Path) -> bool:
    """Whether the first lines all have three fields. A table of three columns looks the same: the caller decides."""
    try:
        with path.open(encoding="utf-8") as file:
            lines = [line.rstrip("\n") for _, line in zip(range(20), file, strict=False)]
    except (OSError, UnicodeDecodeError):
        return False
    lines = [line for line in lines if line.strip()]
    return bool(lines) and all(len(line.split(_separator(lines[0]))) == 3 for line in lines)


def _separator(line: str) -> str:
    return "\t" if line.count("\t") == 2 or "|" not in line else "|"


def read(path: Path) -> Iterator[tuple[str, str, str]]:
    """Every fact as written, outer blanks dropped. Raises SourceError with the line that has not three fields."""
    number = 0
    try:
        with path.open(encoding="utf-8-sig") as file:
            separator = ""
            for number, line in enumerate(file, 1):
                line = line.rstrip("\r\n")
                if not line.strip():
                    continue
                separator = separator or _separator(line)
                fields = [f.strip() for f in line.split(separator)]
                if len(fields) != 3 or not all(fields):
                    raise SourceError(_complaint(path, number, line, fields, separator))
                if number == 1 and all(f.casefold() in names for f, names in zip(fields, _HEADER, strict=True)):
                    continue
                yield fields[0], fields[1], fields[2]
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}, line {number + 1}: not UTF-8 text. Save the file as UTF-8.") from error
    except OSError as error:
        raise SourceError(f"{path} could not be read: {error.strerror}.") from error


def _complaint(path: Path, number: int, line: str, fields: list[str], separator: str) -> str:
    column = len(line) + 1 if len(fields) < 3 else len(separator.join(fields[:3])) + 1
    sign = "tab" if separator == "\t" else separator
    count = sum(map(bool, fields))
    return f"{path}, line {number}, column {column}: {count} fields where a triple has 3, separated by {sign}."
