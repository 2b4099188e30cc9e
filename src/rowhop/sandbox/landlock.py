"""Landlock: the file system shrinks to a few folders that may be read, and no TCP port can be reached."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Sequence

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446  # the same numbers on every architecture
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3


_libc = ctypes.CDLL(None, use_errno=True)


def _syscall(number: int, *arguments: object) -> int:
    return int(_libc.syscall(number, *arguments))


def version() -> int:
    """0 where the kernel has none."""
    return max(_syscall(_CREATE, None, ctypes.c_size_t(0), 1), 0)


def ruleset(readable: Sequence[str]) -> int:
    """Made once by the zygote, as an open descriptor; each child then only has to apply it."""
    abi = version()
    handled = (1 << 13) - 1  # every right of the first version
    handled |= (1 << 13 if abi >= 2 else 0) | (1 << 14 if abi >= 3 else 0) | (1 << 15 if abi >= 5 else 0)
    ports = 3 if abi >= 4 else 0  # bind and connect
    scopes = 3 if abi >= 6 else 0  # abstract sockets and signals to processes outside
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    rules = _syscall(_CREATE, struct.pack("QQQ", handled, ports, scopes)[:size], ctypes.c_size_t(size), 0)
    if rules < 0:
        raise OSError(ctypes.get_errno(), "the kernel refused a Landlock ruleset")
    for path in readable:
        try:
            folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # not there, or not for this user: then it needs no rule either
        rights = _READ_FILE | (_READ_DIR if os.path.isdir(path) else 0)
        if _syscall(_ADD_RULE, rules, 1, struct.pack("=Qi", rights, folder), 0):
            raise OSError(ctypes.get_errno(), f"the kernel refused a Landlock rule for {path}")
        os.close(folder)
    return rules


def restrict(rules: int) -> None:
    if _syscall(_RESTRICT, rules, 0):
        raise OSError(ctypes.get_errno(), "the kernel refused to apply Landlock")
