"""The system calls that a program may make, as a seccomp filter written in plain BPF.

An allow-list: what is not named fails with EPERM. The filter is built here byte by byte so that no library
is needed; each call that is allowed only in part has its reason beside it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from functools import cache

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2

# What CPython, numpy, pandas, Arrow and DuckDB need for computing over memory that is already mapped, for
# threads, clocks, and for reading module files. Nothing that makes a process, a socket, a file or a signal.
_CALLS = (
    "read", "write", "open", "close", "stat", "fstat", "lstat", "poll", "lseek", "mmap", "mprotect", "munmap",
    "brk", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "ioctl", "pread64", "readv", "writev", "access",
    "sched_yield", "mremap", "msync", "mincore", "madvise", "dup", "nanosleep", "getpid", "clone", "clone3",
    "exit", "uname", "fcntl", "getcwd", "readlink", "gettimeofday", "getrlimit", "getrusage", "sysinfo", "times",
    "getuid", "getgid", "geteuid", "getegid", "getppid", "sigaltstack", "arch_prctl", "gettid", "time", "futex",
    "sched_getaffinity", "getdents64", "set_tid_address", "fadvise64", "clock_gettime", "clock_getres",
    "clock_nanosleep", "exit_group", "tgkill", "openat", "newfstatat", "readlinkat", "faccessat",
    "set_robust_list", "prlimit64", "getcpu", "getrandom", "membarrier", "statx", "rseq", "faccessat2", "ppoll",
    "pselect6", "rt_sigtimedwait",
)  # fmt: skip

_X86_64 = {
    "read": 0, "write": 1, "open": 2, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7, "lseek": 8, "mmap": 9,
    "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15,
    "ioctl": 16, "pread64": 17, "readv": 19, "writev": 20, "access": 21, "sched_yield": 24, "mremap": 25,
    "msync": 26, "mincore": 27, "madvise": 28, "dup": 32, "nanosleep": 35, "getpid": 39, "clone": 56, "exit": 60,
    "uname": 63, "fcntl": 72, "getcwd": 79, "readlink": 89, "gettimeofday": 96, "getrlimit": 97, "getrusage": 98,
    "sysinfo": 99, "times": 100, "getuid": 102, "getgid": 104, "geteuid": 107, "getegid": 108, "getppid": 110,
    "sigaltstack": 131, "arch_prctl": 158, "gettid": 186, "time": 201, "futex": 202, "sched_getaffinity": 204,
    "getdents64": 217, "set_tid_address": 218, "fadvise64": 221, "clock_gettime": 228, "clock_getres": 229,
    "clock_nanosleep": 230, "exit_group": 231, "tgkill": 234, "openat": 257, "newfstatat": 262, "readlinkat": 267,
    "faccessat": 269, "pselect6": 270, "ppoll": 271, "set_robust_list": 273, "prlimit64": 302, "getcpu": 309,
    "getrandom": 318, "membarrier": 324, "statx": 332, "rseq": 334, "clone3": 435, "faccessat2": 439,
    "rt_sigtimedwait": 128,
}  # fmt: skip
_AARCH64 = {
    "read": 63, "write": 64, "close": 57, "fstat": 80, "lseek": 62, "mmap": 222, "mprotect": 226, "munmap": 215,
    "brk": 214, "rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigreturn": 139, "ioctl": 29, "pread64": 67,
    "readv": 65, "writev": 66, "sched_yield": 124, "mremap": 216, "msync": 227, "mincore": 232, "madvise": 233,
    "dup": 23, "nanosleep": 101, "getpid": 172, "clone": 220, "exit": 93, "uname": 160, "fcntl": 25, "getcwd": 17,
    "gettimeofday": 169, "getrusage": 165, "sysinfo": 179, "times": 153, "getuid": 174, "getgid": 176,
    "geteuid": 175, "getegid": 177, "getppid": 173, "sigaltstack": 132, "gettid": 178, "futex": 98,
    "sched_getaffinity": 123, "getdents64": 61, "set_tid_address": 96, "fadvise64": 223, "clock_gettime": 113,
    "clock_getres": 114, "clock_nanosleep": 115, "exit_group": 94, "tgkill": 131, "openat": 56, "newfstatat": 79,
    "readlinkat": 78, "faccessat": 48, "set_robust_list": 99, "prlimit64": 261, "getcpu": 168, "getrandom": 278,
    "membarrier": 283, "statx": 291, "rseq": 293, "clone3": 435, "faccessat2": 439, "ppoll": 73, "pselect6": 72,
    "rt_sigtimedwait": 137,
}  # fmt: skip
# architecture → (the kernel's audit number, call numbers)
_ARCHITECTURES = {"x86_64": (0xC000003E, _X86_64), "aarch64": (0xC00000B7, _AARCH64)}

# BPF: load word, jump if equal, if any bit set, if at least, and with constant, return
_LD, _JEQ, _JSET, _JGE, _AND, _RET = 0x20, 0x15, 0x45, 0x35, 0x54, 0x06
_KILL, _ALLOW, _ERRNO = 0x80000000, 0x7FFF0000, 0x00050000

_Instruction = tuple[int, int, int, int]
_allow: _Instruction = (_RET, 0, 0, _ALLOW)
_deny: _Instruction = (_RET, 0, 0, _ERRNO | errno.EPERM)

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | (0o20000000)  # the last is O_TMPFILE
_THREAD = 0x10000 | 0x100 | 0x800  # CLONE_THREAD | CLONE_VM | CLONE_SIGHAND


def supported() -> bool:
    return platform.machine() in _ARCHITECTURES


def _load(argument: int, high: bool = False) -> _Instruction:
    return (_LD, 0, 0, 16 + 8 * argument + (4 if high else 0))


def _one_of(argument: int, allowed: tuple[int, ...]) -> list[_Instruction]:
    """Allow the call when the argument is one of a few numbers."""
    tests = [(_JEQ, len(allowed) - i, 0, number) for i, number in enumerate(allowed)]
    return [_load(argument), *tests, _deny, _allow]


def _partly_allowed(own_pid: int) -> dict[str, list[_Instruction]]:
    read_only = [(_JSET, 0, 1, _WRITING), _deny, _allow]
    return {
        "open": [_load(1), *read_only],
        "openat": [_load(2), *read_only],
        # threads yes, processes no
        "clone": [_load(0), (_AND, 0, 0, _THREAD), (_JEQ, 0, 1, _THREAD), _allow, _deny],
        # its flags lie behind a pointer that a filter cannot follow; glibc falls back to clone on ENOSYS
        "clone3": [(_RET, 0, 0, _ERRNO | errno.ENOSYS)],
        # abort() signals its own process; no other may be signalled
        "tgkill": [_load(0), (_JEQ, 0, 1, own_pid), _allow, _deny],
        # limits may be read, never set: the pointer to new limits must be null
        "prlimit64": [_load(2), (_JEQ, 0, 3, 0), _load(2, high=True), (_JEQ, 0, 1, 0), _allow, _deny],
        "ioctl": _one_of(1, (0x5401, 0x5451, 0x5450)),  # TCGETS (isatty), FIOCLEX, FIONCLEX
        "fcntl": _one_of(1, (1, 2, 3, 1030)),  # F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC
    }


@cache
def program(own_pid: int) -> bytes:
    """The filter for one process. Kept, so that it can be built before it is needed."""
    audit, numbers = _ARCHITECTURES[platform.machine()]
    code: list[_Instruction] = [(_LD, 0, 0, 4), (_JEQ, 1, 0, audit), (_RET, 0, 0, _KILL), (_LD, 0, 0, 0)]
    if platform.machine() == "x86_64":
        code += [(_JGE, 0, 1, 0x40000000), (_RET, 0, 0, _KILL)]  # the x32 calls would slip past the numbers
    partly = _partly_allowed(own_pid)
    for name in _CALLS:
        if name not in numbers:  # aarch64 never had some of the old calls
            continue
        body = partly.get(name, [_allow])
        code += [(_JEQ, 0, len(body), numbers[name]), *body]
    code.append(_deny)
    return b"".join(struct.pack("HBBI", *instruction) for instruction in code)


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def install() -> None:
    """From here on this process is held by the filter. Raises OSError where the kernel refuses it."""
    code = program(os.getpid())
    buffer = ctypes.create_string_buffer(code)
    pointer = _Filter(len(code) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(pointer), 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel refused the seccomp filter")
