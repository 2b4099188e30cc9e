"""`rowhop train-paths`: learn to plan on one graph from questions whose answers are known, and measure the plan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rowhop.cli import screen
from rowhop.errors import ConfigError, SourceError

if TYPE_CHECKING:
    from rowhop.config import Settings
    from rowhop.eval.benchmarks import Item
    from rowhop.graph.textgraph import TextGraph
    from rowhop.models import Embedder


def train_paths(
    benchmark: str, data: Path, split: str, measure: str, hops: int, out: Path | None, settings: Settings
) -> int:
    """Train on one part of a benchmark (or the user's own questions); with `measure`, test the plan on another."""
    from rowhop import build, providers
    from rowhop.eval.benchmarks import load
    from rowhop.graph.textgraph import open_textgraph
    from rowhop.learn.paths_rank import RankTraining, Solved, train_planning

    items = load(benchmark, data, split)
    sources = {item.sources for item in items}
    if len(sources) != 1 or len(next(iter(sources))) != 1:
        raise ConfigError(f"Paths are learnt on one graph; the questions in {data} name {len(sources)} sources.")
    embedder = providers.embedder(settings)
    graph = open_textgraph(next(iter(sources))[0], settings.cache_folder, embedder, _tell)
    solved = [Solved(i.question.text, tuple(map(str, i.gold.values)), i.question.topics) for i in items]
    planning = train_planning(graph, embedder, solved, RankTraining(longest=hops), progress=_tell)
    folder = out or build.trained_paths(settings, graph)
    planning.save(folder)
    for label, fit in (("paths", planning.paths), ("answer types", planning.types)):
        if fit is not None:
            first, last = fit.losses[0], fit.losses[-1]
            screen.say(f"{label}: {fit.examples} examples, loss {first:.3f} at first, {last:.3f} at the end.")
    ranked = "with a ranker" if planning.ranker is not None else "without a ranker"
    screen.say(f"Learnt from {planning.questions} questions in {planning.seconds:.0f} s, {ranked}, kept in {folder}.")
    if measure:
        _measure(graph, embedder, folder, load(benchmark, data, measure))
    return 0


def train_routes(
    benchmark: str, data: Path, split: str, n: int, hops: int, out: Path | None, settings: Settings
) -> int:
    """Learn routes for PPoGA from `n` questions (0: all) of one part of a benchmark, or of the user's own file."""
    from rowhop import build, providers
    from rowhop.eval.benchmarks import load, sample
    from rowhop.eval.graph_benchmarks import graph_of
    from rowhop.graph.routes import Explorer
    from rowhop.learn.paths_rank import Solved
    from rowhop.learn.routes import RouteTraining, train_routes

    items = sample(load(benchmark, data, split), n or None, 0)
    sources = {item.sources for item in items}
    if len(sources) != 1:
        raise ConfigError(f"Routes are learnt on one graph; the questions in {data} name {len(sources)}.")
    named = list(next(iter(sources)))
    graph = build.opened(graph_of(named, settings.cache_folder) or named, settings)
    if not build.is_graph(graph):
        raise ConfigError(f"Routes are learnt on a graph; {graph.name} is none.")
    solved = [Solved(i.question.text, tuple(map(str, i.gold.values)), i.question.topics) for i in items]
    explorer = Explorer(graph, providers.embedder(settings))
    learnt = train_routes(explorer, solved, RouteTraining(depth=hops), progress=_tell)
    folder = out or build.trained_routes(settings, graph)
    learnt.lessons.save(folder)
    weighed = f"weights with loss {learnt.loss:.3f}" if learnt.lessons.weights else "no weights (too few questions)"
    screen.say(
        f"Learnt from {learnt.questions} of {len(solved)} questions in {learnt.seconds:.0f} s: {weighed}, kept in "
        f"{folder}."
    )
    return 0


def _measure(graph: TextGraph, embedder: Embedder, folder: Path, items: Sequence[Item]) -> None:
    """The plan and, where nodes carry text, each of its parts; no chat model is asked."""
    from rowhop.agents.pasemiqa.planner import Planner
    from rowhop.learn.parts import measure

    if not items:
        raise SourceError("There are no questions to measure on.")
    planner = Planner.of(graph, embedder, folder)
    for level in dict.fromkeys(item.level for item in items):
        some = [item for item in items if item.level == level]
        screen.say(f"{f'{level}: ' if level else ''}{len(some)} questions, without a chat model (95 % intervals):")
        for part in measure(planner, some, every=graph.has_text):
            screen.say(f"  {part.told()}")


_told: dict[str, int] = {}


def _tell(stage: str, done: int, total: int) -> None:
    """A line at the start and the end of each stage, and at each quarter of a long one."""
    quarter = 4 * done // total if total else 0
    if _told.get(stage) != quarter:
        _told[stage] = quarter
        screen.say(f"{stage}: {done} of {total}" if total else f"{stage} …")
