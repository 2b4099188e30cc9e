"""What SPARQL may be run: one SELECT or ASK over the graph itself. No update, no other service, no file, no dataset.

The text is read token by token, as a SPARQL parser would (a word inside a string, an IRI, a comment or a prefixed name
is none), and then parsed as a whole, so that what is refused is told with its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rowhop.errors import ReplyError

LONGEST = 20_000  # characters; a query that people or models mean to write is far shorter

_TOKEN = re.compile(
    r"""(?P<blank>\s+|\#[^\n\r]*)
      | (?P<text>'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\"|'(?:[^'\\\n\r]|\\.)*'|"(?:[^"\\\n\r]|\\.)*")
      | (?P<iri><[^<>"{}|^`\\\x00-\x20]*>)
      | (?P<var>[?$]\w+)
      | (?P<tag>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
      | (?P<name>(?:[\w][\w.-]*)?:(?:[\w:]|%[0-9A-Fa-f]{2}|\\.)?(?:[\w:.-]|%[0-9A-Fa-f]{2}|\\.)*)
      | (?P<word>[A-Za-z_][\w]*)
      | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")

_REFUSED = {
    "INSERT": "updates are not run",
    "DELETE": "updates are not run",
    "LOAD": "nothing is loaded",
    "CLEAR": "updates are not run",
    "DROP": "updates are not run",
    "CREATE": "updates are not run",
    "ADD": "updates are not run",
    "MOVE": "updates are not run",
    "COPY": "updates are not run",
    "SERVICE": "no other service is asked",
    "FROM": "the graph is fixed and cannot be chosen with FROM",
    "USING": "updates are not run",
    "CONSTRUCT": "only SELECT and ASK are run",
    "DESCRIBE": "only SELECT and ASK are run",
}


def check(query: str) -> str:
    """The query without comments. Raises ReplyError, written for whoever wrote the query, for what is not run."""
    if len(query) > LONGEST:
        raise ReplyError(f"The query has {len(query)} characters; {LONGEST} are the most that is run.")
    # Escapes for characters count before anything else in SPARQL: they could hide a keyword from us.
    query = _ESCAPE.sub(lambda m: chr(int(m[1] or m[2], 16) & 0x1FFFFF), query) if _ESCAPE.search(query) else query
    words = []
    kept = []
    for kind, token in _tokens(query):
        kept.append(" " if kind == "blank" else token)
        if kind == "word":
            words.append(token.upper())
            if reason := _REFUSED.get(token.upper()):
                raise ReplyError(f"{token.upper()} is not allowed here: {reason}. Write one SELECT query.")
    main = [w for w in words if w in ("SELECT", "ASK")]
    if not main or words[0] not in ("PREFIX", "BASE", "SELECT", "ASK"):
        raise ReplyError("Write one SELECT query over the graph.")
    clean = "".join(kept).strip()
    _parse(clean)
    return clean


def _tokens(query: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(query):
        found = _TOKEN.match(query, at)
        assert found is not None  # the last alternative takes any character
        at = found.end()
        yield str(found.lastgroup), found[0]


def _parse(query: str) -> None:
    """By the embedded engine's own parser, over nothing: a query that cannot be read is never sent anywhere."""
    import pyoxigraph as ox

    try:
        ox.Store().query(query)
    except SyntaxError as error:
        raise ReplyError(f"This is not valid SPARQL: {str(error)[:200]}") from error
    except (ValueError, RuntimeError, OSError) as error:
        raise ReplyError(f"This SPARQL cannot be run: {str(error)[:200]}") from error
