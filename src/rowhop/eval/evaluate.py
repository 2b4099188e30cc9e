"""From settings to a measured run: builds model, sources and agents by `rowhop.build` and hands them to the runner."""

from __future__ import annotations

import os
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rowhop import build, config, providers
from rowhop.errors import ConfigError
from rowhop.eval.benchmarks import Item, load, sample
from rowhop.eval.graph_benchmarks import graph_of
from rowhop.eval.runner import Limits, Listen, run
from rowhop.eval.summary import Summary, summarise
from rowhop.trace import Trace
from rowhop.types import Answer

if TYPE_CHECKING:
    from rowhop.agents import Agent
    from rowhop.build import Knowledge
    from rowhop.config import Settings
    from rowhop.models import ChatModel

DATA = "ROWHOP_BENCH_DATA"  # a folder with one folder per benchmark, used where no data is named
_FOLDERS = {
    "webqsp": "freebase",
    "cwq": "freebase",
    "grailqa": "freebase",
    "stark-prime": "stark_prime",
    "metaqa-own": "metaqa",
}
RUNS = Path("runs")
_ANSWERING = ("agents", "sources", "graph", "models", "search", "sandbox")


@dataclass(frozen=True)
class EvalOptions:
    """`data` is the benchmark's folder (for "plain" its file), `n` None means all questions, `run` the run's folder.

    `resume` is "", "resume" or "retry". With `cached`, replies may come from the cache: times then mean little.
    """

    benchmark: str
    settings: Settings
    data: Path | None = None
    split: str = ""
    n: int | None = 30
    seed: int = 0
    run: Path | None = None
    resume: str = ""
    minutes: float | None = None
    threads: int = 1
    cached: bool = False


def evaluate(options: EvalOptions, listen: Listen = lambda progress: None, model: ChatModel | None = None) -> Summary:
    """Ask a sample of a benchmark's questions and sum up. `model` takes the place of the one that settings name.

    Raises RowhopError; what was done before is kept.
    """
    settings = options.settings
    if not options.cached:
        settings = config.changed(settings, {"cache": {"replies": False}})
    if not settings.memory.dataset:  # whose demonstrations are this data set's own
        settings = config.changed(settings, {"memory": {"dataset": options.benchmark}})
    items = sample(load(options.benchmark, data(options), options.split), options.n, options.seed)
    folder = options.run or RUNS / run_name(options)
    limits = Limits(options.threads, options.minutes, settings.budget.budget())
    with methods(items, settings, model) as answer:
        outcome = run(folder, items, answer, described(options), limits, listen, options.resume)
    return summarise(outcome.run, outcome.stopped)


def data(options: EvalOptions) -> Path:
    """Where the benchmark lies: as named, else under the folder that the environment names."""
    if options.data is not None:
        return options.data
    base = os.environ.get(DATA, "")
    if not base or options.benchmark == "plain":
        raise ConfigError(
            f"Name the benchmark's folder with --data (or set {DATA} to a folder that holds all of them)."
        )
    return Path(base) / _FOLDERS.get(options.benchmark, options.benchmark)


def described(options: EvalOptions) -> dict[str, Any]:
    """What a run is made with, for run.json. A run goes on only with the same."""
    how = options.settings.ask
    return {
        "benchmark": options.benchmark,
        "split": options.split,
        "seed": options.seed,
        "n": options.n,
        "model": options.settings.model.name or config.EMBEDDED,
        "method": how.method,
        "language": how.language,
        "samples": how.samples,
        "repairs": how.repairs,
        "demonstrations": how.demonstrations,
        **remembered(options.settings),
        "prompt_tokens": how.prompt_tokens,
        "empty_is_failure": how.empty_is_failure,
        "share": options.settings.share.data,
        "budget": {k: v for k, v in vars(options.settings.budget.budget()).items() if v is not None},
        "cached": options.cached,
        "threads": options.threads,
        "code": [program()],
    }


def remembered(settings: Settings) -> dict[str, Any]:
    """Which demonstrations a run recalls and from what; nothing where both are as usual: earlier runs can go on."""
    how = settings.memory
    told: dict[str, Any] = {}
    if how.recall != "auto":
        told["recall"] = how.recall
    if how.seed:
        told["recall_seed"] = how.seed
    if settings.memory_file.is_file():
        told["memory"] = sha256(settings.memory_file.read_bytes()).hexdigest()[:12]
    return told


