"""Builds what settings name: sources, models, embedder, memory, agents. The only file that knows every class."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rowhop import config
from rowhop.errors import ConfigError
from rowhop.models import ChatModel, Completion, Embedder, Listen, Message, Options
from rowhop.sources import Reading, Source
from rowhop.trace import Budget

if TYPE_CHECKING:
    from rowhop.agents import Agent
    from rowhop.config import Settings, SourceSettings
    from rowhop.memory import Memory

# What `auto` means for each kind of source.
_AUTO = {"table": "pandora", "database": "pandora", "graph": "ppoga", "text graph": "pasemiqa"}


def is_source(thing: object) -> bool:
    """Whether it is an opened Source already (and not a path, URL or frame)."""
    return all(hasattr(thing, name) for name in ("boxes", "load", "written", "fingerprint"))


def source(specs: object, settings: Settings) -> Source:
    """One Source over everything named. Names from `rowhop.toml` come first, then paths and URLs."""
    from rowhop.sources import open_source, open_sources

    if is_source(specs):
        return specs  # type: ignore[return-value]
    listed: list[Any] = list(specs) if isinstance(specs, list | tuple) else [specs]
    if not listed:
        listed = list(settings.sources)
    if not listed:
        raise ConfigError(
            "No source was named. Name a file, a folder or a database URL before the question, e.g. "
            'rowhop ask orders.csv "How many orders?"'
        )
    opened: list[Any] = []
    try:
        for spec in listed:
            named = settings.sources.get(spec) if isinstance(spec, str) else None
            if is_source(spec):
                opened.append(spec)
            elif named is not None:
                opened.append(open_source(config.expand(named.path, os.environ), _reading(settings, named), spec))
            elif isinstance(spec, str):
                opened.append(open_source(config.expand(spec, os.environ), _reading(settings)))
            else:
                opened.append(open_source(spec, _reading(settings)))
        return opened[0] if len(opened) == 1 else open_sources(opened)
    except BaseException:
        for one in opened:
            if one not in listed:
                one.close()
        raise


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


@dataclass(frozen=True)
class Unsent:
    """Stands for a model whose prompt is shown and not sent."""

    name: str
    remote: bool
    constrains: bool

    def complete(
        self, messages: Sequence[Message], options: Options = Options(), listen: Listen | None = None
    ) -> Completion:
        raise AssertionError("A dry run sent something to a model.")


def is_remote(settings: Settings) -> bool:
    """Whether the model that settings name is one of an endpoint."""
    from rowhop.models import weights

    name = settings.model.name
    return bool(name) and name not in weights.NAMES and not _is_file(name) and not name.startswith("replay:")


def chat_model(settings: Settings, over: Source, *, sends: bool = True) -> ChatModel:
    """The model that settings name, behind the reply cache. Fetches weights when they are not there yet."""
    name = settings.model.name or config.EMBEDDED
    remote = is_remote(settings)
    if not sends:
        return Unsent(name, remote, constrains=not remote)
    if name.startswith("replay:"):
        from rowhop.models.scripted import Replay

        return Replay(Path(name.removeprefix("replay:")))
    model = _endpoint(name, settings) if remote else _embedded(name, settings)
    if not settings.cache.replies:
        return model
    from rowhop.models.cache import CachedModel

    return CachedModel(model, settings.cache_folder / "replies.sqlite", over.fingerprint())


def embedder(settings: Settings) -> Embedder | None:
    """What compares meanings."""
    from rowhop.models.embed import LocalEmbedder

    return LocalEmbedder()


def memory(settings: Settings, by: Embedder | None) -> Memory:
    from rowhop.memory import Memory

    return Memory(by, settings.memory.file)


def budget(settings: Settings, model: ChatModel) -> Budget:
    """The limits for one question. A limit on money needs a known price."""
    return settings.budget.budget()


def method(settings: Settings, over: Source) -> str:
    """The method that is meant, for this kind of source. Raises ConfigError where it cannot read the source."""
    asked = settings.ask.method
    chosen = _AUTO[over.kind] if asked == "auto" else asked
    if chosen not in _AGENTS:
        raise ConfigError(f"The method {chosen} is not there yet. There are: {', '.join(_AGENTS)}.")
    return chosen


def agent(name: str, model: ChatModel, over: Source, settings: Settings, notes: str) -> Agent:
    return _AGENTS[name](model, over, settings, notes)


def _pandora(model: ChatModel, over: Source, settings: Settings, notes: str) -> Agent:
    from rowhop.agents.pandora.agent import Pandora, PandoraSettings

    by = embedder(settings)
    how = settings.ask
    chosen = PandoraSettings(
        language=how.language,
        repairs=how.repairs,
        demonstrations=how.demonstrations,
        samples=how.samples,
        notes=notes,
        share=settings.share.data,
        hidden=settings.share.hide,
        empty_is_failure=how.empty_is_failure,
        prompt_tokens=how.prompt_tokens,
        unsafe=how.unsafe_run,
    )
    return Pandora(model, over, memory(settings, by), by, chosen)


# One place per method: how it is put together.
_AGENTS: dict[str, Callable[[ChatModel, Source, Settings, str], Agent]] = {"pandora": _pandora}


def _endpoint(name: str, settings: Settings) -> ChatModel:
    from rowhop.models import weights
    from rowhop.models.openai import OpenAIModel

    key, url = settings.model.api_key.get_secret_value(), settings.model.base_url
    if not key and not url:
        raise ConfigError(
            f"No embedded model is named {name}, and no endpoint is set.{config.nearest(name, weights.NAMES)}"
            " For an endpoint set OPENAI_BASE_URL and OPENAI_API_KEY."
        )
    return OpenAIModel(name, url, key)


def _embedded(name: str, settings: Settings) -> ChatModel:
    from rowhop.models import weights
    from rowhop.models.local import LocalModel

    path = Path(name).expanduser() if _is_file(name) else weights.fetch(name, settings.cache_folder / "models")
    return LocalModel(path, name)


def _is_file(name: str) -> bool:
    return name.endswith(".gguf") or Path(name).expanduser().exists()


def _reading(settings: Settings, named: SourceSettings | None = None) -> Reading:
    own = named.model_dump(exclude_unset=True, exclude={"path"}) if named else {}
    return Reading(**{**settings.reading.model_dump(), **own})
