"""Every attack of the table, with each of the walls taken away once, as root and as an ordinary user."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from sandbox_attacks import ATTACKS, NOT_COVERED, SECRET, Attack

from rowhop import sandbox
from rowhop.sandbox import Sandbox
from rowhop.sandbox.run import LAYERS

NOBODY = 65534
MARK = Path("/tmp/rowhop-attack")
# who runs rowhop, and which wall is missing
SETTINGS = (("root", ""), ("user", ""), ("user", "namespaces"), ("user", "landlock"))


@cache
def played(who: str, missing: str) -> dict[str, dict[str, Any]]:
    """All attacks in one sandbox of their own process; once for each setting."""
    if who == "root" and os.getuid() != 0:
        pytest.skip("not root: the attacks are played as an ordinary user only")
    layers = [layer for layer in LAYERS if layer != missing]
    with Sandbox(layers=tuple(layers)) as box:
        if set(layers) - set(box.layers()):
            pytest.skip(f"this machine denies a wall: only {', '.join(box.layers())} can be had")
    secret = Path(f"/tmp/rowhop-secret-{os.getpid()}-{who}-{missing}")
    secret.write_text(SECRET)
    secret.chmod(0o644)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        plan = {
            "layers": layers,
            "user": NOBODY if who == "user" and os.getuid() == 0 else 0,
            "secret": str(secret),
            "port": listener.getsockname()[1],
        }
        script = str(Path(__file__).with_name("sandbox_attacks.py"))
        done = subprocess.run(
            [sys.executable, script, json.dumps(plan)],
            env={"PATH": os.environ["PATH"], "OPENAI_API_KEY": SECRET},
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0, done.stderr
        listener.settimeout(0)
        with pytest.raises(BlockingIOError):  # nobody ever came through
            listener.accept()
    assert secret.read_text() == SECRET
    assert not MARK.exists()
    secret.unlink()
    outcomes: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return outcomes


@pytest.mark.parametrize(("who", "missing"), SETTINGS, ids=[f"{w} without {m or 'nothing'}" for w, m in SETTINGS])
@pytest.mark.parametrize("attack", ATTACKS, ids=[a.name for a in ATTACKS])
def test_an_attack_ends_as_promised(attack: Attack, who: str, missing: str) -> None:
    outcome = played(who, missing)[attack.name]
    assert not outcome["all"], "the secret came out"
    assert outcome["printed"] < 70_000
    assert len(outcome["error"]) <= 4_000
    assert outcome["warned"] < 20_000
    if attack.promise == "harmless":
        assert outcome["status"] == "error" or outcome["values"] == ["denied"], outcome
    elif attack.promise == "broken":
        assert outcome["status"] in ("error", "crash", "memory", "timeout"), outcome
    else:
        assert outcome["status"] == attack.promise, outcome


def test_there_are_enough_attacks() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 60


def test_the_docstring_says_what_is_not_covered() -> None:
    assert sandbox.__doc__ is not None
    listed = sandbox.__doc__.split("Not covered")[1]
    assert tuple(re.findall(r"^- ([^:.]+)[:.]", listed, re.MULTILINE)) == NOT_COVERED
