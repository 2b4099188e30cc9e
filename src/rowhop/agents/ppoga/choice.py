"""One choice among numbered lines, asked of a model: by grammar where it can, read with care where it cannot."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rowhop import prompts
from rowhop.models import ChatModel, Message, Options
from rowhop.models.ask import ask
from rowhop.trace import Trace

PACKAGE = "rowhop.agents.ppoga"


def numbered(lines: list[str]) -> str:
    return "\n".join(f"{i}. {line}" for i, line in enumerate(lines, 1))


def choose(model: ChatModel, prompt: str, count: int, trace: Trace, **holes: str) -> int | None:
    """The index chosen, from 0; None where the reply holds no number in range (the caller says what then)."""
    numbers = " | ".join(f'"{i}"' for i in range(count, 0, -1))
    options = Options(max_tokens=8, grammar=f"root ::= {numbers}") if model.constrains else Options(max_tokens=200)
    text = ask(model, prompt, messages(prompt, holes), options, trace).text
    return read_number(text, count)


def read_number(reply: str, count: int) -> int | None:
    """The number a reply settles on: alone, or the only one in range that it names.

    >>> read_number("2", 3), read_number("I would pick 3.", 3), read_number("1 or 2", 3), read_number("maybe", 3)
    (1, 2, None, None)
    """
    reply = re.sub(r"<think>.*?(</think>|$)", "", reply, flags=re.DOTALL).strip()
    if first := re.match(r"\D{0,3}(\d+)\D{0,2}$", reply):
        named = {int(first[1])}
    else:
        named = {int(n) for n in re.findall(r"\b\d+\b", reply)}
    good = [n for n in named if 1 <= n <= count]
    return good[0] - 1 if len(good) == 1 else None


def messages(prompt: str, holes: Mapping[str, str]) -> list[Message]:
    """The system text never changes, so that a model's prefix cache holds it."""
    user = prompts.fill(prompts.text(PACKAGE, prompt), **holes).strip()
    return [Message("system", prompts.text(PACKAGE, "system").strip()), Message("user", user)]
