"""`rowhop model`: which models are there, get one, test one."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rowhop.cli import answers, screen

if TYPE_CHECKING:
    from rowhop.config import Settings
    from rowhop.providers import Fetching


def listed(settings: Settings, as_json: bool) -> int:
    """The embedded models, whether they are there, and the endpoint."""
    from rowhop import config
    from rowhop.models import weights

    folder = settings.cache_folder / "models"
    used = settings.model.name or config.EMBEDDED
    found = [
        {"name": w.name, "about": w.about, "size": w.size, "present": weights.present(w.name, folder)}
        for w in weights.KNOWN.values()
    ]
    endpoint = settings.model.base_url or ("the OpenAI API" if settings.model.api_key.get_secret_value() else "")
    if as_json:
        print(json.dumps({"models": found, "used": used, "endpoint": endpoint, "folder": str(folder)}, indent=2))
        return 0
    out = screen.out()
    rows = [(f["name"], _size(f["size"]), "yes" if f["present"] else "no", f["about"]) for f in found]
    out.print(answers.grid(("model", "size", "here", ""), rows))
    out.print(screen.plain(f"Kept in {folder}."))
    out.print(screen.plain(f"Endpoint: {endpoint or 'none is set (OPENAI_BASE_URL, OPENAI_API_KEY)'}."))
    out.print(screen.plain(f"Asked when nothing else is said: {used}."))
    return 0


def get(name: str, source: Path | None, settings: Settings) -> int:
    """Fetch weights; what is there already is verified and kept."""
    from rowhop.models import weights

    with fetching() as progress:
        path = weights.fetch(name, settings.cache_folder / "models", progress, source)
    screen.say(f"{name} is there: {path}")
    return 0


def test(settings: Settings) -> int:
    """One short prompt to the model that ask would use."""
    from rowhop import providers
    from rowhop.models import Message, Options

    with fetching() as progress:
        model = providers.bare_model(settings, progress=progress)
    start = time.monotonic()
    first: list[float] = []

    def listen(piece: str) -> None:
        if piece and not first:
            first.append(time.monotonic() - start)

    asked = [Message("user", "Reply with the one word: ready")]
    done = model.complete(asked, Options(max_tokens=16), listen)
    seconds = time.monotonic() - start
    out = screen.out()
    out.print(screen.plain(f"{model.name} replied: {screen.one_line(done.text, 60)}"))
    where = "an endpoint elsewhere" if model.remote else "this machine"
    wait = f", the first token after {first[0]:.1f} s" if first else ""
    tokens = f"{done.usage.prompt_tokens} + {done.usage.reply_tokens} tokens"
    out.print(screen.plain(f"It runs on {where}: {tokens} in {seconds:.1f} s{wait}."))
    return 0


@contextmanager
def fetching() -> Iterator[Fetching]:
    """A bar on stderr while weights are fetched; nothing where they are there or stderr is no terminal."""
    console = screen.err()
    if not console.is_terminal:
        yield _lines()
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("Fetching the model", total=None, visible=False)

        def tell(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, visible=bool(bar.tasks[0].visible or done < total))

        yield tell


def _lines() -> Fetching:
    """For a log: a line per tenth."""
    said = [-1]

    def tell(done: int, total: int) -> None:
        tenth = done * 10 // total if total else 10
        if tenth > said[0] and not (said[0] < 0 and done >= total):
            said[0] = tenth
            screen.say(f"Fetching the model: {_size(done)} of {_size(total)}")

    return tell


def _size(count: object) -> str:
    number = float(count) if isinstance(count, int | float) else 0.0
    return f"{number / 1e9:.2f} GB" if number >= 1e9 else f"{number / 1e6:.0f} MB"
