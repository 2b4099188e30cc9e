"""Answer, Box and Trace in a notebook: HTML, with nothing from data or a model left as markup."""

from __future__ import annotations

from html.parser import HTMLParser

from rowhop.box import Box, Column
from rowhop.models import Message
from rowhop.trace import BoxesOpened, CodeRun, GraphRead, ModelCall, Note, Trace
from rowhop.types import Answer, Caution, Program, Question, RowEvidence, Table, TextEvidence, TripleEvidence

EVIL = "<img src=x onerror=alert(1)></pre></td><script>alert(1)</script>\"'&\u202e"
ALLOWED = {"div", "b", "table", "thead", "tbody", "tr", "th", "td", "pre", "details", "summary"}


class Checked(HTMLParser):
    """Every tag is one of ours, closed in order, with a style as its only attribute."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED
        assert {name for name, _ in attrs} <= {"style"}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_an_answer() -> None:
    rows = RowEvidence(EVIL, EVIL, (0, 4), (EVIL, "n"), ((EVIL, 1), (None, 2)), 7)
    answer = Answer(
        "answered",
        (EVIL, None),
        because=EVIL,
        table=Table((EVIL, "n"), ((EVIL, None),) * 30, 90),
        program=Program("sql", EVIL),
        evidence=(rows, TripleEvidence(EVIL, EVIL, EVIL), TextEvidence(EVIL, EVIL, 0, 3)),
        warnings=(Caution("k", EVIL),),
        method="pandora",
        model=EVIL,
    )
    page = Checked(answer._repr_html_())
    assert page.text.count("<script>alert(1)</script>") > 10
    assert "90 rows in all" in page.text
    assert "\u202e" not in page.text
    assert "Program (sql)" in page.text


def test_answers_without_a_result() -> None:
    for status, said in (("unknown", "No answer"), ("gave_up", "Gave up"), ("ambiguous", "several things")):
        page = Checked(Answer(status, because="why", choices=(EVIL,))._repr_html_())  # type: ignore[arg-type]
        assert said in page.text


def test_a_single_value_is_large() -> None:
    assert "150%" in Answer("answered", (3,), table=Table(("n",), ((3,),), 1))._repr_html_()


def test_a_box() -> None:
    columns = (Column(EVIL, "text", (EVIL, None)), Column("id", "integer"))
    page = Checked(Box(EVIL, columns, EVIL, ("id",), 1234)._repr_html_())
    assert "(1,234 rows)" in page.text
    assert "id (key)" in page.text


def test_a_trace() -> None:
    trace = Trace(Question(EVIL))
    trace.add(BoxesOpened((EVIL,), EVIL))
    trace.add(ModelCall(EVIL, EVIL, (Message("user", EVIL),), (EVIL,)))
    trace.add(CodeRun(Program("python", EVIL), "error", EVIL))
    trace.add(GraphRead(EVIL, (EVIL,)))
    for _ in range(100):
        trace.add(Note(EVIL, EVIL))
    page = Checked(trace._repr_html_())
    assert "4 more steps" in page.text
