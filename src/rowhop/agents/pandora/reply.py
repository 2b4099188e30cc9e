"""A model's reply read as a rationale and a program. The wrappers that models put around code are taken off."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rowhop.errors import ReplyError
from rowhop.types import Language, Program

_THINKING = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)
_CONTROL = re.compile(r"<\s*\|?\s*(?:im_(?:start|end)|endoftext|eot_id)\s*\|?\s*>(?:assistant)?")
_FENCE = re.compile(r"```[ \t]*(\w*)[^\n]*\n(.*?)(?:\n?```|\Z)", re.DOTALL)
_STATEMENT = re.compile(r"^\s*(?:WITH|SELECT|FROM|VALUES|\(\s*SELECT)\b", re.IGNORECASE | re.MULTILINE)
_PROGRAM = re.compile(r"^\s*(?:answer\s*=|import\s|from\s+\w+\s+import|[A-Za-z_][\w.]*\s*=[^=])", re.MULTILINE)


@dataclass(frozen=True)
class Reply:
    rationale: str
    program: Program


def read(text: str, language: Language, dialect: str = "") -> Reply:
    """Raises ReplyError when there is no program in it."""
    text = _CONTROL.sub("", _THINKING.sub("", text)).strip()
    code, around = _fenced(text, language)
    if not code:
        code, around = _bare(text, language)
    if not code:
        wanted = "Python code that sets `answer`" if language == "python" else "one SELECT statement"
        raise ReplyError(f"The reply holds no program. Write {wanted} in a ``` block.")
    rationale, code = _leading_comment(code, "--" if language == "sql" else "#")
    if language == "sql":
        code = _one_statement(code)
    return Reply(" ".join((rationale or around).split())[:2000], Program(language, code.strip(), dialect))


def _fenced(text: str, language: Language) -> tuple[str, str]:
    blocks = list(_FENCE.finditer(text))
    if not blocks:
        return "", ""
    names = {"python": ("python", "py", "python3", ""), "sql": ("sql", ""), "sparql": ("sparql", "")}[language]
    fitting = [b for b in blocks if b.group(1).lower() in names and b.group(2).strip()]
    # Of several blocks the last that can set the answer is the program; the others are thoughts on the way.
    mark = _PROGRAM if language == "python" else _STATEMENT
    telling = [b for b in fitting if mark.search(b.group(2))] or fitting
    if not telling:
        return "", ""
    return telling[-1].group(2), text[: blocks[0].start()].strip()


def _bare(text: str, language: Language) -> tuple[str, str]:
    mark = _PROGRAM if language == "python" else _STATEMENT
    found = mark.search(text)
    if found is None:
        return "", ""
    head = text[: found.start()]
    if language == "python" and all(not line.strip() or line.lstrip().startswith("#") for line in head.splitlines()):
        return text, ""
    return text[found.start() :], head.strip().lstrip("-# ")


def _leading_comment(code: str, mark: str) -> tuple[str, str]:
    lines = code.strip("\n").splitlines()
    comment = []
    while lines and (not lines[0].strip() or lines[0].lstrip().startswith(mark)):
        comment.append(lines.pop(0).strip().removeprefix(mark).strip())
    return " ".join(comment), "\n".join(lines)


def _one_statement(code: str) -> str:
    """Without the closing `;`; several statements stay as they are, to be refused by the guard."""
    stripped = code.strip()
    return stripped[:-1].rstrip() if stripped.endswith(";") else stripped
