"""Builds what settings name: sources, graphs, memory, agents. It and `providers` are all that knows every class."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from rowhop import config
from rowhop.errors import ConfigError
from rowhop.graph import Graph
from rowhop.models import ChatModel, Embedder
from rowhop.providers import embedder
from rowhop.sources import Reading, Source
from rowhop.trace import Budget
from rowhop.types import Question

if TYPE_CHECKING:
    from rowhop.agents import Agent
    from rowhop.config import Settings, SourceSettings
    from rowhop.memory import Memory

# What questions are asked over.
Knowledge = Source | Graph

_TRIPLES = (".txt", ".tsv", ".tab", ".csv")  # may hold a table or plain triples

# What `auto` means for each kind of source.
_AUTO = {"table": "pandora", "database": "pandora", "graph": "ppoga", "text graph": "pasemiqa"}


def is_open(thing: object) -> bool:
    """Whether it is a Source or a Graph already (and not a path, URL or frame)."""
    return hasattr(thing, "fingerprint") and (is_source(thing) or is_graph(thing))


def opened(specs: object, settings: Settings) -> Knowledge:
    """Everything named, as one Source or one Graph. Names from `rowhop.toml` come first, then paths and URLs."""
    if is_open(specs):
        return specs  # type: ignore[return-value]
    listed: list[Any] = list(specs) if isinstance(specs, list | tuple) else [specs]
    if not listed:
        listed = list(settings.sources)
    if not listed:
        raise ConfigError(
            "No source was named. Name a file, a folder or a database URL before the question, e.g. "
            'rowhop ask orders.csv "How many orders?"'
        )
    named = {one: settings.sources[one] for one in listed if isinstance(one, str) and one in settings.sources}
    places = [named[one].path if isinstance(one, str) and one in named else one for one in listed]
    places = [config.expand(one, os.environ) if isinstance(one, str) else one for one in places]
    graphs = [_is_graph(place, settings) for place in places]
    if all(graphs):
        return _graph(places, settings)
    if any(graphs):
        raise ConfigError("A graph and tables cannot be asked together; ask them one after the other.")
    # A frame cannot be looked up by itself.
    stated = [named.get(one) if isinstance(one, str) else None for one in listed]
    return _source(list(zip(places, stated, listed, strict=True)), settings)


def is_source(over: object) -> TypeGuard[Source]:
    return hasattr(over, "boxes")


def is_graph(over: object) -> TypeGuard[Graph]:
    return hasattr(over, "follow")


def kind(over: Knowledge) -> str:
    """table, database, graph or text graph."""
    if is_source(over):
        return over.kind
    return "text graph" if hasattr(over, "search") else "graph"


def _source(parts: Sequence[tuple[Any, SourceSettings | None, Any]], settings: Settings) -> Source:
    from rowhop.sources import open_source, open_sources

    ready: list[Source] = []
    try:
        for place, named, label in parts:
            ready.append(open_source(place, _reading(settings, named), label if named else None))
        return ready[0] if len(ready) == 1 else open_sources(ready)
    except BaseException:
        for one, (place, _, _) in zip(ready, parts, strict=False):
            if one is not place:
                one.close()
        raise


def _is_graph(place: Any, settings: Settings) -> bool:
    from rowhop.sources import GRAPH_FILES

    if not isinstance(place, str | Path):
        return is_graph(place)
    text = str(place).lower()
    if text.startswith(("http://", "https://")):
        return True
    path = Path(place)
    if path.is_dir():
        names = {f.name for f in path.iterdir()}
        return {"nodes", "edges"} <= {name.partition(".")[0] for name in names} or "data.noun" in names
    suffix = Path(text.removesuffix(".gz")).suffix
    if suffix in GRAPH_FILES or suffix == ".obo":
        return True
    # A file of plain triples looks like any table, and the Gene Ontology's SQLite like any database; asking them by a
    # method for graphs says what they are.
    files = {"ppoga": _TRIPLES, "pasemiqa": (*_TRIPLES, ".sqlite", ".db")}
    return suffix in files.get(settings.ask.method, ())


def _graph(places: Sequence[Any], settings: Settings) -> Graph:
    first = str(places[0])
    if is_open(places[0]) and len(places) == 1:
        return places[0]  # type: ignore[no-any-return]
    text = Path(first).is_dir() or first.lower().endswith(".obo") or settings.ask.method == "pasemiqa"
    if text and len(places) == 1:
        from rowhop.graph.textgraph import open_textgraph

        return open_textgraph(first, settings.cache_folder, embedder(settings))
    if "://" in first:
        if len(places) > 1:
            raise ConfigError("A SPARQL endpoint is asked alone; name one address.")
        from rowhop.graph.sparql import open_endpoint

        return open_endpoint(first)
    from rowhop.graph.rdf import open_files

    return open_files([Path(p) for p in places], settings.cache_folder)


def notes(settings: Settings) -> str:
    """The user's definitions of terms, columns and measures, from the file they named."""
    file = settings.ask.notes
    if file is None:
        return ""
    try:
        return file.read_text(encoding="utf-8-sig").strip()
    except OSError as error:
        raise ConfigError(f"The notes in {file} could not be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"The notes in {file} are not UTF-8 text.") from error


def memory(settings: Settings, by: Embedder | None) -> Memory:
    """To recall from where an embedder is given: then one for all agents, until its file changes. Else to change."""
    from rowhop.memory import Memory

    file = settings.memory_file
    if by is None:
        return Memory(None, file)
    try:
        written = file.stat()
        stamp = (written.st_mtime_ns, written.st_size)
    except OSError:
        stamp = (0, 0)
    with _READING:
        return _shared_memory(file, stamp, by, settings.cache_folder)  # type: ignore[arg-type]  # one object per process


_READING = threading.Lock()


@lru_cache(maxsize=4)
def _shared_memory(file: Path, stamp: tuple[int, int], by: Embedder, folder: Path) -> Memory:
    from rowhop.memory import Memory
    from rowhop.models.cache import CachedEmbedder

    return Memory(by, file, keeping=CachedEmbedder(by, folder / "embeddings.sqlite"))


def budget(settings: Settings, model: ChatModel) -> Budget:
    """The limits for one question. A limit on money needs a known price."""
    return settings.budget.budget()


def method(settings: Settings, over: Knowledge) -> str:
    """The method that is meant, for this kind of source. Raises ConfigError where it cannot read the source."""
    asked = settings.ask.method
    chosen = _AUTO[kind(over)] if asked == "auto" else asked
    if chosen not in _AGENTS:
        raise ConfigError(f"The method {chosen} is not there yet. There are: {', '.join(_AGENTS)}.")
    if kind(over) not in _READS[chosen]:
        able = ", ".join(name for name, kinds in _READS.items() if kind(over) in kinds) or "none yet"
        raise ConfigError(f"The method {chosen} does not read a {kind(over)}. For {over.name} there is: {able}.")
    return chosen


def agent(name: str, model: ChatModel, over: Knowledge, settings: Settings, notes: str) -> Agent:
    return _AGENTS[name](model, over, settings, notes)


def _pandora(model: ChatModel, over: Knowledge, settings: Settings, notes: str) -> Agent:
    from rowhop.agents.pandora.agent import Pandora, PandoraSettings
    from rowhop.memory import Recall

    by = embedder(settings)
    if is_graph(over):
        return _over_boxes(model, over, settings, notes)
    if not is_source(over):
        raise ConfigError(f"The method pandora does not read {over.name}.")
    how = settings.ask
    chosen = PandoraSettings(
        language=how.language,
        repairs=how.repairs,
        demonstrations=how.demonstrations,
        recall=Recall(settings.memory.recall, settings.memory.dataset, settings.memory.seed),
        samples=how.samples,
        notes=notes,
        share=settings.share.data,
        hidden=settings.share.hide,
        empty_is_failure=how.empty_is_failure,
        prompt_tokens=how.prompt_tokens,
        unsafe=how.unsafe_run,
    )
    return Pandora(model, over, memory(settings, by), by, chosen)


def _over_boxes(model: ChatModel, graph: Graph, settings: Settings, notes: str) -> Agent:
    """A model on this machine sees only what lies on the likeliest ways, and the ways themselves as programs."""
    from rowhop.agents.pandora.overboxes import OverBoxes
    from rowhop.agents.ppoga.candidates import likely
    from rowhop.agents.ppoga.lessons import read
    from rowhop.graph.boxes import KnowledgeBoxes
    from rowhop.graph.routes import Explorer

    by = embedder(settings)
    lessons = read(trained_routes(settings, graph), by)
    explorer = Explorer(graph, by)

    if model.constrains and settings.ask.language == "auto":  # the ways are shown in SQL
        settings = config.changed(settings, {"ask": {"language": "sql"}})

    def agent_for(question: Question) -> Agent:
        source = KnowledgeBoxes(graph, by, ways=likely(explorer, lessons) if model.constrains else None)
        source.boxes_for(question)
        shown = "\n".join(("Programs over these tables, the likeliest first:", *source.programs))
        return _pandora(model, source, settings, f"{notes}\n{shown}".strip() if source.programs else notes)

    return OverBoxes(agent_for)


def _ppoga(model: ChatModel, over: Knowledge, settings: Settings, notes: str) -> Agent:
    from rowhop.agents.ppoga.agent import Ppoga
    from rowhop.agents.ppoga.lessons import read

    if not is_graph(over):
        raise ConfigError(f"The method ppoga reads graphs; {over.name} is none.")
    by = embedder(settings)
    own = memory(settings, by).entries("sparql")
    return Ppoga(model, over, by, read(trained_routes(settings, over), by, own))


def _pasemiqa(model: ChatModel, over: Knowledge, settings: Settings, notes: str) -> Agent:
    from rowhop.agents.pasemiqa.agent import Pasemiqa
    from rowhop.agents.pasemiqa.planner import Planner
    from rowhop.graph.textgraph import TextGraph

    if not isinstance(over, TextGraph):
        raise ConfigError(f"The method pasemiqa reads graphs with text; {over.name} is none.")
    by = embedder(settings)
    if over.vectors is None:
        over.embed(by)
    return Pasemiqa(model, Planner.of(over, by, trained_paths(settings, over)))


def trained_paths(settings: Settings, over: Knowledge) -> Path:
    """Where `rowhop train-paths` leaves what it learnt about a graph; another graph, other paths."""
    return settings.cache_folder / "paths" / over.fingerprint()[:16]


def trained_routes(settings: Settings, over: Knowledge) -> Path:
    """The same for `rowhop train-paths --method ppoga`."""
    return trained_paths(settings, over) / "routes"


# One place per method: what it reads, and how it is put together.
_READS = {"pandora": ("table", "database", "graph"), "ppoga": ("graph", "text graph"), "pasemiqa": ("text graph",)}
_AGENTS: dict[str, Callable[[ChatModel, Knowledge, Settings, str], Agent]] = {
    "pandora": _pandora,
    "ppoga": _ppoga,
    "pasemiqa": _pasemiqa,
}


def _reading(settings: Settings, named: SourceSettings | None = None) -> Reading:
    own = named.model_dump(exclude_unset=True, exclude={"path"}) if named else {}
    return Reading(**{**settings.reading.model_dump(), **own})
