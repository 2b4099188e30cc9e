"""Graphs from files: RDF in every usual syntax and plain triple files, in an embedded store.

A large file is loaded once into an immutable snapshot below the cache folder; many processes read it at once.
The store is never written after it was published, so a changed file makes a new snapshot.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO
from urllib.parse import quote

import pyoxigraph as ox

from rowhop.errors import ReplyError, SourceError
from rowhop.graph import plainfile
from rowhop.graph.names import ALIAS, NAME, NameIndex
from rowhop.graph.terms import is_blank, is_literal, literal, parts
from rowhop.graph.triples import Hints, Row, TripleGraph
from rowhop.graph.vocabulary import STANDARD, XSD, Vocabulary, local_name, node_iri, relation_iri

FORMAT = 1  # of a snapshot; raised when an older one could not be read any more
SMALL = 1 << 20  # bytes up to which files are read anew each time, in memory: quicker than a store on disk
HASHED = 4 << 20  # bytes up to which the content itself is the key; beyond it, size and time of change
NAMED = 120  # characters up to which a literal can be looked for by name

FORMATS = {
    "ttl": ox.RdfFormat.TURTLE,
    "turtle": ox.RdfFormat.TURTLE,
    "nt": ox.RdfFormat.N_TRIPLES,
    "ntriples": ox.RdfFormat.N_TRIPLES,
    "nq": ox.RdfFormat.N_QUADS,
    "nquads": ox.RdfFormat.N_QUADS,
    "trig": ox.RdfFormat.TRIG,
    "rdf": ox.RdfFormat.RDF_XML,
    "owl": ox.RdfFormat.RDF_XML,
    "xml": ox.RdfFormat.RDF_XML,
    "jsonld": ox.RdfFormat.JSON_LD,
}
_NAMED_GRAPHS = (ox.RdfFormat.N_QUADS, ox.RdfFormat.TRIG, ox.RdfFormat.JSON_LD)

Term = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple


def extension(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    return name.rsplit(".", 1)[-1] if "." in name else ""


def reads(path: Path) -> bool:
    """Whether the file's name says RDF. Plain triple files cannot be told from tables by name."""
    return extension(path) in FORMATS


def open_files(
    paths: Sequence[Path], cache: Path, vocabulary: Vocabulary = STANDARD, hints: Hints | None = None, name: str = ""
) -> TripleGraph:
    """One graph over all the files. Raises SourceError with line and column of what cannot be read."""
    for path in paths:
        if not path.is_file():
            raise SourceError(f"There is no file {path}.")
    key = _fingerprint(paths)
    if sum(p.stat().st_size for p in paths) <= SMALL:
        store = ox.Store()
        _load(store, paths)
        engine = Embedded(store, key, NameIndex(None), vocabulary)
    else:
        home = cache / "graphs" / key
        if not (home / "store").is_dir():
            _publish(paths, home)
        folder = str(home / "store")
        names = NameIndex(home / f"names-{vocabulary.name}.sqlite")
        engine = Embedded(ox.Store.read_only(folder), key, names, vocabulary, folder)
    return TripleGraph(name or " + ".join(p.name for p in paths), engine, vocabulary, hints)


def _fingerprint(paths: Sequence[Path]) -> str:
    seal = hashlib.blake2b(f"{FORMAT} {ox.__version__}".encode(), digest_size=16)
    for path in paths:
        state = path.stat()
        seal.update(f"\0{path.name}\0{state.st_size}\0".encode())
        if state.st_size <= HASHED:
            seal.update(path.read_bytes())
        else:
            seal.update(f"{path.resolve()}\0{state.st_mtime_ns}\0{state.st_ino}".encode())
    return seal.hexdigest()


def _publish(paths: Sequence[Path], home: Path) -> None:
    """Build beside, then rename: a snapshot is there as a whole or not at all, whoever else builds it too."""
    part = home.with_name(f".{home.name}.{os.getpid()}.{time.monotonic_ns()}.part")
    try:
        part.mkdir(parents=True)
        store = ox.Store(str(part / "store"))
        _load(store, paths)
        store.flush()
        del store
        try:
            part.rename(home)
        except OSError:
            if not (home / "store").is_dir():
                raise
    except OSError as error:
        raise SourceError(f"The graph could not be stored below {home.parent}: {error}.") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _load(store: ox.Store, paths: Sequence[Path]) -> None:
    for path in paths:
        kind = FORMATS.get(extension(path))
        if kind is None:
            store.bulk_extend(_quads(path))
        else:
            _load_rdf(store, path, kind)
    if len(store) == 0:
        raise SourceError(f"There are no triples in {', '.join(p.name for p in paths)}.")


def _quads(path: Path) -> Iterator[ox.Quad]:
    nodes: dict[str, ox.NamedNode] = {}
    relations: dict[str, ox.NamedNode] = {}
    for subject, relation, object_ in plainfile.read(path):
        for name in (subject, object_):
            if name not in nodes:
                nodes[name] = ox.NamedNode(node_iri(name))
        if relation not in relations:
            relations[relation] = ox.NamedNode(relation_iri(relation))
        yield ox.Quad(nodes[subject], relations[relation], nodes[object_])
        if len(nodes) > 500_000:  # names come in runs; a bound on memory costs little
            nodes.clear()


