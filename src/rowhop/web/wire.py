"""Answers and sources as the JSON that the page reads. Numbers that JSON has no word for are null."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from rowhop import build
from rowhop.types import Answer

if TYPE_CHECKING:
    from rowhop.build import Knowledge
    from rowhop.web.runs import Run

_RELATIONS = 300


@cache
def _answer() -> TypeAdapter[Answer]:
    return TypeAdapter(Answer)


def answer(of: Answer) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(_answer().dump_json(replace(of, trace=None), exclude={"trace"}))
    return made


def text(data: object) -> str:
    """One line, so that it can be the data of one server-sent event."""
    return json.dumps(_finite(data), ensure_ascii=False, separators=(",", ":"), default=str, allow_nan=False)


def _finite(data: Any) -> Any:
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, dict):
        return {str(k): _finite(v) for k, v in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(v) for v in data]
    return data


def content(over: Knowledge) -> dict[str, Any]:
    if build.is_source(over):
        found = asdict(over.boxes())
        cautions = [c.text for c in over.cautions]
        made = {"name": over.name, "kind": build.kind(over), "cautions": cautions, **found}
    else:
        schema = asdict(over.schema())  # type: ignore[union-attr]
        schema["relations"] = schema["relations"][:_RELATIONS]
        made = {"name": over.name, "kind": build.kind(over), "cautions": [], "schema": schema}
    cleaned: dict[str, Any] = json.loads(text(made))
    return cleaned


def summary(run: Run) -> dict[str, Any]:
    """A run as the history lists it."""
    found = run.answer
    first = found.values[0] if found is not None and found.values else None
    if found is not None and found.table is not None and found.table.total > 1 and found.method != "pasemiqa":
        first = f"{found.table.total:,} rows"
    return {
        "id": run.id,
        "question": run.wish.question,
        "talk": run.talk,
        "state": run.state,
        "status": found.status if found is not None else "",
        "value": None if first is None else str(first)[:80],
        "asked": run.asked,
        "error": run.error,
        "remembered": run.remembered,
    }
