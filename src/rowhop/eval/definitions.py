"""A text-heavy set of questions made from an ontology: definitions in other words, with or without one relation.

    python -m rowhop.eval.definitions GO.sqlite --n 240

The node's name never stands in the question, so that only its text can find it. No chat model is asked.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rowhop.graph.textgraph import TextGraph
from rowhop.graph.textgraph_names import fold

# The formulas of ontologies, and how a person would say the same.
_REWRITTEN = tuple(
    (re.compile(rf"\b{was}\b", re.IGNORECASE), now)
    for was, now in (
        ("Any process that activates or increases the frequency, rate,? or extent of", "what starts or speeds up"),
        (
            "Any process that stops, prevents,? or reduces the frequency, rate,? or extent of",
            "what slows down or blocks",
        ),
        ("Any process that modulates the frequency, rate,? or extent of", "what controls how much there is of"),
        ("The chemical reactions and pathways resulting in the formation of", "how living things make"),
        ("The chemical reactions and pathways resulting in the breakdown of", "how living things take apart"),
        ("The chemical reactions and pathways involving", "how living things handle"),
        ("Any process that results in a change in state or activity of", "what alters the behaviour of"),
        ("The process whose specific outcome is the progression of", "the growing up of"),
        ("The directed movement of", "the carrying of"),
        ("The process in which|A process in which|Any process in which", "what happens when"),
        ("The series of molecular signals", "the chain of messages"),
        ("Catalysis of the reaction", "speeding up the conversion"),
        ("Catalysis of", "speeding up"),
        ("Enables the transfer of", "lets pass"),
        ("Binding to", "sticking to"),
        ("as a result of", "after"),
        ("organism", "living thing"),
        ("stimulus", "trigger"),
        ("formation", "making"),
        ("synthesis", "making"),
        ("breakdown", "taking apart"),
        ("movement", "motion"),
        ("substances?", "matter"),
        ("composed of", "made of"),
        ("resulting in", "that brings about"),
        ("leading to", "that ends in"),
        ("located in", "found in"),
        ("prior to", "before"),
        ("contains", "holds"),
        ("occurring", "taking place"),
        ("regulates", "steers"),
        ("characterized by", "marked by"),
    )
)
_RELATIONS = {"is a": "of what more general kind is the following", "part of": "what is the following a part of"}
_SHARE = {"": 2, "is a": 1, "part of": 1}  # how many questions of each form
_SHORTEST, _LONGEST = 8, 45  # words of a definition


@dataclass(frozen=True)
class Defined:
    """`relation` is "" where the defined node itself is asked for. `gold` are ids."""

    question: str
    gold: tuple[str, ...]
    relation: str = ""


def paraphrase(definition: str) -> str:
    """The first sentence in other words, with what stands in brackets left out.

    >>> paraphrase("The directed movement of zinc (Zn) into a vacuole. More.")
    'the carrying of zinc into a vacuole'
    """
    first = re.split(r"(?<=[a-z)])\.\s|\n", definition, maxsplit=1)[0]
    said = re.sub(r"\s*[(\[][^)\]]*[)\]]", "", first).strip().rstrip(".")
    for pattern, now in _REWRITTEN:
        said = pattern.sub(now, said)
    return " ".join(said.split())


def questions(graph: TextGraph, n: int, seed: int = 0) -> list[Defined]:
    """`n` questions, about half of them over a relation; the same for the same graph and seed."""
    drawn = random.Random(seed)
    positions = list(range(len(graph.store)))
    drawn.shuffle(positions)
    found: list[Defined] = []
    made_of = dict.fromkeys(_SHARE, 0)
    for position in positions:
        # What is scarce first: few nodes are part of another.
        for relation in sorted(_SHARE, key=lambda r: made_of[r] / _SHARE[r]):
            if (made := _made(graph, position, relation)) is not None:
                found.append(made)
                made_of[relation] += 1
                break
        if len(found) == n:
            break
    return found


def _made(graph: TextGraph, position: int, relation: str) -> Defined | None:
    store = graph.store
    record = store.record(position)
    said = paraphrase(record.text)
    if not _SHORTEST <= len(said.split()) <= _LONGEST or said == record.text.rstrip("."):
        return None
    meant = [position]
    if relation:
        code = store.relation_code.get(relation)
        meant = [int(p) for p in store.out.follow(position, code)] if code is not None else []
    hidden = [record, *(store.record(p) for p in meant)]
    if not meant or any(f" {fold(name)} " in f" {fold(said)} " for r in hidden for name in (r.name, *r.aliases)):
        return None
    asked = f"Which {record.kind} is this" if not relation else _RELATIONS[relation].capitalize()
    return Defined(f"{asked}: {said}?", tuple(store.record(p).id for p in meant), relation)


def measured(graph: TextGraph, asked: Sequence[Defined]) -> Iterator[str]:
    """Hit@1 of the plan with everything, and without what reads texts."""
    from rowhop.agents.pasemiqa.planner import Planner
    from rowhop.eval.statistics import interval, paired
    from rowhop.types import Question

    assert graph.embedder is not None
    whole = Planner.of(graph, graph.embedder)
    plans = {
        "the plan": whole,
        'without the path "text" and matching by text': Planner(
            graph, whole.scorer, None, replace(whole.settings, mode="exact", text=False)
        ),
        "text alone, no path": Planner(graph, None, None, whole.settings),
    }
    full: list[float] = []
    for name, planner in plans.items():
        hits = []
        for one in asked:
            first = planner.plan(Question(one.question)).candidates[:1]
            hits.append(1.0 if first and first[0].record.id in one.gold else 0.0)
        full = full or hits
        told = interval(hits)
        by_form = [f"{form or 'the node itself'} {_mean(_of(form, hits, asked)):.3f}" for form in ("", *_RELATIONS)]
        against = "" if hits is full else f"; the plan {(p := paired(hits, full)).difference:+.1%}, p = {p.p:.3f}"
        yield f"{name}: Hit@1 {told.mean:.3f} ({told.low:.3f} to {told.high:.3f}), {', '.join(by_form)}{against}"


def _of(form: str, hits: Sequence[float], asked: Sequence[Defined]) -> list[float]:
    return [h for h, a in zip(hits, asked, strict=True) if a.relation == form]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(len(values), 1)


def main(arguments: Sequence[str] | None = None) -> int:
    from rowhop import config, providers
    from rowhop.graph.textgraph import open_textgraph

    reader = argparse.ArgumentParser(description="Questions from definitions, measured without a chat model.")
    reader.add_argument("source", help="an .obo file, GO.sqlite, or any graph with definitions and 'is a' edges")
    reader.add_argument("--n", type=int, default=240)
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--show", action="store_true", help="print the questions too")
    told = reader.parse_args(arguments)
    settings = config.load()
    graph = open_textgraph(told.source, settings.cache_folder, providers.embedder(settings))
    asked = questions(graph, told.n, told.seed)
    for one in asked if told.show else ():
        print(one.question, one.gold)
    print(f"{len(asked)} questions")
    for line in measured(graph, asked):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
