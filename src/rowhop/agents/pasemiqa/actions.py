"""What the agent can do: Search, Query, Finish; how a reply is read, and what it has seen so far."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from rowhop.errors import ReplyError
from rowhop.graph.textgraph import TextGraph
from rowhop.graph.textgraph_names import fold
from rowhop.graph.textgraph_store import Record, Side

Verb = Literal["Search", "Query", "Finish"]
UNKNOWN = "unknown"
_ACTION = re.compile(r"\b(Search|Query|Finish)\s*\[", re.IGNORECASE)
_NAME_LENGTH = 120  # characters of a name in a prompt
_RELATIONS = 12  # relations of one node that an observation shows


@dataclass(frozen=True)
class Action:
    verb: Verb
    argument: str


def read(reply: str) -> list[Action]:
    """The actions of a reply in order. Raises ReplyError where there is none."""
    found: list[Action] = []
    for match in _ACTION.finditer(reply):
        argument = _bracketed(reply, match.end())
        verb: Verb = match.group(1).capitalize()  # type: ignore[assignment]
        found.append(Action(verb, argument.strip()))
    if not found:
        raise ReplyError("Your reply has no action. Write one line: Action: Search[…], Query[…] or Finish[…].")
    return found


def _bracketed(text: str, start: int) -> str:
    """Up to the bracket that closes; names may hold brackets of their own. An unclosed one ends with the line."""
    depth = 1
    for i in range(start, len(text)):
        depth += {"[": 1, "]": -1}.get(text[i], 0)
        if depth == 0:
            return text[start:i]
    return text[start:].split("\n", 1)[0]


def one_line(text: str, most: int) -> str:
    """Text of a node as one bounded line: a line break in it must not look like a line of the prompt."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1].rstrip() + "…"


