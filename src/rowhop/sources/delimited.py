"""Text files of separated values: encoding and dialect are found out, every cell keeps its text.

Small files are read by Python's csv module, which keeps ragged rows; big ones by `bigfile`.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TextIO

from rowhop.errors import SourceError
from rowhop.sources import Reading

# How much of a file is looked at to find its dialect.
GLANCE_CHARACTERS = 65_536
_DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class Dialect:
    delimiter: str = ","
    quote: str = '"'
    escape: str | None = None
    skip: int = 0  # leading lines that are instructions ("sep=;"), not data

    def rows(self, text: str) -> list[list[str]]:
        return [row for row in self.read(io.StringIO(text, newline="")) if row]

    def read(self, lines: TextIO, strict: bool = False) -> Iterator[list[str]]:
        # The module's own limit of 128 KB a cell is for the whole process; a cell may hold a document.
        csv.field_size_limit(2**31 - 1)
        for _ in range(self.skip):
            lines.readline()
        return csv.reader(
            # `readline` keeps the file's position true, which the loop over a file does not.
            iter(lines.readline, ""),
            delimiter=self.delimiter,
            quotechar=self.quote or None,
            quoting=csv.QUOTE_MINIMAL if self.quote else csv.QUOTE_NONE,
            escapechar=self.escape,
            doublequote=self.escape is None,
            strict=strict,
        )


@dataclass(frozen=True)
class Encoding:
    name: str
    guessed: bool = False


def find_encoding(head: bytes, stated: str = "", whole: bool = True) -> Encoding:
    """The encoding of a file by its first bytes. `whole` says that `head` is all of it."""
    if stated:
        return Encoding(stated)
    for mark, name in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if head.startswith(mark):
            return Encoding(name)
    if b"\0" in head:
        even, odd = head[0:4096:2].count(0), head[1:4096:2].count(0)
        pairs = max(1, min(len(head), 4096) // 2)
        if odd > pairs * 0.3 and even < pairs * 0.05:
            return Encoding("utf-16-le")
        if even > pairs * 0.3 and odd < pairs * 0.05:
            return Encoding("utf-16-be")
        return Encoding("")
    if head.isascii():
        return Encoding("utf-8")
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        if not whole and error.start >= len(head) - 4:
            return Encoding("utf-8")
        return Encoding(_old_encoding(head), guessed=True)
    return Encoding("utf-8")


def _old_encoding(head: bytes) -> str:
    """One of the 8-bit and East Asian encodings. Few high bytes are Western letters; more of them are weighed."""
    high = sum(b > 127 for b in head)
    if high > len(head) * 0.15:
        from charset_normalizer import from_bytes

        best = from_bytes(head[:GLANCE_CHARACTERS]).best()
        if best is not None and best.encoding not in ("ascii", "utf_8"):
            return str(best.encoding)
    try:
        head.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


def decode(data: bytes, encoding: Encoding, name: str) -> str:
    if not encoding.name:
        raise SourceError(
            f"Cannot read {name}: it holds binary data, not text. "
            "Give a CSV, JSON, Excel, Parquet, Arrow, SQLite or DuckDB file."
        )
    try:
        return data.decode(encoding.name)
    except LookupError:
        raise SourceError(
            f"Cannot read {name} as {encoding.name!r}: no such encoding. Try utf-8, cp1252 or utf-16."
        ) from None
    except UnicodeDecodeError as error:
        raise SourceError(
            f"Cannot read {name} as {encoding.name}: byte {error.start} does not fit. State another encoding."
        ) from None


def find_dialect(text: str, reading: Reading, suffix: str = "", cut: bool = False) -> Dialect:
    """Delimiter, quote and escape that make the sample's rows most alike. `cut` says that its end is not the file's."""
    sample = text[:GLANCE_CHARACTERS]
    cut = cut or len(text) > len(sample)
    if cut and "\n" in sample:
        sample = sample[: sample.rindex("\n") + 1]
    first = sample.split("\n", 1)[0].strip()
    if first.lower().startswith("sep=") and len(first) == 5:
        return Dialect(first[4], '"', _find_escape(sample), skip=1)
    quote = '"'
    if '"' not in sample and _wraps(sample, "'"):
        quote = "'"
    escape = _find_escape(sample, quote)
    if reading.delimiter:
        return _least_broken(sample, [Dialect(reading.delimiter, quote, escape)], cut)
    likely = ("\t" if suffix in (".tsv", ".tab") else "") + _DELIMITERS
    candidates = [Dialect(d, quote, escape) for d in dict.fromkeys(likely) if d in sample]
    if not candidates:
        return Dialect(",", quote, escape)
    return _least_broken(sample, candidates, cut)


def _least_broken(sample: str, candidates: Sequence[Dialect], cut: bool) -> Dialect:
    best, best_score = candidates[0], (-1.0, -1.0, 0.0, 0.0)
    for candidate in candidates:
        # Where backslashes stand before quotes, either reading is tried; quotes doubled as usual are likelier.
        choices = (replace(candidate, escape=None), candidate) if candidate.escape else (candidate,)
        for dialect in choices:
            proper = 1.0 if len(choices) == 1 or _is_proper(sample, dialect, cut) else 0.0
            score = (proper, *_likeness(dialect.rows(sample)[: None if not cut else -1]))
            if score > best_score:
                best, best_score = dialect, score
    return best


def _is_proper(sample: str, dialect: Dialect, cut: bool) -> bool:
    """No letter after a closing quote, no quote left open at the end."""
    try:
        for _ in dialect.read(io.StringIO(sample, newline=""), strict=True):
            pass
    except csv.Error as error:
        return cut and "end of data" in str(error)
    return True


def _likeness(rows: Sequence[Sequence[str]]) -> tuple[float, float, float]:
    """(share of rows with the usual number of cells, share of cells without a leading blank, the usual number).

    One cell a row is no table at all; a comma inside a text has a blank after it, a delimiter seldom.
    """
    if not rows:
        return (-0.5, 0.0, 0.0)
    lengths = Counter(len(r) for r in rows)
    usual, often = max(lengths.items(), key=lambda item: (item[1], item[0]))
    if usual < 2:
        return (0.0, 0.0, 0.0)
    share = often / len(rows)
    # The header has no numbers that a decimal comma could split, so it tells the width.
    if len(rows[0]) != usual:
        share *= 0.5
    cells = [c for row in rows[:50] for c in row[1:]]
    tight = sum(1 for c in cells if not c.startswith(" ")) / max(1, len(cells))
    return (round(share, 2), round(tight, 1), float(usual))


def _wraps(sample: str, quote: str) -> bool:
    """Whether cells are wrapped in this quote, rather than holding it as an apostrophe."""
    lines = sample.split("\n")[:50]
    wrapped = sum(1 for line in lines if line.startswith(quote) and line.rstrip("\r").endswith(quote))
    return wrapped > len(lines) / 2


def _find_escape(sample: str, quote: str = '"') -> str | None:
    """Backslash, where it stands before quotes and before nothing else (a Windows path has letters after it)."""
    position = sample.find("\\" + quote)
    if position < 0:
        return None
    position, seen = 0, 0
    while (position := sample.find("\\", position)) >= 0:
        if sample[position + 1 : position + 2] not in (quote, "\\", ""):
            return None
        seen += 1
        position += 2
    return "\\" if seen else None
