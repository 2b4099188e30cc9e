"""What SPARQL is run and what is not, by text and in the killable worker."""

from __future__ import annotations

import time

import pytest

from rowhop.errors import ReplyError
from rowhop.graph import rdf
from rowhop.graph.guard import check
from rowhop.graph.rdf import Embedded

ALLOWED = [
    "SELECT ?x WHERE { ?x ?p ?o }",
    "ASK { ?s ?p ?o }",
    "prefix ex: <http://e/> select (count(*) as ?n) where { ?s ex:insert ?o }",
    'SELECT ?x WHERE { ?x <http://e/LOAD> "DROP ALL; SERVICE" } # DELETE',
    "SELECT ?from WHERE { ?from <p:q> 'x' FILTER(?from > 3) }",
    "BASE <http://e/> SELECT * WHERE { <a> <b>/^<c> ?x } LIMIT 3",
]
REFUSED = [
    "INSERT DATA { <a:a> <a:b> <a:c> }",
    "DELETE WHERE { ?s ?p ?o }",
    "LOAD <file:///etc/passwd>",
    "CLEAR ALL",
    "DROP GRAPH <a:g>",
    "SELECT * FROM <file:///etc/passwd> WHERE { ?s ?p ?o }",
    "SELECT * FROM NAMED <http://e/g> WHERE { GRAPH ?g { ?s ?p ?o } }",
    "SELECT * WHERE { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }",
    "SELECT * WHERE { SERVICE SILENT ?s { ?s ?p ?o } }",
    "SELECT * WHERE { ?s ?p ?o } ; DROP ALL",
    "CONSTRUCT WHERE { ?s ?p ?o }",
    "DESCRIBE <a:b>",
    "# SELECT\nCREATE GRAPH <a:g>",
    "SELECT * WHERE { \\u0053ERVICE <http://e/> { ?s ?p ?o } }",
    "SELECT * WHERE { ?s ?p ",
    "The answer is Paris.",
    "",
    "SELECT * WHERE { ?s ?p 'a }",
    "SELECT ?x WHERE { ?x ?p ?o }" + " " * 30_000,
]


@pytest.mark.parametrize("query", ALLOWED)
def test_reading_queries_pass(query: str) -> None:
    assert check(query)


@pytest.mark.parametrize("query", REFUSED)
def test_everything_else_is_refused(query: str) -> None:
    with pytest.raises(ReplyError):
        check(query)


@pytest.fixture(scope="module", params=["memory", "disk"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Embedded:
    folder = tmp_path_factory.mktemp(request.param)
    rows = 300 if request.param == "memory" else 45_000
    file = folder / "g.txt"
    file.write_text("".join(f"thing number {i}|next|thing number {i + 1}\n" for i in range(rows)))
    engine = rdf.open_files([file], folder / "cache").engine
    assert isinstance(engine, Embedded)
    return engine


def test_the_worker_gives_rows(engine: Embedded) -> None:
    rows = engine.ask("SELECT ?o WHERE { <urn:rowhop:n:thing%20number%203> ?p ?o }")
    assert rows == [{"o": "urn:rowhop:n:thing%20number%204"}]
    assert engine.ask("ASK { ?s ?p ?o }")[0]["answer"].startswith('"true"')
    assert len(engine.ask("SELECT * WHERE { ?s ?p ?o }", limit=7)) == 7


def test_the_worker_refuses(engine: Embedded) -> None:
    with pytest.raises(ReplyError, match="SERVICE"):
        engine.ask("SELECT * WHERE { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }")


def test_an_endless_query_is_killed(engine: Embedded) -> None:
    start = time.monotonic()
    with pytest.raises(ReplyError, match="more than 2 seconds"):
        engine.ask("SELECT (COUNT(*) AS ?n) WHERE { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f . ?g ?s ?h }", seconds=2)
    assert time.monotonic() - start < 8
