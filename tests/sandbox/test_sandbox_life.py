"""Starting, sharing, dying: many threads, lost processes, and systems without walls."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from rowhop.errors import SandboxUnavailable
from rowhop.sandbox import Limits, Sandbox, available, run_code
from rowhop.types import Program

ORDERS = pa.table({"n": [1, 2, 3]})


def total(sandbox: Sandbox, table: pa.Table = ORDERS) -> object:
    run = sandbox.run(Program("python", "answer = orders.n.sum()"), {"orders": table})
    assert run.status == "ok", run.error
    return run.values[0]


def zygote_of(sandbox: Sandbox) -> int:
    sandbox.layers()
    assert sandbox._zygote is not None
    return sandbox._zygote._process.pid


def descendants(pid: int) -> list[int]:
    """All processes below one, by the kernel's word."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int(folder.joinpath("stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # gone meanwhile
        if parent == pid:
            found += [int(folder.name), *descendants(int(folder.name))]
    return found


def gone(pids: list[int], seconds: float = 10.0) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not any(_alive(pid) for pid in pids):
            return True
        time.sleep(0.02)
    return False


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_the_shared_sandbox() -> None:
    assert available() == ""
    assert run_code(Program("python", "answer = len(orders)"), {"orders": ORDERS}).values == (3,)


def test_eight_threads_get_their_own_answers() -> None:
    with Sandbox() as sandbox, ThreadPoolExecutor(8) as pool:
        tables = [pa.table({"n": [i, i]}) for i in range(40)]
        assert list(pool.map(lambda t: total(sandbox, t), tables)) == [2 * i for i in range(40)]


def test_the_memory_of_all_runs_is_capped() -> None:
    """Three runs that need all the room wait for one another."""
    busy = "import time\ntime.sleep(0.3)\nanswer = 1"
    limits = Limits(memory_mb=512)
    with Sandbox(total_memory_mb=512) as sandbox, ThreadPoolExecutor(3) as pool:
        total(sandbox)
        begun = time.monotonic()
        runs = list(pool.map(lambda _: sandbox.run(Program("python", busy), {}, limits, evidence=False), range(3)))
        assert time.monotonic() - begun > 0.9
    assert [run.status for run in runs] == ["ok"] * 3


def test_a_killed_zygote_is_replaced() -> None:
    with Sandbox() as sandbox:
        assert total(sandbox) == 6
        os.kill(zygote_of(sandbox), signal.SIGKILL)
        assert total(sandbox) == 6


def test_a_zygote_killed_during_a_run_ends_the_run() -> None:
    with Sandbox() as sandbox:
        pid = zygote_of(sandbox)
        threading.Timer(0.5, os.kill, (pid, signal.SIGKILL)).start()
        run = sandbox.run(Program("python", "import time; time.sleep(20)"), {})
        assert run.status == "crash"
        assert run.seconds < 10
        assert total(sandbox) == 6


def test_closing_leaves_no_process() -> None:
    sandbox = Sandbox()
    total(sandbox)
    pid = zygote_of(sandbox)
    pids = [pid, *descendants(pid)]
    assert len(pids) >= 2
    sandbox.close()
    assert gone(pids)


