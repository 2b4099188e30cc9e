"""What speaks (ChatModel) and what embeds (Embedder). A provider is any object with the protocol's method.

No provider is imported here; `rowhop.build` picks one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np

# Called with each piece of text as it arrives. It may raise (BudgetSpent, KeyboardInterrupt):
# the model then stops the reply, closes the connection and lets the exception through.
Listen = Callable[[str], None]


@dataclass(frozen=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Options:
    """How to reply. `grammar` (GBNF) and `schema` (JSON Schema) constrain the reply where the model can;
    `constrains` on the model says whether it can. `samples` > 1 asks for several replies to one prompt."""

    temperature: float = 0.0
    max_tokens: int = 512
    stop: tuple[str, ...] = ()
    grammar: str = ""
    schema: str = ""
    samples: int = 1
    seed: int = 0


@dataclass(frozen=True)
class Usage:
    """Tokens as the model counts them; `seconds` is wall time; `money` is the endpoint's own figure in US
    dollars, if it gives one."""

    prompt_tokens: int = 0
    reply_tokens: int = 0
    cached_tokens: int = 0
    seconds: float = 0.0
    money: float | None = None


@dataclass(frozen=True)
class Completion:
    """`texts` holds one reply per sample; `finish` is that of the first. `from_cache`: nothing was sent."""

    texts: tuple[str, ...]
    usage: Usage = Usage()
    finish: Literal["stop", "length"] = "stop"
    from_cache: bool = False

    @property
    def text(self) -> str:
        return self.texts[0]


class ChatModel(Protocol):
    """`name` identifies the model in traces, caches and price files; `remote` says that prompts leave this machine."""

    @property
    def name(self) -> str: ...
    @property
    def remote(self) -> bool: ...
    @property
    def constrains(self) -> bool: ...

    def complete(
        self, messages: Sequence[Message], options: Options = Options(), listen: Listen | None = None
    ) -> Completion:
        """Raises ModelError (wrong key, unknown model) or ModelUnavailable (down, timed out after retries)."""
        ...


class Embedder(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def remote(self) -> bool: ...

    def embed(self, texts: Sequence[str], query: bool = False) -> np.ndarray:
        """Unit vectors, shape (len(texts), dimension), float32. `query` adds the model's query prefix."""
        ...
