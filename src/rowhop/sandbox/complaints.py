"""An exception of a program in words for the model: what, where, and which names there are instead."""

from __future__ import annotations

import difflib
from types import TracebackType
from typing import Any

from rowhop.sandbox.wire import LONGEST_ERROR, Request

_MOST_NAMES = 5


def describe(error: BaseException, request: Request, frames: dict[str, Any], file: str) -> dict[str, Any]:
    """The child's reply for a program that raised."""
    if isinstance(error, SyntaxError) and error.filename == file:
        line = error.lineno or 0
        source = request.code.splitlines()
        shown = source[line - 1].strip() if 0 < line <= len(source) else ""
        text = f"{type(error).__name__}: {error.msg} (line {line}){f': {shown}' if shown else ''}"
        return {"status": "error", "error": text[:LONGEST_ERROR], "line": line}
    if type(error).__name__ == "NoAnswer":
        return {"status": "error", "error": str(error), "line": 0}
    line = _line(error.__traceback__, file)
    text = f"{type(error).__name__}: {_message(error)}"
    text += f" (line {line})" if line else ""
    text += _nearest(error, request, frames, file)
    return {"status": "error", "error": text[:LONGEST_ERROR], "line": line}


def _line(trace: TracebackType | None, file: str) -> int:
    """The innermost line of the program itself. `traceback` would read the source of a million frames."""
    line = 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _message(error: BaseException) -> str:
    try:
        return " ".join(str(error).split())[:2_000]
    except BaseException:  # noqa: BLE001  the exception's class is the program's own and may do anything
        return "(its message cannot be shown)"


def _nearest(error: BaseException, request: Request, frames: dict[str, Any], file: str) -> str:
    """Names that exist and look like the one that does not."""
    if isinstance(error, KeyError):
        wanted = _missing_key(error)
        tables = _frames_in_play(error.__traceback__, file) or list(frames.values())
        names = list(dict.fromkeys(str(c) for table in tables for c in table.columns))
        kind = "columns"
    elif isinstance(error, NameError):
        wanted, names, kind = str(error.name or ""), [*request.known, "pd", "np"], "names"
    elif isinstance(error, AttributeError) and type(error.obj).__name__ in ("DataFrame", "Series"):
        wanted, kind = str(error.name or ""), "columns"
        names = [str(c) for c in getattr(error.obj, "columns", ())]
    else:
        return ""
    if not names or not wanted:
        return ""
    near = nearest(wanted, names)
    listed = ", ".join(repr(n) if kind == "columns" else n for n in (near or names[:20]))
    return f". Nearest {kind}: {listed}" if near else f". The {kind} are: {listed}"


def nearest(wanted: str, names: list[str]) -> list[str]:
    folded: dict[str, str] = {}
    for name in names:
        folded.setdefault(name.casefold(), name)
    key = wanted.casefold()
    close = difflib.get_close_matches(key, list(folded), n=_MOST_NAMES, cutoff=0.6)
    inside = [f for f in folded if len(key) > 2 and (key in f or (len(f) > 2 and f in key))]
    return [folded[f] for f in dict.fromkeys(close + inside)][:_MOST_NAMES]


def _missing_key(error: KeyError) -> str:
    key = error.args[0] if error.args else ""
    text = str(key)
    # pandas: "['Nmae'] not in index", "None of [Index(['Nmae'], dtype='str')] are in the [columns]"
    if isinstance(key, str) and "[" in text and ("not in index" in text or "None of" in text):
        inner = text[text.rindex("['") + 2 :] if "['" in text else ""
        return inner.split("'")[0] if inner else text
    return text


def _frames_in_play(trace: TracebackType | None, file: str) -> list[Any]:
    """The frames that pandas was working on when it raised, innermost first."""
    import pandas as pd

    tables: list[Any] = []
    inside_pandas = False
    while trace is not None:
        local = trace.tb_frame.f_locals
        if trace.tb_frame.f_code.co_filename != file:
            inside_pandas = True
            owner: Any = local.get("self")
            owner = owner if isinstance(owner, pd.DataFrame) else getattr(owner, "obj", None)
            if isinstance(owner, pd.DataFrame):
                tables.insert(0, owner)
        trace = trace.tb_next
    return tables[:1] if inside_pandas else []
