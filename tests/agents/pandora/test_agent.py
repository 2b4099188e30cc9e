"""The loop, with scripted replies over the examples and a real sandbox."""

from pathlib import Path

import pytest

from rowhop.agents.pandora.agent import Pandora, PandoraSettings
from rowhop.models.scripted import Scripted
from rowhop.sources import open_source
from rowhop.trace import Budget, CodeRun, ModelCall, Trace
from rowhop.types import Answer, Question

COUNT = '```python\n# Count them.\nanswer = len(customers[customers["country"] == "Norway"])\n```'
WRONG = '```python\nanswer = customers["contry"].iloc[0]\n```'
NONE = '```python\nanswer = customers[customers["country"] == "Atlantis"]["name"]\n```'


def _ask(examples: Path, replies: list[str], settings: PandoraSettings | None = None, **budget: float) -> Answer:
    model = Scripted(replies)
    model.constrains = False  # as an endpoint: one reply a repair, in the same conversation
    source = open_source(examples / "shop" / "customers.csv")
    agent = Pandora(model, source, settings=settings or PandoraSettings())
    question = Question("How many customers are from Norway?")
    answer = agent.answer(question, Trace(question, Budget(**budget)))  # type: ignore[arg-type]
    model.done()
    return answer


def test_straight_answer_with_program_and_rows(examples: Path) -> None:
    answer = _ask(examples, [COUNT])
    assert (answer.status, answer.values, answer.because) == ("answered", (10,), "Count them.")
    evidence = answer.evidence[0]
    assert evidence.kind == "rows"
    assert evidence.total == 10
    assert {row[3] for row in evidence.rows} == {"Norway"}
    assert answer.program is not None
    assert answer.program.code in COUNT
    assert (answer.cost.calls, answer.confidence) == (1, None)


def test_a_failure_is_repaired_with_the_nearest_name(examples: Path) -> None:
    answer = _ask(examples, [WRONG, COUNT])
    calls = [s for s in answer.trace.steps if isinstance(s, ModelCall)]
    assert answer.values == (10,)
    assert "Nearest columns: 'country'" in calls[1].messages[-1].content
    assert [s.status for s in answer.trace.steps if isinstance(s, CodeRun)] == ["error", "ok"]


def test_gives_up_after_three_repairs(examples: Path) -> None:
    answer = _ask(examples, [WRONG, WRONG, "prose", WRONG])
    assert (answer.status, answer.values) == ("gave_up", ())
    assert "same program as before" in answer.because


def test_the_same_failing_program_runs_once(examples: Path) -> None:
    answer = _ask(examples, [WRONG, WRONG, WRONG, COUNT])
    assert len([s for s in answer.trace.steps if isinstance(s, CodeRun)]) == 2
    assert answer.values == (10,)


def test_a_model_of_this_machine_tries_several_repairs_at_once(examples: Path) -> None:
    model = Scripted([WRONG, NONE, COUNT, COUNT])
    question = Question("How many customers are from Norway?")
    agent = Pandora(model, open_source(examples / "shop" / "customers.csv"))
    answer = agent.answer(question, Trace(question))
    assert answer.values == (10,)
    assert [options.samples for _, options in model.asked] == [1, 3]
    assert "country" in model.asked[0][1].grammar
    assert "A first program failed: KeyError" in model.asked[1][0][-1].content


def test_no_execution_guidance(examples: Path) -> None:
    assert _ask(examples, [WRONG], PandoraSettings(repairs=0)).status == "gave_up"


def test_empty_is_unknown(examples: Path) -> None:
    answer = _ask(examples, [NONE], PandoraSettings(empty_is_failure=False))
    assert (answer.status, answer.values) == ("unknown", ())
    assert _ask(examples, [NONE, COUNT]).values == (10,)


