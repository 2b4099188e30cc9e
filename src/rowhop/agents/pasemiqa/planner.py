"""Plans a question: the nodes it speaks of, likely relation paths from them, and ranked candidates. No chat model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

import numpy as np

from rowhop.agents.pasemiqa import ranker as ranking
from rowhop.agents.pasemiqa.generator import LONGEST, Scorer, Start, Trained, Walked, decode, place, ranked
from rowhop.agents.pasemiqa.light import LightModel
from rowhop.agents.pasemiqa.ranker import Ranker
from rowhop.agents.pasemiqa.untrained import Untrained
from rowhop.errors import SourceError
from rowhop.graph.textgraph import TextGraph
from rowhop.graph.textgraph_match import Mention, Mode, match
from rowhop.graph.textgraph_store import Record
from rowhop.models import Embedder
from rowhop.trace import GraphRead, Trace
from rowhop.types import Question

PATHS, TYPES, RANKER = "paths.npz", "types.npz", "ranker.npz"  # what training leaves in its folder
_CLEAR = 0.65  # likeness from which a text is told by the question
_COMPARED = 2_000  # ends of a path whose text is compared with the question


@dataclass(frozen=True)
class Candidate:
    """A node by position, and the path that leads to it; None where its text alone brought it."""

    position: int
    record: Record
    score: float
    via: Walked | None


@dataclass(frozen=True)
class Plan:
    """`generator` says who planned; `paths` are the best first and a distribution per planned node. `asked` are the
    types that the question's words ask for, as an untrained generator reads them."""

    matched: tuple[Mention, ...]
    paths: tuple[Walked, ...]
    candidates: tuple[Candidate, ...]
    generator: str
    asked: frozenset[str] = frozenset()


@dataclass(frozen=True)
class PlanSettings:
    """`planned` nodes by text, `beam` paths per planned node, `keep` candidates. Without `text` no candidate comes from
    its text alone."""

    mode: Mode = "fused"
    planned: int = 5
    beam: int = 8
    longest: int = LONGEST
    keep: int = 20
    text: bool = True


