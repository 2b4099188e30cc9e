"""How sure a score is, and whether two runs differ by more than chance."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

_Z = 1.959963984540054  # the normal quantile of a 95 % interval
_DRAWS = 2000


@dataclass(frozen=True)
class Interval:
    """A mean with its 95 % confidence interval over `n` questions."""

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Paired:
    """Two runs over the same questions: `difference` is b - a, `p` that of the exact test over those that differ."""

    n: int
    only_a: int  # questions on which a scores higher
    only_b: int
    difference: float
    low: float
    high: float
    p: float

    @property
    def because(self) -> str:
        if self.n == 0:
            return "The runs have no question in common."
        verdict = "more than chance explains" if self.p < 0.05 else "no more than chance may explain"
        return (
            f"Over {self.n} questions that both answered, {self.only_b} went better in the second run and "
            f"{self.only_a} in the first: {self.difference:+.1%} ({self.low:+.1%} to {self.high:+.1%}), "
            f"p = {self.p:.3f}, {verdict}."
        )


@dataclass(frozen=True)
class Spread:
    """Of a cost: what it is on average and in the tail."""

    mean: float
    median: float
    p95: float
    worst: float


def interval(values: Sequence[float]) -> Interval:
    """Wilson's interval where every score is 0 or 1, else a bootstrap over the questions."""
    if not values:
        return Interval(0.0, 0.0, 1.0, 0)
    if all(v in (0.0, 1.0) for v in values):
        return wilson(sum(v == 1.0 for v in values), len(values))
    low, high = bootstrap(values)
    return Interval(sum(values) / len(values), low, high, len(values))


def wilson(successes: int, n: int) -> Interval:
    """The interval of a share; it stays within 0 and 1 and is honest for small n."""
    share, z2 = successes / n, _Z * _Z
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return Interval(share, max(0.0, centre - half), min(1.0, centre + half), n)


def bootstrap(values: Sequence[float], seed: int = 0) -> tuple[float, float]:
    """The 95 % percentile interval of the mean; the same for the same values."""
    if min(values) == max(values):
        return values[0], values[0]
    draw = random.Random(seed)
    means = sorted(sum(draw.choices(values, k=len(values))) / len(values) for _ in range(_DRAWS))
    return means[int(0.025 * _DRAWS)], means[int(0.975 * _DRAWS) - 1]


def paired(a: Sequence[float], b: Sequence[float]) -> Paired:
    """McNemar's exact test for right and wrong; with graded scores the same is the sign test."""
    gains = [y - x for x, y in zip(a, b, strict=True)]
    if not gains:
        return Paired(0, 0, 0, 0.0, 0.0, 0.0, 1.0)
    up, down = sum(g > 0 for g in gains), sum(g < 0 for g in gains)
    low, high = bootstrap(gains)
    return Paired(len(gains), down, up, sum(gains) / len(gains), low, high, exact(up, down))


def exact(up: int, down: int) -> float:
    """The two-sided chance of so uneven a split, were both sides equally likely."""
    total = up + down
    tail = sum(math.comb(total, k) for k in range(min(up, down) + 1))
    share: float = 2 * tail / 2**total
    return min(1.0, share)


def spread(values: Sequence[float]) -> Spread:
    if not values:
        return Spread(0.0, 0.0, 0.0, 0.0)
    ranked = sorted(values)
    middle = len(ranked) // 2
    median = ranked[middle] if len(ranked) % 2 else (ranked[middle - 1] + ranked[middle]) / 2
    p95 = ranked[max(0, math.ceil(0.95 * len(ranked)) - 1)]
    return Spread(sum(ranked) / len(ranked), median, p95, ranked[-1])
