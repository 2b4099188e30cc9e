"""A prompt is a text file beside the agent that uses it, with `$holes` that are filled strictly.

A missing or an unknown hole is an error. What is put into a hole is never read as a template.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_HOLE = re.compile(r"\$(?:(\$)|([a-z][a-z_0-9]*))")


@cache
def text(package: str, name: str) -> str:
    """The file `prompts/<name>.txt` of a package, e.g. text("rowhop.agents.pandora", "code_python")."""
    return files(package).joinpath("prompts", f"{name}.txt").read_text(encoding="utf-8")


def holes(template: str) -> set[str]:
    return {m.group(2) for m in _HOLE.finditer(template) if m.group(2)}


def fill(template: str, **values: str) -> str:
    """Fill every `$hole`; `$$` stands for a dollar sign. Raises ValueError when holes and values differ."""
    wanted = holes(template)
    if missing := wanted - values.keys():
        raise ValueError(f"The prompt has holes that were not filled: {', '.join(sorted(missing))}.")
    if unknown := values.keys() - wanted:
        raise ValueError(f"The prompt has no holes named: {', '.join(sorted(unknown))}.")
    return _HOLE.sub(lambda m: "$" if m.group(1) else values[m.group(2)], template)
