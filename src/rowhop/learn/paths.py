"""Trains the relation-path generator: from questions with gold nodes to targets, from targets to a light model."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from rowhop.agents.pasemiqa.generator import LONGEST, Start, hops_from, masked, reach, token
from rowhop.agents.pasemiqa.light import STOP, TEXT, LightModel, features
from rowhop.errors import SourceError
from rowhop.graph.textgraph import TextGraph
from rowhop.models import Embedder

Target = tuple[str, ...]  # hops as text; () is the path "text"
Progress = Callable[[str, int, int], None]

_SEQUENCES = 3_000  # relation sequences that are walked for one question
_FRONTIER = 20_000  # nodes of one frontier that are walked on
_SAME = 12  # questions of one masked wording that are traced: more of the same teach nothing new


@dataclass(frozen=True)
class Lesson:
    """A question, one planned node of it, and the positions of its gold nodes."""

    question: str
    spot: Start
    gold: frozenset[int]


@dataclass(frozen=True)
class Example:
    """A masked question with the relation paths that lead to its answers; their weights sum to 1.

    `count` questions had this wording. Where they disagree, the coincidences among their paths are outvoted.
    """

    question: str
    kind: str
    targets: tuple[tuple[Target, float], ...]
    count: int = 1


@dataclass(frozen=True)
class Fit:
    """What a training run did: `losses` is the mean next-hop loss of each round."""

    model: LightModel
    examples: int
    losses: tuple[float, ...]
    held_out_loss: float | None
    seconds: float


def targets_for(graph: TextGraph, spot: Start, gold: frozenset[int], longest: int = LONGEST) -> dict[Target, float]:
    """The relation paths from a planned node that lead best to the gold nodes.

    The shortest path to some gold node is often a coincidence (a film shares its genre with half of all films), so
    among all paths up to `longest` those win whose ends agree best with the gold nodes (F1), the shorter first.
    """
    answers = np.array(sorted(gold), np.int64)
    best: dict[Target, float] = {}
    top = 0.0
    for hops, ends in _sequences(graph, spot.position, longest):
        hits = int(np.isin(answers, ends, assume_unique=True).sum())
        if not hits:
            continue
        f1 = 2 * hits / (len(ends) + len(answers))
        if f1 > top + 1e-9:
            # A longer path must be clearly better than a shorter one.
            if best and f1 < top * 1.1 and len(hops) > min(map(len, best)):
                continue
            best, top = {hops: 1.0}, f1
        elif f1 > top - 1e-9 and len(hops) == min(map(len, best)):
            best[hops] = 1.0
    if not best:
        return {(): 1.0}
    return {t: 1 / len(best) for t in best}


def _sequences(graph: TextGraph, start: int, longest: int) -> Iterator[tuple[Target, np.ndarray]]:
    """Every relation sequence from a node with its ends, the shorter ones first."""
    layer: list[tuple[Target, np.ndarray]] = [((), np.array([start], np.int64))]
    walked = 0
    for _ in range(longest):
        following: list[tuple[Target, np.ndarray]] = []
        for hops, here in layer:
            for relation, inverse in hops_from(graph, here):
                ends = reach(graph, here[:_FRONTIER], relation, inverse, start)
                walked += 1
                if walked > _SEQUENCES:
                    return
                if len(ends):
                    following.append(((*hops, token(graph, relation, inverse)), ends))
                    yield following[-1]
        layer = following


def examples_from(
    graph: TextGraph, lessons: Sequence[Lesson], longest: int = LONGEST, progress: Progress | None = None
) -> list[Example]:
    """Trace each lesson to its targets; of one masked wording only the first dozen."""
    told: dict[tuple[str, str], Counter[Target]] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for number, lesson in enumerate(lessons):
        key = masked(lesson.question, lesson.spot), lesson.spot.kind
        seen[key] += 1
        if seen[key] <= _SAME:
            votes = told.setdefault(key, Counter())
            for target, weight in targets_for(graph, lesson.spot, lesson.gold, longest).items():
                votes[target] += weight  # type: ignore[assignment]
        if progress and number % 100 == 0:
            progress("tracing", number, len(lessons))
    made = []
    for (text, kind), votes in told.items():
        total = sum(votes.values())
        made.append(Example(text, kind, tuple((t, v / total) for t, v in votes.items()), min(seen[text, kind], _SAME)))
    return made


@dataclass
class _Rows:
    """Next-hop decisions as arrays: one row per place in one target."""

    question: np.ndarray
    state: np.ndarray  # last token, the one before, length, type of start
    answer: np.ndarray
    weight: np.ndarray


def _rows(model: LightModel, examples: Sequence[Example], index: dict[str, int]) -> _Rows:
    rows: list[tuple[int, tuple[int, int, int, int], int, float]] = []
    for example in examples:
        for target, weight in example.targets:
            steps = [*target, STOP] if target else [TEXT]
            for i, step in enumerate(steps):
                state = model.state(target[:i], example.kind)
                rows.append((index[example.question], state, model.token_code[step], weight * example.count**0.5))
    return _Rows(
        np.array([r[0] for r in rows]),
        np.array([r[1] for r in rows]),
        np.array([r[2] for r in rows]),
        np.array([r[3] for r in rows], np.float32),
    )


@dataclass(frozen=True)
class Training:
    """Knobs of the light model's training. `dropout` is the share of input features hidden in each step."""

    hidden: int = 128
    rounds: int = 30
    rate: float = 3e-3
    decay: float = 1e-4
    dropout: float = 0.2
    batch: int = 128
    seed: int = 0
    held_out: float = 0.0


