"""Which metrics judge an item, and what an answer's Record holds. The first score is the item's main one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rowhop.eval import metrics, spider, wikitq
from rowhop.eval.benchmarks import Item, Judging
from rowhop.eval.metrics import Score
from rowhop.trace import CodeRun, ModelCall, Trace
from rowhop.types import Answer, Value

_SHOWN = 20  # values of an answer, and of gold, that a Record keeps; the trace has the rest


@dataclass(frozen=True)
class Record:
    """One question of a run, as a line of results.jsonl.

    `status` is the Answer's, or "failed" when there was none; `error` says why, and the scores are then 0.
    `rounds` counts the programs that ran or were refused; `seconds` is wall time, of it `model_seconds` in the model.
    """

    id: str
    question: str
    level: str
    status: str
    error: str
    scores: tuple[Score, ...]
    predicted: tuple[Value, ...]
    gold: tuple[Value, ...]
    gold_sql: str
    program: str
    language: str
    program_dialect: str
    confidence: float | None
    warnings: tuple[str, ...]
    evidence: int
    rounds: int
    calls: int
    cached_calls: int
    prompt_tokens: int
    first_prompt_tokens: int
    reply_tokens: int
    seconds: float
    model_seconds: float
    money: float | None
    trace: str

    @property
    def score(self) -> float:
        return self.scores[0].value if self.scores else 0.0

    @property
    def machine_fault(self) -> bool:
        """Whether the machine, a service or rowhop's own code failed, so that asking again may help."""
        return self.status == "failed" and self.error.startswith((OPERATOR, CRASH))


# How the error of a Record begins when it is not the method that failed.
OPERATOR = "The machine or a service failed: "
CRASH = "A fault in the program: "

Judge = Callable[[Item, Answer], tuple[Score, ...]]


def judge(item: Item, answer: Answer) -> tuple[Score, ...]:
    """The scores of an answer. Raises SourceError where the gold answer itself cannot be had."""
    if answer.table is None and not answer.values:
        return zeros(item, answer.because or f"There is no answer: {answer.status}.")
    return _JUDGES[item.judging](item, answer)


def zeros(item: Item, because: str) -> tuple[Score, ...]:
    """A question without an answer stays in every mean, as 0."""
    return tuple(Score(name, 0.0, because) for name in names(item))


def names(item: Item) -> tuple[str, ...]:
    if item.judging == "denotation":
        return ("DA" if item.gold.canonical else "DA-raw",)
    if item.judging == "execution" and spider.has_suite(Path(item.sources[0])):
        return spider.NAME, spider.SUITE
    by: dict[Judging, tuple[str, ...]] = {
        "execution": (spider.NAME,),
        "list": ("EM", "Hits@1", "F1", "Hits@1-loose"),
        "ranking": ("Hit@1", "Hit@5", "Recall@20", "MRR"),
    }
    return by[item.judging]


def _denotation(item: Item, answer: Answer) -> tuple[Score, ...]:
    gold = [metrics.as_text(v) for v in item.gold.values]
    return (wikitq.denotation(gold, answer.values, item.gold.canonical),)


def _execution(item: Item, answer: Answer) -> tuple[Score, ...]:
    database, program = Path(item.sources[0]), answer.program
    one = spider.answer_match(database, item.gold.sql, answer)
    if len(names(item)) == 1:
        return (one,)
    if program is None or program.language != "sql" or program.dialect != "sqlite":
        return one, Score(spider.SUITE, 0.0, "Only SQL of the database itself can be run on its variants.")
    return one, spider.suite_match(database, item.gold.sql, program.code)


def _list(item: Item, answer: Answer) -> tuple[Score, ...]:
    have, want = answer.values, item.gold.values
    return (
        metrics.exact_set(have, want),
        metrics.hits_at_1(have, want),
        metrics.set_f1(have, want),
        metrics.loose_hits_at_1(have, want),
    )


def _ranking(item: Item, answer: Answer) -> tuple[Score, ...]:
    # Over a text graph the table ranks nodes by id; the values are names, for people.
    table, want = answer.table, item.gold.values
    have = tuple(row[0] for row in table.rows) if table and table.columns[:1] == ("id",) else answer.values
    return (
        metrics.hit_at(have, want, 1, identifiers=True),
        metrics.hit_at(have, want, 5, identifiers=True),
        metrics.recall_at(have, want, 20),
        metrics.reciprocal_rank(have, want),
    )


_JUDGES: dict[Judging, Judge] = {
    "denotation": _denotation,
    "execution": _execution,
    "list": _list,
    "ranking": _ranking,
}


def record(item: Item, answer: Answer, trace: Trace, error: str, seconds: float, file: str) -> Record:
    """Everything a report needs of one question; the rest is in its trace."""
    scores = zeros(item, error) if error else _judged(item, answer)
    calls = [s for s in trace.steps if isinstance(s, ModelCall)]
    sent = [c for c in calls if not c.from_cache]
    prices = [c.money for c in sent]
    return Record(
        id=item.id,
        question=item.question.text,
        level=item.level,
        status="failed" if error else answer.status,
        error=error,
        scores=scores,
        predicted=answer.values[:_SHOWN],
        gold=item.gold.values[:_SHOWN],
        gold_sql=item.gold.sql,
        program=answer.program.code if answer.program else "",
        language=answer.program.language if answer.program else "",
        program_dialect=answer.program.dialect if answer.program else "",
        confidence=answer.confidence,
        warnings=tuple(w.kind for w in answer.warnings),
        evidence=len(answer.evidence),
        rounds=sum(isinstance(s, CodeRun) for s in trace.steps),
        calls=len(sent),
        cached_calls=len(calls) - len(sent),
        prompt_tokens=sum(c.prompt_tokens for c in sent),
        first_prompt_tokens=calls[0].prompt_tokens if calls else 0,
        reply_tokens=sum(c.reply_tokens for c in sent),
        seconds=round(seconds, 3),
        model_seconds=round(sum(c.seconds for c in sent), 3),
        money=sum(p for p in prices if p is not None) if sent and None not in prices else None,
        trace=file,
    )


def _judged(item: Item, answer: Answer) -> tuple[Score, ...]:
    from rowhop.errors import SourceError

    try:
        return judge(item, answer)
    except SourceError as error:
        return zeros(item, f"The answer could not be judged: {error}")
