"""Imports point down, and a third-party package is imported only where the design says so."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "rowhop"
LAYERS = {
    "errors": 0, "types": 0, "box": 0, "notebook": 0,
    "trace": 1, "telemetry": 1, "tracefile": 1, "prompts": 1, "models": 1, "search": 1, "sandbox": 1,
    "memory": 2, "sources": 2, "graph": 2,
    "agents": 3,
    "config": 4, "build": 4, "providers": 4,
    "eval": 5, "learn": 5,
    "cli": 6, "web": 6, "mcp": 6, "front": 6, "rerun": 6, "__init__": 6,
}  # fmt: skip
WEB = ("web", "mcp")
# Package → the modules (or folders) that may import it. A package that is not here may be imported nowhere.
EDGES = {
    "pandas": ("sandbox", "sources", "graph", "eval", "agents.pandora"),
    "numpy": ("models", "search", "sources", "graph", "sandbox", "memory", "learn", "eval", "agents"),
    "pyarrow": ("sources", "sandbox", "graph", "agents", "eval", "memory", "cli.files"),
    "duckdb": ("sources", "sandbox", "eval", "agents.pandora"),
    "sqlglot": ("sources", "sandbox", "agents.pandora", "eval"),
    "adbc_driver_sqlite": ("sources",),
    "psycopg": ("sources",),
    "pymysql": ("sources",),
    "polars": ("sources",),
    "openpyxl": ("sources", "cli.files"),
    "python_calamine": ("sources",),
    "charset_normalizer": ("sources",),
    "openai": ("models.openai", "models.embed", "models.endpoint"),
    "httpx": ("models", "graph.sparql"),
    "xllamacpp": ("models",),
    "onnxruntime": ("models",),
    "tokenizers": ("models",),
    "huggingface_hub": ("models",),
    "filelock": ("models",),
    "rapidfuzz": ("search", "sources", "agents", "graph", "memory"),
    "tantivy": ("search", "graph"),
    "usearch": ("search", "graph"),
    "pyoxigraph": ("graph",),
    "pydantic": ("config", "tracefile", "cli.answers", "models", "eval", "agents", "memory", "learn", "rerun", *WEB),
    "fastapi": ("web",),
    "starlette": ("web",),
    "uvicorn": ("cli.serving",),
    "mcp": ("mcp",),
    "opentelemetry": ("telemetry",),
    "pydantic_settings": ("config",),
    "typer": ("cli",),
    "rich": ("cli",),
    "rdflib": ("eval.graph_bench",),
    "torch": ("learn",),
    "transformers": ("learn",),
    "peft": ("learn",),
}  # fmt: skip


def modules() -> list[Path]:
    return sorted(p for p in SOURCE.rglob("*.py"))


def dotted(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def imports(path: Path) -> list[tuple[str, bool]]:
    """Imported module names, and whether they are for type checking only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "rowhop":
                names = ["rowhop" if a.name.startswith("__") else f"rowhop.{a.name}" for a in node.names]
            found += [(n, id(node) in typing_only) for n in names]
        elif isinstance(node, ast.Import):
            found += [(a.name, id(node) in typing_only) for a in node.names]
    return found


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_imports_point_down(path: Path) -> None:
    mine = dotted(path)
    part = mine.split(".")[0]
    assert part in LAYERS, f"{part} has no layer: put it into the list here and into the design."
    for name, typing_only in imports(path):
        if not name.startswith("rowhop."):
            continue
        theirs = name.split(".")[1]
        # A type may be named upward (the protocol of an agent), a value may not be used.
        if not typing_only:
            assert LAYERS[theirs] <= LAYERS[part], (
                f"{mine} (layer {LAYERS[part]}) imports {name} (layer {LAYERS[theirs]})"
            )
        if part == theirs == "agents" and len(name.split(".")) > 2 and len(mine.split(".")) > 1:
            assert name.split(".")[2] == mine.split(".")[1], f"{mine} imports another agent: {name}"


@pytest.mark.parametrize("path", modules(), ids=dotted)
def test_third_party_packages_stay_at_the_edge(path: Path) -> None:
    mine = dotted(path)
    for name, typing_only in imports(path):
        package = name.split(".")[0]
        if package in sys.stdlib_module_names or package in ("rowhop", "__future__") or typing_only:
            continue
        allowed = EDGES.get(package, ())
        assert any(mine == a or mine.startswith(a + ".") for a in allowed), f"{mine} imports {package}"


def test_what_is_imported_is_declared() -> None:
    import re
    import tomllib

    project = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = [*project["dependencies"], *(d for ds in project["optional-dependencies"].values() for d in ds)]
    declared = {re.split(r"[\[><=!~; ]", d)[0].lower().replace("-", "_") for d in listed}
    used = {n.split(".")[0] for path in modules() for n, typing_only in imports(path) if not typing_only}
    wanted = {p for p in used if p not in sys.stdlib_module_names and p not in ("rowhop", "__future__")}
    # httpx comes with the OpenAI client, starlette with FastAPI; opentelemetry-api is a part of a name space.
    assert wanted - declared - {"httpx", "starlette", "opentelemetry"} == set()