class Planner:
    """One graph, one generator; with a `ranker` (trained) the candidates are ordered by it."""

    def __init__(
        self,
        graph: TextGraph,
        scorer: Scorer | None,
        ranker: Ranker | None = None,
        settings: PlanSettings = PlanSettings(),
    ) -> None:
        self.graph, self.scorer, self.ranker, self.settings = graph, scorer, ranker, settings

    @classmethod
    def of(
        cls, graph: TextGraph, embedder: Embedder, trained: Path | None = None, settings: PlanSettings = PlanSettings()
    ) -> Planner:
        """With what `rowhop train-paths` left in `trained`; without it the embedder ranks the relations.

        Raises SourceError for files that are no trained models or were made with another embedder.
        """
        if trained is None or not (trained / PATHS).is_file():
            return cls(graph, Untrained(embedder, graph), None, settings)
        paths = LightModel.load(trained / PATHS)
        if paths.embedder != embedder.name:
            raise SourceError(
                f"The paths in {trained} were trained with the embedder {paths.embedder}, not {embedder.name}; "
                "train them again, or name that embedder."
            )
        # No longer than the longest path it has learnt.
        settings = replace(settings, longest=min(settings.longest, paths.longest))
        ranker = None
        if (trained / RANKER).is_file():
            ranker = ranking.load(trained / RANKER, graph, embedder, LightModel.load(trained / TYPES))
        return cls(graph, Trained(paths, embedder), ranker, settings)

    @property
    def generator(self) -> str:
        told = self.scorer.name if self.scorer else "no path generator"
        return f"{told}; {self.ranker.name}" if self.ranker else told

    def plan(self, question: Question, trace: Trace | None = None) -> Plan:
        begun = time.monotonic()
        mentions = self._mentions(question)
        walked = self._paths(question.text, mentions)
        if self.ranker is not None:
            order = self.ranker.rank(question.text, walked, self.settings.keep)
        else:
            order = self._order(question.text, walked)
        records = self.graph.store.records(p for p, _ in order)
        best = _best_paths(walked)
        candidates = tuple(Candidate(p, records[p], score, best.get(p)) for p, score in order)
        plan = Plan(tuple(mentions), tuple(walked), candidates, self.generator, self._asked(question.text))
        if trace is not None:
            self._tell(plan, trace, time.monotonic() - begun)
        return plan

    def _mentions(self, question: Question) -> list[Mention]:
        """Topics that the asker named stand first; what the question's words show follows."""
        given = self.graph.store.positions(question.topics)
        for topic in question.topics:
            if topic not in given and (found := self.graph.find(topic, 1)):
                given[topic] = self.graph.store.positions([found[0].node.id])[found[0].node.id]
        mentions = []
        for topic, position in given.items():
            mentions.append(Mention(position, 1.0, "name", *place(question.text, topic)))
        known = set(given.values())
        rest = [] if given else match(self.graph, question.text, self.settings.mode, self.settings.planned)
        for mention in rest:
            if mention.position not in known:
                known.add(mention.position)
                mentions.append(mention)
        return mentions

    def _paths(self, question: str, mentions: Sequence[Mention]) -> list[Walked]:
        if self.scorer is None:
            return []
        kinds, kind = self.graph.store.kinds, self.graph.store.kind
        # A trained generator has learnt paths from nodes that the question names, not from those its text resembles.
        named = [m for m in mentions if m.how != "text"] if self.ranker is not None else mentions
        spots = [Start(m.position, kinds[kind[m.position]], m.start, m.end, m.score) for m in named]
        return decode(self.graph, self.scorer, question, spots, self.settings.beam, self.settings.longest)

    def _order(self, question: str, walked: Sequence[Walked]) -> list[tuple[int, float]]:
        """Ends of the likeliest paths, then nodes near in text; where "text" is the likeliest path, text first."""
        keep = self.settings.keep
        near, clear = self._near(question) if self.settings.text else ([], False)
        by_path = ranked(self.graph, [w for w in walked if len(w.ends)], self._likeness(question, walked), keep)
        text_first = clear or not walked or not walked[0].hops
        if text_first and self.scorer is not None:
            # In turns: what is near in text may be the answer, or stand one hop from it.
            near = [p for pair in zip_longest(near, by_path) for p in pair if p is not None]
        order = list(dict.fromkeys([*near, *by_path] if text_first else [*by_path, *near]))[:keep]
        return [(p, 1.0 / (i + 1)) for i, p in enumerate(order)]

    def _asked(self, question: str) -> frozenset[str]:
        return self.scorer.asked(question) if isinstance(self.scorer, Untrained) else frozenset()

    def _near(self, question: str) -> tuple[list[int], bool]:
        """The nodes nearest in text, without training those of the type that the question asks for first; and whether
        the first of them is so near that the question must be telling its text."""
        keep = self.settings.keep
        found = [m for kind in sorted(self._asked(question)) for m in self.graph.nearest(question, keep, kind=kind)]
        found = sorted(found, key=lambda m: -m.score) + list(self.graph.nearest(question, keep))
        at = self.graph.store.positions([m.node.id for m in found])
        clear = bool(found) and found[0].how == "meaning" and found[0].score >= _CLEAR
        return list(dict.fromkeys(at[m.node.id] for m in found)), clear and isinstance(self.scorer, Untrained)

    def _likeness(self, question: str, walked: Sequence[Walked]) -> dict[int, float]:
        graph = self.graph
        if graph.vectors is None or graph.embedder is None or not any(len(w.ends) for w in walked):
            return {}
        ends = np.unique(np.concatenate([w.ends[:_COMPARED] for w in walked if len(w.ends)]))
        return graph.vectors.scores(graph.embedder.embed([question], query=True)[0], ends)

    def _tell(self, plan: Plan, trace: Trace, seconds: float) -> None:
        names = self.graph.store.records({m.position for m in plan.matched} | {w.start.position for w in plan.paths}, 0)
        matched = "; ".join(
            f"{names[m.position].name or names[m.position].id} ({m.how}, {m.score:.2f})" for m in plan.matched
        )
        paths = "\n".join(told_path(w, names[w.start.position].name or "?") for w in plan.paths[:8])
        trace.note("plan", f"Planned by: {plan.generator}\nMatched: {matched or 'nothing'}\nPaths:\n{paths or 'none'}")
        shown = tuple(f"{c.record.name or c.record.id} ({c.score:.3f})" for c in plan.candidates[:10])
        trace.add(GraphRead("candidates of the plan", shown, len(plan.candidates), round(seconds, 4)))


def told_path(walked: Walked, start: str) -> str:
    """`Topotecan –target→ –^target→ (12 nodes, 0.61)`; an inverse hop carries ^."""
    if not walked.hops:
        return f"{start}: text ({walked.probability:.2f})"
    hops = " ".join(f"–{hop}→" for hop in walked.hops)
    return f"{start} {hops} ({len(walked.ends)} nodes, {walked.probability:.2f})"


def _best_paths(walked: Sequence[Walked]) -> dict[int, Walked]:
    best: dict[int, Walked] = {}
    for one in walked:
        for end in map(int, one.ends):
            best.setdefault(end, one)
    return best
