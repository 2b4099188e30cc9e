"""The front door over an agent and a model of the test's own: what goes in, what comes out, what is saved."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import rowhop
from rowhop import config
from rowhop.cli import asking, run
from rowhop.cli.asking import Wish
from rowhop.front import Session, saved
from rowhop.models import Completion, Listen, Message, Options
from rowhop.trace import Trace, load
from rowhop.types import Answer, Caution, Program, Question, Table

FOUND = Answer("answered", values=(3,), program=Program("python", "answer = len(t)"))


@dataclass
class Model:
    """Never asked here: the agent below answers by itself."""

    name: str = "elsewhere-1"
    remote: bool = False
    constrains: bool = False

    def complete(self, messages: object, options: Options = Options(), listen: Listen | None = None) -> Completion:
        raise AssertionError("The model was asked.")


@dataclass
class Agent:
    """Gives the answers it was given, in order; an exception is raised."""

    answers: list[Answer | BaseException]
    questions: list[Question] = field(default_factory=list)

    def answer(self, question: Question, trace: Trace) -> Answer:
        self.questions.append(question)
        trace.note("plan", "count")
        trace.token("a token")
        done = self.answers.pop(0)
        if isinstance(done, BaseException):
            raise done
        return done

    def prompt(self, question: Question) -> tuple[Message, ...]:
        return (Message("system", "Write Python."), Message("user", question.text + " \x1b[31m"))


@pytest.fixture
def table(in_folder: Path) -> Path:
    path = in_folder / "t.csv"
    path.write_text("a,b\n1,2\n3,4\n5,6\n", encoding="utf-8")
    return path


Open = Callable[..., tuple[Session, Agent]]


@pytest.fixture
def opened(table: Path) -> Open:
    def open_(*answers: Answer | BaseException, remote: bool = False, **options: object) -> tuple[Session, Agent]:
        agent = Agent(list(answers))
        settings = config.load(options)
        return Session([str(table)], model=Model(remote=remote), agent=agent, settings=settings), agent

    return open_


def test_an_answer_says_who_gave_it_and_how(opened: Open) -> None:
    session, _ = opened(FOUND)
    answer = session.ask("  How many?  ")
    assert (answer.values, answer.method, answer.model) == ((3,), "own", "elsewhere-1")
    assert answer.trace.question == Question("How many?")
    assert [s.kind for s in answer.trace.steps] == ["note"]


def test_a_follow_up_knows_what_came_before(opened: Open) -> None:
    session, agent = opened(FOUND, Answer("unknown"), FOUND)
    session.ask("How many?")
    session.ask("And how many are red?")
    session.ask("And blue?")
    assert agent.questions[0].context == ""
    context = agent.questions[2].context
    assert agent.questions[2].text == "And blue?"
    for words in ("Earlier question: How many?", "answer = len(t)", "Answer: 3", "are red?", "Answer: unknown"):
        assert words in context
    session.history.clear()
    assert session.question("Again?").context == ""


def test_what_a_conversation_carries_is_bounded(opened: Open) -> None:
    long = Answer("answered", values=("x" * 10_000,), program=Program("sql", "y" * 10_000))
    session, agent = opened(*[long] * 20)
    for number in range(20):
        session.ask(f"Question {number}?")
    assert len(agent.questions[-1].context) < 4 * 1000
    assert "Question 18?" in agent.questions[-1].context


def test_an_empty_question(opened: Open) -> None:
    with pytest.raises(rowhop.ConfigError, match="The question is empty"):
        opened()[0].ask(" \n")


def test_a_spent_budget_is_an_answer(opened: Open, tmp_path: Path) -> None:
    session, _ = opened(rowhop.BudgetSpent("The budget of 2 model calls is spent."))
    file = tmp_path / "run.jsonl"
    answer = saved(session, "How many?", session.trace(Question("How many?")), file=file)
    assert (answer.status, answer.because) == ("gave_up", "The budget of 2 model calls is spent.")
    assert load(file).answer["status"] == "gave_up"


def test_the_budget_reaches_the_trace(opened: Open) -> None:
    session, _ = opened(FOUND, budget={"calls": 2, "seconds": 5})
    assert session.trace(Question("x")).budget == rowhop.Budget(calls=2, seconds=5)


@pytest.mark.parametrize("error", [rowhop.ModelUnavailable("The endpoint is down."), KeyboardInterrupt()])
def test_a_failed_run_is_saved_too(error: BaseException, opened: Open, tmp_path: Path) -> None:
    session, _ = opened(error)
    file = tmp_path / "deep" / "run.jsonl"
    with pytest.raises(type(error)):
        saved(session, "How many?", session.trace(Question("How many?")), file=file)
    read = load(file)
    assert read.header.question.text == "How many?"
    assert len(read.steps) == 1
    assert read.error in ("The endpoint is down.", "KeyboardInterrupt")


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (FOUND, 0, "3"),
        (Answer("unknown", because="There are no prices."), 3, "There are no prices."),
        (Answer("gave_up", because="Three programs failed."), 4, "Three programs failed."),
        (Answer("ambiguous", choices=("Paris, France", "Paris, Texas")), 5, "--choose N"),
    ],
)
def test_exit_codes(answer: Answer, code: int, words: str, opened: Open, capsys: pytest.CaptureFixture[str]) -> None:
    session, _ = opened(answer)
    assert asking.within(session, "How many?", Wish()) == code
    assert words in capsys.readouterr().out


def test_a_choice_is_asked_with(opened: Open, capsys: pytest.CaptureFixture[str]) -> None:
    session, agent = opened(Answer("ambiguous", choices=("Paris, France", "Paris, Texas")), FOUND)
    assert asking.within(session, "How big is Paris?", Wish(choose=2, topics=("x",))) == 0
    assert agent.questions[1].topics == ("x", "Paris, Texas")
    assert "The question means: Paris, Texas" in agent.questions[1].context
    session, _ = opened(Answer("ambiguous", choices=("a", "b")))
    with pytest.raises(rowhop.ConfigError, match="no choice 3"):
        asking.within(session, "How big is Paris?", Wish(choose=3))


def test_json_and_a_file_at_once(opened: Open, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    answer = Answer("answered", values=(1, 2), table=Table(("a",), ((1,), (2,)), 5))
    session, _ = opened(answer)
    assert asking.within(session, "Which?", Wish(json=True, out=tmp_path / "x.csv")) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["table"]["total"] == 5
    assert "Wrote 2 rows" in err
    assert "only the first 2 were kept" in err


def test_a_dry_run_prints_the_prompt_and_sends_nothing(opened: Open, capsys: pytest.CaptureFixture[str]) -> None:
    session, agent = opened()
    assert asking.within(session, "How many?", Wish(dry_run=True)) == 0
    out, err = capsys.readouterr()
    assert out == "--- system ---\nWrite Python.\n--- user ---\nHow many? \\x1b[31m\n"
    assert "Nothing was sent" in err
    assert agent.questions == []


def test_what_is_sent_is_said_once(opened: Open, capsys: pytest.CaptureFixture[str]) -> None:
    session, _ = opened(FOUND, FOUND, remote=True, model={"base_url": "http://x/v1"}, share={"hide": ("b",)})
    asking.within(session, "How many?", Wish())
    said = capsys.readouterr().err
    assert "elsewhere-1 runs at http://x/v1" in said
    assert "Hidden: b" in said
    asking.within(session, "How many?", Wish())
    assert capsys.readouterr().err == ""
    session, _ = opened(FOUND, remote=True, model={"base_url": "http://x/v1"}, share={"data": "schema"})
    asking.within(session, "How many?", Wish())
    assert "and no cell" in capsys.readouterr().err


def test_a_local_model_needs_no_such_words(opened: Open, capsys: pytest.CaptureFixture[str]) -> None:
    session, _ = opened(FOUND)
    asking.within(session, "How many?", Wish())
    assert capsys.readouterr().err == ""


def test_a_saved_run_reads_as_steps(opened: Open, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = Answer("answered", values=(3,), warnings=(Caution("ties_cut", "Two tie."),))
    session, _ = opened(answer)
    file = tmp_path / "run.jsonl"
    asking.within(session, "How many?", Wish(trace=file))
    capsys.readouterr()
    assert run(["trace", str(file)]) == 0
    out = capsys.readouterr().out
    assert "How many?" in out
    assert "1. plan" in out
    assert "answered: 3" in out


def test_an_opened_source_is_left_open(table: Path) -> None:
    source = rowhop.open_sources(str(table))
    with Session(source, model=Model(), agent=Agent([FOUND])) as session:
        assert session.ask("How many?").values == (3,)
    assert source.boxes().boxes[0].name == "t"  # type: ignore[union-attr]
