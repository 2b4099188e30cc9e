"""Figures of the graph store: a million triples loaded, reopened and walked, a neighbourhood as BOXes, a large file.

    python -m rowhop.eval.graph_bench --folder /tmp/graphs
    python -m rowhop.eval.graph_bench --folder /tmp/graphs --gigabytes 1

rdflib does the same in the same run where it is installed. The triples are made up; the same seed gives the same file.
"""

from __future__ import annotations

import argparse
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rowhop.graph import Hop, rdf
from rowhop.graph.boxes import BoxSettings, KnowledgeBoxes
from rowhop.models.late import Spelling
from rowhop.types import Question

TRIPLES = 1_000_000
NODES, RELATIONS = 200_000, 20
HOPS = 500
_BASE = "http://example.org/"
_LOAD = "import sys\nfrom pathlib import Path\nfrom rowhop.graph import rdf\n"
_LOAD += "rdf.open_files([Path(sys.argv[1])], Path(sys.argv[2]))\n"


def write_triples(file: Path, triples: int, nodes: int = NODES) -> Path:
    """N-Triples; about 54 bytes each. Node 0 has 100 neighbours with 99 of their own: a 2-hop world of 10,000."""
    draw = random.Random(0)
    with file.open("w", encoding="ascii") as out:
        for i in range(100):
            out.write(f"<{_BASE}n0> <{_BASE}near> <{_BASE}h{i}> .\n")
            out.writelines(f"<{_BASE}h{i}> <{_BASE}has> <{_BASE}e{i}_{j}> .\n" for j in range(99))
        for _ in range(triples - 10_000):
            subject, object_ = draw.randrange(1, nodes), draw.randrange(1, nodes)
            out.write(f"<{_BASE}n{subject}> <{_BASE}p{draw.randrange(RELATIONS)}> <{_BASE}n{object_}> .\n")
    return file


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def ours(file: Path, cache: Path) -> dict[str, float]:
    shutil.rmtree(cache, ignore_errors=True)
    found = {"load s": timed(lambda: rdf.open_files([file], cache))}
    found["reopen s"] = timed(lambda: rdf.open_files([file], cache))
    graph = rdf.open_files([file], cache)
    ids = [f"{_BASE}n{i}" for i in range(1, HOPS + 1)]
    found["hop ms"] = timed(lambda: [graph.follow(id, Hop(f"{_BASE}p3")) for id in ids]) / HOPS * 1000
    wide = BoxSettings(fan=1000, nodes=20_000)
    boxes = KnowledgeBoxes(graph, Spelling(), wide)
    boxes.boxes_for(Question("what is h0", (f"{_BASE}h0",)))  # imports and the graph's schema: once per process
    asked = Question("what has what is near n0", (f"{_BASE}n0",))
    found["boxes s"] = timed(lambda: boxes.boxes_for(asked))
    found["box rows"] = sum(boxes.load(b.name).num_rows for b in boxes.boxes().boxes)
    return found


def theirs(file: Path) -> dict[str, float]:
    """rdflib, in memory; {} where it is not installed."""
    try:
        import rdflib
    except ImportError:
        return {}
    graph = rdflib.Graph()
    found = {"load s": timed(lambda: graph.parse(str(file), format="nt"))}
    relation = rdflib.URIRef(f"{_BASE}p3")
    ids = [rdflib.URIRef(f"{_BASE}n{i}") for i in range(1, HOPS + 1)]
    found["hop ms"] = timed(lambda: [list(graph.objects(id, relation)) for id in ids]) / HOPS * 1000
    query = f"SELECT ?a ?b WHERE {{ <{_BASE}n0> <{_BASE}near> ?a . ?a <{_BASE}has> ?b }}"
    found["2-hop query s"] = timed(lambda: list(graph.query(query)))
    return found


def large(folder: Path, gigabytes: float) -> dict[str, float]:
    """A large file in a process of its own: seconds, and the most memory that it held."""
    file = write_triples(folder / "large.nt", int(gigabytes * 1e9 / 72), 5_000_000)
    cache = folder / "large-cache"
    shutil.rmtree(cache, ignore_errors=True)
    seconds = timed(lambda: subprocess.run([sys.executable, "-c", _LOAD, file, cache], check=True))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6  # kilobytes on Linux
    size = file.stat().st_size / 1e9
    shutil.rmtree(cache)
    file.unlink()
    return {"file GB": size, "load s": seconds, "peak GB": peak}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m rowhop.eval.graph_bench", description="Measure the graph store.")
    parser.add_argument("--folder", type=Path, required=True, help="where files and snapshots may be written")
    parser.add_argument("--triples", type=int, default=TRIPLES)
    parser.add_argument("--gigabytes", type=float, default=0.0, help="instead: load one file of this size")
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.gigabytes:
        _say("large", large(given.folder, given.gigabytes))
        return 0
    file = write_triples(given.folder / "triples.nt", given.triples)
    _say("rowhop", ours(file, given.folder / "cache"))
    _say("rdflib", theirs(file) or {"not installed": 0.0})
    return 0


def _say(name: str, found: dict[str, float]) -> None:
    print(f"{name}: " + ", ".join(f"{key} {value:.3g}" for key, value in found.items()))


if __name__ == "__main__":
    sys.exit(main())