@dataclass
class Board:
    """The nodes that were shown, numbered from 1 in the order of their appearance. Only these may be the answer."""

    graph: TextGraph
    question: str
    k: int = 10
    text_length: int = 300
    seen: list[int] = field(default_factory=list)
    records: dict[int, Record] = field(default_factory=dict)

    def show(self, positions: Iterable[int], text_length: int | None = None) -> list[str]:
        """Number the nodes and describe them, one line each."""
        wanted = list(positions)
        self.records |= self.graph.store.records([p for p in wanted if p not in self.records])
        most = self.text_length if text_length is None else text_length
        lines = []
        for position in wanted:
            if position not in self.seen:
                self.seen.append(position)
            record = self.records[position]
            text = one_line(excerpt(record.text, self.question, most), most) if most else ""
            head = f"[{self.seen.index(position) + 1}] {self.name(position)}"
            head += f" ({record.kind})" if record.kind else ""
            lines.append(f"{head}: {text}" if text else head)
        return lines

    def name(self, position: int) -> str:
        record = self.records[position]
        return one_line(record.name or record.id, _NAME_LENGTH)

    def resolve(self, told: str) -> int | None:
        """A seen node by number or complete name; None where it was not shown."""
        told = told.strip().strip("\"'")
        number = re.fullmatch(r"\[?(\d+)\]?(?:\s.*)?", told)
        folded = fold(told)
        for position in self.seen:
            record = self.records[position]
            if told == record.id or fold(record.name or record.id) == folded:
                return position
        if number and 0 < int(number.group(1)) <= len(self.seen):
            return self.seen[int(number.group(1)) - 1]
        return None

    def search(self, told: str) -> str:
        """One-hop neighbourhood, by relation, the nearest to the question first."""
        position = self.resolve(told)
        if position is None:
            exact = self.graph.store.named(fold(told))
            if not exact:
                near = [m.node.name for m in self.graph.find(told, 3)]
                hint = f" Did you mean: {'; '.join(near)}?" if near else ""
                return f"No node is called {one_line(told, 80)!r}.{hint}"
            position = exact[0]
        self.show([position])
        lines = []
        room = self.k
        groups = [(side, r) for side in (False, True) for r in map(int, self._side(side).relations(position))]
        for inverse, relation in groups[:_RELATIONS]:
            ends = self._nearest_first(np.asarray(self._side(inverse).follow(position, relation)))
            share = max(1, min(room, self.k // max(len(groups), 1)) if len(groups) > 1 else room)
            shown = self.show(ends[:share], 0)
            room = max(room - len(shown), 0)
            more = f"; … {len(ends) - len(shown)} more" if len(ends) > len(shown) else ""
            arrow = (
                f"←{self.graph.store.relations[relation]}–" if inverse else f"–{self.graph.store.relations[relation]}→"
            )
            lines.append(f"{arrow} {'; '.join(shown)}{more}")
        if len(groups) > _RELATIONS:
            lines.append(f"… {len(groups) - _RELATIONS} more relations")
        return f"Neighbours of {self.name(position)}:\n" + ("\n".join(lines) or "none")

    def _side(self, inverse: bool) -> Side:
        return self.graph.store.into if inverse else self.graph.store.out

    def _nearest_first(self, ends: np.ndarray) -> list[int]:
        graph = self.graph
        if graph.vectors is None or self._asked is None or len(ends) < 2:
            return [int(e) for e in ends]
        scores = graph.vectors.scores(self._asked, np.sort(ends[:2000]))
        return sorted(map(int, ends), key=lambda p: (-scores.get(p, -1.0), p))

    @cached_property
    def _asked(self) -> np.ndarray | None:
        """The question's vector, made once: it costs more than all the rest of a Search."""
        by = self.graph.embedder
        return None if by is None else np.asarray(by.embed([self.question], query=True)[0])

    def query(self, told: str, candidates: Sequence[int]) -> str:
        """Nodes nearest in text, among all or among the plan's candidates ("words; candidates")."""
        words, _, scope = told.rpartition(";")
        among = scope.strip().casefold() == "candidates" and bool(words.strip())
        words = words if among else told
        within = [r.id for r in self.graph.store.records(candidates, 0).values()] if among else []
        found = self.graph.nearest(words, self.k, within)
        at = self.graph.store.positions([m.node.id for m in found])
        lines = self.show(at[m.node.id] for m in found)
        return "\n".join(lines) or "No node's text is near."

    def finish(self, told: str) -> tuple[list[int], list[str]]:
        """(nodes that were seen, what was dropped). "unknown" gives neither."""
        if fold(told) == UNKNOWN:
            return [], []
        whole = self.resolve(told)
        if whole is not None:  # a name that holds a semicolon
            return [whole], []
        nodes: list[int] = []
        dropped: list[str] = []
        for part in filter(None, (p.strip() for p in re.split(r"[;\n]|,\s*(?=\[?\d+\]?\s*(?:,|$))", told))):
            position = self.resolve(part)
            if position is None:
                dropped.append(one_line(part, 80))
            elif position not in nodes:
                nodes.append(position)
        return nodes, dropped


def excerpt(text: str, question: str, most: int) -> str:
    """The beginning of a short text; of a long one the sentences that share most words with the question."""
    if len(text) <= most:
        return text
    start, end = best_span(text, question, most)
    return text[start:end]


def best_span(text: str, question: str, most: int = 300) -> tuple[int, int]:
    """Where the sentences that share most words with the question begin and end; at most `most` characters."""
    asked = {w for w in fold(question).split() if len(w) > 3}
    sentences = [(m.start(), m.end()) for m in re.finditer(r"[^.!?\n]+[.!?]?", text[:50_000])]
    if not sentences:
        return 0, min(len(text), most)

    def shared(span: tuple[int, int]) -> int:
        return len(asked & set(fold(text[span[0] : span[1]]).split()))

    at = max(range(len(sentences)), key=lambda i: (shared(sentences[i]), -i))
    start, end = sentences[at]
    while at + 1 < len(sentences) and sentences[at + 1][1] - start <= most:
        at += 1
        end = sentences[at][1]
    start += len(text[start:end]) - len(text[start:end].lstrip())
    return start, min(end, start + most)
