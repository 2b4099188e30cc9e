"""What reaches a terminal is harmless, whole, and fits any console."""

from __future__ import annotations

import json

import pytest

from rowhop.cli import answers, screen
from rowhop.types import Answer, Caution, Cost, Program, RowEvidence, Table, TextEvidence, TripleEvidence

ANSWER = Answer(
    "answered",
    values=("Oslo", 3),
    table=Table(("city [red]", "n"), (("Oslo \x1b[31m", 3), ("170厘米", None)), 2),
    program=Program("sql", "SELECT city, count(*) FROM t -- \x1b]0;x\x07", "duckdb"),
    evidence=(
        RowEvidence("shop.csv", "shop", (0, 4), ("city",), (("Oslo",), ("[bold]x",)), 7),
        TripleEvidence("Oslo", "capital_of", "Norway"),
        TextEvidence("Oslo", "a town", 3, 9),
    ),
    warnings=(Caution("ties_cut", "Two rows share the first place."),),
    confidence=0.8,
    cost=Cost(2, 400, 30, 3.2, 0.001),
    method="pandora",
    model="scripted",
)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("bell\x07", "bell\\x07"),
        ("c1 \x9b31m", "c1 \\x9b31m"),
        ("turn \u202e around", "turn \\u202e around"),
        ("line\r\nnext\ttab", "line\nnext\ttab"),
        ("over\rwritten", "over\\x0dwritten"),
        ("时间 €", "时间 €"),
    ],
)
def test_control_characters_are_shown_and_not_obeyed(raw: str, shown: str) -> None:
    assert screen.clean(raw) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "(missing)"), (True, "true"), (12.0, "12"), (0.1 + 0.2, "0.3"), (12345678901234567, "12345678901234567")],
)
def test_cells_as_people_read_them(value: object, shown: str) -> None:
    assert screen.shown(value) == shown  # type: ignore[arg-type]


def test_an_answer_shows_everything(capsys: pytest.CaptureFixture[str]) -> None:
    answers.show(ANSWER)
    out = capsys.readouterr().out
    for words in (
        "city [red]",
        "Oslo \\x1b[31m",
        "170厘米",
        "(missing)",
        "Program (SQL, duckdb)",
        "SELECT city",
        "Rests on 7 rows of shop (shop.csv), the first 2",
        "[bold]x",
        "Oslo —capital_of→ Norway",
        "a town",
        "Caution: Two rows",
        "80% of the samples agree",
        "2 calls · 400 + 30 tokens · 3.2 s · $0.0010",
    ):
        assert words in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer("unknown", because="No column holds prices."), "No answer was found. No column holds prices."),
        (Answer("gave_up", because="The budget is spent.", values=(3,)), "The best result so far:\n3"),
        (Answer("ambiguous", choices=("Paris, France", "Paris, Texas")), "  2  Paris, Texas"),
        (Answer("answered", values=(42,)), "42"),
        (Answer("answered", table=Table(("a",), (), 0)), "the result is empty"),
    ],
)
def test_each_status_says_so(answer: Answer, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    answers.show(answer)
    assert words in capsys.readouterr().out


def test_a_long_result_is_cut_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    rows = tuple((i, str(i)) for i in range(50))
    answers.show(Answer("answered", table=Table(("i", "s"), rows, 1000)))
    out = capsys.readouterr().out
    assert "980 more rows" in out
    assert "\n  25" not in out


def test_json_is_valid_whatever_the_values(capsys: pytest.CaptureFixture[str]) -> None:
    made = Answer("answered", values=(float("nan"), float("inf"), 12345678901234567, "\x9b\x1b时"))
    text = answers.as_json(made)
    read = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert read["values"] == [None, None, 12345678901234567, "\x9b\x1b时"]
    assert "trace" not in read
    assert "\x1b" not in text
    assert "\x9b" not in text


def test_json_follows_its_schema() -> None:
    schema = answers.schema()
    made = json.loads(answers.as_json(ANSWER))
    assert set(made) == set(schema["properties"])
    assert made["evidence"][1] == {
        "subject": "Oslo",
        "relation": "capital_of",
        "object": "Norway",
        "kind": "triple",
    }
