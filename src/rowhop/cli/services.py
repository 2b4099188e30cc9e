"""The commands that serve others: the page, the MCP server, and running a saved answer again. Only their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rowhop.cli.options import AsJson, Budget, Hide, Language, Method, Model, Notes, Read, Sources

Port = Annotated[
    int,
    typer.Option("--port", min=0, metavar="N", help="Port; without it 8765, or a free one.", show_default=False),
]


def add(app: typer.Typer) -> None:
    for command in (serve, mcp, rerun):
        app.command()(command)


def serve(
    sources: Sources = None,
    port: Port = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
    folder: Annotated[
        list[Path] | None,
        typer.Option(
            "--folder",
            metavar="FOLDER",
            help="Files in it may be named on the page; else, where no source is given, those here. Repeatable.",
            show_default=False,
        ),
    ] = None,
    upload_mb: Annotated[int, typer.Option("--upload-mb", min=1, metavar="N", help="Largest upload.")] = 200,
    model: Model = None,
    method: Method = None,
    language: Language = None,
    budget: Budget = None,
    notes: Notes = None,
    hide: Hide = None,
    read: Read = None,
) -> int:
    """Open a page on this machine to ask from, and watch each run.

    See docs/web.md.
    """
    from rowhop.cli import serving
    from rowhop.cli.options import settings

    given = settings(model, method, language, None, budget, notes, None, hide, read)
    return serving.serve(sources or [], given, port, not no_browser, folder or [], upload_mb)


def mcp(
    sources: Sources = None,
    http: Annotated[bool, typer.Option("--http", help="Streamable HTTP on this machine instead of stdio.")] = False,
    port: Port = 0,
    model: Model = None,
    method: Method = None,
    budget: Budget = None,
    notes: Notes = None,
    hide: Hide = None,
) -> int:
    """Let a program that speaks MCP ask: list_sources, describe, ask, run_program, evidence."""
    from rowhop.cli import serving
    from rowhop.cli.options import settings

    given = settings(model, method, None, None, budget, notes, None, hide)
    return serving.mcp(sources or [], given, http, port)


def rerun(
    answer: Annotated[
        Path,
        typer.Argument(metavar="ANSWER", help="What --json printed or --trace saved, in a file.", show_default=False),
    ],
    sources: Sources = None,
    json: AsJson = False,
    read: Read = None,
) -> int:
    """Run a saved answer's program again, without a model, and say what changed.

    Exit codes: 0 the same result, 3 another result, 2 usage, 1 the program no longer runs.
    """
    from rowhop.cli import rerunning
    from rowhop.cli.options import settings

    return rerunning.again(answer, sources or [], settings(read=read), json)
