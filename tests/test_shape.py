"""Modules of at most 400 lines, functions of at most 60, at most 7 parameters; exceptions are listed with a reason."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "rowhop"
MODULE, FUNCTION, PARAMETERS = 400, 60, 7

# "module:function" → why it may have more parameters. Commands and the front door take options by name.
MANY_PARAMETERS = {
    "cli.app:ask": "one parameter per option of the command",
    "cli.app:chat": "one parameter per option of the command",
    "cli.app:train_paths": "one parameter per option of the command",
    "cli.app:evaluate": "one parameter per option of the command",
    "cli.services:serve": "one parameter per option of the command",
    "cli.services:mcp": "one parameter per option of the command",
    "cli.options:settings": "gathers those options in one place",
    "front:ask": "the public call; everything after the sources is given by name",
}
LONG: dict[str, str] = {}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_size(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    assert lines <= MODULE, f"{dotted(path)} has {lines} lines"
    tree = ast.parse(text)
    assert not text.strip() or ast.get_docstring(tree), f"{dotted(path)} does not say what it is for"
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        name = f"{dotted(path)}:{node.name}"
        length = (node.end_lineno or node.lineno) - node.lineno + 1
        assert length <= FUNCTION or name in LONG, f"{name} has {length} lines"
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        count = len([a for a in given if a.arg not in ("self", "cls")])
        assert count <= PARAMETERS or name in MANY_PARAMETERS, f"{name} has {count} parameters"


def test_the_exceptions_are_needed() -> None:
    for name in [*MANY_PARAMETERS, *LONG]:
        module, function = name.split(":")
        path = SOURCE.joinpath(*module.split(".")).with_suffix(".py")
        assert f"def {function}(" in path.read_text(encoding="utf-8"), f"{name} is gone; take it off the list"


def test_no_module_has_a_name_that_says_nothing() -> None:
    for path in modules():
        assert path.stem not in ("utils", "helpers", "common", "misc", "manager", "handler")
