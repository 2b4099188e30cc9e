"""What reaches the terminal: consoles, and text from data or models made harmless."""

from __future__ import annotations

import io
import re
import sys
from functools import cache
from typing import TYPE_CHECKING

from rowhop.types import Value

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

# Control characters (escape sequences start with one) and the marks that turn the direction of text around:
# a cell must not be able to move the cursor, clear the screen or make a line read differently.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
# Where output is not a terminal there is no width to fit; tables then get this much.
_WIDE = 160


def clean(text: str) -> str:
    """Control characters as visible escapes; newlines and tabs stay.

    >>> clean("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    return _CONTROL.sub(_escape, text.replace("\r\n", "\n"))


def one_line(text: str, width: int = 0) -> str:
    """Cleaned, on one line, and cut to `width` characters when that is given."""
    line = " ".join(clean(text).split())
    return line[: width - 1] + "…" if width and len(line) > width else line


def shown(value: Value) -> str:
    """A cell as people read it."""
    if value is None:
        return "(missing)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.10g}" if abs(value) < 1e15 else repr(value)
    return clean(str(value))


def plain(text: str, style: str = "") -> Text:
    """Text that is shown as it stands: no markup is read out of it."""
    from rich.text import Text

    return Text(clean(text), style=style)


def prepare() -> None:
    """Let a console that cannot show a character show its escape instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def out() -> Console:
    """For results."""
    return _console(sys.stdout)


def err() -> Console:
    """For progress and complaints."""
    return _console(sys.stderr)


def complain(sentence: str, code: int) -> int:
    """One sentence on stderr; returns the exit code."""
    print(one_line(sentence), file=sys.stderr)
    return code


def say(sentence: str) -> None:
    """A remark on stderr that is no error."""
    print(clean(sentence), file=sys.stderr)


def utf8() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


@cache
def _console(stream: io.TextIOBase) -> Console:
    from rich.console import Console

    terminal = stream.isatty()
    return Console(
        file=stream,  # type: ignore[arg-type]
        width=None if terminal else _WIDE,
        markup=False,
        highlight=False,
        emoji=False,
    )


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
