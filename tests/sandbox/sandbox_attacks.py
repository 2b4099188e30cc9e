# ruff: noqa: E501  a table reads best with one attack a line
"""What a hostile program may try, and what is promised to happen then.

As a script it plays a whole table in one sandbox and prints what came of it:

    python sandbox_attacks.py '{"layers": [...], "user": 0, "secret": "/path", "port": 1234}'
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECRET = "TOP-SECRET-5f2a"


@dataclass(frozen=True)
class Attack:
    """`promise` is a run's status; "harmless" means an error or the answer "denied", whichever wall is hit first."""

    name: str
    code: str
    promise: str = "harmless"
    language: str = "python"


def _libc(call: str) -> str:
    """A system call made past Python; -1 is the kernel's no."""
    return f"import ctypes; l = ctypes.CDLL(None)\nanswer = 'denied' if l.{call} == -1 else 'done'"


# $SECRET is a file with a secret that the host's user can read, $PORT a port that listens on the host
ATTACKS = (
    # -- reading
    Attack("read a system file", "answer = open('/etc/passwd').read()"),
    Attack("read a user's file", "answer = open('$SECRET').read()"),
    Attack("read through pandas", "answer = pd.read_csv('$SECRET', header=None).iloc[0, 0]"),
    Attack("read a system file through pandas", "answer = pd.read_csv('/etc/passwd', sep=':')"),
    Attack("read through numpy", "answer = np.fromfile('$SECRET', dtype='u1').tobytes().decode()"),
    Attack("load through numpy", "answer = np.load('$SECRET', allow_pickle=True)"),
    Attack("read through pathlib", "import pathlib; answer = pathlib.Path('$SECRET').read_text()"),
    Attack("read through a relative path", "answer = open('../../../../../..$SECRET').read()"),
    Attack("read through pyarrow", "import pyarrow as pa; answer = pa.OSFile('$SECRET').read().decode()"),
    Attack("map a file", "import mmap\nanswer = mmap.mmap(open('$SECRET').fileno(), 0, prot=1)[:].decode()"),
    Attack("read through linecache", "import linecache; answer = linecache.getline('$SECRET', 1) or 'denied'"),
    Attack("read through DuckDB", "import duckdb; answer = duckdb.sql(\"select * from read_text('$SECRET')\").fetchall()[0][0]"),
    Attack("list the root folder", "import os; answer = os.listdir('/')"),
    Attack("list a home", "import os; answer = os.listdir('/root')"),
    Attack("walk for files", "import glob; answer = glob.glob('/etc/*') + glob.glob('/tmp/*') or 'denied'"),
    Attack("read the environment", "import os; answer = os.environ.get('OPENAI_API_KEY', 'denied')"),
    Attack("read its environment block", "answer = open('/proc/self/environ', 'rb').read().decode()"),
    Attack("read another's environment", "answer = open('/proc/1/environ', 'rb').read().decode()"),
    Attack("read the parent's memory", "import os; answer = open(f'/proc/{os.getppid()}/mem', 'rb').read(10)"),
    Attack("read kernel memory", "answer = open('/dev/mem', 'rb').read(4).hex()"),
    Attack("read a device", "answer = len(open('/dev/zero', 'rb').read(10))"),
    Attack("chroot out", "import os; os.chroot('.'); answer = os.listdir('/')"),
    # -- writing
    Attack("write into the work folder", "open('x.txt', 'w').write('x'); answer = 'done'"),
    Attack("write outside the work folder", "open('../../escape.py', 'w').write('x'); answer = 'done'"),
    Attack("write into /tmp", "open('/tmp/rowhop-attack', 'w').write('x'); answer = 'done'"),
    Attack("append to a file", "open('$SECRET', 'a').write('x'); answer = 'done'"),
    Attack("write through pandas", "pd.DataFrame({'a': [1]}).to_csv('/tmp/rowhop-attack'); answer = 'done'"),
    Attack("write through pickle", "pd.DataFrame({'a': [1]}).to_pickle('/tmp/rowhop-attack'); answer = 'done'"),
    Attack("write through numpy", "np.save('/tmp/rowhop-attack', np.ones(3)); answer = 'done'"),
    Attack("make a folder", "import os; os.mkdir('/tmp/rowhop-attack'); answer = 'done'"),
    Attack("delete a file", "import os; os.remove('$SECRET'); answer = 'done'"),
    Attack("truncate a file", "import os; os.truncate('$SECRET', 0); answer = 'done'"),
    Attack("rename a file", "import os; os.rename('$SECRET', '$SECRET.x'); answer = 'done'"),
    Attack("change a file's mode", "import os; os.chmod('$SECRET', 0o777); answer = 'done'"),
    Attack("link to a file", "import os; os.symlink('/etc/passwd', '/tmp/rowhop-attack'); answer = 'done'"),
    Attack("a temporary file", "import tempfile; tempfile.TemporaryFile().write(b'x'); answer = 'done'"),
    Attack("an anonymous memory file", "import os; os.memfd_create('x'); answer = 'done'"),
    Attack("write into a package", "import pandas.core as p; open(p.__file__, 'a').write('x'); answer = 'done'"),
    # -- running other programs
    Attack("os.system", "import os; answer = 'denied' if os.system('touch /tmp/rowhop-attack') else 'done'"),
    Attack("os.system without import", "__import__('os').system('touch /tmp/rowhop-attack') and None\nanswer = 'denied'"),
    Attack("popen through pandas", "answer = pd.io.common.os.popen('id').read()"),
    Attack("subprocess", "import subprocess; answer = subprocess.run(['/usr/bin/id'], capture_output=True).stdout"),
    Attack("fork", "import os; answer = 'child' if os.fork() == 0 else 'parent'"),
    Attack("fork bomb", "import os\nwhile True: os.fork()"),
    Attack("multiprocessing", "import multiprocessing as m; p = m.Process(target=print); p.start(); answer = 'done'"),
    Attack("exec", "import os; os.execv('/bin/sh', ['sh', '-c', 'touch /tmp/rowhop-attack'])"),
    Attack("exec past Python", _libc("execve(b'/bin/sh', None, None)")),
    Attack("vfork past Python", _libc("syscall(58)")),
    Attack("clone past Python", _libc("syscall(56, 17, 0, 0, 0, 0)")),
    Attack("libc through numpy", "answer = 'denied' if np.ctypeslib.ctypes.CDLL(None).system(b'id') else 'done'"),
    Attack("a class walk to Popen", "for c in ().__class__.__base__.__subclasses__():\n"
           "    if c.__name__ == 'Popen': answer = c(['/usr/bin/id'], stdout=-1).communicate()[0].decode()"),
    Attack("df.eval to os", "df = pd.DataFrame({'a': [1]}); answer = df.eval('@pd.io.common.os.popen(\"id\").read()')"),
    Attack("unpickle a command", "import pickle\nclass P:\n    def __reduce__(self):\n        import os\n"
           "        return (os.system, ('touch /tmp/rowhop-attack',))\npickle.loads(pickle.dumps(P())); answer = 'denied'"),
    # -- the network
    Attack("connect to the host", "import socket; socket.create_connection(('127.0.0.1', $PORT), 1); answer = 'done'"),
    Attack("send a datagram", "import socket; socket.socket(2, 2).sendto(b'x', ('127.0.0.1', 53)); answer = 'done'"),
    Attack("listen", "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); answer = 'done'"),
    Attack("a unix socket", "import socket; socket.socket(socket.AF_UNIX); answer = 'done'"),
    Attack("look up a name", "import socket; answer = socket.gethostbyname('example.org')"),
    Attack("read an address through pandas", "answer = pd.read_csv('http://127.0.0.1:$PORT/x.csv')"),
    Attack("fetch an address", "import urllib.request as u; answer = u.urlopen('http://127.0.0.1:$PORT/').read()"),
    # -- other processes and rights
    Attack("kill the parent", "import os; os.kill(os.getppid(), 9); answer = 'done'"),
    Attack("kill everybody", "import os; os.kill(-1, 9); answer = 'done'"),
    Attack("become root", "import os; os.setuid(0); answer = 'done'"),
    Attack("new user namespace", _libc("unshare(0x10000000)")),
    Attack("mount", _libc("mount(b'none', b'/', b'tmpfs', 0, None)")),
    Attack("trace the parent", "import ctypes, os; l = ctypes.CDLL(None)\n"
           "answer = 'denied' if l.ptrace(16, os.getppid(), 0, 0) == -1 else 'done'"),
    Attack("read another's memory", "import ctypes, os; l = ctypes.CDLL(None)\n"
           "answer = 'denied' if l.syscall(310, os.getppid(), 0, 0, 0, 0, 0) == -1 else 'done'"),
    Attack("raise its limits", "import resource as r\nr.setrlimit(r.RLIMIT_CPU, (100, 100)); answer = 'done'"),
    Attack("lift the filter", _libc("prctl(22, 0, 0)")),
    Attack("io_uring", _libc("syscall(425, 8, 0)")),
    Attack("load a kernel program", _libc("syscall(321, 0, 0, 0)")),
    Attack("a key of the kernel's ring", _libc("syscall(250, 0, -3, 0, 0, 0)")),
    Attack("open descriptors of others", "import os\nfound = []\nfor i in range(4, 1024):\n    try: os.fstat(i); found.append(i)\n"
           "    except OSError: pass\nanswer = found or 'denied'"),
    Attack("the globals of a frame", "answer = '{0.__init__.__globals__[sys].modules[os].environ[OPENAI_API_KEY]}'.format(pd.DataFrame())"),
    Attack("the zygote's globals", "import sys\nf = sys._getframe()\nwhile f.f_back: f = f.f_back\n"
           "answer = 'done' if 'OPENAI_API_KEY' in str(f.f_locals) + str(f.f_globals) else 'denied'"),
    # -- using things up
    Attack("endless loop", "while True: pass", "timeout"),
    Attack("endless sleep", "import time; time.sleep(1000)", "timeout"),
    Attack("a slow expression", "import re; re.match('(a+)+$', 'a' * 40 + 'b')", "timeout"),
    Attack("ignore the CPU signal", "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass", "timeout"),
    Attack("catch everything", "while True:\n    try:\n        while True: pass\n    except BaseException: pass", "timeout"),
    Attack("a huge array", "answer = np.ones(1 << 30).sum()", "memory"),
    Attack("a huge bytearray", "answer = len(bytearray(4 << 30))", "memory"),
    Attack("a growing list", "x = []\nwhile True: x.append(bytes(1 << 20))", "memory"),
    Attack("a square join", "d = pd.DataFrame({'k': [1] * 20000}); answer = len(d.merge(d, on='k'))", "memory"),
    Attack("threads without end", "import threading, time\nn = 0\ntry:\n    while n < 3000:\n"
           "        threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); n += 1\n"
           "except (RuntimeError, MemoryError): pass\nanswer = 'denied' if n < 200 else n"),
    Attack("deep recursion", "import sys; sys.setrecursionlimit(10**6)\ndef f(): return f()\nf()", "broken"),
    Attack("a crash", "import ctypes; ctypes.string_at(0)", "crash"),
    Attack("a flood of text", "for i in range(40_000): print('x' * 50)\nanswer = 'denied'"),
    Attack("a flood of errors", "raise ValueError('x' * 10_000_000)", "error"),
    Attack("a flood of warnings", "import warnings\nfor i in range(20_000): warnings.warn('w' * 1000 + str(i))\nanswer = 'denied'"),
    Attack("a huge answer", "answer = pd.DataFrame({'a': ['x' * 1000] * 12_000})", "too_big"),
    Attack("an endless answer", "import itertools; answer = itertools.count()", "broken"),
    # -- the answer as a weapon
    Attack("a name of a command", "answer = '$(touch /tmp/rowhop-attack)'", "ok"),
    Attack("an answer that runs on pickling", "class P:\n    def __reduce__(self): return (print, ('x',))\nanswer = P()", "error"),
    Attack("half a character", "answer = '\\ud800'", "ok"),
    Attack("a text subclass that lies", "class S(str):\n    def __str__(self): return 1 / 0\nanswer = S('denied')"),
    Attack("a value whose name raises", "class M(type):\n    @property\n    def __name__(c): raise ValueError\n"
           "class V(metaclass=M): pass\nanswer = V()", "broken"),
    Attack("an error whose text raises", "class E(Exception):\n    def __str__(self): raise ValueError\nraise E()", "error"),
    Attack("leave early with success", "import os; os._exit(0)", "crash"),
    Attack("sys.exit", "import sys; sys.exit(0)", "error"),
    Attack("a torn reply", "import os; os.write(3, b'\\x00\\x00\\x00\\x10oops'); os._exit(0)", "crash"),
    Attack("a reply of no end", "import os\nwhile True: os.write(3, b'\\xff' * 65536)", "too_big"),
    Attack("a reply that is not JSON", "import os; os.write(3, b'\\x00\\x00\\x00\\x04oops'); os._exit(0)", "crash"),
    Attack("a reply nested without end", "import os; b = b'[' * 200000; os.write(3, len(b).to_bytes(4, 'big') + b)\n"
           "os._exit(0)", "crash"),
    Attack("an answer typed wrongly", "import os; b = b'{\"status\": \"ok\", \"shape\": \"list\", \"values\": [{\"a\": 1}]}'\n"
           "os.write(3, len(b).to_bytes(4, 'big') + b); os._exit(0)", "crash"),
    Attack("columns of different lengths", "import os; b = b'{\"status\":\"ok\",\"shape\":\"frame\",\"columns\":[{\"name\":\"a\","
           "\"kind\":\"int64\",\"values\":[1]},{\"name\":\"b\",\"kind\":\"int64\",\"values\":[]}]}'\n"
           "os.write(3, len(b).to_bytes(4, 'big') + b); os._exit(0)", "crash"),
    Attack("plain text on the output", "import os; os.write(1, b'{\"status\": \"ok\"}'); os._exit(0)", "crash"),
    # -- SQL
    Attack("SQL reads a file", "SELECT * FROM read_text('$SECRET')", "error", "sql"),
    Attack("SQL reads a CSV", "SELECT * FROM read_csv('/etc/passwd')", "error", "sql"),
    Attack("SQL names a file as table", "SELECT * FROM '$SECRET'", "error", "sql"),
    Attack("SQL lists files", "SELECT * FROM glob('/etc/*')", "error", "sql"),
    Attack("SQL writes a file", "COPY (SELECT 1) TO '/tmp/rowhop-attack'", "error", "sql"),
    Attack("SQL attaches", "ATTACH '/tmp/rowhop-attack' AS x", "error", "sql"),
    Attack("SQL exports", "EXPORT DATABASE '/tmp/rowhop-attack'", "error", "sql"),
    Attack("SQL installs", "INSTALL httpfs", "error", "sql"),
    Attack("SQL loads", "LOAD httpfs", "error", "sql"),
    Attack("SQL unlocks", "SET enable_external_access = true", "error", "sql"),
    Attack("SQL sets inside a select", "SELECT * FROM pragma_version(); SET threads = 9", "error", "sql"),
    Attack("two statements", "SELECT 1; DROP TABLE orders", "error", "sql"),
    Attack("a comment before the verb", "/* x */ DELETE FROM orders", "error", "sql"),
    Attack("SQL fetches", "SELECT * FROM read_csv('http://127.0.0.1:$PORT/x.csv')", "error", "sql"),
    Attack("SQL reads the environment", "SELECT getenv('OPENAI_API_KEY')", "error", "sql"),
    Attack("SQL reads Python's variables", "SELECT * FROM tables", "error", "sql"),
    Attack("SQL without end", "SELECT count(*) FROM range(1000000000) a, range(1000000) b", "timeout", "sql"),
    Attack("SQL fills the memory", "SELECT len(range(0, 1000000000))", "memory", "sql"),
    Attack("SQL gives a flood", "SELECT repeat('x', 1000) FROM range(12000)", "too_big", "sql"),
)  # fmt: skip

