"""Loaders: our copies where they are, the published layouts made small here, and files that are not right."""

import json
import os
from pathlib import Path

import pytest

from rowhop.errors import ConfigError, SourceError
from rowhop.eval.benchmarks import load


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


WIKITQ = "id\tutterance\tcontext\ttargetValue\nnt-0\twho won?\tcsv/1-csv/2.csv\ta\\pb|c\r\n"


@pytest.mark.parametrize("place", ["", "data/"])
def test_wikitq_in_both_layouts(tmp_path: Path, place: str) -> None:
    folder = write(tmp_path, {f"{place}random-split-1-dev.tsv": WIKITQ})
    (item,) = load("wikitq", folder)
    assert (item.id, item.question.text, item.gold.values) == ("nt-0", "who won?", ("a|b", "c"))
    assert item.sources == (str(folder / "csv/1-csv/2.csv"),)
    assert item.gold.canonical == ()


def test_wikitq_takes_canonical_values_where_they_are_published(tmp_path: Path) -> None:
    tagged = "id\tutterance\ttargetCanon\nnt-0\twho won?\tx|1234\n"
    folder = write(tmp_path, {"data/training.tsv": WIKITQ, "tagged/data/training.tagged": tagged})
    (item,) = load("wikitq", folder, "training")
    assert item.gold.canonical == ("x", "1234")


def test_spider_as_published(tmp_path: Path) -> None:
    rows = [{"db_id": "pets", "question": "How many?", "query": "SELECT 1", "sql": {}}]
    folder = write(tmp_path, {"train_spider.json": json.dumps(rows)})
    (item,) = load("spider", folder, "train")
    assert (item.id, item.level, item.gold.sql, item.judging) == ("train-0000", "pets", "SELECT 1", "execution")
    assert item.sources == (str(folder / "database/pets/pets.sqlite"),)


def test_a_plain_file_of_ones_own(tmp_path: Path) -> None:
    rows = [
        {"question": "How many?", "gold": 3, "source": "a.csv"},
        {"id": "x", "question": "Which?", "gold": ["a", "b"], "source": ["a.csv", "postgresql://h/d"], "topics": ["A"]},
        {"question": "Count", "sql": "SELECT 1", "source": "b.sqlite"},
        {"question": "Who?", "gold_ids": [7, "p1"], "source": "graph", "split": "test"},
    ]
    folder = write(tmp_path, {"mine.jsonl": "\n".join(map(json.dumps, rows))})
    one, two, three, four = load("plain", folder / "mine.jsonl")
    assert (one.id, one.gold.values, one.sources) == ("line-1", (3,), (str(folder / "a.csv"),))
    assert (two.id, two.question.topics, two.sources[1]) == ("x", ("A",), "postgresql://h/d")
    assert (three.judging, three.gold.sql) == ("execution", "SELECT 1")
    assert (four.judging, four.gold.values) == ("ranking", ("7", "p1"))
    # A row without a part belongs to each of them.
    assert [i.id for i in load("plain", folder / "mine.jsonl", "train")] == ["line-1", "x", "line-3"]
    assert len(load("plain", folder / "mine.jsonl", "test")) == 4


@pytest.mark.parametrize(
    ("name", "files", "words"),
    [
        ("plain", {"f": '{"question": "q", "source": "a.csv"}'}, "Line 1 of .* neither 'gold', 'gold_ids' nor 'sql'"),
        ("plain", {"f": '{"gold": "q", "source": "a.csv"}'}, "needs a field 'question'.* It has: gold, source"),
        ("plain", {"f": '{"question": "q", "gold": 1}'}, "needs a field 'source'"),
        ("plain", {"f": '{"question": "q", "gold": 1, "source": "a"}\n{"quest'}, "Line 2 of .* not valid JSON"),
        ("plain", {"f": "[1]"}, "Entry 1 of .* not an object"),
        ("plain", {"f": ""}, "no questions"),
        (
            "plain",
            {"f": '{"id": 1, "question": "q", "gold": 1, "source": "a"}\n' * 2},
            "have the same id '1'",
        ),
        ("wikitq", {"f": ""}, "None of data/random-split-1-dev.tsv, random-split-1-dev.tsv is in"),
        ("wikitq", {"random-split-1-dev.tsv": "id\tutterance\tcontext\nnt-0\tq\tc\n"}, "'targetValue'"),
        ("spider", {"dev.json": '[{"question": "q", "db_id": "d"}]'}, "Entry 1 of .* needs a field 'query'"),
        ("spider", {"dev.json": "[{"}, "not valid JSON"),
        ("metaqa", {"1-hop/dev.txt": "who?\ta\tt\n"}, "no topic entity"),
    ],
)
def test_a_file_that_is_not_right_is_named(tmp_path: Path, name: str, files: dict[str, str], words: str) -> None:
    folder = write(tmp_path, files)
    with pytest.raises(SourceError, match=words):
        load(name, folder / "f" if name == "plain" else folder)


