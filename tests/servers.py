"""Starts real PostgreSQL and MariaDB servers for tests, from Debian's binaries, in a folder that goes away after.

    with postgres() as server:
        psycopg.connect(server.admin_url)

Each listens on 127.0.0.1 only, on a free port. A server refuses to run as root; then it runs as another user.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

PASSWORD = "s3cret@/:#? %41ü"  # every kind of character that a URL makes trouble with
ADMIN_PASSWORD = "admin-pw"
START_SECONDS = 60


@dataclass
class Server:
    """`stop` and `start` play a server that goes down; data and port stay."""

    port: int
    admin_user: str
    scheme: str
    command: Sequence[str]
    account: dict[str, int]
    log: Path
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def url(self, database: str, user: str, password: str) -> str:
        from urllib.parse import quote

        return f"{self.scheme}://{quote(user)}:{quote(password, safe='')}@127.0.0.1:{self.port}/{database}"

    def start(self, ready: Callable[[], None]) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, **self.account)  # type: ignore[call-overload]
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                return ready()
            except OSError:
                ended = self.process.poll() is not None
            if ended or time.monotonic() > deadline:
                raise RuntimeError(f"The server did not start:\n{self.log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGINT if self.scheme == "postgresql" else signal.SIGTERM)  # at once
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None


def missing_server(kind: str) -> str:
    """A sentence when the server cannot be started here, else ''."""
    name = "initdb" if kind == "postgres" else "mariadbd"
    return "" if _binary(name) else f"needs {name}; tests/install_servers.sh installs it"


@contextmanager
def postgres() -> Iterator[Server]:
    """An empty cluster; admin is `admin` with ADMIN_PASSWORD, database `postgres`."""
    with _folder("postgres") as (folder, account):
        secret = folder / "pw"
        secret.write_text(ADMIN_PASSWORD)
        os.chmod(secret, 0o644)
        data = folder / "data"
        flags = ["-U", "admin", "-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8", "--locale=C", "--no-sync"]
        _run([_need("initdb"), "-D", str(data), *flags], account)
        port = _free_port()
        settings = {"port": port, "listen_addresses": "127.0.0.1", "unix_socket_directories": folder, "fsync": "off"}
        options = [w for key, value in settings.items() for w in ("-c", f"{key}={value}")]
        command = [_need("postgres"), "-D", str(data), *options]
        server = Server(port, "admin", "postgresql", command, account, folder / "log")

        def ready() -> None:
            import psycopg

            try:
                psycopg.connect(server.url("postgres", "admin", ADMIN_PASSWORD), connect_timeout=5).close()
            except psycopg.OperationalError as error:
                raise OSError from error

        try:
            server.start(ready)
            yield server
        finally:
            server.stop()


@contextmanager
def mariadb(binlog: bool = False) -> Iterator[Server]:
    """An empty server; admin is `root` with ADMIN_PASSWORD."""
    with _folder("mysql") as (folder, account):
        data = folder / "data"
        data.mkdir()
        if account:
            os.chown(data, account["user"], account["group"])
        quiet = ["--no-defaults", f"--datadir={data}"]
        install = [_need("mariadb-install-db"), *quiet, "--auth-root-authentication-method=normal", "--skip-test-db"]
        _run(install, account)
        port = _free_port()
        init = folder / "init.sql"
        init.write_text(f"ALTER USER root@localhost IDENTIFIED BY '{ADMIN_PASSWORD}';\n")
        os.chmod(init, 0o644)
        command = [
            _need("mariadbd"),
            *quiet,
            f"--port={port}",
            f"--socket={folder}/s",
            "--bind-address=127.0.0.1",
            "--innodb-buffer-pool-size=32M",
            "--innodb-flush-log-at-trx-commit=0",
            f"--secure-file-priv={folder}",
            f"--init-file={init}",
            *(["--log-bin=binlog", "--server-id=1"] if binlog else []),
        ]
        server = Server(port, "root", "mysql", command, account, folder / "log")

        def ready() -> None:
            import pymysql

            try:
                pymysql.connect(host="127.0.0.1", port=port, user="root", password=ADMIN_PASSWORD).close()
            except pymysql.err.OperationalError as error:
                raise OSError from error

        try:
            server.start(ready)
            yield server
        finally:
            server.stop()


@contextmanager
def _folder(owner: str) -> Iterator[tuple[Path, dict[str, int]]]:
    folder = Path(tempfile.mkdtemp(prefix="rowhop-server-", dir="/tmp"))  # a socket's path must be short
    account: dict[str, int] = {}
    if os.geteuid() == 0:
        user = _user(owner)
        account = {"user": user.pw_uid, "group": user.pw_gid}
        os.chown(folder, user.pw_uid, user.pw_gid)
    try:
        yield folder, account
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _user(owner: str) -> pwd.struct_passwd:
    with suppress(KeyError):
        return pwd.getpwnam(owner)
    return pwd.getpwnam("nobody")


def _run(command: Sequence[str], account: dict[str, int]) -> None:
    done = subprocess.run(command, capture_output=True, check=False, cwd="/tmp", **account)  # type: ignore[call-overload]
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout.decode()[-1000:]}{done.stderr.decode()[-1000:]}")


def _binary(name: str) -> str | None:
    newest = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name), reverse=True)
    folders = [*map(str, newest), os.environ.get("PATH", ""), "/usr/sbin", "/usr/bin"]
    return shutil.which(name, path=os.pathsep.join(folders))


def _need(name: str) -> str:
    found = _binary(name)
    if found is None:
        raise RuntimeError(f"There is no {name}; tests/install_servers.sh installs it.")
    return found


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])
