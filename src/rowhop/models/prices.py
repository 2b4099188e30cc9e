"""What a model costs: a price file turns tokens into US dollars, and a budget in money needs a known price.

# prices.toml: dollars per million tokens; `cached` is the price of prompt tokens that the endpoint had seen before
["small-model"]
prompt = 0.25
cached = 0.025
reply = 2.0

["another-model"]
from = "endpoint"  # the endpoint says itself what each call cost
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rowhop.errors import ConfigError
from rowhop.models import ChatModel, Completion, Listen, Message, Options, Usage

_FIELDS = {"prompt", "cached", "reply", "from"}


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens. `by_endpoint`: the endpoint's own figure counts instead."""

    prompt: float = 0.0
    reply: float = 0.0
    cached: float | None = None  # None: as `prompt`
    by_endpoint: bool = False

    def of(self, usage: Usage) -> float | None:
        """What a call cost; the endpoint's own figure always wins."""
        if usage.money is not None or self.by_endpoint:
            return usage.money
        cached = self.prompt if self.cached is None else self.cached
        fresh = max(0, usage.prompt_tokens - usage.cached_tokens)
        return (fresh * self.prompt + usage.cached_tokens * cached + usage.reply_tokens * self.reply) / 1e6


def read_prices(path: str | Path) -> dict[str, Price]:
    """The prices in a TOML or JSON file, by the model's name. Raises ConfigError."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
        data = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"The price file {path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise ConfigError(f"The price file {path} cannot be read: {error}.") from error
    if not isinstance(data, dict):
        raise ConfigError(f"The price file {path} must map names of models to prices.")
    return {name: _price(path, name, entry) for name, entry in data.items()}


def priced(model: ChatModel, prices: Mapping[str, Price], limit: float | None = None) -> ChatModel:
    """`model` with a price on each call. With a `limit` in dollars an unknown price raises ConfigError."""
    if getattr(model, "free", False):
        return PricedModel(model, Price())
    price = prices.get(model.name)
    if price is None:
        if limit is None:
            return model
        known = f" It has prices for: {', '.join(sorted(prices))}." if prices else ""
        raise ConfigError(
            f"A budget of ${limit:g} cannot be kept: the price of {model.name} is not known. "
            f"Write it into a price file (ROWHOP_PRICES), or set no limit on money.{known}"
        )
    return PricedModel(model, price, must_know=limit is not None)


class PricedModel:
    """A ChatModel whose usage says what each call cost."""

    def __init__(self, model: ChatModel, price: Price, must_know: bool = False) -> None:
        self.model = model
        self.price = price
        self._must_know = must_know

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def remote(self) -> bool:
        return self.model.remote

    @property
    def constrains(self) -> bool:
        return self.model.constrains

    @property
    def free(self) -> bool:
        return bool(getattr(self.model, "free", False))

    @property
    def identity(self) -> str:
        return str(getattr(self.model, "identity", ""))

    def __repr__(self) -> str:
        return f"PricedModel({self.model!r})"

    def complete(
        self, messages: Sequence[Message], options: Options = Options(), listen: Listen | None = None
    ) -> Completion:
        done = self.model.complete(messages, options, listen)
        if done.from_cache:
            return done
        money = self.price.of(done.usage)
        if money is None and self._must_know:
            raise ConfigError(
                f"The budget in money cannot be kept: the endpoint of {self.name} does not say what a call costs. "
                "Write its price into the price file, or set no limit on money."
            )
        return replace(done, usage=replace(done.usage, money=money))


def _price(path: Path, name: str, entry: Any) -> Price:
    where = f"The price of {name} in {path}"
    if not isinstance(entry, dict) or not entry or entry.keys() - _FIELDS:
        raise ConfigError(f'{where} must have prompt and reply (dollars per million tokens), or from = "endpoint".')
    if "from" in entry:
        if entry != {"from": "endpoint"}:
            raise ConfigError(f'{where} can only come from "endpoint", without other fields.')
        return Price(by_endpoint=True)
    for field in ("prompt", "reply", "cached"):
        value = entry.get(field, 0 if field == "cached" else None)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e6:
            raise ConfigError(f"{where} needs a number of dollars per million tokens as {field}.")
    return Price(entry["prompt"], entry["reply"], entry.get("cached"))
