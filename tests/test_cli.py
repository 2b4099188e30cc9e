"""The command line as a person meets it: one clear sentence, the right exit code, nothing left behind."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from rowhop.cli import run

ROWHOP = [sys.executable, "-c", "from rowhop.cli import main; main()"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ask"], "Missing argument 'QUESTION'"),
        (["ask", "t.csv", "  "], "The question is empty"),
        (["ask", "t.csv"], "A question is missing"),
        (["ask", "How many?", "t.csv"], 'The question comes last: rowhop ask t.csv "How many?"'),
        (["ask", "How many?"], "No source was named"),
        (["ask", "t.csv", "How many?", "--samples", "none"], "--samples"),
        (["ask", "t.csv", "How many?", "--budget", "call=3"], "Did you mean calls?"),
        (["ask", "t.csv", "How many?", "--method", "pandoras"], "ask.method"),
        (["ask", "t.csv", "How many?", "--share", "everything"], "share.data"),
        (["ask", "t.csv", "How many?", "--read", "latin-1"], "--read takes KEY=VALUE"),
        (["ask", "t.csv", "How many?", "--read", "encodig=latin-1"], "Did you mean encoding?"),
        (["ask", "t.csv", "How many?", "--out", "x.docx"], "none of them"),
        (["ask", "t.csv", "How many?", "--out", "t.csv"], "exists already"),
        (["ask", "t.csv", "How many?", "--trace", "."], "it is a folder"),
        (["ask", "t.csv", "How many?", "--trace", "t.csv/x.jsonl"], "t.csv does not let it"),
        (["ask", "t.csv", "How many?", "--model", "replay:none.jsonl"], "none.jsonl cannot be read"),
        (["ask", "t.csv", "How many?", "--model", "none.gguf"], "There is no model file none.gguf"),
        (["ask", "t.csv", "How many?", "--notes", "none.md"], "none.md could not be read"),
        (["ask", "-", "How many?"], "Nothing came through stdin"),
        (["chat", "-"], "- cannot be a source here"),
        (["shw"], "Did you mean 'show'?"),
        (["ask", "t.csv", "x", "--modle", "y"], "--model"),
        (["trace", "t.csv"], "is not a rowhop trace"),
        (["trace", "none.jsonl"], "could not be read"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_sentence_and_code_2(
    arguments: list[str],
    words: str,
    in_folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (in_folder / "t.csv").write_text("a,b\n1,2\n")
    with open(os.devnull) as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        code = run(arguments)
    out, err = capsys.readouterr()
    assert code == 2
    assert words in err
    assert len(err.splitlines()) == 1
    assert out == ""
    assert os.listdir(in_folder) == ["t.csv"]


def test_help_takes_at_most_300_ms() -> None:
    """Of processor time, so that other work on the machine does not count; idle, it is the same as on the clock."""

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*ROWHOP, "--help"], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(once() for _ in range(5)) <= 0.3


def test_no_command_prints_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    assert "Commands:" in capsys.readouterr().err
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("rowhop ")


def test_a_developer_can_ask_for_the_traceback(
    in_folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROWHOP_DEBUG", "1")
    assert run(["trace", "none.jsonl"]) == 2
    assert "Traceback" in capsys.readouterr().err
