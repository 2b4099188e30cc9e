"""The commands and their options. What they do is imported only when one runs, so that `--help` is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rowhop.cli import USAGE, services
from rowhop.cli.options import (
    AsJson,
    Budget,
    Choose,
    Hide,
    Language,
    Memory,
    Method,
    Model,
    Notes,
    Out,
    Picture,
    Read,
    Recall,
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
    memory: Memory = None,
    share: Share = None,
    hide: Hide = None,
    topic: Topic = None,
    choose: Choose = None,
    read: Read = None,
    json: AsJson = False,
    out: Out = None,
    replace: Replace = False,
    trace: TraceFile = None,
    graph: Picture = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the exact prompt and send nothing.")] = False,
    unsafe_run: UnsafeRun = False,
) -> int:
    """Answer one question.

    Exit codes: 0 answered, 3 unknown, 4 gave up, 5 ambiguous, 2 usage, 1 fault, 130 stopped.
    """
    from rowhop.cli import asking
    from rowhop.cli.options import settings

    given = settings(model, method, language, samples, budget, notes, share, hide, read, unsafe_run, memory)
    show = asking.Wish(
        json=json,
        out=out,
        replace=replace,
        trace=trace,
        graph=graph,
        dry_run=dry_run,
        topics=tuple(topic or ()),
        choose=choose,
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
    memory: Memory = None,
    share: Share = None,
    hide: Hide = None,
    read: Read = None,
    unsafe_run: UnsafeRun = False,
) -> int:
    """Ask several questions that build on each other."""
    from rowhop.cli import chatting
    from rowhop.cli.options import settings

    given = settings(model, method, language, samples, budget, notes, share, hide, read, unsafe_run, memory)
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


@app.command()
def learn(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Runs that --trace saved and whose answers you found right, or files of entries (JSON Lines).",
            show_default=False,
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List what is remembered.")] = False,
    forget: Annotated[
        str, typer.Option("--forget", metavar="ID", help="Remove one of your own entries.", show_default=False)
    ] = "",
) -> int:
    """Remember questions whose answers you confirm; later prompts show them as examples."""
    from rowhop.cli import learning
    from rowhop.cli.options import settings

    return learning.learn(files or [], settings(), listed, forget)


@app.command("train-paths")
def train_paths(
    benchmark: Annotated[
        str,
        typer.Argument(
            metavar="BENCHMARK",
            help="stark-prime, metaqa, or plain: your own questions with the ids of their answers.",
            show_default=False,
        ),
    ],
    data: Annotated[
        Path, typer.Option("--data", metavar="PATH", help="Its folder; for plain, your file.", show_default=False)
    ],
    method: Annotated[
        str, typer.Option("--method", metavar="NAME", help="pasemiqa, or ppoga: routes on a graph without text.")
    ] = "pasemiqa",
    n: Annotated[int, typer.Option("--n", min=0, metavar="N", help="With ppoga: questions to learn from, 0: all.")] = 0,
    split: Annotated[str, typer.Option("--split", metavar="NAME", help="The part to learn from.")] = "train",
    measure: Annotated[
        str, typer.Option("--measure", metavar="NAME", help="A part on which the plan alone is then tested.")
    ] = "",
    hops: Annotated[int, typer.Option("--hops", min=1, max=4, metavar="N", help="Longest path.")] = 2,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FOLDER", help="Where it is kept; else in the cache.", show_default=False),
    ] = None,
) -> int:
    """Learn relation paths and ranking on a graph, for --method pasemiqa or ppoga."""
    from rowhop.cli import training
    from rowhop.cli.options import settings

    if method == "ppoga":
        return training.train_routes(benchmark, data, split, n, hops, out, settings())

    return training.train_paths(benchmark, data, split, measure, hops, out, settings())


@app.command("eval")
def evaluate(
    benchmark: Annotated[
        str,
        typer.Argument(
            metavar="BENCHMARK",
            help="wikitq, spider, metaqa, pathquestion, webqsp, cwq, grailqa, stark-prime, or plain: your own "
            "questions with answers, see docs/benchmarks.md.",
            show_default=False,
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="PATH", help="Its folder; for plain, your file.", show_default=False),
    ] = None,
    split: Annotated[
        str, typer.Option("--split", metavar="NAME", help="Part of the benchmark; else its usual one.")
    ] = "",
    n: Annotated[int, typer.Option("--n", min=0, metavar="N", help="Questions to draw; 0 means all.")] = 30,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Which questions are drawn.")] = 0,
    folder: Annotated[
        Path | None,
        typer.Option("--run", metavar="FOLDER", help="Where the run is kept; else under runs/.", show_default=False),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was begun.")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="With --resume: ask again what the machine failed.")] = False,
    minutes: Annotated[
        float | None, typer.Option("--minutes", min=0, metavar="N", help="Stop after so long.", show_default=False)
    ] = None,
    threads: Annotated[int, typer.Option("--threads", min=1, metavar="N", help="Questions at once.")] = 1,
    cached: Annotated[
        bool, typer.Option("--cached", help="Let replies come from the cache; times then mean little.")
    ] = False,
    model: Model = None,
    method: Method = None,
    language: Language = None,
    samples: Samples = None,
    repairs: Annotated[
        int | None,
        typer.Option("--repairs", min=0, metavar="N", help="Further tries when a program fails.", show_default="3"),
    ] = None,
    demonstrations: Annotated[
        int | None,
        typer.Option("--demonstrations", min=0, metavar="N", help="Solved questions to show.", show_default="auto"),
    ] = None,
    memory: Memory = None,
    recall: Recall = None,
    budget: Budget = None,
    json: AsJson = False,
) -> int:
    """Measure: ask a benchmark's questions and compare with the right answers."""
    from rowhop.cli import evaluating
    from rowhop.cli.options import settings
    from rowhop.eval.evaluate import EvalOptions

    given = settings(model, method, language, samples, budget, memory=memory, recall=recall)
    given = evaluating.with_switches(given, repairs, demonstrations)
    how = "retry" if retry else "resume" if resume else ""
    options = EvalOptions(benchmark, given, data, split, n or None, seed, folder, how, minutes, threads, cached)
    return evaluating.evaluate(options, json)


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.", show_default=False)],
    second: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of another run.", show_default=False)],
) -> int:
    """Compare two runs of eval over the questions that both asked."""
    from rowhop.cli import evaluating

    return evaluating.compare(first, second)


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs.", show_default=False)],
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Where the report goes: FILE.md and FILE.html.")
    ] = Path("report"),
) -> int:
    """Write a report of runs of eval: tables, plots, errors by type, every case with its trace."""
    from rowhop.cli import evaluating

    return evaluating.report(runs, out)


@model_app.command("list")
def model_list(json: AsJson = False) -> int:
    """List the embedded models, and the endpoint that is set."""
    from rowhop.cli import models
    from rowhop.cli.options import settings

    return models.listed(settings(), json)


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
    from rowhop.cli.options import settings

    return models.get(name, source, settings())


@model_app.command("test")
def model_test(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A model; without it, the one that ask would use.", show_default=False),
    ] = None,
) -> int:
    """Send one short prompt and say how fast the reply came."""
    from rowhop.cli import models
    from rowhop.cli.options import settings

    return models.test(settings(name))


services.add(app)