def test_samples_vote(examples: Path) -> None:
    other = "```python\nanswer = len(customers)\n```"
    same = '```python\nanswer = (customers["country"] == "Norway").sum()\n```'
    answer = _ask(examples, [other, COUNT, same], PandoraSettings(samples=3))
    assert (answer.values, answer.confidence) == ((10,), 0.667)


def test_a_spent_budget_gives_the_best_so_far(examples: Path) -> None:
    answer = _ask(examples, [NONE], calls=1)
    assert answer.status == "gave_up"
    assert "budget of 1 model calls is spent" in answer.because


def test_values_are_written_as_in_the_source(examples: Path) -> None:
    answer = _ask(examples, ['```python\nanswer = customers["credit limit"].max()\n```'])
    assert str(answer.values[0]).startswith("€")
    assert isinstance(answer.table.rows[0][0], int)


def test_nothing_of_the_data_is_shown_with_share_schema(examples: Path) -> None:
    source = open_source(examples / "shop" / "customers.csv")
    agent = Pandora(Scripted([]), source, settings=PandoraSettings(share="schema", hidden=("credit limit",)))
    asked = agent.prompt(Question("How many customers are from Norway?"))[-1].content
    assert "Norway" not in asked.replace("from Norway?", "")
    assert "credit limit" not in asked
    assert '"country" text' in asked


def test_sql_over_a_database(examples: Path) -> None:
    model = Scripted(["```sql\nSELECT COUNT(*) FROM books WHERE genre = 'POETRY'\n```"])
    source = open_source(examples / "library.sqlite")
    question = Question("How many books of poetry?")
    answer = Pandora(model, source).answer(question, Trace(question))
    assert answer.program is not None
    assert answer.program.code.endswith("= 'poetry'")
    assert answer.values[0] > 0
    assert [c.kind for c in answer.warnings] == ["value_adjusted"]


@pytest.mark.parametrize(
    "sql", ["DROP TABLE books", "SELECT 1; DELETE FROM books", "SELECT * FROM read_csv('/etc/passwd')"]
)
def test_statements_that_write_or_read_files_are_refused(examples: Path, sql: str) -> None:
    before = (examples / "library.sqlite").read_bytes()
    model = Scripted([f"```sql\n{sql}\n```"])
    question = Question("Drop the books table")
    agent = Pandora(model, open_source(examples / "library.sqlite"), settings=PandoraSettings(repairs=0))
    answer = agent.answer(question, Trace(question))
    assert answer.status == "gave_up"
    assert (examples / "library.sqlite").read_bytes() == before


@pytest.mark.parametrize(
    ("name", "constrains", "language"),
    [
        ("shop/customers.csv", True, ("python", "")),
        ("library.sqlite", True, ("sql", "sqlite")),
        ("library.sqlite", False, ("sql", "sqlite")),
        ("shop/orders.xlsx", True, ("sql", "duckdb")),
        ("shop/orders.xlsx", False, ("python", "")),
    ],
)
def test_the_language_fits_model_and_source(
    examples: Path, name: str, constrains: bool, language: tuple[str, str]
) -> None:
    model = Scripted([])
    model.constrains = constrains
    agent = Pandora(model, open_source(examples / name))
    assert (agent.language, agent.dialect) == language


def test_a_count_over_no_row_is_doubted_and_kept_when_nothing_better_comes(examples: Path) -> None:
    none = '```python\nd = customers[customers["country"] == "Atlantis"]\nanswer = len(d)\n```'
    assert _ask(examples, [none, COUNT]).values == (10,)
    answer = _ask(examples, [none, none, WRONG, none])
    assert (answer.status, answer.values) == ("answered", (0,))


def test_a_model_may_say_that_the_tables_cannot_tell(examples: Path) -> None:
    none = "```python\n# There is no such field.\nanswer = None\n```"
    answer = _ask(examples, [none], PandoraSettings(repairs=0))
    assert (answer.status, answer.values) == ("unknown", ())
    assert "There is no such field." in answer.because
