"""How many threads the embedded model should use: the cores that are free right now, measured and not assumed.

llama.cpp's threads meet at a barrier many hundred times a token. One thread too many on a busy machine makes all
others wait for it, and the reply becomes ten times slower; one too few only costs its share.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

MOST = 16  # beyond this, memory bandwidth is the limit
WINDOW = 0.15  # seconds of watching; the kernel counts in hundredths


def usable_cores() -> int:
    """Cores that this process may use: its affinity, its container's quota, one per physical core."""
    try:
        allowed = os.sched_getaffinity(0)
    except AttributeError:  # macOS, Windows
        return max(1, min(os.cpu_count() or 1, MOST))
    cores = {_siblings(cpu) for cpu in allowed}
    return max(1, min(len(cores), _quota(), MOST))


def free_cores() -> int:
    """Usable cores that nobody else keeps busy at this moment; at least 1."""
    usable = usable_cores()
    before = _idle_ticks()
    if before is None or usable == 1:
        return usable
    time.sleep(WINDOW)
    after = _idle_ticks()
    if after is None:
        return usable
    idle = (after - before) / os.sysconf("SC_CLK_TCK") / WINDOW
    return max(1, min(usable, round(idle)))


def _siblings(cpu: int) -> str:
    path = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return str(cpu)


def _quota() -> int:
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return max(1, int(quota) // int(period))
    except (OSError, ValueError):  # no cgroup v2, or "max"
        return MOST


def _idle_ticks() -> int | None:
    try:
        fields = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
        return int(fields[4]) + int(fields[5])  # idle, waiting for a disk
    except (OSError, ValueError, IndexError):
        return None