# What the sandbox does not prevent: the same words as under "Not covered" in its docstring.
NOT_COVERED = (
    "A program that lies",
    "Everything in the BOXes that it was given",
    "Python's own files",
    "The whole of its limits",
    "Guesses by time",
    "Faults of the kernel",
    "A run that the user made unsafe",
)


def play(layers: list[str], secret: str, port: int) -> dict[str, dict[str, Any]]:
    import pyarrow as pa

    from rowhop.sandbox import Limits, Sandbox
    from rowhop.types import Program

    orders = pa.table({"name": ["a", "b"], "n": [1, 2]})
    # what is promised to run out of time gets little of it; the rest must not fail on a busy machine
    short = Limits(cpu_seconds=1, wall_seconds=1.5, memory_mb=512)
    long = Limits(cpu_seconds=8, wall_seconds=30, memory_mb=512, result_bytes=8 << 20)

    def one(attack: Attack) -> tuple[str, dict[str, Any]]:
        code = attack.code.replace("$SECRET", secret).replace("$PORT", str(port))
        limits = short if attack.promise == "timeout" else long
        run = sandbox.run(Program(attack.language, code), {"orders": orders}, limits)  # type: ignore[arg-type]
        return attack.name, {
            "status": run.status,
            "values": list(run.values),
            "error": run.error,
            "printed": len(run.output),
            "warned": sum(map(len, run.warnings)),
            "all": SECRET in repr(run) + repr(run.table and run.table.to_pydict()),
        }

    with Sandbox(layers=tuple(layers)) as sandbox, ThreadPoolExecutor(4) as pool:
        assert set(sandbox.layers()) == set(layers), sandbox.layers()
        return dict(pool.map(one, ATTACKS))


def become(user: int) -> None:
    """From root to an ordinary user. Python may lie where only root may look (/root); the user must still start it."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    base = os.path.realpath(sys.base_prefix)
    parents = [str(p) for p in Path(base).parents if p.stat().st_mode & 0o005 != 0o005]
    if parents and libc.unshare(0x20000) == 0:  # an own mount namespace
        closed = parents[-1]
        spare = tempfile.mkdtemp()
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        subprocess.run(["mount", "--bind", base, spare], check=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", closed], check=True)
        os.makedirs(base)
        subprocess.run(["mount", "--move", spare, base], check=True)
        os.rmdir(spare)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    libc.prctl(4, 1, 0, 0, 0)  # changing user made the process closed to itself, /proc/self included


if __name__ == "__main__":
    plan = json.loads(sys.argv[1])
    if plan["user"]:
        become(plan["user"])
    print(json.dumps(play(plan["layers"], plan["secret"], plan["port"])))
