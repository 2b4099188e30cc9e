"""A trace on disk: JSON Lines, one header, one line per step, one end. Written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from rowhop.errors import SourceError
from rowhop.trace import VERSION, Header, Saved, Step


@cache
def step_json() -> TypeAdapter[Step]:
    """Steps to and from JSON, told apart by `kind`."""
    return TypeAdapter(Annotated[Step, Field(discriminator="kind")])


@cache
def _header_json() -> TypeAdapter[Header]:
    return TypeAdapter(Header)


def answer_json(answer: object) -> dict[str, Any]:
    """An Answer as plain JSON values; its trace is not part of it."""
    if not is_dataclass(answer) or isinstance(answer, type):
        return {}
    return asdict(replace(answer, trace=None))


def lines(header: Header, steps: Sequence[Step], answer: object, error: str) -> list[str]:
    """A trace as the lines of its file."""
    found = [json.dumps({"header": _header_json().dump_python(header, mode="json")}, ensure_ascii=False)]
    found += [json.dumps(step_json().dump_python(s, mode="json"), ensure_ascii=False) for s in steps]
    end = {"answer": {k: v for k, v in answer_json(answer).items() if k != "trace"}, "error": error}
    return [*found, json.dumps({"end": end}, ensure_ascii=False, default=str)]


def write(path: Path, header: Header, steps: Sequence[Step], answer: object, error: str) -> None:
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text("\n".join(lines(header, steps, answer, error)) + "\n", encoding="utf-8")
        os.replace(part, path)
    except OSError as error_:
        with suppress(OSError):
            part.unlink()
        raise SourceError(f"The trace could not be written to {path}: {error_.strerror}.") from error_


def read(path: Path) -> Saved:
    try:
        found = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise SourceError(f"The trace {path} could not be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise SourceError(f"{path} is not a trace: it is not UTF-8 text.") from error
    try:
        rows = [json.loads(line) for line in found]
        header = _header_json().validate_python(rows[0]["header"])
        if header.version > VERSION:
            raise SourceError(f"{path} was written by a newer rowhop ({header.rowhop}); update rowhop to read it.")
        end = rows[-1].get("end", {}) if len(rows) > 1 else {}
        body = rows[1:-1] if end else rows[1:]
        return Saved(
            header, tuple(step_json().validate_python(r) for r in body), end.get("answer") or {}, end.get("error", "")
        )
    except (ValueError, ValidationError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise SourceError(f"{path} is not a rowhop trace: {str(error).splitlines()[0]}") from error
