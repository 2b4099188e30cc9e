"""The embedded model: a real one, the smallest. Some files that are none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from rowhop.errors import BudgetSpent, ModelError, ModelUnavailable
from rowhop.models import Message, Options
from rowhop.models.local import LocalModel

HELLO = [Message("user", "Say hello.")]
COUNT = [Message("user", "Count from 1 to 100, separated by commas.")]
LONG = "The table of orders has columns id, customer, day and price. " * 20


@pytest.fixture
def model(weights_folder: Path) -> LocalModel:
    from rowhop.models.weights import fetch, present

    if not present("smollm2", weights_folder):
        pytest.skip("smollm2 is not there; `rowhop model get smollm2` fetches it")
    return LocalModel(fetch("smollm2", weights_folder), context=2048)


def test_files_that_are_no_models(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ModelError, match="There is no model file"):
        LocalModel(tmp_path / "nowhere.gguf")
    (tmp_path / "text.gguf").write_text("hello")
    with pytest.raises(ModelError, match="not a GGUF model file"):
        LocalModel(tmp_path / "text.gguf")
    (tmp_path / "cut.gguf").write_bytes(b"GGUF\x03\x00\x00\x00")
    with pytest.raises(ModelUnavailable, match=r"cut\.gguf could not be loaded"):
        LocalModel(tmp_path / "cut.gguf").complete(HELLO)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    out, err = capfd.readouterr()
    assert out + err == ""


@pytest.mark.model
def test_reply_streams_and_is_counted(model: LocalModel, capfd: pytest.CaptureFixture[str]) -> None:
    heard: list[str] = []
    done = model.complete(HELLO, Options(max_tokens=12), heard.append)
    assert done.text == "".join(heard) != ""
    assert 5 < done.usage.prompt_tokens < 60
    assert 0 < done.usage.reply_tokens <= 12
    assert done.usage.seconds > 0
    assert model.complete(HELLO, Options(max_tokens=12)).text == done.text  # temperature 0
    assert model.complete(COUNT, Options(max_tokens=5)).finish == "length"
    assert not model.remote
    assert model.constrains
    out, err = capfd.readouterr()
    assert out + err == ""


@pytest.mark.model
def test_grammar_schema_and_stop_are_obeyed(model: LocalModel) -> None:
    assert model.complete(HELLO, Options(grammar='root ::= "red" | "blue"')).text in ("red", "blue")
    schema = '{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}'
    assert '"n"' in model.complete(HELLO, Options(schema=schema, max_tokens=40)).text
    digits = Options(grammar='root ::= "1, 2, 3, 4, 5"', stop=("3",))
    assert model.complete(COUNT, digits).text == "1, 2, "
    with pytest.raises(ModelError, match="grammar"):
        model.complete(HELLO, Options(grammar="root ::= ("))


@pytest.mark.model
def test_samples_differ_and_repeat_with_the_seed(model: LocalModel) -> None:
    options = Options(samples=10, temperature=1.5, max_tokens=6, seed=3)  # more than there are slots
    heard: list[str] = []
    done = model.complete(HELLO, options, heard.append)
    assert len(done.texts) == 10
    assert len(set(done.texts)) > 3
    assert done.text == "".join(heard)
    assert done.usage.prompt_tokens < 120


@pytest.mark.model
def test_prefixes_stay_cached_when_prompts_alternate(model: LocalModel) -> None:
    def ask(system: str, question: str) -> int:
        messages = [Message("system", system), Message("user", question)]
        return model.complete(messages, Options(max_tokens=2)).usage.cached_tokens

    for turn in range(2):
        for start in ("Write SQL. ", "Write Python. "):
            cached = ask(start + LONG, f"How many in month {turn}?")
            assert cached > 150 if turn else cached < 100


@pytest.mark.model
@pytest.mark.parametrize("after", [0, 4])
def test_listener_stops_the_model(model: LocalModel, after: int) -> None:
    model.load()
    heard: list[str] = []

    def listen(piece: str) -> None:
        heard.append(piece)
        if len([h for h in heard if h]) >= after:
            raise BudgetSpent("enough")

    with pytest.raises(BudgetSpent, match="enough"):
        model.complete([Message("user", LONG + COUNT[0].content)], Options(max_tokens=400), listen)
    start = time.monotonic()
    model.complete(HELLO, Options(max_tokens=2))  # does not wait for the other to be written out
    assert time.monotonic() - start < 30


@pytest.mark.model
def test_too_long_a_prompt_is_told(model: LocalModel) -> None:
    with pytest.raises(ModelError, match=r"The prompt has 40\d\d tokens, but .* reads at most 2048"):
        model.complete([Message("user", "a " * 4000)])


@pytest.mark.model
def test_threads_share_one_file(model: LocalModel) -> None:
    found: dict[str, str] = {}

    def work(word: str) -> None:
        other = LocalModel(model.path, context=2048)
        found[word] = other.complete(HELLO, Options(grammar=f'root ::= "{word}"')).text

    threads = [threading.Thread(target=work, args=(word,)) for word in ("red", "blue", "green")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {"red": "red", "blue": "blue", "green": "green"}
    assert len([t for t in threading.enumerate() if t.name.startswith("rowhop-SmolLM2")]) == 1


@pytest.mark.model
@pytest.mark.skipif(not Path("/proc/net").exists(), reason="reads /proc")
def test_no_door_stays_open(model: LocalModel) -> None:
    model.load()
    own = {os.readlink(f) for f in Path("/proc/self/fd").iterdir() if f.exists() and "socket" in os.readlink(f)}
    inodes = {name[8:-1] for name in own}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            assert not (fields[3] == "0A" and fields[9] in inodes), "a port is open"
    named = [line.split() for line in Path("/proc/net/unix").read_text().splitlines() if len(line.split()) > 7]
    assert not [path for *_, inode, path in named if inode in inodes and "rowhop-" in path and Path(path).exists()]


@pytest.mark.model
@pytest.mark.parametrize("moment", ["load", "reply"])
def test_ctrl_c(model: LocalModel, moment: str) -> None:
    code = textwrap.dedent(f"""
        from rowhop.models.local import LocalModel
        from rowhop.models import Message, Options
        model = LocalModel({str(model.path)!r}, context=2048)
        if {moment!r} == "reply":
            model.load()
        print("on", flush=True)
        model.complete([Message("user", {LONG!r})], Options(max_tokens=1500))
    """)
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert err.strip().endswith(b"KeyboardInterrupt")
    assert out == b""
    assert child.returncode in (130, -signal.SIGINT, 1)  # 1 where the library was just being imported


@pytest.mark.model
def test_kept_prompts_give_way_to_new_ones(model: LocalModel) -> None:
    for number in range(4):  # together more than the context
        done = model.complete([Message("user", f"{number} " + "word " * 800)], Options(max_tokens=2, samples=3))
        assert len(done.texts) == 3
