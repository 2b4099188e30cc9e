"""One live line on stderr while a question is worked on: step, what streams in, seconds."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from rowhop.cli import screen
from rowhop.trace import BoxesOpened, CodeRun, GraphRead, ModelCall, Note, Step, Trace

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

_TAIL = 400  # characters of a streaming reply that are kept; the line shows what fits


class Progress:
    """Shows nothing unless stderr is a terminal. Listens to the trace and to nothing else."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._doing = "reading the sources"
        self._tail = ""
        self._tokens = 0
        self._live: Live | None = None

    def __enter__(self) -> Self:
        console = screen.err()
        if console.is_terminal:
            from rich.live import Live

            self._trace.on_step.append(self._step)
            self._trace.on_token.append(self._token)
            self._live = Live(console=console, get_renderable=self._line, refresh_per_second=8, transient=True)
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()
            self._trace.on_step.remove(self._step)
            self._trace.on_token.remove(self._token)

    def _step(self, step: Step) -> None:
        self._doing, self._tail, self._tokens = doing(step), "", 0

    def _token(self, text: str) -> None:
        # An empty piece is only a sign of life.
        self._tail = (self._tail + text)[-_TAIL:]
        self._tokens += bool(text)

    def _line(self) -> Text:
        from rich.text import Text

        console = screen.err()
        doing = "the model writes" if self._tokens else self._doing
        count = f" · {self._tokens} tokens" if self._tokens else ""
        head = f"{doing}{count} · {self._trace.elapsed:.1f} s  "
        line = Text(head, style="cyan")
        room = console.width - len(head) - 1
        if room > 10 and self._tail:
            line.append(screen.one_line(self._tail)[-room:], style="dim")
        line.truncate(console.width - 1)
        return line


def doing(step: Step) -> str:
    """What is likely going on after a step, in a few words."""
    match step:
        case BoxesOpened():
            count = len(step.boxes)
            return f"waiting for the model ({count} table{'' if count == 1 else 's'} shown to it)"
        case ModelCall():
            return "reading the reply"
        case CodeRun(status="ok"):
            return "reading the result"
        case CodeRun():
            return f"mending the program ({screen.one_line(step.error, 60)})"
        case GraphRead():
            return f"walking the graph ({step.total} found)"
        case Note():
            return screen.one_line(f"{step.topic}: {step.text}", 70)
