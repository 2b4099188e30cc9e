"""Benchmarks over knowledge graphs and graphs with text: questions with topic entities and gold answers."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rowhop.errors import SourceError
from rowhop.eval.benchmarks import Gold, Item, field, first_file, listing, objects, text_of, tsv
from rowhop.types import Question

if TYPE_CHECKING:
    from rowhop.graph.triples import Hints, TripleGraph

_GRAPHS = ("kb.txt", "2H-kb.txt", "3H-kb.txt", "triples.tsv")
_TOPIC = re.compile(r"\[([^\]]+)\]")


def metaqa(folder: Path, split: str) -> list[Item]:
    """MetaQA, all hops: `<n>-hop/<split>.txt`, or as published `<n>-hop/vanilla/qa_<split>.txt`."""
    items = []
    for hops in ("1-hop", "2-hop", "3-hop"):
        if not (folder / hops).is_dir():
            continue
        file = first_file(folder / hops, f"{split}.txt", f"vanilla/qa_{split}.txt")
        for number, (where, row) in enumerate(tsv(file)):
            asked, answers = field(row, "0", where), field(row, "1", where)
            topic = _TOPIC.search(asked)
            if topic is None:
                raise SourceError(f"{where} has no topic entity in [brackets]: {asked}")
            name = f"{hops}-{split}-{number:05d}"
            question = Question(_TOPIC.sub(r"\1", asked), (topic.group(1),), name)
            items.append(
                Item(name, question, (str(folder / "kb.txt"),), Gold(tuple(answers.split("|"))), "list", level=hops)
            )
    return items


def pathquestion(folder: Path, split: str) -> list[Item]:
    """PathQuestion: `PQ-2H.<split>.txt` (as published `PQ-2H.txt`), each with its own graph."""
    items = []
    for hops in ("2H", "3H"):
        file = first_file(folder, f"PQ-{hops}.{split}.txt", f"PQ-{hops}.txt")
        for number, (where, row) in enumerate(tsv(file)):
            asked, answer, path = (field(row, key, where) for key in "012")
            # "a(a/b/)": the answer that the path reaches, then all answers in parentheses.
            head, _, rest = answer.partition("(")
            gold = tuple(filter(None, rest.rstrip(")").split("/"))) or (head,)
            name = f"{hops}-{split}-{number:05d}"
            question = Question(asked, (path.split("#")[0],), name)
            items.append(Item(name, question, (str(folder / f"{hops}-kb.txt"),), Gold(gold), "list", level=hops))
    return items


def _freebase(folder: Path) -> tuple[str, ...]:
    """The graph beside the questions, where it is there as triples; the caller may name another one."""
    return tuple(str(f) for f in (folder / "triples.tsv", folder / "fb15k237.tsv") if f.is_file())


def graph_of(sources: Sequence[str], cache: Path) -> TripleGraph | None:
    """The graph that a benchmark's questions are asked over; None where its files are none of these benchmarks'.

    Plain triples look like any table, and a fragment of Freebase comes with files that say which way its relations
    run and which nodes stand between others.
    """
    from rowhop.graph.rdf import open_files
    from rowhop.graph.vocabulary import FREEBASE

    files = [Path(s) for s in sources]
    if not files or files[0].name not in _GRAPHS:
        return None
    if not (files[0].parent / "roles.txt").is_file():
        return open_files(files, cache)
    return open_files(files, cache, FREEBASE, _hints(files[0].parent))


def _hints(folder: Path) -> Hints:
    """Lines of `roles.txt` are subject type, relation, object type; of `reverse_properties.tsv` two relations."""
    from rowhop.graph.triples import Hints

    roles = {r: (a, b) for a, r, b, *_ in (line.split() for line in text_of(folder / "roles.txt").splitlines() if line)}
    inverses: dict[str, str] = {}
    file = folder / "reverse_properties.tsv"
    for line in text_of(file).splitlines() if file.is_file() else ():
        one, _, other = (part.strip() for part in line.partition("\t"))
        inverses |= {one: other, other: one}
    return Hints(roles, inverses)


def _topics(row: dict[str, Any], key: str = "topic_entity") -> tuple[str, ...]:
    named = row.get(key) or {}
    return tuple(map(str, named.values())) if isinstance(named, dict) else tuple(map(str, listing(named)))


def webqsp(folder: Path, split: str) -> list[Item]:
    """WebQSP: a list with `answers`, or as published `WebQSP.<split>.json` with `Parses`."""
    file = first_file(folder, f"webqsp.{split}.json", f"WebQSP.{split}.json", f"data/WebQSP.{split}.json")
    whole = json.loads(text_of(file)) if file.name.startswith("WebQSP") else None
    if isinstance(whole, dict):
        return [_webqsp_published(folder, row) for row in whole.get("Questions", [])]
    items = []
    for where, row in objects(file):
        name = field(row, "id", where)
        question = Question(field(row, "question", where), _topics(row), name)
        items.append(Item(name, question, _freebase(folder), Gold(tuple(listing(row.get("answers")))), "list"))
    return items


def _webqsp_published(folder: Path, row: dict[str, Any]) -> Item:
    name, parses = str(row["QuestionId"]), row.get("Parses") or [{}]
    answers = [a for parse in parses for a in parse.get("Answers", [])]
    gold = dict.fromkeys(str(a.get("EntityName") or a.get("AnswerArgument")) for a in answers)
    topics = dict.fromkeys(str(p["TopicEntityName"]) for p in parses if p.get("TopicEntityName"))
    question = Question(str(row.get("RawQuestion") or row.get("ProcessedQuestion")), tuple(topics), name)
    return Item(name, question, _freebase(folder), Gold(tuple(gold)), "list")


def cwq(folder: Path, split: str) -> list[Item]:
    """ComplexWebQuestions: `answer` as text, or as published a list `answers` with aliases."""
    file = first_file(folder, f"cwq.{split}.json", f"ComplexWebQuestions_{split}.json")
    items = []
    for where, row in objects(file):
        name = str(row.get("id") or row.get("ID"))
        answers = [
            a.get("answer") if isinstance(a, dict) else a for a in listing(row.get("answers", row.get("answer")))
        ]
        question = Question(field(row, "question", where), _topics(row), name)
        level = str(row.get("type") or row.get("compositionality_type") or "")
        items.append(Item(name, question, _freebase(folder), Gold(tuple(answers)), "list", level=level))
    return items


def grailqa(folder: Path, split: str) -> list[Item]:
    """GrailQA by its levels: i.i.d., compositional, zero-shot."""
    file = first_file(folder, f"grailqa.{split}.json", f"grailqa_v1.0_{split}.json")
    items = []
    for where, row in objects(file):
        name = field(row, "qid", where)
        gold = [a.get("entity_name") or a.get("answer_argument") for a in listing(row.get("answer"))]
        topics = _topics(row) or tuple(
            str(node.get("friendly_name"))
            for node in (row.get("graph_query") or {}).get("nodes", [])
            if node.get("node_type") == "entity"
        )
        question = Question(field(row, "question", where), topics, name)
        items.append(
            Item(name, question, _freebase(folder), Gold(tuple(gold)), "list", level=str(row.get("level") or ""))
        )
    return items


def stark(folder: Path, split: str) -> list[Item]:
    """STaRK-Prime: `queries.json`, or as published `qa/prime/stark_qa/stark_qa.csv` with its split files."""
    if (folder / "queries.json").is_file():
        rows = [
            (field(row, "id", where), field(row, "query", where), listing(row.get("answer_ids")))
            for where, row in objects(folder / "queries.json")
            if row.get("split") == split
        ]
    else:
        rows = _stark_published(folder, split)
    source = (str(folder),)
    return [Item(i, Question(text, id=i), source, Gold(tuple(ids)), "ranking") for i, text, ids in rows]


def _stark_published(folder: Path, split: str) -> list[tuple[str, str, list[Any]]]:
    import csv
    import io

    base = next((b for b in (folder / "qa" / "prime", folder) if (b / "stark_qa").is_dir()), folder)
    table = first_file(base, "stark_qa/stark_qa.csv")
    wanted = set(text_of(first_file(base, f"split/{split}.index")).split())
    rows = csv.DictReader(io.StringIO(text_of(table)))
    return [(row["id"], row["query"], ast.literal_eval(row["answer_ids"])) for row in rows if row["id"] in wanted]
