"""The runner with plain functions as methods: resume, locks, limits, faults, a full disk."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from rowhop.errors import BudgetSpent, ConfigError, ModelUnavailable, OperatorError, ReplyError, SourceError
from rowhop.eval import runfolder
from rowhop.eval.benchmarks import Gold, Item, sample
from rowhop.eval.runner import PATIENCE, Limits, Progress, run
from rowhop.eval.summary import compare, render, summarise
from rowhop.models import Completion, Message, Usage
from rowhop.trace import CodeRun, Trace, load
from rowhop.types import Answer, Program, Question

CONFIG = {"benchmark": "made-up", "model": "none"}


def items(n: int) -> list[Item]:
    return [Item(f"q{i}", Question(f"What is {i}?", id=f"q{i}"), (), Gold((str(i),)), "denotation") for i in range(n)]


def right(item: Item, trace: Trace) -> Answer:
    trace.record("code", "m", (Message("user", "?"),), Completion(("x",), Usage(10, 2, 0, 0.5)))
    trace.add(CodeRun(Program("python", "answer = 1"), "ok"))
    return Answer("answered", item.gold.values, program=Program("python", "answer = 1"))


def lines(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def test_a_run_keeps_scores_traces_and_costs(tmp_path: Path) -> None:
    seen: list[Progress] = []
    outcome = run(tmp_path / "r", items(4), right, CONFIG, listen=seen.append)
    summary = summarise(outcome.run)
    assert (summary.n, summary.metric, summary.score.mean, summary.coverage) == (4, "DA-raw", 1.0, 1.0)
    assert summary.rounds == {1: 4}
    assert summary.costs["prompt_tokens"].mean == 10
    assert summary.costs["model_seconds"].worst == 0.5
    assert [p.done for p in seen] == [0, 1, 2, 3, 4]
    assert seen[-1].seconds_left == 0.0
    saved = load(tmp_path / "r" / outcome.run.records[0].trace)
    assert [s.kind for s in saved.steps] == ["model_call", "code_run"]
    assert saved.answer["values"] == ["0"]
    assert json.loads((tmp_path / "r" / "run.json").read_text())["benchmark"] == "made-up"
    assert "DA-raw" in render(summary)


def test_a_failed_question_is_a_zero_with_its_reason(tmp_path: Path) -> None:
    def faulty(item: Item, trace: Trace) -> Answer:
        faults = {
            "q0": ReplyError("no program in the reply"),
            "q1": ZeroDivisionError("division by zero"),
            "q2": BudgetSpent("The budget of 3 model calls is spent."),
        }
        if item.id in faults:
            raise faults[item.id]
        return Answer("unknown", because="nothing fits") if item.id == "q3" else right(item, trace)

    outcome = run(tmp_path, items(5), faulty, CONFIG)
    summary = summarise(outcome.run)
    assert summary.n == 5
    assert summary.score.mean == pytest.approx(0.2)
    assert summary.statuses == {"failed": 2, "gave_up": 1, "unknown": 1, "answered": 1}
    assert summary.failures == {
        "no program in the reply": 1,
        "A fault in the program: ZeroDivisionError: division by zero": 1,
    }
    by_id = {r.id: r for r in outcome.run.records}
    assert by_id["q2"].scores[0].because == "The budget of 3 model calls is spent."
    assert by_id["q3"].scores[0].because == "nothing fits"
    fault = load(tmp_path / by_id["q1"].trace)
    assert "raise faults[item.id]" in fault.steps[-1].text  # where a bug is, its place is kept


def test_resume_asks_only_what_is_left_and_widens(tmp_path: Path) -> None:
    drawn = sample(items(50), 30, seed=3)
    run(tmp_path, drawn[:10], right, {**CONFIG, "n": 10})
    asked: list[str] = []

    def answer(item: Item, trace: Trace) -> Answer:
        asked.append(item.id)
        return right(item, trace)

    outcome = run(tmp_path, drawn, answer, {**CONFIG, "n": 30}, resume="resume")
    assert sorted(asked) == sorted(i.id for i in drawn[10:])
    assert len(outcome.run.records) == len({row["id"] for row in lines(tmp_path)}) == len(lines(tmp_path)) == 30


def test_a_smaller_sample_is_the_beginning_of_a_larger_one() -> None:
    pool = items(300)
    assert sample(pool, 200, 7)[:30] == sample(list(reversed(pool)), 30, 7)
    assert sample(pool, 30, 7) != sample(pool, 30, 8)


def test_a_truncated_last_line_is_dropped_and_its_question_asked_again(tmp_path: Path) -> None:
    run(tmp_path, items(5), right, CONFIG)
    results = tmp_path / "results.jsonl"
    results.write_bytes(results.read_bytes()[:-20])
    outcome = run(tmp_path, items(5), right, CONFIG, resume="resume")
    assert [row["id"] for row in lines(tmp_path)] == [f"q{i}" for i in range(5)]
    assert len(outcome.run.records) == 5


def test_a_broken_line_in_the_middle_loses_only_its_question(tmp_path: Path) -> None:
    run(tmp_path, items(5), right, CONFIG)
    results = tmp_path / "results.jsonl"
    rows = results.read_text().splitlines(keepends=True)
    rows[2] = "\x00" * 40 + "\n"
    results.write_text("".join(rows))
    outcome = run(tmp_path, items(5), right, CONFIG, resume="resume")
    assert outcome.run.lost == 1
    assert sorted(r.id for r in outcome.run.records) == [f"q{i}" for i in range(5)]


def test_another_run_or_other_settings_are_refused(tmp_path: Path) -> None:
    run(tmp_path, items(1), right, CONFIG)
    with pytest.raises(ConfigError, match="--resume"):
        run(tmp_path, items(1), right, CONFIG)
    with pytest.raises(ConfigError, match=r"model = 'none', not 'big'"):
        run(tmp_path, items(1), right, {**CONFIG, "model": "big"}, resume="resume")


def test_two_runs_cannot_write_to_one_folder(tmp_path: Path) -> None:
    def slow(item: Item, trace: Trace) -> Answer:
        entered.set()
        leave.wait(10)
        return right(item, trace)

    entered, leave = threading.Event(), threading.Event()
    first = threading.Thread(target=run, args=(tmp_path, items(1), slow, CONFIG))
    first.start()
    try:
        assert entered.wait(10)
        with pytest.raises(ConfigError, match="Another run is writing"):
            run(tmp_path, items(1), right, CONFIG, resume="resume")
    finally:
        leave.set()
        first.join()
    assert len(lines(tmp_path)) == 1


def test_a_machine_at_fault_stops_the_run_and_retry_asks_again(tmp_path: Path) -> None:
    def down(item: Item, trace: Trace) -> Answer:
        raise ModelUnavailable("The endpoint does not answer.")

    outcome = run(tmp_path, items(20), down, CONFIG)
    assert len(outcome.run.records) == PATIENCE
    assert "The endpoint does not answer." in outcome.stopped
    assert "--resume --retry" in outcome.stopped
    again = run(tmp_path, items(20), right, CONFIG, resume="retry")
    assert again.stopped == ""
    assert summarise(again.run).score.mean == 1.0
    assert len(lines(tmp_path)) == 20


def test_a_fault_in_every_question_stops_the_run(tmp_path: Path) -> None:
    outcome = run(tmp_path, items(20), lambda item, trace: item.nothing, CONFIG)  # type: ignore[attr-defined]
    assert len(outcome.run.records) == PATIENCE
    assert "AttributeError" in outcome.stopped
    assert len(run(tmp_path, items(20), right, CONFIG, resume="retry").run.records) == 20


def test_threads_share_the_work_and_give_the_same_result(tmp_path: Path) -> None:
    def together(item: Item, trace: Trace) -> Answer:
        names.add(threading.current_thread().name)
        four.wait(20)  # broken, and the test with it, unless four questions are in work at once
        return right(item, trace)

    names: set[str] = set()
    four = threading.Barrier(4)
    outcome = run(tmp_path, items(40), together, CONFIG, Limits(threads=4))
    assert len(names) == 4
    assert {r.id: r.score for r in outcome.run.records} == {f"q{i}": 1.0 for i in range(40)}


def test_minutes_stop_between_questions(tmp_path: Path) -> None:
    def slow(item: Item, trace: Trace) -> Answer:
        time.sleep(0.05)
        return right(item, trace)

    outcome = run(tmp_path, items(100), slow, CONFIG, Limits(minutes=0.2 / 60))
    assert 1 <= len(outcome.run.records) < 20
    assert "minutes are over" in outcome.stopped


def test_ctrl_c_keeps_what_was_done_and_stops_what_runs(tmp_path: Path) -> None:
    def answer(item: Item, trace: Trace) -> Answer:
        if item.id == "q3":
            interrupted.set()
            for _ in range(1000):
                trace.check_time()
                time.sleep(0.01)
        return right(item, trace)

    def listen(progress: Progress) -> None:
        if progress.done == 4:
            assert interrupted.wait(10)
            raise KeyboardInterrupt

    interrupted = threading.Event()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, items(9), answer, CONFIG, Limits(threads=2), listen)
    assert time.monotonic() - start < 5
    assert "q3" not in {row["id"] for row in lines(tmp_path)}
    assert len(run(tmp_path, items(9), right, CONFIG, resume="resume").run.records) == 9


PROGRAM = textwrap.dedent("""
    import sys, time
    sys.path[:0] = [{tests!r}]
    from pathlib import Path
    from test_runner import CONFIG, items, right
    from rowhop.eval.runner import run
    def slow(item, trace):
        time.sleep(0.01)
        return right(item, trace)
    {before}
    run(Path(sys.argv[1]), items(60), slow, CONFIG, resume=sys.argv[2])
