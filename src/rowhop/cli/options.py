"""Options that several commands share, and how they become settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rowhop.errors import ConfigError

if TYPE_CHECKING:
    from rowhop.config import Settings

Sources = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SOURCE",
        help="Files, folders, database URLs, names from rowhop.toml, or - for stdin. Without any: all of rowhop.toml.",
        show_default=False,
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="An embedded model, a .gguf file, or a model of your endpoint.",
        show_default=False,
    ),
]
Method = Annotated[
    str | None, typer.Option("--method", help="auto, pandora, ppoga or pasemiqa.", show_default="auto", metavar="NAME")
]
Language = Annotated[
    str | None,
    typer.Option(
        "--language",
        help="What programs are written in: auto, python, sql, or native (the source's own SQL).",
        show_default="auto",
        metavar="NAME",
    ),
]
Samples = Annotated[
    int | None,
    typer.Option(
        "--samples", min=1, metavar="N", help="Programs to write; the result most agree on wins.", show_default="1"
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="LIMITS",
        help='Limits for the question, e.g. "calls=5,seconds=60,tokens=20000,money=0.10".',
        show_default=False,
    ),
]
Notes = Annotated[
    Path | None,
    typer.Option(
        "--notes",
        metavar="FILE",
        help="Your definitions of terms, columns and measures (Markdown).",
        show_default=False,
    ),
]
Share = Annotated[
    str | None,
    typer.Option(
        "--share",
        metavar="WHAT",
        help="What of the data may enter a prompt: schema (names and types), samples (some cells and rows), all (a "
        "small table whole, results too).",
        show_default="samples",
    ),
]
Hide = Annotated[
    list[str] | None,
    typer.Option("--hide", metavar="COLUMN", help="A column no prompt may show. Repeatable.", show_default=False),
]
Topic = Annotated[
    list[str] | None,
    typer.Option("--topic", metavar="NODE", help="A graph node the question is about. Repeatable.", show_default=False),
]
Choose = Annotated[
    int | None,
    typer.Option(
        "--choose", min=1, metavar="N", help="Which choice of an ambiguous answer is meant.", show_default=False
    ),
]
Read = Annotated[
    list[str] | None,
    typer.Option(
        "--read",
        metavar="KEY=VALUE",
        help="How to read files where finding out fails: encoding, delimiter, decimal, day_first, header_rows, "
        "text_columns. Repeatable.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="FILE", help="Write the result to a .csv, .xlsx or .parquet file.", show_default=False
    ),
]
Replace = Annotated[bool, typer.Option("--replace", help="Let --out and --graph replace a file.")]
TraceFile = Annotated[
    Path | None,
    typer.Option("--trace", metavar="FILE", help="Save every step of the run to this file.", show_default=False),
]
Picture = Annotated[
    Path | None,
    typer.Option(
        "--graph", metavar="FILE", help="Draw the walked part of a graph into an .svg file.", show_default=False
    ),
]
Memory = Annotated[
    Path | None,
    typer.Option(
        "--memory", metavar="FILE", help="Solved questions to show as examples (JSON Lines).", show_default=False
    ),
]
Recall = Annotated[
    str | None,
    typer.Option(
        "--recall",
        metavar="HOW",
        help="Which examples: fixed, shared (nearest of all), own (nearest of one data set), random, or auto.",
        show_default="auto",
    ),
]
UnsafeRun = Annotated[
    bool,
    typer.Option("--unsafe-run", help="Run Python programs without a sandbox: they can then do whatever you can."),
]


def settings(
    model: str | None = None,
    method: str | None = None,
    language: str | None = None,
    samples: int | None = None,
    budget: str | None = None,
    notes: Path | None = None,
    share: str | None = None,
    hide: Sequence[str] | None = None,
    read: Sequence[str] | None = None,
    unsafe_run: bool = False,
    memory: Path | None = None,
    recall: str | None = None,
) -> Settings:
    """Settings with the given options on top. Raises ConfigError."""
    from rowhop import config

    asked = {"method": method, "language": language, "samples": samples, "notes": notes}
    given: dict[str, dict[str, Any]] = {
        "model": _given(name=model),
        "ask": _given(**asked, unsafe_run=unsafe_run or None),
        "budget": dict(config.budget(budget)) if budget else {},
        "share": _given(data=share, hide=tuple(hide) if hide else None),
        "reading": _reading(read or ()),
        "memory": _given(file=memory, recall=recall),
    }
    return config.load(given)


def _given(**values: Any) -> dict[str, Any]:
    return {k: v for k, v in values.items() if v is not None}


def _reading(pairs: Sequence[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise ConfigError(f"--read takes KEY=VALUE, not {pair!r}. For example: --read encoding=latin-1")
        if key == "text_columns":
            values[key] = (*values.get(key, ()), value)
        else:
            values[key] = "\t" if key == "delimiter" and value in ("tab", "\\t") else value
    return values
