"""The built wheel in an environment of its own: everything is packaged, the command starts, a question is answered."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ANSWER = """
import rowhop, rowhop.models.scripted, sys
assert {here!r} in rowhop.__file__, rowhop.__file__
code = "```python\\nanswer = len(people)\\n```"
model = rowhop.models.scripted.Scripted([code] * 3)
answer = rowhop.ask("How many people are there?", [sys.argv[1]], model=model, language="python")
print(answer.status, answer.values)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    built = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty environment with the wheel; its dependencies are lent from here, because fetching them takes minutes."""
    folder = tmp_path_factory.mktemp("env")
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    site = next(folder.glob("lib/python*/site-packages"))
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    lent = next(p for p in map(Path, sys.path) if p.name == "site-packages")
    # Only the folder's packages: its .pth files, which lead to the working tree, are not read from a plain path.
    (site / "lent.pth").write_text(f"{lent}\n", encoding="utf-8")
    return python


def run(python: Path, *arguments: str) -> str:
    done = subprocess.run(
        [str(python), *arguments], capture_output=True, text=True, cwd="/", env={"PATH": os.environ["PATH"]}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_prompts_memory_and_licence_are_packaged(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    wanted = [
        p.relative_to(ROOT / "src").as_posix()
        for p in (ROOT / "src" / "rowhop").rglob("*")
        if p.is_file() and "__pycache__" not in p.parts
    ]
    assert [w for w in wanted if w not in names] == []
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any(name.startswith(("tests", "docs", "examples")) for name in names)


def test_the_command_starts(python: Path) -> None:
    assert "Commands:" in run(python, "-c", "from rowhop.cli import main; main()", "--help")


def test_a_question_is_answered(python: Path, tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    people.write_text("name,age\nAda,36\nAlan,41\n", encoding="utf-8")
    here = str(python.parents[1])
    assert run(python, "-c", ANSWER.format(here=here), str(people)).strip() == "answered (2,)"
