"""How nodes are written: one string per node, the same for every engine, and its form inside a query."""

from __future__ import annotations

import re
import unicodedata

from rowhop.errors import ReplyError
from rowhop.graph.vocabulary import XSD

_LITERAL = re.compile(r'"((?:[^"\\\n\r]|\\.)*)"(?:@([A-Za-z]+(?:-[A-Za-z0-9]+)*)|\^\^<([^<>"{}|^`\\\x00-\x20]*)>)?')
_IRI = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*:[^<>"{}|^`\\\x00-\x20]*')
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_UNESCAPE = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


def literal(value: str, language: str = "", datatype: str = "") -> str:
    """A literal's id: its N-Triples form.

    >>> literal("1999", datatype=XSD + "gYear")
    '"1999"^^<http://www.w3.org/2001/XMLSchema#gYear>'
    """
    text = '"' + "".join(_ESCAPES.get(c, c) for c in value) + '"'
    if language:
        return f"{text}@{language}"
    return f"{text}^^<{datatype}>" if datatype and datatype != XSD + "string" else text


def parts(id: str) -> tuple[str, str, str]:
    """Value, language and datatype of a literal's id."""
    found = _LITERAL.fullmatch(id)
    if not found:
        raise ValueError(f"{id!r} is not a literal.")
    value = re.sub(r"\\(.)", lambda m: _UNESCAPE.get(m[1], m[1]), found[1])
    return value, found[2] or "", found[3] or ""


def is_literal(id: str) -> bool:
    return id.startswith('"')


def is_blank(id: str) -> bool:
    return id.startswith("_:")


def in_query(id: str) -> str:
    """The id as SPARQL writes it. Anything that is no plain IRI or literal is refused: it could carry a query.

    >>> in_query("http://example.org/a")
    '<http://example.org/a>'
    """
    if is_literal(id) and _LITERAL.fullmatch(id):
        return id
    if _IRI.fullmatch(id):
        return f"<{id}>"
    raise ReplyError(f"{id!r} is neither an IRI nor a literal of this graph.")


def fold(text: str) -> str:
    """Without accents, case and punctuation; what two spellings of one name have in common.

    >>> fold("Béla_Tarr’s  Sátántangó!")
    'bela tarrs satantango'
    """
    plain = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    plain = plain.replace("'", "").replace("’", "")
    return re.sub(r"[\W_]+", " ", plain).strip() or text.strip().casefold()
