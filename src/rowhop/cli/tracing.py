"""`rowhop trace`: a saved run as readable steps."""

from __future__ import annotations

import json
from pathlib import Path

from rowhop.cli import answers, screen
from rowhop.trace import BoxesOpened, CodeRun, GraphRead, ModelCall, Note, Saved, Step, load

_LINES = 12  # of a text that is not asked for in full


def show(file: Path, full: bool) -> int:
    """Print the header, each step, and how it ended."""
    saved = load(file)
    out = screen.out()
    head = saved.header
    out.print(screen.plain(head.question.text, "bold"))
    out.print(screen.plain(" · ".join(filter(None, (head.method, head.model, head.started, head.rowhop))), "dim"))
    for number, step in enumerate(saved.steps, 1):
        out.print()
        _step(number, step, full)
    out.print()
    _end(saved)
    return 0


def _step(number: int, step: Step, full: bool) -> None:
    out = screen.out()

    def head(text: str) -> None:
        out.print(screen.plain(f"{number}. {text}  [{step.at:.2f} s]", "cyan"))

    match step:
        case BoxesOpened():
            head(f"Opened {', '.join(step.boxes) or 'nothing'}")
            _text(step.shown, full)
            for line in step.left_out:
                out.print(screen.plain(f"   left out: {line}", "yellow"))
        case ModelCall():
            cached = " from the cache" if step.from_cache else f" in {step.seconds:.1f} s"
            head(f"Asked {step.model} ({step.purpose}): {step.prompt_tokens} + {step.reply_tokens} tokens{cached}")
            for message in step.messages if full else ():
                out.print(screen.plain(f"   --- {message.role}", "dim"))
                _text(message.content, full)
            for reply in step.replies:
                out.print(screen.plain("   --- reply", "dim"))
                _text(reply, full)
        case CodeRun():
            head(f"Ran a program ({step.program.language}): {step.status} in {step.seconds:.2f} s")
            _text(step.program.code, full)
            if step.error:
                out.print(screen.plain(f"   {step.error}", "red"))
            if step.result is not None:
                answers.table(step.result, 5)
            for caution in step.warnings:
                out.print(screen.plain(f"   Caution: {caution.text}", "yellow"))
        case GraphRead():
            head(f"Read the graph: {screen.one_line(step.query, 100)}")
            _text(f"{step.total} found: {', '.join(step.found)}", full)
        case Note():
            head(step.topic)
            _text(step.text, full)


def _text(text: str, full: bool) -> None:
    lines = screen.clean(text).splitlines()
    for line in lines if full else lines[:_LINES]:
        screen.out().print(screen.plain(f"   {line}"))
    if not full and len(lines) > _LINES:
        screen.out().print(screen.plain(f"   … {len(lines) - _LINES} more lines; --full prints them", "dim"))


def _end(saved: Saved) -> None:
    out = screen.out()
    if saved.error:
        out.print(screen.plain(f"Ended with an error: {saved.error}", "red"))
        return
    answer = saved.answer
    values = ", ".join(screen.shown(v) if not isinstance(v, list) else json.dumps(v) for v in answer.get("values", []))
    out.print(screen.plain(f"{answer.get('status', 'no answer')}: {values}".rstrip(": "), "bold"))
