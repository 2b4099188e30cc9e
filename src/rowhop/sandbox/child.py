"""One forked child runs one program: map the BOXes, put up the walls, run, say what came out.

The reply goes out before the rows it rests on are looked for, so that search can only add to it.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import linecache
import mmap
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import CodeType
from typing import TYPE_CHECKING, Any

from rowhop.sandbox.boxfile import MappedBox
from rowhop.sandbox.wire import MANY_ROWS, MOST_ROWS, MOST_WARNINGS, Request, write_frame, write_reply

if TYPE_CHECKING:
    from rowhop.sandbox.lockdown import World

FILE = "<program>"
REPLY_FD = 3
_SLOW_SECONDS = 2.0  # after a longer run the rows an answer rests on are not looked for


_REHEARSAL = """
kept = box[box["a"] > 1].sort_values("c").head(2)
top = box.groupby("b")["c"].sum().idxmax()
answer = kept[["b", "c"]]
"""


class Printed(io.StringIO):
    """What a program prints, up to a limit; the rest is dropped as it comes, not kept."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._left = most

    def write(self, text: str) -> int:
        if self._left > 0:
            super().write(text[: self._left])
            self._left -= len(text)
            if self._left <= 0:
                super().write("\n… (more was printed)")
        return len(text)


def main(request: Request, reply_fd: int, box_fds: Sequence[int], world: World) -> None:
    from rowhop.sandbox import lockdown  # needs Linux; the rest of this module does not

    boxes = dict(zip(request.boxes, [MappedBox.open(fd) for fd in box_fds], strict=True))
    frames = {name: box.frame() for name, box in boxes.items()} if request.language == "python" else {}
    used = lockdown.memory_in_use(world.proc)
    _keep_only(reply_fd, world.rules)
    lockdown.limit(request.limits, used)
    if world.layers:
        lockdown.lock(replace(world, rules=REPLY_FD + 1), request.limits.threads)
        sys.path[:] = world.folders
    if world.rules >= 0:
        os.close(REPLY_FD + 1)
    answer(request, boxes, frames)


def answer(request: Request, boxes: dict[str, MappedBox], frames: dict[str, Any]) -> None:
    try:
        if request.language == "sql":
            from rowhop.sandbox import sqlrun

            sqlrun.run(request, {name: box.table for name, box in boxes.items()}, REPLY_FD)
        else:
            _run_python(request, boxes, frames)
    except MemoryError:
        write_reply(REPLY_FD, {"status": "memory", "error": memory_words(request)}, request.limits)


def rehearse() -> None:
    """Run a small program over a small BOX, before the real ones are here; what comes out is thrown away."""
    import pyarrow as pa

    from rowhop.sandbox import cautions, lineage, seccomp, sqlrun, tracing, values

    table = pa.table({"a": [1, 2, 3], "b": ["x", "y", "x"], "c": [0.5, 1.5, None]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    with mmap.mmap(-1, sink.tell()) as pages:
        pages[:] = sink.getvalue().to_pybytes()
        (answer, _), trail = tracing.run(ast.parse(_REHEARSAL, FILE), execute, {"box": MappedBox(pages).frame()})
        json.dumps(values.to_message(answer, lambda row: _is_row(row, [])))
        found = lineage.Lineage(trail, {"box": 3})
        found.answer()
        cautions.of(found)
        del answer, trail, found
    seccomp.program(os.getpid())
    sqlrun.rehearse()


def memory_words(request: Request) -> str:
    return f"MemoryError: the program needed more than {request.limits.memory_mb} MB."


def _keep_only(reply_fd: int, rules: int) -> None:
    """A program holds nothing but its reply pipe; the ruleset beside it is closed once it is applied."""
    import fcntl

    kept = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 300) for fd in (reply_fd, rules) if fd >= 0]
    for place, fd in enumerate(kept, start=REPLY_FD):
        os.dup2(fd, place)
    os.closerange(REPLY_FD + len(kept), 1 << 16)


