"""Documentation that cannot drift: generated parts are current, commands and prompts are used, examples run."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from rowhop.cli import manual

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "rowhop"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.M | re.S)


def blocks(language: str, mark: str) -> list[tuple[str, str]]:
    """Fenced blocks that carry a mark on their first line, e.g. ```python run"""
    found = []
    for page in PAGES:
        for match in FENCE.finditer(page.read_text(encoding="utf-8")):
            if match.group(1) == language and mark in match.group(2).split():
                found.append((page.name, match.group(3)))
    return found


@pytest.mark.parametrize("page", ["cli.md", "json.md"])
def test_the_generated_parts_are_current(page: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cogapp", "--check", "-P", str(ROOT / "docs" / page)], capture_output=True, text=True
    )
    assert done.returncode == 0, f"run `make docs`: {done.stdout}{done.stderr}"


def test_every_command_and_option_has_help() -> None:
    for name, text in manual.commands():
        lines = text.splitlines()
        assert len(lines) > 2, f"{name} has no description"
        for line in lines:
            assert not re.fullmatch(r"  --[a-z-]+( [A-Z=]+)?", line.rstrip()), f"{name}: {line.strip()} has no help"


def test_every_prompt_file_is_used_and_every_used_prompt_exists() -> None:
    code = "\n".join(p.read_text(encoding="utf-8") for p in SOURCE.rglob("*.py"))
    for file in SOURCE.rglob("prompts/*.txt"):
        assert f'"{file.stem}"' in code, f"{file.relative_to(ROOT)} is used nowhere"
    for agent in (SOURCE / "agents").iterdir():
        for module in agent.glob("*.py"):
            for name in re.findall(r'prompts\.text\(\w+, "(\w+)"\)', module.read_text(encoding="utf-8")):
                assert (agent / "prompts" / f"{name}.txt").exists(), f"{module.name} asks for the prompt {name}"


@pytest.mark.parametrize(("page", "code"), blocks("python", "run"))
def test_python_blocks_run(page: str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    exec(compile(code, page, "exec"), {"__name__": "docs"})


# What the embedded model really said to the questions in blocks marked "replayed".
REPLIES = ROOT / "tests" / "fixtures" / "readme.jsonl"
CONSOLE = [(*block, []) for block in blocks("console", "run")] + [
    (*block, ["--model", f"replay:{REPLIES}"]) for block in blocks("console", "replayed")
]


@pytest.mark.parametrize(("page", "text", "more"), CONSOLE)
def test_console_blocks_print_what_they_say(
    page: str, text: str, more: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each `$ rowhop …` line is run, and each line below it must be printed, in this order; … skips some."""
    from rowhop.cli import run

    monkeypatch.chdir(ROOT)
    for part in text.split("$ rowhop ")[1:]:
        command, _, expected = part.partition("\n")
        assert run([*shlex.split(command), *more]) == 0
        printed = capsys.readouterr().out
        lines = iter([" ".join(line.split()) for line in printed.splitlines()])
        for line in filter(None, (" ".join(raw.split()) for raw in expected.splitlines())):
            assert line == "…" or line in lines, f"{page}: {command} did not print {line!r} (here):\n{printed}"


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_pages_name_only_files_that_exist() -> None:
    for page in (ROOT / "docs" / "tour.md", ROOT / "CONTRIBUTING.md"):
        if not page.exists():
            continue
        for name in re.findall(r"`((?:src|tests|docs|examples)/[\w./-]+)`", page.read_text(encoding="utf-8")):
            assert (ROOT / name).exists(), f"{page.name} names {name}"


def test_the_sample_settings_are_settings() -> None:
    import tomllib

    from rowhop.config import Settings

    samples = [m.group(3) for page in PAGES for m in FENCE.finditer(page.read_text(encoding="utf-8")) if m[1] == "toml"]
    assert samples
    for sample in samples:
        if "[sources]" in sample:
            assert Settings(layers=[tomllib.loads(sample)]).sources  # type: ignore[call-arg]
