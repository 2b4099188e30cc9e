"""Plans without training: a hop is as likely as its words, with the types at its ends, are near the question's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rowhop.agents.pasemiqa.generator import Start, masked
from rowhop.agents.pasemiqa.light import STOP, TEXT
from rowhop.graph.textgraph import TextGraph
from rowhop.graph.textgraph_names import fold
from rowhop.graph.verbal import words
from rowhop.models import Embedder

_SHARPNESS = 12.0  # of likeness into probability
_ASKED = 3.0  # log-odds of a path that ends at the type the question names ("which valley …") against another
_NAMED = -1.5  # log-odds of "text" where the question names the node
_NEAR = 100  # characters that are looked at
_WINDOW = 4  # words after "which" in which a type may stand
_AFTER = re.compile(r"\b(?:which|what|whose|find|list|name|identify|show|give)\b", re.IGNORECASE)
# What else a type may be nearer to than to a person or a place; by how much it must be nearer to be meant by "who".
_KINDS_OF_THING = ("a person", "a place", "a thing", "an event", "a substance")
_MEANT = {"who": 0, "whom": 0, "where": 1}
_NEARER = 0.1
_OPENING = 3  # words of a question among which "who" asks


@dataclass(frozen=True)
class _State:
    """`named`: the question names the node, so that it is hardly the answer itself."""

    vector: np.ndarray
    asked: frozenset[str]
    named: bool


class Untrained:
    """`name` says who planned. With a `graph`, the types that its hops join are part of what is compared."""

    def __init__(self, embedder: Embedder, graph: TextGraph | None = None) -> None:
        self.embedder = embedder
        self._known: dict[str, np.ndarray] = {}
        self._kinds: tuple[str, ...] = ()
        self._things: np.ndarray | None = None  # likeness of each type to _KINDS_OF_THING
        self._leads: dict[tuple[str, str], str] = {}  # (type, hop) -> the most frequent type at its other end
        self._beside: dict[str, set[str]] = {}  # type -> types one hop away
        if graph is not None:
            self._kinds = tuple(k for k in graph.store.kinds if k)
            kinds, relations = graph.store.kinds, graph.store.relations
            for a, r, b, _ in graph.patterns:
                self._leads.setdefault((kinds[a], relations[r]), kinds[b])
                self._leads.setdefault((kinds[b], f"^{relations[r]}"), kinds[a])
                self._beside.setdefault(kinds[a], set()).add(kinds[b])
                self._beside.setdefault(kinds[b], set()).add(kinds[a])

    @property
    def name(self) -> str:
        return f"untrained, {self.embedder.name} ranks the relations"

    def begin(self, question: str, spots: Sequence[Start]) -> list[object]:
        asked = self.asked(question)
        vectors = self.embedder.embed([masked(question, s) for s in spots], query=True)
        return [_State(vector, asked, spot.end > spot.start) for vector, spot in zip(vectors, spots, strict=True)]

    def asked(self, question: str) -> frozenset[str]:
        """The types that the answer must have as far as the question's words say so; empty where they do not."""
        return asked_kinds(question, self._kinds) or self._meant(question)

    def _meant(self, question: str) -> frozenset[str]:
        """The types that "who" or "where" asks for: those clearly nearer in meaning to a person, or a place."""
        # Further on, "who" and "where" mostly begin a clause: "for those who fear heights".
        meant = next((_MEANT[w] for w in fold(question[:_NEAR]).split()[:_OPENING] if w in _MEANT), None)
        if meant is None or not self._kinds:
            return frozenset()
        if self._things is None:
            self._things = self.embedder.embed([words(k) for k in self._kinds]) @ self.embedder.embed(_KINDS_OF_THING).T
        other = np.delete(self._things, meant, axis=1).max(axis=1)
        nearer = self._things[:, meant] - other >= _NEARER
        return frozenset(k for k, is_meant in zip(self._kinds, nearer, strict=True) if is_meant)

    def next(self, state: object, kind: str, prefix: Sequence[str], options: Sequence[str]) -> np.ndarray:
        assert isinstance(state, _State)
        told = {o: self._near(state, kind, [*prefix, o]) for o in options if o not in (STOP, TEXT)}
        # Stopping is as likely as the path so far is near the question; text alone as an average hop.
        mean = float(np.mean(list(told.values()))) if told else 0.0
        here = self._near(state, kind, prefix) if prefix else mean
        end = self._end(kind, prefix)
        logits = np.array([_SHARPNESS * told.get(o, here) + self._fits(state, end, kind, prefix, o) for o in options])
        result: np.ndarray = logits - np.logaddexp.reduce(logits)
        return result

    def _near(self, state: _State, kind: str, hops: Sequence[str]) -> float:
        """Likeness of question and path, half of it without the types: they mislead where no type is asked for."""
        forms = (self.told(kind, hops), ", ".join(words(h.lstrip("^")) for h in hops))
        if new := [t for t in dict.fromkeys(forms) if t not in self._known]:
            self._known.update(zip(new, self.embedder.embed(new), strict=True))
        return sum(float(state.vector @ self._known[t]) for t in forms) / len(forms)

    def _fits(self, state: _State, end: str, kind: str, prefix: Sequence[str], option: str) -> float:
        """What the type that the question names says of a step: to stop there, or to come nearer."""
        named = _NAMED if option == TEXT and state.named else 0.0
        if not state.asked or not self._leads:
            return named
        if option in (STOP, TEXT):
            return named + (_ASKED if end in state.asked else 0.0)
        there = self._end(kind, [*prefix, option])
        if there in state.asked:
            return _ASKED
        return _ASKED / 2 if state.asked & self._beside.get(there, set()) else 0.0

    def _end(self, kind: str, hops: Sequence[str]) -> str:
        for hop in hops:
            kind = self._leads.get((kind, hop), "")
        return kind

    def told(self, kind: str, hops: Sequence[str]) -> str:
        """`keeper keeps hut, hut lies in valley`; without types the relations alone."""
        said = []
        for hop in hops:
            there, relation = self._leads.get((kind, hop), ""), words(hop.lstrip("^"))
            first, last = (there, kind) if hop.startswith("^") else (kind, there)
            said.append(" ".join(filter(None, (words(first), relation, words(last)))))
            kind = there
        return ", ".join(said)


def asked_kinds(question: str, kinds: Sequence[str]) -> frozenset[str]:
    """The types that a question names as its answer's: in the words after "which" and the like, the nearest first.

    >>> sorted(asked_kinds("In which valleys is the hut of Urs?", ["hut", "valley"]))
    ['valley']
    """
    found: list[tuple[int, str]] = []
    for match in _AFTER.finditer(question):
        after = [_stem(w) for w in fold(question[match.end() : match.end() + _NEAR]).split()[:_WINDOW]]
        for kind in kinds:
            own = {_stem(w) for w in fold(words(kind)).split() if len(w) > 2}
            found += [(i, kind) for i, w in enumerate(after) if w in own][:1]
        if found:
            break
    nearest = min((i for i, _ in found), default=0)
    return frozenset(kind for i, kind in found if i == nearest)


def _stem(word: str) -> str:
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("s", "")):
        if word.endswith(ending) and not word.endswith("ss") and len(word) > len(ending) + 2:
            return word[: -len(ending)] + instead
    return word
