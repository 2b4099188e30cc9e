"""A guarded SPARQL query in a process of its own, which is killed when its time is up.

A query cannot be stopped inside the store; without this, one cross product would hold a whole question.
Run as `python -I -m rowhop.graph.worker` with a JSON request on standard input; rows go back as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from rowhop.errors import ReplyError, SourceUnavailable
from rowhop.graph.guard import check

if TYPE_CHECKING:
    from rowhop.graph.triples import Row


@dataclass(frozen=True)
class Request:
    """`store` is a snapshot's folder; where it is "", `quads` is the whole graph as N-Quads."""

    query: str
    limit: int
    store: str = ""
    quads: str = ""


def run(request: Request, seconds: float) -> list[Row]:
    """Rows of a SELECT (an ASK gives one row with `answer`). Raises ReplyError when refused, wrong or too slow."""
    check(request.query)
    command = [sys.executable, "-I", "-m", "rowhop.graph.worker"]
    try:
        done = subprocess.run(
            command, input=json.dumps(asdict(request)), capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ReplyError(f"The query took more than {seconds:g} seconds; ask for less.") from error
    except OSError as error:
        raise SourceUnavailable(f"The query could not be started: {error.strerror}.") from error
    if done.returncode != 0:
        raise SourceUnavailable(f"The query's process ended with {done.returncode}.")
    reply = json.loads(done.stdout)
    if "error" in reply:
        raise ReplyError(reply["error"])
    rows: list[Row] = reply["rows"]
    return rows


def main() -> None:
    import pyoxigraph as ox

    from rowhop.graph.rdf import rows_of

    request = Request(**json.load(sys.stdin))
    if request.store:
        store = ox.Store.read_only(request.store)
    else:
        store = ox.Store()
        store.load(request.quads.encode(), format=ox.RdfFormat.N_QUADS)
    try:
        rows = rows_of(store.query(check(request.query), use_default_graph_as_union=True), request.limit)
        json.dump({"rows": rows}, sys.stdout)
    except ReplyError as error:
        json.dump({"error": str(error)}, sys.stdout)
    except (SyntaxError, RuntimeError, ValueError) as error:
        json.dump({"error": f"The query failed: {str(error)[:300]}"}, sys.stdout)


if __name__ == "__main__":
    main()
