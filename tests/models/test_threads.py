"""The number of threads comes from what is free, not from a guess."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rowhop.models.threads import free_cores, usable_cores


def test_between_one_and_what_may_be_used() -> None:
    assert 1 <= free_cores() <= usable_cores() <= (os.cpu_count() or 1)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux binds a process to cores")
def test_affinity_counts() -> None:
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
        "from rowhop.models.threads import free_cores; print(free_cores())"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.strip() == b"1"
