"""Intervals and tests against figures from textbooks and from exact counting."""

import pytest

from rowhop.eval.statistics import bootstrap, exact, interval, paired, spread, wilson


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (50, 100, 0.4038, 0.5962), (15, 30, 0.3315, 0.6685)],
)
def test_wilson(right: int, n: int, low: float, high: float) -> None:
    found = wilson(right, n)
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_graded_scores_are_bootstrapped_the_same_way_each_time() -> None:
    values = [0.0, 0.5, 1.0, 0.25] * 25
    found = interval(values)
    assert found == interval(values)
    assert found.mean == 0.4375
    assert found.low < found.mean < found.high
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.37 / 10, rel=0.15)
    assert bootstrap([0.3, 0.3]) == (0.3, 0.3)


def test_no_questions_say_nothing() -> None:
    assert (interval([]).low, interval([]).high, interval([]).n) == (0.0, 1.0, 0)
    assert paired([], []).p == 1.0
    assert spread([]).worst == 0.0


@pytest.mark.parametrize(
    ("up", "down", "p"), [(0, 0, 1.0), (5, 0, 0.0625), (6, 0, 0.03125), (1, 9, 22 / 1024), (5, 5, 1.0)]
)
def test_exact(up: int, down: int, p: float) -> None:
    assert exact(up, down) == pytest.approx(p)


def test_paired_counts_only_questions_that_differ() -> None:
    found = paired([1, 1, 0, 0, 0.5], [1, 0, 1, 1, 0.6])
    assert (found.n, found.only_a, found.only_b) == (5, 1, 3)
    assert found.difference == pytest.approx(0.22)
    assert "no more than chance may explain" in found.because


def test_spread() -> None:
    found = spread([float(v) for v in range(1, 101)])
    assert (found.mean, found.median, found.p95, found.worst) == (50.5, 50.5, 95.0, 100.0)
    assert spread([3.0]).p95 == 3.0
