"""Bench and report over small made-up runs: the order of the work, the table, the error types, the page."""

import re
import sqlite3
from html.parser import HTMLParser
from pathlib import Path

import pytest

from rowhop.errors import SourceError, SourceUnavailable
from rowhop.eval import bench, errortypes
from rowhop.eval.benchmarks import Gold, Item, sample
from rowhop.eval.evaluate import EvalOptions, described
from rowhop.eval.report import write_report
from rowhop.eval.runfolder import Run, read
from rowhop.eval.runner import Limits, Listen, run
from rowhop.eval.summary import Summary, summarise
from rowhop.trace import CodeRun, Trace
from rowhop.types import Answer, Program, Question, Table

HOSTILE = "<script>alert('x')</script>"


def items(n: int, benchmark: str = "wikitq") -> list[Item]:
    return [
        Item(f"{benchmark}-{i}", Question(f"{HOSTILE} {i}?", id=str(i)), (), Gold((f"value {i}",)), "denotation")
        for i in range(n)
    ]


def answered(item: Item, *values: str, error: str = "", language: str = "python") -> Answer:
    return Answer("answered", values, program=Program(language, "answer = 1"))


def mixed(item: Item, trace: Trace) -> Answer:
    """Right, and wrong in each way that a rule can tell."""
    number = int(item.id.split("-")[1])
    program = Program("python", f"answer = {number}")
    failures = {
        1: "KeyError: 'Nmae' in line 1. Did you mean 'Name'?",
        2: "NameError: name 'orders' is not defined",
        3: "ZeroDivisionError: division by zero",
    }
    if number in failures:
        trace.add(CodeRun(program, "error", failures[number]))
        return Answer("gave_up", because=failures[number])
    trace.add(CodeRun(program, "ok", result=Table(("a",), (("x",),), 1)))
    if number == 4:
        return Answer("answered", ("VALUE-4",), program=program)
    if number == 5:
        return Answer("answered", ("other",), program=program)
    if number == 6:
        return Answer("unknown", because="nothing fits", program=program)
    return Answer("answered", item.gold.values, program=program)


@pytest.fixture
def done(tmp_path: Path) -> Run:
    return run(tmp_path / "runs" / "one", items(12), mixed, {"benchmark": "wikitq", "model": "m"}).run


def test_error_types_by_rule_and_by_hand(done: Run) -> None:
    found = errortypes.faults(done, errortypes.load_traces(done))
    assert {name.removeprefix("wikitq-"): f.kind for name, f in found.items()} == {
        "1": "field error",
        "2": "BOX error",
        "3": "execution failure",
        "4": "output format",
        "5": "logic or intent",
        "6": "no answer",
    }
    (done.folder / "labels.tsv").write_text("wikitq-5\tquery intent\tasked for the year\n")
    assert errortypes.faults(done, {})["wikitq-5"] == errortypes.Fault("query intent", "asked for the year")
    (done.folder / "labels.tsv").write_text("wikitq-5\tbad mood\n")
    with pytest.raises(SourceError, match=r"Line 1 of .* There are: execution failure"):
        errortypes.faults(done, {})


def test_wrong_columns_are_a_matter_of_format(tmp_path: Path) -> None:
    file = tmp_path / "d.sqlite"
    sqlite3.connect(file).executescript("CREATE TABLE t(a, b); INSERT INTO t VALUES (1, 2)")
    item = Item("s", Question("?"), (str(file),), Gold(sql="SELECT a FROM t"), "execution")

    def both(item: Item, trace: Trace) -> Answer:
        program = Program("python", "answer = t")
        trace.add(CodeRun(program, "ok"))
        return Answer("answered", (1, 2), table=Table(("a", "b"), ((1, 2),), 1), program=program)

    found = run(tmp_path / "r", [item], both, {}).run
    assert errortypes.faults(found, errortypes.load_traces(found))["s"].kind == "output format"