HOST = """
import sys, threading, time
import pyarrow as pa
from rowhop.sandbox import Sandbox
from rowhop.types import Program
sandbox = Sandbox()
sandbox.run(Program("python", "answer = 1"), {})
threading.Thread(target=sandbox.run, args=(Program("python", "while True: pass"), {}), daemon=True).start()
time.sleep(0.5)
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("last", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_dead_host_leaves_nothing_behind(last: signal.Signals) -> None:
    before = set(os.listdir("/tmp"))
    with subprocess.Popen([sys.executable, "-c", HOST], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as host:
        assert host.stdout is not None
        assert host.stderr is not None
        assert host.stdout.readline() == b"ready\n"
        pids = descendants(host.pid)
        assert len(pids) >= 3  # launcher, zygote, the running child
        host.send_signal(last)
        host.wait(20)
        said = host.stderr.read().decode()
    assert gone(pids)
    assert "zygote" not in said
    assert not {name for name in set(os.listdir("/tmp")) - before if "rowhop-box" in name}


def test_control_c_in_the_terminal_does_not_reach_the_zygote() -> None:
    with Sandbox() as sandbox:
        pid = zygote_of(sandbox)
        assert os.getpgid(pid) != os.getpgid(0)
        for each in [pid, *descendants(pid)]:
            os.kill(each, signal.SIGINT)
        assert total(sandbox) == 6
        assert zygote_of(sandbox) == pid


def test_a_forked_host_starts_its_own() -> None:
    with Sandbox() as sandbox:
        total(sandbox)
        pid = os.fork()
        if pid == 0:
            fine = False
            try:
                fine = total(sandbox) == 6
                sandbox.close()
            finally:
                os._exit(0 if fine else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert total(sandbox) == 6


def test_tables_are_sent_once_and_forgotten_with_the_table() -> None:
    with Sandbox() as sandbox:
        table = pa.table({"n": [1]})
        total(sandbox, table)
        first = sandbox._boxes.get(table)
        total(sandbox, table)
        assert sandbox._boxes.get(table) == first
        del table
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(first)


def test_no_descriptor_is_lost() -> None:
    with Sandbox() as sandbox:
        total(sandbox)
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(20):
            total(sandbox)
        assert len(os.listdir("/proc/self/fd")) == before


def test_ten_million_rows_are_mapped_not_copied() -> None:
    """Two columns of 80 MB each."""
    import numpy as np

    rows = 10_000_000
    table = pa.table({"k": np.arange(rows) % 7, "v": np.ones(rows)})
    with Sandbox() as sandbox:
        run = sandbox.run(Program("python", "answer = big.groupby('k').v.sum().max()"), {"big": table})
        assert run.status == "ok", run.error
        assert run.peak_mb < 1000


def test_python_is_refused_where_no_wall_can_be_had() -> None:
    with Sandbox(layers=("user", "seccomp")) as sandbox:
        assert "namespaces and Landlock" in sandbox.available()
        with pytest.raises(SandboxUnavailable, match="--unsafe-run"):
            total(sandbox)
        run = sandbox.run(Program("sql", "SELECT sum(n) AS s FROM orders", "duckdb"), {"orders": ORDERS})
        assert run.table is not None
        assert run.table.to_pylist() == [{"s": 6}]


def test_python_runs_without_walls_when_the_user_says_so() -> None:
    with Sandbox(unsafe=True) as sandbox:
        assert sandbox.available() == ""
        assert total(sandbox) == 6
        assert sandbox.run(Program("python", "import os; answer = os.path.exists('/etc/passwd')"), {}).values == (True,)
        run = sandbox.run(Program("python", "while True: pass"), {}, Limits(wall_seconds=0.5))
        assert run.status == "timeout"


def test_other_systems_run_each_program_in_a_new_process() -> None:
    with Sandbox(warm=False) as sandbox:
        assert "seccomp" in sandbox.available()
        with pytest.raises(SandboxUnavailable):
            total(sandbox)
        run = sandbox.run(Program("sql", "SELECT n FROM orders WHERE n > 2", "duckdb"), {"orders": ORDERS})
        assert run.table is not None
        assert run.table.to_pylist() == [{"n": 3}]
        assert run.rows == {"orders": (2,)}
        stolen = sandbox.run(Program("sql", "SELECT * FROM read_text('/etc/passwd')", "duckdb"), {})
        assert stolen.status == "error"
        endless = "SELECT count(*) FROM range(1000000000) a, range(1000000) b"
        assert sandbox.run(Program("sql", endless), {}, Limits(wall_seconds=3)).status == "timeout"
    with Sandbox(warm=False, unsafe=True) as sandbox:
        assert total(sandbox) == 6
        printed = sandbox.run(Program("python", "print('x')\nimport os\nos.write(1, b'y')\nanswer = 1"), {})
        assert (printed.values, printed.output) == ((1,), "x\n")


DENIED = """
import ctypes, struct, sys
from rowhop.sandbox import Sandbox
from rowhop.types import Program
# load the call's number; is it {call}? then EPERM, else allow
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, {call}), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *s) for s in steps))
class Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Filter(len(steps), ctypes.addressof(code))), 0, 0) == 0
with Sandbox() as sandbox:
    print(sandbox.layers(), sandbox.available())
    print(sandbox.run(Program("python", "answer = open('/etc/passwd').read()"), {{}}).error)
    print(sandbox.run(Program("python", "answer = 1"), {{}}).values)
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of the calls are those of x86-64")
@pytest.mark.parametrize(("denied", "call"), [("unshare", 272), ("mount", 165)])
def test_a_machine_that_denies_namespaces_or_mounts_is_held_by_the_rest(denied: str, call: int) -> None:
    done = subprocess.run([sys.executable, "-c", DENIED.format(call=call)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    layers, error, values = done.stdout.splitlines()
    assert layers.strip() == "('user', 'landlock', 'seccomp')", denied
    assert error.startswith("PermissionError")
    assert values == "(1,)"


def test_a_machine_that_denies_landlock_and_namespaces_refuses_python() -> None:
    """Namespaces are left out; the call that asks for Landlock fails."""
    code = DENIED.format(call=444).replace(
        "with Sandbox() as", "with Sandbox(layers=('user', 'landlock', 'seccomp')) as"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "denies both namespaces and Landlock" in done.stdout
    assert "SandboxUnavailable" in done.stderr
