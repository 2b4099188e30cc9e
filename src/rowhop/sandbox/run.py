"""What goes into a run and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from rowhop.types import Value

if TYPE_CHECKING:
    import pyarrow as pa

RunStatus = Literal["ok", "error", "timeout", "memory", "too_big", "crash"]
LAYERS = ("namespaces", "user", "landlock", "seccomp")  # the walls, see `lockdown`
Shape = Literal["scalar", "list", "series", "frame", "none"]


@dataclass(frozen=True)
class Limits:
    """Of one run. `memory_mb` counts above what the BOXes themselves take."""

    cpu_seconds: int = 10
    wall_seconds: float = 15.0
    memory_mb: int = 1024
    threads: int = 16
    output_bytes: int = 64_000
    result_bytes: int = 32 << 20


DEFAULT = Limits()


@dataclass(frozen=True)
class Run:
    """What a run left behind; all of it is data from an untrusted child.

    Exactly one of `table` (the answer was a frame or a series) and `values` (a scalar or a list) is set when
    `status` is "ok"; `shape` says which the program made. `error` is written for the model: exception, message,
    line. `rows` maps a BOX to the numbers of its rows that the answer rests on (at most 1,000 each), `rows_total`
    to their count.
    """

    status: RunStatus
    shape: Shape = "none"
    values: tuple[Value, ...] = ()
    table: pa.Table | None = None
    error: str = ""
    line: int = 0
    output: str = ""
    warnings: tuple[str, ...] = ()
    rows: dict[str, tuple[int, ...]] = field(default_factory=dict)
    rows_total: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    peak_mb: float = 0.0