def test_an_unknown_benchmark_and_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no benchmark wikisql\. There are: wikitq, spider"):
        load("wikisql", tmp_path)
    with pytest.raises(SourceError, match="could not be read: No such file"):
        load("plain", tmp_path / "absent.jsonl")


def test_graph_benchmarks_as_published(tmp_path: Path) -> None:
    webqsp = {
        "Questions": [
            {
                "QuestionId": "WebQTest-1",
                "RawQuestion": "who?",
                "Parses": [
                    {"TopicEntityName": "A", "Answers": [{"EntityName": "B", "AnswerArgument": "m.1"}]},
                    {"TopicEntityName": "A", "Answers": [{"EntityName": None, "AnswerArgument": "1999"}]},
                ],
            }
        ]
    }
    cwq = [{"ID": "c1", "question": "what?", "answers": [{"answer": "x", "aliases": ["y"]}], "topic_entity": None}]
    grail = [
        {
            "qid": 7,
            "question": "which?",
            "answer": [{"answer_argument": "m.2", "entity_name": "E"}, {"answer_argument": "5"}],
            "graph_query": {"nodes": [{"node_type": "entity", "friendly_name": "T"}, {"node_type": "class"}]},
            "level": "zero-shot",
        }
    ]
    folder = write(
        tmp_path,
        {
            "data/WebQSP.test.json": json.dumps(webqsp),
            "ComplexWebQuestions_dev.json": json.dumps(cwq),
            "grailqa_v1.0_dev.json": json.dumps(grail),
            "2-hop/vanilla/qa_test.txt": "who acts with [Jo March]\ta|b\n",
            "PQ-2H.txt": "who is x 's y ?\tb(a/b/)\tx#y#b#<end>#b\n",
            "PQ-3H.txt": "who is x 's z ?\tc(c/)\tx#y#b#z#c#<end>#c\n",
            "qa/prime/stark_qa/stark_qa.csv": 'id,query,answer_ids\n0,"which, then?","[3, 4]"\n1,no,[5]\n',
            "qa/prime/split/val.index": "0\n",
        },
    )
    (one,) = load("webqsp", folder, "test")
    assert (one.question.topics, one.gold.values) == (("A",), ("B", "1999"))
    (two,) = load("cwq", folder, "dev")
    assert two.gold.values == ("x",)
    (three,) = load("grailqa", folder, "dev")
    assert (three.question.topics, three.gold.values, three.level) == (("T",), ("E", "5"), "zero-shot")
    (four,) = load("metaqa", folder, "test")
    assert (four.question.text, four.question.topics) == ("who acts with Jo March", ("Jo March",))
    five, six = load("pathquestion", folder, "test")
    assert (five.gold.values, five.question.topics, six.level) == (("a", "b"), ("x",), "3H")
    (seven,) = load("stark-prime", folder)
    assert (seven.question.text, seven.gold.values, seven.judging) == ("which, then?", (3, 4), "ranking")


@pytest.mark.parametrize(
    ("name", "folder", "count"),
    [
        ("wikitq", "wikitq", 2831),
        ("spider", "spider", 825),
        ("metaqa", "metaqa", 7913),
        ("pathquestion", "pathquestion", 3617),
        ("webqsp", "freebase", 202),
        ("cwq", "freebase", 133),
        ("grailqa", "freebase", 67),
        ("stark-prime", "stark_prime", 171),
    ],
)
def test_the_benchmarks_that_are_here(name: str, folder: str, count: int) -> None:
    data = os.environ.get("ROWHOP_BENCH_DATA", "")
    if not data:
        pytest.skip("ROWHOP_BENCH_DATA does not name a folder with the benchmark data.")
    items = load(name, Path(data) / folder)
    assert len(items) == count
    assert all(i.question.text and (i.gold.values or i.gold.sql) for i in items)
    assert all(Path(s).exists() for i in items for s in i.sources)