class _Page(HTMLParser):
    """Collects links, and complains about tags that do not nest."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.outside: list[str] = []
        self.stack: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a":
            self.links.append(given["href"] or "")
        if tag in ("script", "img", "link", "iframe") or "src" in given:
            self.outside.append(tag)
        if tag != "meta":
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag


def test_the_page_needs_nothing_and_links_every_case_to_its_trace(done: Run, tmp_path: Path) -> None:
    other = run(tmp_path / "runs" / "two", items(12), lambda i, t: answered(i, *i.gold.values), done.config).run
    text, page = write_report([done.folder, other.folder], tmp_path / "out" / "report")
    html = page.read_text()
    parsed = _Page()
    parsed.feed(html)
    assert parsed.stack == ["html"] or parsed.stack == []
    assert parsed.outside == []
    assert "<script" not in html
    assert len(parsed.links) == 24
    assert all((page.parent / link).resolve().is_file() for link in parsed.links)
    assert html.count("<svg") == 4
    markdown = text.read_text()
    assert re.search(r"\| one \| wikitq \| m \| defaults \| 12 \| DA-raw \| 50.0%", markdown)
    assert "| two | one | +50.0 (p = 0.03, n = 12) |" in markdown
    assert "| one | field error | 1 |" in markdown


def test_a_report_over_no_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not hold a run"):
        write_report([tmp_path], tmp_path / "r")


class Measured:
    """Stands for `evaluate`: the same runner, with answers that need no model."""

    def __init__(self, language: str = "python") -> None:
        self.asked: list[tuple[str, int]] = []
        self.language = language

    def __call__(self, options: EvalOptions, listen: Listen) -> Summary:
        if options.settings.model.name == bench.FAST:
            raise SourceUnavailable("The small model is not here.")
        assert options.run is not None
        self.asked.append((options.run.name, options.n or 0))
        drawn = sample(items(300, options.benchmark), options.n, options.seed)
        limits = Limits(minutes=options.minutes)
        outcome = run(options.run, drawn, self.answer, described(options), limits, listen, options.resume)
        return summarise(outcome.run, outcome.stopped)

    def answer(self, item: Item, trace: Trace) -> Answer:
        return answered(item, *item.gold.values, language=self.language)


def plan(folder: Path, **changes: object) -> bench.Plan:
    given: dict = {"cells": bench.CELLS, "stages": (5, 12), "minutes": None, "data": None, "model": "", "seed": 0}
    return bench.Plan(folder=folder, **{**given, **changes})


def test_every_cell_comes_before_any_is_widened(tmp_path: Path) -> None:
    measured, said = Measured(), []
    assert bench.measure(plan(tmp_path), said.append, measured) is False
    first = [name for name, n in measured.asked if n == 5]
    assert [n for _, n in measured.asked] == [5] * len(first) + [12] * len(first)
    # What the default does anyway is not measured twice; a cell that cannot run stops no other.
    assert {"wikitq-python", "spider-python", "wikitq-small"}.isdisjoint(first)
    assert {"wikitq-sql", "spider-native", "wikitq-samples5", "spider-no-guidance"} <= set(first)
    assert "wikitq-small: The small model is not here." in said
    table = (tmp_path / "results.md").read_text()
    assert "| python | = default |" in table
    assert re.search(r"\| sql \| 12 \| 100.0% \| 75.8 – 100.0 \| \+0.0 \(p = 1.00, n = 12\) \|", table)


def test_a_second_sitting_goes_on_and_a_third_has_nothing_to_do(tmp_path: Path) -> None:
    one = plan(tmp_path, cells=bench.chosen("wikitq-default"), minutes=0.0)
    assert bench.measure(one, lambda text: None, Measured()) is False
    two = plan(tmp_path, cells=bench.chosen("wikitq-default"))
    assert bench.measure(two, lambda text: None, Measured()) is True
    again = Measured()
    assert bench.measure(two, lambda text: None, again) is True
    assert again.asked == []
    assert len(read(tmp_path / "wikitq-default").records) == 12


def test_the_table_goes_between_the_marks_of_a_document(tmp_path: Path) -> None:
    one = plan(tmp_path / "bench", cells=bench.chosen("wikitq-default"), stages=(5,))
    bench.measure(one, lambda text: None, Measured())
    document = tmp_path / "benchmarks.md"
    document.write_text(f"Before\n{bench.BEGIN}\nold\n{bench.END}\nafter\n")
    bench.write(one, document)
    bench.write(one, document)
    text = document.read_text()
    assert "old" not in text
    assert text.startswith("Before\n")
    assert text.endswith("after\n")
    assert text.count("| default | 5 | 100.0% |") == 1


def test_earlier_runs_are_put_aside_and_a_changed_program_is_marked(tmp_path: Path) -> None:
    one = plan(tmp_path, cells=bench.chosen("wikitq-default"), stages=(5,))
    bench.measure(one, lambda text: None, Measured())
    settings = tmp_path / "wikitq-default" / "run.json"
    settings.write_text(re.sub(r'"code": \[\s*"', '"code": ["older", "', settings.read_text()))
    bench.measure(plan(tmp_path, cells=one.cells), lambda text: None, Measured())
    assert "| default† | 12 |" in (tmp_path / "results.md").read_text()
    bench.put_aside(one)
    assert not (tmp_path / "wikitq-default").exists()
    assert len(list((tmp_path / "old").iterdir())) == 1


def test_bench_says_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.delenv("ROWHOP_BENCH_DATA", raising=False)
    assert bench.main(["--folder", str(tmp_path)]) == 2
    assert "ROWHOP_BENCH_DATA" in capsys.readouterr().err
    assert bench.main(["--folder", str(tmp_path), "--list", "--only", "spider"]) == 0
    assert "spider-default" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="no cell nonsense"):
        bench.main(["--only", "nonsense"])