@cache
def program() -> str:
    """A fingerprint of what answers questions (code and prompts), so that a run tells when it changed half-way."""
    base, digest = Path(__file__).parent.parent, sha256()
    for folder in _ANSWERING:
        for file in sorted(p for p in (base / folder).rglob("*") if p.suffix in (".py", ".txt", ".jsonl")):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def run_name(options: EvalOptions) -> str:
    """A folder's name that says what differs from the defaults, e.g. "spider-qwen2.5-coder-0.5b-sql-samples5"."""
    how, told = options.settings.ask, described(options)
    parts = [options.benchmark, options.split, str(told["model"])]
    parts += [word for word in (how.method, how.language) if word != "auto"]
    parts += [f"samples{how.samples}"] * (how.samples != 1)
    parts += [f"repairs{how.repairs}"] * (how.repairs != 3)
    parts += [f"demonstrations{how.demonstrations}"] * (how.demonstrations is not None)
    parts += [f"{key}-{value}" for key, value in remembered(options.settings).items()]
    parts += [f"seed{options.seed}"] * (options.seed != 0)
    return re.sub(r"[^A-Za-z0-9._-]+", "_", "-".join(filter(None, parts)))


@dataclass
class _Opened:
    """Agents over sources that are asked more than once; the others are opened for their question only."""

    settings: Settings
    notes: str
    often: frozenset[tuple[str, ...]]
    model: ChatModel | None
    kept: dict[tuple[str, ...], tuple[Agent, Knowledge, str]]
    lock: threading.Lock

    def answer(self, item: Item, trace: Trace) -> Answer:
        # The lock also keeps two threads from loading the model at once.
        with self.lock:
            known = self.kept.get(item.sources)
            if known is None and item.sources in self.often:
                known = self.kept[item.sources] = self._open(item)
        if known is not None:
            return self._ask(known, item, trace)
        with self.lock:
            fresh = self._open(item)
        try:
            return self._ask(fresh, item, trace)
        finally:
            _close(fresh[1])

    def _open(self, item: Item) -> tuple[Agent, Knowledge, str]:
        graph = None
        if self.settings.ask.method != "pasemiqa":
            graph = graph_of(item.sources, self.settings.cache_folder)
        over = build.opened(graph if graph is not None else list(item.sources), self.settings)
        try:
            # Only the reply cache depends on the source: one model serves the whole run.
            bare = config.changed(self.settings, {"cache": {"replies": False}})
            self.model = self.model or providers.chat_model(bare, over)
            model = providers.cached(self.model, self.settings, over) if self.settings.cache.replies else self.model
            method = build.method(self.settings, over)
            return build.agent(method, model, over, self.settings, self.notes), over, method
        except BaseException:
            _close(over)
            raise

    def _ask(self, known: tuple[Agent, Knowledge, str], item: Item, trace: Trace) -> Answer:
        agent, _, method = known
        trace.method, trace.model = method, self.model.name if self.model else ""
        answer = agent.answer(item.question, trace)
        return replace(answer, method=method, model=trace.model)


@contextmanager
def methods(items: list[Item], settings: Settings, model: ChatModel | None = None) -> Iterator[Any]:
    """What answers an Item by the method that settings name; closes what it opened."""
    counts = Counter(item.sources for item in items)
    often = frozenset(sources for sources, count in counts.items() if count > 1)
    opened = _Opened(settings, build.notes(settings), often, model, {}, threading.Lock())
    try:
        yield opened.answer
    finally:
        for _, over, _ in opened.kept.values():
            _close(over)


def _close(over: Knowledge) -> None:
    close = getattr(over, "close", None)
    if close is not None:
        close()


def told(settings: Mapping[str, Any]) -> str:
    """A run's settings that differ from the usual, in a few words."""
    usual = {
        "method": "auto",
        "language": "auto",
        "samples": 1,
        "repairs": 3,
        "demonstrations": None,
        "split": "",
        "recall": None,
        "memory": None,
    }
    words = [f"{key} {settings[key]}" for key, value in usual.items() if settings.get(key, value) != value]
    return ", ".join(words) or "defaults"
