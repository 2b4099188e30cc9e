"""A run on disk: `run.json` (what was asked for), `results.jsonl` (one Record a line), `traces/`.

One process writes at a time; a line is on the disk before the next question counts, so a run that is killed
goes on where it stopped.
"""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from rowhop.errors import ConfigError, OperatorError, SourceError
from rowhop.eval.scoring import Record

RESULTS, CONFIG, TRACES, LOCK = "results.jsonl", "run.json", "traces", "lock"
# Of a run's settings, those that may differ when it goes on: they change how much is done, not what.
LOOSE = ("n", "threads", "started", "code")


@cache
def _record_json() -> TypeAdapter[Record]:
    return TypeAdapter(Record)


@dataclass(frozen=True)
class Run:
    """A run as it was read: its settings and one Record per question, in the order in which they were done."""

    folder: Path
    config: Mapping[str, Any]
    records: tuple[Record, ...]
    lost: int = 0  # lines that could not be read; their questions are asked again

    @property
    def name(self) -> str:
        return self.folder.name


def read(folder: Path) -> Run:
    """Raises SourceError when the folder does not hold a run."""
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except OSError as error:
        raise SourceError(f"{folder} does not hold a run: {CONFIG} could not be read ({error.strerror}).") from error
    except ValueError as error:
        raise SourceError(f"{folder / CONFIG} is not the settings file of a run: {error}.") from error
    if not isinstance(config, dict):
        raise SourceError(f"{folder / CONFIG} is not the settings file of a run.")
    results = folder / RESULTS
    lines = results.read_bytes().split(b"\n") if results.exists() else []
    records: dict[str, Record] = {}
    lost = 0
    for line in filter(None, lines):
        try:
            record = _record_json().validate_json(line)
        except ValidationError:
            lost += 1
            continue
        records.setdefault(record.id, record)
    return Run(folder, config, tuple(records.values()), lost)


@dataclass
class RunFolder:
    """An open run that only this process may write to."""

    folder: Path
    results: int  # file descriptor of results.jsonl

    def append(self, record: Record) -> None:
        """Write one Record through to the disk, whole or not at all. Raises OperatorError when the disk is full."""
        line = _record_json().dump_json(record) + b"\n"
        end = os.fstat(self.results).st_size
        try:
            written = os.write(self.results, line)
            if written < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self.results)
        except OSError as error:
            os.ftruncate(self.results, end)
            raise OperatorError(
                f"The results could not be written to {self.folder}: {error.strerror}. What was done before is safe; "
                "make room and run the same again with --resume."
            ) from error

    def trace_file(self, name: str) -> str:
        """Where the trace of a question goes, relative to the folder."""
        plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:80]
        # Two ids that differ only in odd characters, or in case, still get two files.
        tail = "" if plain == name and name == name.lower() else "-" + sha256(name.encode()).hexdigest()[:8]
        return f"{TRACES}/{plain}{tail}.jsonl"


@contextmanager
def opened(
    folder: Path, config: Mapping[str, Any], resume: bool, retry: bool = False
) -> Iterator[tuple[RunFolder, Run]]:
    """Begin a run or go on with one; `retry` asks those questions again that failed through the machine's fault.

    Raises ConfigError when the folder holds another run, or is being written to by another process.
    """
    try:
        (folder / TRACES).mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise ConfigError(f"The run folder {folder} could not be made: {error.strerror}.") from error
    try:
        if not _locked(lock):
            raise ConfigError(f"Another run is writing to {folder}. Wait for it, or name another folder with --run.")
        run = _begin(folder, config, resume, retry)
        results = os.open(folder / RESULTS, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            yield RunFolder(folder, results), run
        finally:
            os.close(results)
    finally:
        os.close(lock)  # which gives the lock back, as does the end of the process


def _locked(file: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _begin(folder: Path, config: Mapping[str, Any], resume: bool, retry: bool) -> Run:
    if not (folder / CONFIG).exists():
        stamp = {"started": datetime.now(UTC).isoformat(timespec="seconds")}
        return _written(folder, {**config, **stamp}, ())
    if not resume:
        raise ConfigError(f"{folder} holds a run already. Go on with it by --resume, or name another with --run.")
    before = read(folder)
    for key in (before.config.keys() | config.keys()) - set(LOOSE):
        old, new = before.config.get(key), json.loads(json.dumps(config.get(key)))
        if old != new:
            raise ConfigError(
                f"The run in {folder} was made with {key} = {old!r}, not {new!r}; results of both must not be mixed. "
                "Name another folder with --run."
            )
    # A run may go on with a changed program; then it lists every version that took part.
    code = sorted({*before.config.get("code", ()), *config.get("code", ())})
    kept = tuple(r for r in before.records if not (retry and r.machine_fault))
    if len(kept) < len(before.records):
        _replace(folder / RESULTS, b"".join(_record_json().dump_json(r) + b"\n" for r in kept))
    _mend(folder / RESULTS)
    return _written(folder, {**before.config, **config, "code": code}, kept, before.lost)


def _written(folder: Path, config: Mapping[str, Any], records: tuple[Record, ...], lost: int = 0) -> Run:
    _replace(folder / CONFIG, (json.dumps(config, indent=1, ensure_ascii=False) + "\n").encode())
    return Run(folder, config, records, lost)


def _replace(file: Path, content: bytes) -> None:
    """Write a file anew, whole or not at all."""
    part = file.with_name(file.name + ".part")
    try:
        part.write_bytes(content)
        os.replace(part, file)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise OperatorError(f"{file} could not be written: {error.strerror}. Nothing was lost.") from error


def _mend(results: Path) -> None:
    """Cut off a last line that a kill or a full disk left unfinished, so that the next line begins a line."""
    if not results.exists():
        return
    with results.open("r+b") as file:
        whole = file.read()
        if whole and not whole.endswith(b"\n"):
            file.truncate(whole.rfind(b"\n") + 1)
