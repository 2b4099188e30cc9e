"""The walls around one program, put up by the child around itself just before it runs anything.

    limits      CPU seconds, memory, threads, open files; no file may grow, no core is left behind
    user        root becomes nobody, every capability goes, and none comes back (no_new_privs)
    Landlock    only Python's own folders can be read, no TCP port reached
    seccomp     only calls that compute over what is already there (see `seccomp`)

The order matters: each step needs rights that the next one takes away.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from rowhop.sandbox import landlock, namespaces, seccomp
from rowhop.sandbox.run import Limits

_PDEATHSIG, _DUMPABLE, _CAPBSET_DROP, _NO_NEW_PRIVS = 1, 4, 24, 38
_OPEN_FILES, _FLOOD = 64, 1024


@dataclass(frozen=True)
class World:
    """What a child needs to know to lock itself up."""

    layers: Sequence[str]
    folders: Sequence[str]
    proc: int  # /proc of the host, open
    rules: int  # a Landlock ruleset


def parent_death_signal() -> None:
    """Die with the parent, however it dies."""
    ctypes.CDLL(None, use_errno=True).prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def memory_in_use(proc: int) -> tuple[int, int]:
    """Mapped bytes and private bytes of this process; `proc` is an open descriptor of /proc."""
    fd = os.open("self/status", os.O_RDONLY, dir_fd=proc)
    with open(fd) as file:
        fields = dict(line.split(":", 1) for line in file if ":" in line)
    return int(fields["VmSize"].split()[0]) << 10, int(fields["VmData"].split()[0]) << 10


def limit(limits: Limits, used: tuple[int, int]) -> None:
    """`used` is what is mapped already: the BOXes and the libraries do not count."""
    extra = limits.memory_mb << 20
    for kind, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_STACK, 8 << 20),
        (resource.RLIMIT_AS, used[0] + extra),
        (resource.RLIMIT_DATA, used[1] + extra),
    ):
        _lower(kind, value)
    _lower(resource.RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + 1)


def _lower(kind: int, value: int, hard: int | None = None) -> None:
    _, highest = resource.getrlimit(kind)
    wanted = value if hard is None else hard
    most = wanted if highest == resource.RLIM_INFINITY else min(wanted, highest)
    resource.setrlimit(kind, (min(value, most), most))


def lock(world: World, threads: int) -> None:
    """Everything but the limits. Raises OSError where a layer that was asked for cannot be put up."""
    libc = ctypes.CDLL(None, use_errno=True)
    if "user" in world.layers and os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(namespaces.NOBODY, namespaces.NOBODY, namespaces.NOBODY)
        os.setresuid(namespaces.NOBODY, namespaces.NOBODY, namespaces.NOBODY)
    counted_alone = "namespaces" in world.layers and namespaces.own_user_namespace()
    # elsewhere the kernel counts every process of the user, so the number can only stop a flood
    _lower(resource.RLIMIT_NPROC, threads if counted_alone else _FLOOD)
    _drop_capabilities(libc)
    parent_death_signal()  # changing user clears it
    libc.prctl(_DUMPABLE, 0, 0, 0, 0)
    if libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel refused no_new_privs")
    if "landlock" in world.layers:
        landlock.restrict(world.rules)
    if "seccomp" in world.layers:
        seccomp.install()


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    for capability in range(64):
        if libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0):
            break
    libc.capset(struct.pack("Ii", 0x20080522, 0), bytes(24))
