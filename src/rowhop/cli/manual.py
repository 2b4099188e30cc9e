"""The commands' own help and the JSON's own schema as Markdown, for `docs/`. Run by cog; see `make docs`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer.main

from rowhop.cli.app import app

_WIDTH = 100


def commands() -> Iterator[tuple[str, str]]:
    """Each command by its full name, with its help."""
    yield from _commands("rowhop", typer.main.get_command(app), None)


def help_text() -> str:
    """All help texts, one section per command."""
    return "\n".join(f"## {name}\n\n```text\n{text}\n```\n" for name, text in commands())


def schema_text() -> str:
    """The JSON Schema of an Answer, indented."""
    import json

    from rowhop.cli.answers import schema

    return f"```json\n{json.dumps(schema(), indent=2)}\n```"


def _commands(name: str, command: Any, parent: Any) -> Iterator[tuple[str, str]]:
    short = name.rpartition(" ")[2]
    context = command.make_context(short, [], parent=parent, resilient_parsing=True, max_content_width=_WIDTH)
    context.terminal_width = _WIDTH
    yield name, command.get_help(context).rstrip()
    for inner_name, inner in getattr(command, "commands", {}).items():
        yield from _commands(f"{name} {inner_name}", inner, context)
