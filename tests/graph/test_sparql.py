"""Endpoints that are down, slow, busy, closed or something else, and the vocabularies of large public graphs."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from endpoints import Reply, free_port, oxigraph, saying

from rowhop.errors import ReplyError, SourceError, SourceUnavailable
from rowhop.graph import Hop
from rowhop.graph.sparql import Endpoint, access, open_endpoint
from rowhop.graph.terms import literal

JSON = {"Content-Type": "application/sparql-results+json"}
ROWS = json.dumps({"results": {"bindings": [{"s": {"type": "uri", "value": "http://e/a"}}]}}).encode()
QUERY = "SELECT ?s WHERE { ?s ?p ?o } LIMIT 1"


def test_a_busy_endpoint_is_asked_again() -> None:
    def script(n: int, headers: dict[str, str], body: str) -> Reply:
        return (429, {"Retry-After": "0"}, b"") if n < 3 else (200, JSON, ROWS)

    with saying(script) as url:
        assert Endpoint(access(url)).select(QUERY) == [{"s": "http://e/a"}]


@pytest.mark.parametrize(
    ("reply", "error", "said"),
    [
        ((200, {"Content-Type": "text/html"}, b"<html>login</html>"), SourceUnavailable, "text/html"),
        ((401, {}, b""), SourceError, "name and password"),
        ((404, {}, b""), SourceError, "no SPARQL endpoint"),
        ((400, {}, b"bad query"), ReplyError, "bad query"),
        ((429, {"Retry-After": "3600"}, b""), SourceUnavailable, "3600"),
        ((429, {"Retry-After": "0"}, b""), SourceUnavailable, "4 times"),
        ((200, JSON, b'{"results": {"bindi'), SourceUnavailable, "cannot be read"),
        ((418, {}, b""), SourceUnavailable, "418"),
    ],
)
def test_each_failure_is_told(reply: Reply, error: type[Exception], said: str) -> None:
    with saying(lambda n, headers, body: reply) as url, pytest.raises(error, match=said):
        open_endpoint(url)


def test_a_slow_and_a_missing_endpoint() -> None:
    def script(n: int, headers: dict[str, str], body: str) -> Reply:
        time.sleep(0.6)
        return 200, JSON, ROWS

    with saying(script) as url, pytest.raises(SourceUnavailable, match=r"within 0\.2 seconds"):
        open_endpoint(url, seconds=0.2)
    with pytest.raises(SourceUnavailable, match="cannot be reached"):
        open_endpoint(f"http://127.0.0.1:{free_port()}/")
    with pytest.raises(SourceError, match="http://"):
        open_endpoint("ftp://example.org/")


def test_a_password_is_sent_and_never_shown() -> None:
    seen: list[str] = []

    def script(n: int, headers: dict[str, str], body: str) -> Reply:
        seen.append(headers.get("Authorization", ""))
        return (200, JSON, ROWS) if n == 1 else (403, {}, b"")

    with saying(script) as url:
        graph = open_endpoint(url.replace("http://", "http://ann:s3cret@"))
        assert seen[0].startswith("Basic ")
        with pytest.raises(SourceError) as caught:
            graph.node("http://e/a")
    for text in (graph.name, graph.fingerprint(), repr(graph.engine.access), str(caught.value)):  # type: ignore[attr-defined]
        assert "s3cret" not in text


def test_answers_come_in_pages() -> None:
    def script(n: int, headers: dict[str, str], body: str) -> Reply:
        rows = [{"o": {"type": "literal", "value": f"{n}-{i}"}} for i in range(5000 if n < 3 else 10)]
        return 200, JSON, json.dumps({"results": {"bindings": rows}}).encode()

    with saying(script) as url:
        rows = Endpoint(access(url)).select("SELECT ?o WHERE { ?s ?p ?o } ORDER BY ?o")
    assert len(rows) == 10_010


def test_a_query_of_others_is_guarded() -> None:
    with saying(lambda n, headers, body: (200, JSON, ROWS)) as url:
        endpoint = Endpoint(access(url))
        assert endpoint.ask("SELECT ?s WHERE { ?s ?p ?o }") == [{"s": "http://e/a"}]
        with pytest.raises(ReplyError, match="SERVICE"):
            endpoint.ask("SELECT ?s WHERE { SERVICE <http://e/> { ?s ?p ?o } }")


FREEBASE = """
@prefix ns: <http://rdf.freebase.com/ns/> .
ns:m.01 ns:type.object.name "Ann Lee"@en , "Anna"@de ; ns:common.topic.alias "A. Lee"@en ;
  ns:type.object.type ns:people.person ; ns:people.person.education ns:m.0x .
ns:m.0x ns:education.education.institution ns:m.02 . ns:m.02 ns:type.object.name "Yale"@en .
ns:people.person ns:type.object.name "Person"@en .
"""
WIKIDATA = """
@prefix wd: <http://www.wikidata.org/entity/> . @prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix p: <http://www.wikidata.org/prop/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix schema: <http://schema.org/> .
@prefix wikibase: <http://wikiba.se/ontology#> .
wd:Q1 rdfs:label "Ann Lee"@en ; skos:altLabel "Mother Ann"@en ; schema:description "a leader"@en ;
  wdt:P31 wd:Q5 ; wdt:P19 wd:Q2 ; p:P19 wd:statement1 .
wd:Q2 rdfs:label "Manchester"@en . wd:Q5 rdfs:label "human"@en .
wd:P19 wikibase:directClaim wdt:P19 ; rdfs:label "place of birth"@en .
"""


def test_the_freebase_vocabulary(tmp_path: Path) -> None:
    file = tmp_path / "f.ttl"
    file.write_text(FREEBASE)
    ns = "http://rdf.freebase.com/ns/"
    with oxigraph(tmp_path / "store", file) as url:
        graph = open_endpoint(url, "freebase")
        ann = graph.find("A. Lee")[0]
        assert (ann.node.name, ann.node.kind, ann.how) == ("Ann Lee", "Person", "alias")
        assert graph.hops(ns + "m.01") == (Hop(ns + "people.person.education"),)
        (between,) = graph.follow(ns + "m.01", Hop(ns + "people.person.education"))
        assert not between.named
        assert graph.schema().relations[0].name.count(".") == 2


def test_the_wikidata_vocabulary(tmp_path: Path) -> None:
    file = tmp_path / "w.ttl"
    file.write_text(WIKIDATA)
    with oxigraph(tmp_path / "store", file) as url:
        graph = open_endpoint(url, "wikidata")
        ann = graph.find("Mother Ann")[0].node
        assert (ann.name, ann.kind, ann.text) == ("Ann Lee", "human", "a leader")
        (born,) = graph.hops(ann.id)
        assert [r.name for r in graph.schema().relations] == ["place of birth"]
        assert [n.name for n in graph.follow(ann.id, born)] == ["Manchester"]


def test_a_value_in_a_query_stays_a_value() -> None:
    assert literal('a" . ?x ?y ?z') == '"a\\" . ?x ?y ?z"'