@dataclass
class Adam:
    rate: float
    decay: float
    step: int = 0
    first: dict[str, np.ndarray] = field(default_factory=dict)
    second: dict[str, np.ndarray] = field(default_factory=dict)

    def update(self, weights: dict[str, np.ndarray], gradients: dict[str, np.ndarray]) -> None:
        self.step += 1
        for name, gradient in gradients.items():
            m = self.first.setdefault(name, np.zeros_like(gradient))
            v = self.second.setdefault(name, np.zeros_like(gradient))
            m += 0.1 * (gradient - m)
            v += 0.001 * (gradient * gradient - v)
            scaled = (m / (1 - 0.9**self.step)) / (np.sqrt(v / (1 - 0.999**self.step)) + 1e-8)
            weights[name] -= self.rate * (scaled + self.decay * weights[name])


def train(
    examples: Sequence[Example], embedder: Embedder, how: Training = Training(), progress: Progress | None = None
) -> Fit:
    """Maximise the likelihood of each next hop."""
    if not examples:
        raise SourceError("There is nothing to train on: no question has a planned node and gold nodes.")
    begun = time.monotonic()
    random = np.random.default_rng(how.seed)
    texts = sorted({e.question for e in examples})
    x = features(embedder, texts)
    index = {t: i for i, t in enumerate(texts)}
    model = _blank(examples, embedder.name, x.shape[1], how, random)
    kept = random.random(len(texts)) >= how.held_out
    rows, rest = (
        _rows(model, [e for e in examples if kept[index[e.question]] == side], index) for side in (True, False)
    )
    optimiser, losses = Adam(how.rate, how.decay), []
    for number in range(how.rounds):
        # The rate falls along a cosine: large steps first, fine ones at the end.
        optimiser.rate = how.rate * 0.5 * (1 + np.cos(np.pi * number / how.rounds))
        order = random.permutation(len(rows.answer))
        total = 0.0
        for i in range(0, len(order), how.batch):
            at = order[i : i + how.batch]
            inputs = x[rows.question[at]]
            if how.dropout:
                inputs = inputs * (random.random(inputs.shape, np.float32) >= how.dropout) / (1 - how.dropout)
            loss, gradients = _gradients(
                model.weights, inputs.astype(np.float32), rows.state[at], rows.answer[at], rows.weight[at]
            )
            optimiser.update(model.weights, gradients)
            total += loss * len(at)
        losses.append(total / max(len(order), 1))
        if progress:
            progress("training", number + 1, how.rounds)
    held = None
    if len(rest.answer):
        held = _gradients(model.weights, x[rest.question], rest.state, rest.answer, rest.weight)[0]
    return Fit(model, len(examples), tuple(losses), held, time.monotonic() - begun)


def _blank(
    examples: Sequence[Example], embedder: str, inputs: int, how: Training, random: np.random.Generator
) -> LightModel:
    hops = sorted({h for e in examples for t, _ in e.targets for h in t})
    tokens, kinds = [STOP, TEXT, *hops], sorted({e.kind for e in examples})
    longest = max(len(t) for e in examples for t, _ in e.targets)

    def small(*shape: int) -> np.ndarray:
        return (random.standard_normal(shape) * 0.1).astype(np.float32)

    weights = {
        "w": small(inputs, how.hidden),
        "bias": np.zeros(how.hidden, np.float32),
        "before": small(len(tokens) + 1, how.hidden),
        "earlier": small(len(tokens) + 1, how.hidden),
        "length": small(longest + 2, how.hidden),
        "kind": small(len(kinds) + 1, how.hidden),
        "v": small(how.hidden, len(tokens)),
        "c": np.zeros(len(tokens), np.float32),
    }
    return LightModel(tokens, kinds, embedder, weights)


def _gradients(
    w: dict[str, np.ndarray], x: np.ndarray, state: np.ndarray, answer: np.ndarray, weight: np.ndarray
) -> tuple[float, dict[str, np.ndarray]]:
    """Mean weighted cross-entropy of the next hop, and its gradient for every weight."""
    h = np.tanh(
        x @ w["w"]
        + w["bias"]
        + w["before"][state[:, 0]]
        + w["earlier"][state[:, 1]]
        + w["length"][state[:, 2]]
        + w["kind"][state[:, 3]]
    )
    logits = h @ w["v"] + w["c"]
    logits -= logits.max(axis=1, keepdims=True)
    p = np.exp(logits)
    p /= p.sum(axis=1, keepdims=True)
    rows = np.arange(len(answer))
    scale = weight / weight.sum()
    loss = float(-(np.log(p[rows, answer] + 1e-12) * scale).sum())
    p[rows, answer] -= 1
    p *= scale[:, None]
    back = (p @ w["v"].T) * (1 - h * h)
    gradients = {"v": h.T @ p, "c": p.sum(axis=0), "w": x.T @ back, "bias": back.sum(axis=0)}
    for column, name in enumerate(("before", "earlier", "length", "kind")):
        gradients[name] = np.zeros_like(w[name])
        np.add.at(gradients[name], state[:, column], back)
    return loss, gradients
