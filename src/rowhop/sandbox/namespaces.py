"""The zygote's own world: no network, no other processes, and a file system of a few read-only folders.

Everything here happens once, before the first program; where the machine denies it the other layers
(Landlock, seccomp, limits) have to hold alone, and do.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence

_NEWNS, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
_ALL = _NEWPID | _NEWNET | _NEWIPC | _NEWUTS | _NEWNS
_RDONLY, _NOSUID, _NODEV, _REMOUNT, _BIND, _REC, _PRIVATE, _DETACH = 1, 2, 4, 32, 4096, 16384, 1 << 18, 2
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
NOBODY = 65534

_libc = ctypes.CDLL(None, use_errno=True)


def enter() -> bool:
    """Leave the host's namespaces; the caller must fork afterwards, its child is process 1 of the new one."""
    if os.geteuid() == 0 and _libc.unshare(_ALL) == 0:
        return True
    user, group = os.geteuid(), os.getegid()
    if _libc.unshare(_ALL | _NEWUSER) != 0:
        return False
    for path, text in (
        ("/proc/self/setgroups", "deny"),
        ("/proc/self/uid_map", f"{NOBODY} {user} 1"),
        ("/proc/self/gid_map", f"{NOBODY} {group} 1"),
    ):
        with open(path, "w") as file:
            file.write(text)
    return True


def own_user_namespace() -> bool:
    """For one child: its threads are then counted alone, not with those of all other runs."""
    return bool(_libc.unshare(_NEWUSER) == 0)


def _mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    encoded = [None if text is None else text.encode() for text in (source, target, kind, options)]
    if _libc.mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3]):
        raise OSError(ctypes.get_errno(), f"mounting {target}")


def private_root(readable: Sequence[str]) -> None:
    """Replace the file system by an empty one that holds only `readable`, at their old paths, read-only.

    A Python that lies in a folder closed to others (/root, a home) becomes readable to the unprivileged child
    this way, and nothing beside it does.
    """
    # found out now: an absolute link would lead nowhere once the old root is gone
    folders = [(os.path.realpath(path), path) for path in _outermost(readable) if os.path.isdir(path)]
    os.umask(0o022)
    _mount("none", "/", None, _REC | _PRIVATE)
    _mount("rowhop", "/tmp", "tmpfs", _NOSUID | _NODEV, "mode=755,size=1m")
    os.mkdir("/tmp/old")
    os.mkdir("/tmp/new")
    if _libc.syscall(_PIVOT_ROOT[os.uname().machine], b"/tmp", b"/tmp/old"):
        raise OSError(ctypes.get_errno(), "pivot_root")
    os.chdir("/")
    for real, path in folders:
        target = "/new" + path
        os.makedirs(target, exist_ok=True)
        _mount("/old" + real, target, None, _BIND | _REC)
        # flags that the outer mount has are locked in a user namespace and must be repeated
        kept = os.statvfs(target).f_flag & (_NOSUID | _NODEV | 8 | 1024 | 2048)
        _mount("none", target, None, _REMOUNT | _BIND | _RDONLY | _NOSUID | _NODEV | kept)
    _close_to_listing("/new", [path for _, path in folders])
    if _libc.umount2(b"/old", _DETACH):
        raise OSError(ctypes.get_errno(), "leaving the old root")
    os.rmdir("/old")
    os.chroot("/new")
    os.chdir("/")


def _close_to_listing(root: str, mounted: Sequence[str]) -> None:
    """The folders on the way to the readable ones may be walked through; even their names are nobody's business."""
    for path in mounted:
        while (path := os.path.dirname(path)) != "/":
            os.chmod(root + path, 0o111)
    os.chmod(root, 0o111)


def _outermost(paths: Sequence[str]) -> list[str]:
    """Without those that lie inside another."""
    kept: list[str] = []
    for path in sorted({os.path.realpath(p) for p in paths} | set(paths), key=len):
        if not any(path == outer or path.startswith(outer.rstrip("/") + "/") for outer in kept):
            kept.append(path)
    return kept
