"""Orders candidate nodes; placeholder protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rowhop.agents.pasemiqa.generator import Walked


class Ranker(Protocol):
    @property
    def name(self) -> str: ...

    def rank(self, question: str, walked: Sequence[Walked], keep: int) -> list[tuple[int, float]]:
        """(position, score), best first."""
        ...