""")


def started(folder: Path, resume: str, before: str = "") -> subprocess.Popen:
    code = PROGRAM.format(tests=str(Path(__file__).parent), before=before)
    return subprocess.Popen([sys.executable, "-c", code, str(folder), resume], stderr=subprocess.PIPE, text=True)


def test_kill_9_loses_and_doubles_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    for turn in range(3):
        child = started(folder, "resume" if turn else "")
        results, floor = folder / "results.jsonl", 15 * (turn + 1)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and (not results.exists() or results.read_bytes().count(b"\n") < floor):
            time.sleep(0.005)
        os.kill(child.pid, signal.SIGKILL)
        child.communicate()
    before = len(lines(folder))
    assert 45 <= before < 60
    run(folder, items(60), right, CONFIG, resume="resume")
    assert sorted(row["id"] for row in lines(folder)) == sorted(f"q{i}" for i in range(60))


def test_a_full_disk_is_said_and_loses_nothing(tmp_path: Path) -> None:
    # A limit on the size of a file stands for a full disk: a write is cut short, then refused.
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))"
    child = started(tmp_path, "", limit)
    _, errors = child.communicate(timeout=60)
    assert "could not be written" in errors
    assert "What was done before is safe" in errors
    kept = len(lines(tmp_path))
    assert 1 <= kept < 60
    outcome = run(tmp_path, items(60), right, CONFIG, resume="resume")
    assert (len(outcome.run.records), outcome.run.lost, len(lines(tmp_path))) == (60, 0, 60)


def test_a_trace_that_cannot_be_saved_is_said(tmp_path: Path) -> None:
    def answer(item: Item, trace: Trace) -> Answer:
        traces = tmp_path / "traces"
        traces.rmdir()
        traces.write_text("in the way")
        return right(item, trace)

    with pytest.raises(OperatorError, match="trace could not be written"):
        run(tmp_path, items(1), answer, CONFIG)
    assert not lines(tmp_path)


def test_overhead_and_resume_are_small(tmp_path: Path) -> None:
    batches = []
    for n in range(100, 501, 100):
        start = time.monotonic()
        run(tmp_path, items(n), right, CONFIG, resume="resume")
        batches.append((time.monotonic() - start) / 100)
    assert min(batches) <= 0.020  # the quickest: other work on the machine is no overhead of ours
    start = time.monotonic()
    run(tmp_path, items(500), right, CONFIG, resume="resume")
    assert time.monotonic() - start <= 3.0


def test_odd_ids_get_their_own_trace_inside_the_folder(tmp_path: Path) -> None:
    odd = ["../../x", "a/b", "a_b", "A_b", "", "é" * 300]
    asked = [Item(i, Question("?", id=i), (), Gold(("1",)), "denotation") for i in odd]
    outcome = run(tmp_path / "r", asked, right, CONFIG)
    files = {(tmp_path / "r" / r.trace).resolve() for r in outcome.run.records}
    assert len(files) == len(odd)
    assert all(f.parent == tmp_path / "r" / "traces" and f.exists() for f in files)


def test_compare_pairs_the_questions_of_two_runs(tmp_path: Path) -> None:
    def worse(item: Item, trace: Trace) -> Answer:
        return right(item, trace) if int(item.id[1:]) % 2 else Answer("answered", ("no",))

    a = run(tmp_path / "a", items(40), worse, CONFIG).run
    b = run(tmp_path / "b", items(30), right, CONFIG).run
    found = compare(a, b)
    assert (found.n, found.only_a, found.only_b, found.difference) == (30, 0, 15, 0.5)
    assert found.p < 0.001
    assert "more than chance" in found.because


def test_a_folder_without_a_run_is_said(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not hold a run"):
        runfolder.read(tmp_path)
    (tmp_path / "run.json").write_text("[]")
    with pytest.raises(SourceError, match="not the settings"):
        runfolder.read(tmp_path)
