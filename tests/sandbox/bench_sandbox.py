"""How long a run takes, beside a cold start of pandas: `python tests/sandbox/bench_sandbox.py`."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa

from rowhop.sandbox import Sandbox
from rowhop.types import Program

ROWS, REPEATS = 10_000, 40
PROGRAMS = (
    ("a sum", "python", "answer = orders.price.sum()"),
    ("a filter and a count", "python", "answer = len(orders[orders.price > 0.5])"),
    ("a group-by", "python", "answer = orders.groupby('name').price.sum().nlargest(3)"),
    ("SQL", "sql", "SELECT name, sum(price) FROM orders GROUP BY name ORDER BY 2 DESC LIMIT 3"),
)


def milliseconds(act: object, repeats: int, pause: float = 0.05) -> tuple[float, float]:
    """Median and best. The pause stands for the model that writes the next program."""
    taken = []
    for _ in range(repeats):
        time.sleep(pause)
        begun = time.perf_counter()
        act()  # type: ignore[operator]
        taken.append((time.perf_counter() - begun) * 1e3)
    return statistics.median(taken), min(taken)


def main() -> None:
    chosen = np.random.default_rng(1)
    orders = pa.table(
        {"id": np.arange(ROWS), "name": [f"c{i % 50}" for i in range(ROWS)], "price": chosen.random(ROWS)}
    )
    with Sandbox() as sandbox:
        begun = time.perf_counter()
        sandbox.available()
        print(f"{'start of the sandbox, once':40} {(time.perf_counter() - begun) * 1e3:7.0f} ms")
        for name, language, code in PROGRAMS:
            for evidence in (False, True):
                program = Program(language, code)  # type: ignore[arg-type]

                def once(program: Program = program, evidence: bool = evidence) -> None:
                    run = sandbox.run(program, {"orders": orders}, evidence=evidence)
                    assert run.status == "ok", run.error
                    assert bool(run.rows) == evidence

                median, best = milliseconds(once, REPEATS)
                label = name + (" and its rows" if evidence else "")
                print(f"{label:40} {median:7.1f} ms in the median, {best:.1f} at best")
    median, best = milliseconds(lambda: subprocess.run([sys.executable, "-c", "import pandas"], check=True), 5)
    print(f"{'cold start: python -c import pandas':40} {median:7.0f} ms in the median, {best:.0f} at best")


if __name__ == "__main__":
    main()
