"""A run in figures: score with interval, coverage, statuses, rounds, costs. Failures stay in the denominator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rowhop.eval.runfolder import Run
from rowhop.eval.scoring import Record
from rowhop.eval.statistics import Interval, Paired, Spread, interval, paired, spread

COSTS = ("calls", "prompt_tokens", "first_prompt_tokens", "reply_tokens", "seconds", "model_seconds", "own_seconds")


@dataclass(frozen=True)
class Summary:
    """`scores` maps a metric to its mean; the first is the main one. `coverage` is the share that was answered,
    `grounded` the share with evidence from the data. `rounds` maps programs per question to questions."""

    name: str
    config: Mapping[str, Any]
    n: int
    scores: Mapping[str, Interval]
    coverage: float
    answered_right: Interval  # of the main score, over answered questions only
    grounded: float
    statuses: Mapping[str, int]
    failures: Mapping[str, int]  # first line of the reason → questions
    rounds: Mapping[int, int]
    languages: Mapping[str, int]
    warnings: Mapping[str, int]
    levels: Mapping[str, Interval]
    costs: Mapping[str, Spread]
    money: float | None
    stopped: str = ""

    @property
    def metric(self) -> str:
        return next(iter(self.scores), "")

    @property
    def score(self) -> Interval:
        return self.scores.get(self.metric, interval([]))


def summarise(run: Run, stopped: str = "") -> Summary:
    records = run.records
    answered = [r for r in records if r.status == "answered"]
    prices = [r.money for r in records]
    names = dict.fromkeys(s.metric for r in records for s in r.scores)
    return Summary(
        name=run.name,
        config=run.config,
        n=len(records),
        scores={name: interval(_values(records, name)) for name in names},
        coverage=len(answered) / len(records) if records else 0.0,
        answered_right=interval([r.score for r in answered]),
        grounded=sum(r.evidence > 0 for r in records) / len(records) if records else 0.0,
        statuses=_counted(r.status for r in records),
        failures=_counted(r.error.splitlines()[0][:200] for r in records if r.error),
        rounds=dict(sorted(Counter(r.rounds for r in records).items())),
        languages=_counted(r.language for r in records if r.language),
        warnings=_counted(w for r in records for w in set(r.warnings)),
        levels=_by_level(records),
        costs={name: spread([cost(r, name) for r in records]) for name in COSTS},
        money=sum(p for p in prices if p is not None) if prices and None not in prices else None,
        stopped=stopped,
    )


def cost(record: Record, name: str) -> float:
    """`own_seconds` is what rowhop itself took: all but the model."""
    if name == "own_seconds":
        return max(0.0, record.seconds - record.model_seconds)
    return float(getattr(record, name))


def _values(records: Sequence[Record], metric: str) -> list[float]:
    return [next((s.value for s in r.scores if s.metric == metric), 0.0) for r in records]


def _counted(words: Any) -> dict[str, int]:
    return dict(Counter(words).most_common())


def _by_level(records: Sequence[Record]) -> dict[str, Interval]:
    levels = sorted({r.level for r in records if r.level})
    return {level: interval([r.score for r in records if r.level == level]) for level in levels}


def compare(a: Run, b: Run) -> Paired:
    """The main score of two runs over the questions that both asked."""
    first = {r.id: r.score for r in a.records}
    second = {r.id: r.score for r in b.records}
    shared = [i for i in first if i in second]
    return paired([first[i] for i in shared], [second[i] for i in shared])


def render(summary: Summary) -> str:
    """The summary as lines for a terminal."""
    lines = [f"{summary.name}: {summary.n} questions"]
    lines += [f"  {name:<14} {percent(score)}" for name, score in summary.scores.items()]
    if summary.n == 0:
        return "\n".join([*lines, *filter(None, [summary.stopped])])
    lines.append(
        f"  {'answered':<14} {summary.coverage:.1%}, right when answered {summary.answered_right.mean:.1%}, "
        f"with evidence {summary.grounded:.1%}"
    )
    lines.append(f"  {'status':<14} {_pairs(summary.statuses)}")
    lines.append(f"  {'programs run':<14} {_pairs({f'{k}×': v for k, v in summary.rounds.items()})}")
    if summary.languages:
        lines.append(f"  {'language':<14} {_pairs(summary.languages)}")
    if summary.warnings:
        lines.append(f"  {'warnings':<14} {_pairs(summary.warnings)}")
    lines.append(f"  {'':<14} {'mean':>9} {'median':>9} {'95 %':>9} {'worst':>9}")
    for name, s in summary.costs.items():
        label = name.replace("_", " ").replace("first prompt tokens", "first prompt")
        lines.append(f"  {label:<14} {s.mean:9.1f} {s.median:9.1f} {s.p95:9.1f} {s.worst:9.1f}")
    if summary.money is not None:
        lines.append(f"  {'money':<14} ${summary.money:.4f}")
    lines += [f"  failed {count}×: {reason}" for reason, count in list(summary.failures.items())[:10]]
    return "\n".join([*lines, *filter(None, [summary.stopped])])


def percent(score: Interval) -> str:
    return f"{score.mean:.1%} ({score.low:.1%} to {score.high:.1%}, n = {score.n})"


def _pairs(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{word} {count}" for word, count in counts.items())
