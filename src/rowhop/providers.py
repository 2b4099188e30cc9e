"""Models and embedders from settings: embedded, of an endpoint, replayed; with price and cache around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from rowhop import config
from rowhop.errors import ConfigError, OperatorError
from rowhop.models import ChatModel, Completion, Embedder, Listen, Message, Options

if TYPE_CHECKING:
    from rowhop.config import EmbedderSettings, Settings
    from rowhop.graph import Graph
    from rowhop.sources import Source

# Told the bytes that are there and the bytes in all while weights are fetched.
Fetching = Callable[[int, int], None]

OPENAI = "https://api.openai.com/v1"
REPLAY = "replay:"  # a model that says again what stands in a saved trace


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


def is_endpoint(settings: Settings) -> bool:
    """Whether the model that settings name is one of an endpoint."""
    from rowhop.models import weights

    name = settings.model.name
    return bool(name) and name not in weights.NAMES and not name.endswith(".gguf") and not name.startswith(REPLAY)


def chat_model(
    settings: Settings, over: Source | Graph, *, sends: bool = True, progress: Fetching | None = None
) -> ChatModel:
    """The model that settings name, with its price, behind the reply cache. Fetches weights that are not there yet."""
    from rowhop.models.prices import priced, read_prices

    model = bare_model(settings, sends=sends, progress=progress)
    if isinstance(model, Unsent):
        return model
    prices = read_prices(settings.model.prices) if settings.model.prices else {}
    model = priced(model, prices, settings.budget.money)
    if not settings.cache.replies or settings.model.name.startswith(REPLAY):
        return model
    return cached(model, settings, over)


def cached(model: ChatModel, settings: Settings, over: Source | Graph) -> ChatModel:
    """A model behind the reply cache; replies over other data are not taken."""
    from rowhop.models.cache import CachedModel

    return CachedModel(model, settings.cache_folder / "replies.sqlite", over.fingerprint())


def bare_model(settings: Settings, *, sends: bool = True, progress: Fetching | None = None) -> ChatModel:
    """The model that settings name, without price and cache."""
    name = settings.model.name or config.EMBEDDED
    endpoint = is_endpoint(settings)
    if not sends:
        return Unsent(name, remote=endpoint, constrains=not endpoint)
    if name.startswith(REPLAY):
        from rowhop.models.scripted import Replay

        return Replay(Path(name.removeprefix(REPLAY)), strict=False)
    if not endpoint:
        return _embedded(name, settings, progress)
    model = _endpoint(name, settings)  # first: a model that nobody has fetches nothing
    if progress is not None:
        fetch_embedder(settings, progress)
    return model


def embedder(settings: Settings) -> Embedder:
    """What compares meanings; one per process for the same settings."""
    how = settings.embedder
    key = settings.model.api_key.get_secret_value()
    return _embedder(how, settings.cache_folder, how.base_url or settings.model.base_url, key)


def fetch_embedder(settings: Settings, progress: Fetching) -> None:
    """Fetch the embedded embedder where an endpoint's model will need it at once (to recall examples)."""
    from rowhop.models import weights

    if is_endpoint(settings) and not settings.embedder.name:
        # Where it cannot be had, the embedder itself says so at its first use.
        with suppress(OperatorError):
            weights.fetch(weights.EMBEDDER, settings.cache_folder / "models", progress)


@cache
def _embedder(how: EmbedderSettings, folder: Path, base_url: str, key: str) -> Embedder:
    from rowhop.models.embed import EndpointEmbedder, LocalEmbedder
    from rowhop.models.late import Late, Spelling

    if how.name == Spelling.name:
        return Spelling()
    if not how.name:
        from rowhop.models import weights

        name = weights.EMBEDDER
        return Late(lambda: LocalEmbedder(weights.fetch(name, folder / "models"), name), name)
    if Path(how.name).expanduser().is_dir():
        return LocalEmbedder(Path(how.name).expanduser(), "", how.query_prefix or None, how.pooling or None)
    if not base_url:
        raise ConfigError(
            f"The embedder {how.name} is neither a folder nor, without a base_url, a model of an endpoint."
        )
    from rowhop.models.cache import CachedEmbedder

    return CachedEmbedder(
        EndpointEmbedder(how.name, base_url, key, prefix=how.query_prefix), folder / "embeddings.sqlite"
    )


def _endpoint(name: str, settings: Settings) -> ChatModel:
    from rowhop.models import weights
    from rowhop.models.openai import OpenAIModel

    how = settings.model
    key = how.api_key.get_secret_value()
    if not key and not how.base_url:
        raise ConfigError(
            f"No embedded model is named {name}, and no endpoint is set.{config.nearest(name, weights.NAMES)}"
            " For an endpoint set OPENAI_BASE_URL and OPENAI_API_KEY."
        )
    return OpenAIModel(name, how.base_url or OPENAI, key, how.timeout)


def _embedded(name: str, settings: Settings, progress: Fetching | None) -> ChatModel:
    from rowhop.models import weights
    from rowhop.models.local import LocalModel

    if name.endswith(".gguf"):
        return LocalModel(Path(name).expanduser(), threads=settings.model.threads)
    path = weights.fetch(name, settings.cache_folder / "models", progress)
    return LocalModel(path, name, threads=settings.model.threads)