def _load_rdf(store: ox.Store, path: Path, kind: ox.RdfFormat) -> None:
    base = f"file:///{quote(path.name)}"  # relative IRIs must not depend on the folder the file lies in
    try:
        with _opened(path) as file:
            store.bulk_load(input=file, format=kind, base_iri=base)
    except SyntaxError as error:
        where = f", line {error.lineno}, column {error.offset}" if error.lineno else ""
        reason = str(error.msg).split(": ", 1)[-1] if error.lineno else str(error)
        raise SourceError(f"{path}{where}: {reason[:300]}") from error
    except (OSError, ValueError) as error:
        raise SourceError(f"{path} could not be read: {error}") from error


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb")  # type: ignore[return-value]


class Embedded:
    """The engine over a store in this process. Queries see all named graphs as one."""

    many = False

    def __init__(self, store: ox.Store, key: str, names: NameIndex, vocabulary: Vocabulary, folder: str = ""):
        """`folder` is where the store lies, "" when it is in memory."""
        self.store = store
        self._folder = folder
        self._key = key
        self._names = names
        self._vocabulary = vocabulary
        self._spoken: list[ox.NamedNode] | None = None  # the vocabulary's relations that the store has

    def select(self, query: str, given: Mapping[str, str] | None = None, limit: int = 0) -> list[Row]:
        bound: dict[ox.Variable, Term] = {ox.Variable(v): _term(id) for v, id in (given or {}).items()}
        try:
            found = self.store.query(query, use_default_graph_as_union=True, substitutions=bound or None)
        except SyntaxError as error:
            raise ReplyError(f"This is not valid SPARQL: {str(error)[:300]}") from error
        return rows_of(found, limit)

    def facts(self, id: str, relations: Sequence[str]) -> list[tuple[str, str]]:
        """By the store's index and not by a query: every node that is met is asked for its names."""
        if self._spoken is None:
            self._spoken = [ox.NamedNode(p) for p in relations if self._uses(p)]
        subject = _term(id)
        if not isinstance(subject, ox.NamedNode | ox.BlankNode):
            return []
        quads = (q for p in self._spoken for q in self.store.quads_for_pattern(subject, p, None, None))
        return list(dict.fromkeys((q.predicate.value, _id(q.object)) for q in quads))

    def _uses(self, relation: str) -> bool:
        return next(iter(self.store.quads_for_pattern(None, ox.NamedNode(relation), None, None)), None) is not None

    def ask(self, query: str, limit: int = 1000, seconds: float = 10.0) -> list[Row]:
        """A query that a person or a model wrote, guarded, in a process that is killed when its time is up."""
        from rowhop.graph.worker import Request, run

        quads = "" if self._folder else (self.store.dump(format=ox.RdfFormat.N_QUADS) or b"").decode()
        return run(Request(query, limit, self._folder, quads), seconds)

    def find(self, text: str, k: int) -> list[tuple[str, float, str]]:
        if not self._names.built:
            self._names.build(self._all_names())
        return self._names.find(text, k)

    def _all_names(self) -> Iterator[tuple[str, str, int]]:
        spoken = self._vocabulary
        labelled: set[str] = set()
        for relations, how in ((spoken.labels, NAME), (spoken.aliases, ALIAS)):
            for relation in relations:
                for quad in self.store.quads_for_pattern(None, ox.NamedNode(relation), None, None):
                    if isinstance(quad.object, ox.Literal):
                        id = _id(quad.subject)
                        labelled.add(id)
                        yield quad.object.value, id, how
        about = {ox.NamedNode(p) for p in (*spoken.labels, *spoken.aliases, *spoken.descriptions)}
        seen: set[str] = set()
        for quad in self.store:
            if quad.predicate in about:
                continue
            for term in (quad.subject, quad.object):
                id = _id(term)
                if id in seen or id in labelled or is_blank(id):
                    continue
                seen.add(id)
                if not is_literal(id):
                    yield local_name(id), id, NAME
                elif len(value := parts(id)[0]) <= NAMED:
                    yield value, id, NAME

    def fingerprint(self) -> str:
        return self._key

    def close(self) -> None:
        self._names.close()


def rows_of(found: object, limit: int) -> list[Row]:
    """At most `limit` rows (0: all). ASK gives one row with `answer`."""
    if isinstance(found, ox.QueryBoolean):
        return [{"answer": literal(str(bool(found)).lower(), datatype=XSD + "boolean")}]
    if not isinstance(found, ox.QuerySolutions):
        raise ReplyError("Only SELECT and ASK queries are run.")
    names = [v.value for v in found.variables]
    rows: list[Row] = []
    for solution in found:
        rows.append({n: _id(t) for n in names if (t := solution[n]) is not None})
        if limit and len(rows) >= limit:
            break
    return rows


def _term(id: str) -> Term:
    if is_blank(id):
        return ox.BlankNode(id[2:])
    if is_literal(id):
        value, language, datatype = parts(id)
        if language:
            return ox.Literal(value, language=language)
        return ox.Literal(value, datatype=ox.NamedNode(datatype or XSD + "string"))
    try:
        return ox.NamedNode(id)
    except ValueError as error:
        raise ReplyError(f"{id!r} is neither an IRI nor a literal of this graph.") from error


def _id(term: object) -> str:
    if isinstance(term, ox.NamedNode):
        return str(term.value)
    if isinstance(term, ox.BlankNode):
        return f"_:{term.value}"
    if isinstance(term, ox.Literal):
        return literal(term.value, term.language or "", term.datatype.value)
    return str(term)  # a triple term (RDF 1.2): shown, never followed