def _run_python(request: Request, boxes: dict[str, MappedBox], frames: dict[str, Any]) -> None:
    from rowhop.sandbox import complaints, values

    printed = Printed(request.limits.output_bytes)
    fields = [frozenset(map(str, box.table.column_names)) for box in boxes.values()]
    begun = time.perf_counter()

    def is_row(series: Any) -> bool:
        return _is_row(series, fields)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        message: dict[str, Any]
        try:
            tree = ast.parse(request.code, FILE)
            linecache.cache[FILE] = (len(request.code), None, request.code.splitlines(True), FILE)
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                result, by_expression = execute(tree, frames)
                message = {"status": "ok", **values.to_message(result, is_row)}
        except MemoryError:
            message = {"status": "memory", "error": memory_words(request)}
            by_expression = False
        except values.NotAnAnswer as error:
            message, by_expression = {"status": "error", "error": str(error)}, False
        except BaseException as error:  # noqa: BLE001  SystemExit and what a program defines are its own failures
            message, by_expression = complaints.describe(error, request, frames, FILE), False
        said = _warnings_said(caught)
    if by_expression:
        said.append("no_answer: the program did not set `answer`; the value of its last line was taken")
    message |= {"output": printed.getvalue(), "warnings": said[:MOST_WARNINGS]}
    write_reply(REPLY_FD, message, request.limits)
    quick = time.perf_counter() - begun < _SLOW_SECONDS
    if request.evidence and message["status"] == "ok" and quick and sum(map(len, frames.values())) <= MANY_ROWS:
        write_frame(REPLY_FD, _evidence(request, message, boxes, is_row))


def _evidence(
    request: Request, message: dict[str, Any], boxes: dict[str, MappedBox], is_row: Callable[[Any], bool]
) -> dict[str, Any]:
    """The second frame: the program again, traced; nothing is said if the answer is then another one."""
    from rowhop.sandbox import cautions, lineage, tracing, values

    printed = Printed(0)
    frames = {name: box.again().frame() for name, box in boxes.items()}
    with warnings.catch_warnings(), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        warnings.simplefilter("ignore")
        try:
            (answer, _), trail = tracing.run(ast.parse(request.code, FILE), execute, frames)
            again = values.to_message(answer, is_row)
            if any(again[part] != message[part] for part in again):
                return {}
            found = lineage.Lineage(trail, {name: box.table.num_rows for name, box in boxes.items()})
            rows = {box: places.tolist() for box, places in found.answer().items() if len(places)}
            said = cautions.of(found)
        except Exception:  # noqa: BLE001  the answer stands; a program that fails when looked at has no evidence
            return {}
    return {
        "rows": {box: places[:MOST_ROWS] for box, places in rows.items()},
        "rows_total": {box: len(places) for box, places in rows.items()},
        "warnings": said,
    }


class NoAnswer(Exception):
    """The program ran and left nothing."""


def execute(tree: ast.Module, frames: dict[str, Any]) -> tuple[Any, bool]:
    """The answer, and whether it is only the value of the last line."""
    import numpy as np
    import pandas as pd

    scope: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__, "pd": pd, "np": np, **frames}
    last: CodeType | None = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        expression = ast.Expression(tree.body[-1].value)
        tree = ast.Module(tree.body[:-1], tree.type_ignores)
        last = compile(expression, FILE, "eval")
    exec(compile(tree, FILE, "exec"), scope)
    value = eval(last, scope) if last is not None else None
    if "answer" in scope:
        return scope["answer"], False
    if value is None:
        raise NoAnswer("The program did not set `answer`.")
    return value, True


def _is_row(series: Any, fields: Sequence[frozenset[str]]) -> bool:
    """`frame.loc[i]` or `frame.iloc[i]`: the labels are columns, and the name is the row's label."""
    labels = {str(label) for label in series.index}
    if series.name is None or series.index.name is not None or not labels:
        return False
    return any(labels <= names and str(series.name) not in names for names in fields)


def _warnings_said(caught: Sequence[warnings.WarningMessage]) -> list[str]:
    said: list[str] = []
    for warning in caught:
        text = " ".join(str(warning.message).split())[:400]
        line = f" (line {warning.lineno})" if warning.filename == FILE else ""
        words = f"python: {warning.category.__name__}: {text}{line}"
        if words not in said and not issubclass(warning.category, ResourceWarning):
            said.append(words)
    return said
