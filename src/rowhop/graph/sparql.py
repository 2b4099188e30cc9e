"""Graphs behind a SPARQL 1.1 endpoint. Only SELECT queries of our own or guarded ones are ever sent.

Answers come in pages; an endpoint that is busy is asked again after the time it names, a few times.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlencode, urlsplit, urlunsplit

from rowhop.errors import ReplyError, SourceError, SourceUnavailable
from rowhop.graph.guard import check
from rowhop.graph.names import ALIAS, NAME, NameIndex, ranked
from rowhop.graph.terms import fold, in_query, is_blank, literal
from rowhop.graph.triples import Hints, Row, TripleGraph
from rowhop.graph.vocabulary import PRESETS, STANDARD, Vocabulary

PAGE = 5000  # rows per request; public endpoints cut at 10,000 without a word
PATIENCE = 4  # tries in all
LONGEST_WAIT = 20.0  # seconds that a busy endpoint may ask for
FIRST_WAIT = 0.5
NEAR = 2000  # labels sharing letters that are compared here

# Languages in which a label is looked for as it is written; an index serves these, no scan is needed.
LANGUAGES = "en de fr es it pt nl sv da nb fi pl cs sk hu ro hr sl tr el ru uk ar he fa hi ja ko zh vi id".split()


@dataclass(frozen=True)
class Access:
    """How to get in. A name and password in the URL are taken out of it and sent as a header; neither is shown."""

    url: str
    authorization: str = field(default="", repr=False)
    seconds: float = 30.0

    @property
    def shown(self) -> str:
        return self.url


def access(url: str, token: str = "", seconds: float = 30.0) -> Access:
    split = urlsplit(url)
    if split.scheme not in ("http", "https") or not split.hostname:
        raise SourceError("The address of a SPARQL endpoint starts with http:// or https://.")
    bare = urlunsplit(split._replace(netloc=split.netloc.rpartition("@")[2]))
    if token:
        return Access(bare, f"Bearer {token}", seconds)
    if split.username is not None:
        pair = f"{unquote(split.username)}:{unquote(split.password or '')}"
        return Access(bare, "Basic " + base64.b64encode(pair.encode()).decode(), seconds)
    return Access(bare, "", seconds)


def open_endpoint(
    url: str, vocabulary: Vocabulary | str = STANDARD, hints: Hints | None = None, token: str = "", seconds: float = 30
) -> TripleGraph:
    """The graph behind an endpoint. Raises SourceError or SourceUnavailable where nothing answers there."""
    spoken = PRESETS[vocabulary] if isinstance(vocabulary, str) else vocabulary
    engine = Endpoint(access(url, token, seconds), spoken)
    engine.select("SELECT ?s WHERE { ?s ?p ?o } LIMIT 1")
    return TripleGraph(engine.access.shown, engine, spoken, hints)


class Endpoint:
    """The engine that asks over HTTP."""

    many = True

    def __init__(self, access: Access, vocabulary: Vocabulary = STANDARD):
        self.access = access
        self._vocabulary = vocabulary
        self._origins: dict[str, str] = {}  # blank node -> a query body that reaches it as ?n

    def select(self, query: str, given: Mapping[str, str] | None = None, limit: int = 0) -> list[Row]:
        body, wanted = self._with(query, given)
        if re.search(r"\bLIMIT \d+$", body):
            rows = self._send(body)
        else:
            rows = []
            while True:
                page = self._send(f"{body} LIMIT {PAGE} OFFSET {len(rows)}")
                rows += page
                if len(page) < PAGE or (limit and len(rows) >= limit):
                    break
        rows = rows[:limit] if limit else rows
        if wanted and len({r.get("n") for r in rows}) > 1:
            rows = [r for r in rows if r.get("n") == wanted]
        self._remember(body, rows)
        return rows

    def _with(self, query: str, given: Mapping[str, str] | None) -> tuple[str, str]:
        """The query with ?n bound, and the blank node that ?n must be. A blank node has no name that an endpoint
        knows: it is reached again by the way on which it was found."""
        if not given:
            return query, ""
        (id,) = given.values()
        if not is_blank(id):
            return query.replace("WHERE {", f"WHERE {{ VALUES ?n {{ {in_query(id)} }}", 1), ""
        if id not in self._origins:
            raise ReplyError(f"{id} was not reached in this session.")
        way = f"{{ SELECT DISTINCT ?n WHERE {{ {self._origins[id]} }} }}"
        return query.replace("WHERE {", f"WHERE {{ {way}", 1), id

    def _remember(self, body: str, rows: list[Row]) -> None:
        blanks = {v for r in rows for k, v in r.items() if k == "o" and is_blank(v)} - self._origins.keys()
        if not blanks:
            return
        inner = body[body.index("{") + 1 : body.rindex("}")]
        depth = len(self._origins)
        inner = re.sub(r"\?n\b", f"?n{depth}_", inner)
        inner = re.sub(r"\?o\b", "?n", inner)
        self._origins.update(dict.fromkeys(blanks, inner))

    def facts(self, id: str, relations: Sequence[str]) -> list[tuple[str, str]]:
        values = " ".join(in_query(p) for p in relations)
        rows = self.select(f"SELECT ?n ?p ?v WHERE {{ VALUES ?p {{ {values} }} ?n ?p ?v }}", {"n": id})
        return [(r["p"], r["v"]) for r in rows]

    def ask(self, query: str, limit: int = 1000) -> list[Row]:
        """A query that a person or a model wrote. Raises ReplyError where it is refused or wrong."""
        return self._send(check(query))[:limit]

    # ---- names

    def find(self, text: str, k: int) -> list[tuple[str, float, str]]:
        spoken = self._vocabulary
        forms = dict.fromkeys([text, text.title(), text[:1].upper() + text[1:], text.lower()])
        languages = dict.fromkeys(["", *spoken.languages, *LANGUAGES])
        values = " ".join(literal(f, language) for f in forms for language in languages)
        relations = " ".join(in_query(p) for p in (*spoken.labels, *spoken.aliases))
        where = f"VALUES ?p {{ {relations} }} VALUES ?l {{ {values} }} ?n ?p ?l"
        query = f"SELECT DISTINCT ?n ?p ?l WHERE {{ {where} }} LIMIT 200"
        return ranked(text, self._named(self._send(query)), k) or self._near(text, k, relations)

    def _near(self, text: str, k: int, relations: str) -> list[tuple[str, float, str]]:
        """Labels that share a word, compared here: endpoints have no common way to ignore accents."""
        words = [w for w in sorted(fold(text).split(), key=len, reverse=True) if len(w) > 2][:4]
        # A vowel may stand with a mark that the asker left out.
        tests = [f'REGEX(STR(?l), "{re.sub("[aeiouy]", ".", w[:5])}", "i")' for w in words]
        if not tests:
            return []
        where = f"VALUES ?p {{ {relations} }} ?n ?p ?l FILTER({' || '.join(tests)})"
        index = NameIndex(None)
        index.build(self._named(self._send(f"SELECT DISTINCT ?n ?p ?l WHERE {{ {where} }} LIMIT {NEAR}")))
        return index.find(text, k)

    def _named(self, rows: list[Row]) -> list[tuple[str, str, int]]:
        from rowhop.graph.terms import parts

        aliases = self._vocabulary.aliases
        return [(parts(r["l"])[0], r["n"], ALIAS if r["p"] in aliases else NAME) for r in rows]

    # ---- the wire

    def _send(self, query: str) -> list[Row]:
        for tries in range(1, PATIENCE + 1):
            try:
                return self._once(query)
            except urllib.error.HTTPError as error:
                wait = self._refused(error, tries)
            except TimeoutError as error:
                raise self._slow() from error
            except urllib.error.URLError as error:
                if isinstance(error.reason, TimeoutError):
                    raise self._slow() from error
                raise SourceUnavailable(f"{self.access.shown} cannot be reached: {error.reason}.") from error
            except OSError as error:
                if tries == PATIENCE:
                    raise SourceUnavailable(f"{self.access.shown} broke off its answer: {error}.") from error
                wait = FIRST_WAIT
            time.sleep(wait)
        raise SourceUnavailable(f"{self.access.shown} was busy {PATIENCE} times in a row. Try again later.")

    def _once(self, query: str) -> list[Row]:
        headers = {
            "Accept": "application/sparql-results+json",
            "Content-Type": "application/x-www-form-urlencoded",
            "User-Agent": "rowhop",
        }
        if self.access.authorization:
            headers["Authorization"] = self.access.authorization
        data = urlencode({"query": query}).encode()
        request = urllib.request.Request(self.access.url, data, headers)
        with urllib.request.urlopen(request, timeout=self.access.seconds) as reply:
            kind = reply.headers.get("Content-Type", "")
            text = reply.read().decode("utf-8", "replace")
        if "json" not in kind:
            raise SourceUnavailable(
                f"{self.access.shown} answered with {kind.split(';')[0] or 'something'} and not with SPARQL results. "
                "Is it the endpoint's address, or a page before it (a login, a proxy)?"
            )
        try:
            return _rows(json.loads(text))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SourceUnavailable(f"{self.access.shown} sent results that cannot be read.") from error

    def _refused(self, error: urllib.error.HTTPError, tries: int) -> float:
        """Seconds to wait before the next try; raises where another try is of no use."""
        with error:
            text = error.read(2000).decode("utf-8", "replace")
        where = self.access.shown
        if error.code in (401, 403):
            raise SourceError(f"{where} does not let us in ({error.code}). Check the name and password or the token.")
        if error.code == 400:
            raise ReplyError(f"{where} refused the query: {' '.join(text.split())[:300]}")
        if error.code in (404, 405, 410):
            raise SourceError(f"There is no SPARQL endpoint at {where} ({error.code}).")
        if error.code not in (429, 500, 502, 503, 504):
            raise SourceUnavailable(f"{where} answered with the error {error.code}.")
        if tries == PATIENCE:
            raise SourceUnavailable(f"{where} answered {error.code} {PATIENCE} times in a row. Try again later.")
        named = error.headers.get("Retry-After", "")
        wait = float(named) if named.isdigit() else FIRST_WAIT * 2 ** (tries - 1)
        if wait > LONGEST_WAIT:
            raise SourceUnavailable(f"{where} asks to wait for {wait:g} seconds. Try again later.")
        return wait

    def _slow(self) -> SourceUnavailable:
        return SourceUnavailable(f"{self.access.shown} gave no answer within {self.access.seconds:g} seconds.")

    def fingerprint(self) -> str:
        """Of the address only: what an endpoint holds may change without a sign."""
        return hashlib.blake2b(f"{self.access.url} {self._vocabulary.name}".encode(), digest_size=16).hexdigest()

    def close(self) -> None:
        pass


def _rows(reply: Any) -> list[Row]:
    return [{v: _id(t) for v, t in row.items()} for row in reply["results"]["bindings"]]


def _id(term: Mapping[str, str]) -> str:
    kind, value = term["type"], term["value"]
    if kind == "uri":
        return value
    if kind == "bnode":
        return f"_:{value}"
    return literal(value, term.get("xml:lang", ""), term.get("datatype", ""))
