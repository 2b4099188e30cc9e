"""What `import rowhop` offers, and what it costs."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys

import pytest

import rowhop
from rowhop import errors


@pytest.mark.parametrize("name", rowhop.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(rowhop, name) is not None


def test_no_other_name_is() -> None:
    assert sorted(dir(rowhop)) == sorted(rowhop.__all__)
    with pytest.raises(AttributeError, match="nothing_like_it"):
        rowhop.nothing_like_it  # noqa: B018


def test_every_error_is_exported_and_has_one_root() -> None:
    ours = [c for _, c in inspect.getmembers(errors, inspect.isclass) if c.__module__ == "rowhop.errors"]
    assert {c.__name__ for c in ours} <= set(rowhop.__all__)
    assert all(issubclass(c, rowhop.RowhopError) for c in ours)
    assert all(c.__name__ in (errors.__doc__ or "") for c in ours)


def _python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PATH": os.environ["PATH"]}
    )
    assert done.stderr == ""
    return done.stdout


def test_import_is_light() -> None:
    heavy = ("pandas", "numpy", "pyarrow", "duckdb", "openai", "pydantic", "typer", "rich", "xllamacpp", "onnxruntime")
    code = f"import sys, rowhop; print([m for m in {heavy!r} if m in sys.modules])"
    assert _python(code).strip() == "[]"


def test_import_takes_at_most_150_ms() -> None:
    # Processor time, the best of several: another process on the machine is not the package's fault.
    code = "import time; t = time.process_time(); import rowhop; rowhop.Answer; print(time.process_time() - t)"
    assert min(float(_python(code)) for _ in range(5)) <= 0.15


def test_import_reads_no_environment() -> None:
    code = """
import os, sys
class Watched(dict):
    def __getitem__(self, key):
        if key.startswith(("ROWHOP", "OPENAI")): print(key)
        return super().__getitem__(key)
    def get(self, key, default=None):
        if key.startswith(("ROWHOP", "OPENAI")): print(key)
        return super().get(key, default)
os.environ = Watched(os.environ)
import rowhop; rowhop.ask; rowhop.Session
"""
    assert _python(code) == ""
