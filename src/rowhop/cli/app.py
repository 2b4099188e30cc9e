"""The commands and their options. What they do is imported only when one runs, so that `--help` is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rowhop.cli import USAGE
from rowhop.cli.options import (
    AsJson,
    Budget,
    Choose,
    Hide,
    Language,
    Method,
    Model,
    Notes,
    Out,
    Read,
    Replace,
    Samples,
    Share,
    Sources,
    Topic,
    TraceFile,
    UnsafeRun,
)

app = typer.Typer(
    name="rowhop",
    help="Ask tables, databases and graphs in plain language; get answers with the program and the rows behind them.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
model_app = typer.Typer(help="The models: list them, get one, test one.", rich_markup_mode=None)
app.add_typer(model_app, name="model")


@app.callback(invoke_without_command=True)
def top(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    if version:
        from rowhop import __version__

        typer.echo(f"rowhop {__version__}")
        raise typer.Exit
    _help_if_alone(context)


@model_app.callback(invoke_without_command=True)
def model_top(context: typer.Context) -> None:
    _help_if_alone(context)


def _help_if_alone(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(USAGE)


@app.command()
def ask(
    sources: Sources = None,
    *,
    question: Annotated[
        str, typer.Argument(metavar="QUESTION", help="In plain language, in quotes.", show_default=False)
    ],
    model: Model = None,
    method: Method = None,
    language: Language = None,
    samples: Samples = None,
    budget: Budget = None,
    notes: Notes = None,
    share: Share = None,
    hide: Hide = None,
    topic: Topic = None,
    choose: Choose = None,
    read: Read = None,
    json: AsJson = False,
    out: Out = None,
    replace: Replace = False,
    trace: TraceFile = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the exact prompt and send nothing.")] = False,
    unsafe_run: UnsafeRun = False,
) -> int:
    """Answer one question.

    Exit codes: 0 answered, 3 unknown, 4 gave up, 5 ambiguous, 2 usage, 1 fault, 130 stopped.
    """
    from rowhop.cli import asking
    from rowhop.cli.options import settings

    given = settings(model, method, language, samples, budget, notes, share, hide, read, unsafe_run)
    show = asking.Wish(
        json=json, out=out, replace=replace, trace=trace, dry_run=dry_run, topics=tuple(topic or ()), choose=choose
    )
    return asking.ask(sources or [], question, given, show)


@app.command()
def chat(
    sources: Sources = None,
    model: Model = None,
    method: Method = None,
    language: Language = None,
    samples: Samples = None,
    budget: Budget = None,
    notes: Notes = None,
    share: Share = None,
    hide: Hide = None,
    read: Read = None,
    unsafe_run: UnsafeRun = False,
) -> int:
    """Ask several questions that build on each other."""
    from rowhop.cli import chatting
    from rowhop.cli.options import settings

    given = settings(model, method, language, samples, budget, notes, share, hide, read, unsafe_run)
    return chatting.chat(sources or [], given)


@app.command()
def show(
    sources: Sources = None,
    rows: Annotated[
        int, typer.Option("--rows", min=0, metavar="N", help="Also print the first N rows of each table.")
    ] = 0,
    read: Read = None,
    json: AsJson = False,
) -> int:
    """Show what is in a source: its tables, columns, types and keys."""
    from rowhop.cli import showing
    from rowhop.cli.options import settings

    return showing.show(sources or [], settings(read=read), rows, json)


@app.command()
def trace(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that --trace wrote.", show_default=False)],
    full: Annotated[bool, typer.Option("--full", help="Print every prompt and reply whole.")] = False,
) -> int:
    """Print a saved run as readable steps."""
    from rowhop.cli import tracing

    return tracing.show(file, full)


@model_app.command("list")
def model_list(json: AsJson = False) -> int:
    """List the embedded models, and the endpoint that is set."""
    from rowhop.cli import models

    return models.listed(json)


@model_app.command("get")
def model_get(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="An embedded model, e.g. qwen2.5-coder-1.5b.", show_default=False)
    ],
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="PATH", help="A file or folder to take the weights from.", show_default=False),
    ] = None,
) -> int:
    """Fetch an embedded model; what is there already is not fetched again."""
    from rowhop.cli import models

    return models.get(name, source)


@model_app.command("test")
def model_test(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A model; without it, the one that ask would use.", show_default=False),
    ] = None,
) -> int:
    """Send one short prompt and say how fast the reply came."""
    from rowhop.cli import models

    return models.test(name)
