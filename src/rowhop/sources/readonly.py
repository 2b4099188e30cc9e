"""The first lock on a model's SQL: one parsed, read-only statement over names that exist, written out anew.

Not the boundary: each engine has its own lock behind this one (see `sqlite`, `duck`, `servers`). This one gives
messages that a model can act on and stops what engines let pass: functions that read files or wait, tables of the
system, text that SQLite reads out of a misspelt column.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowhop.box import Box, BoxSet
from rowhop.errors import ReplyError
from rowhop.sources.naming import nearest
from rowhop.sources.sqlnames import FUNCTIONS, INSTEAD, NOT_OPERATORS, SYNTAX

if TYPE_CHECKING:
    from sqlglot import exp

_LOG = logging.getLogger("sqlglot")
LONGEST = 20_000  # characters; a parser's time and depth are bounded by it
OPENERS = frozenset({"SELECT", "WITH", "FROM", "VALUES", "L_PAREN"})


@dataclass(frozen=True)
class Relation:
    """A BOX and where its rows are: `path` is (schema, table) or (table,) in the engine's own spelling.

    `declared` are the engine's own types of the BOX's columns, where it has strict ones.
    """

    box: Box
    path: tuple[str, ...]
    view: bool = False
    declared: tuple[str, ...] = ()

    def type_of(self, column: str) -> str:
        names = [c.name for c in self.box.columns]
        return self.declared[names.index(column)]


@dataclass(frozen=True)
class CheckedSelect:
    """`sql` is the statement written anew. `boxes_used` maps each BOX to the columns that are used, `*` for all.

    Never an empty tuple, since counting rows takes a column; there may be more columns than are needed.
    """

    sql: str
    boxes_used: dict[str, tuple[str, ...]]


def check_select(sql: str, dialect: str, boxes: BoxSet) -> CheckedSelect:
    """Check a model's statement over BOXes. Raises ReplyError, whose text is for the model.

    >>> from rowhop.box import Box, BoxSet, Column
    >>> shop = BoxSet((Box("orders", (Column("id", "integer"), Column("Net sales (€)", "number"))),))
    >>> check_select('select sum("net sales (€)") from Orders -- all', "duckdb", shop).sql
    'SELECT SUM("Net sales (€)") FROM "orders"'
    """
    return check(sql, dialect, [Relation(box, (box.name,)) for box in boxes.boxes])


def check(sql: str, dialect: str, relations: Sequence[Relation]) -> CheckedSelect:
    """The same for a database, whose tables may be named otherwise than their BOXes; both names are understood."""
    from sqlglot.errors import ErrorLevel, SqlglotError, UnsupportedError

    from rowhop.sources.resolve import resolve
    from rowhop.sources.writing import writing

    tree = parse(sql, dialect)
    _refuse_unknown_syntax(tree, dialect)
    try:
        used = resolve(tree, dialect, relations)
        text = tree.sql(dialect=writing(dialect), comments=False, unsupported_level=ErrorLevel.RAISE)
    except UnsupportedError as error:
        raise ReplyError(f"This cannot be said in {_engine(dialect)} SQL: {error}") from None
    except SqlglotError as error:
        raise ReplyError(f"The statement cannot be understood: {_first_line(error)}") from None
    except RecursionError:
        raise ReplyError("The statement is nested too deeply. Write a simpler one.") from None
    return CheckedSelect(text, used)


def parse(sql: str, dialect: str) -> exp.Query:
    """One SELECT as a tree. Raises ReplyError for anything else."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import ParseError, TokenError

    if len(sql) > LONGEST:
        raise ReplyError(f"The statement has {len(sql):,} characters; the most is {LONGEST:,}. Write a shorter one.")
    try:
        _refuse_other_verbs(sql, dialect)
        tree = sqlglot.parse_one(sql, dialect=dialect)
    except (ParseError, TokenError) as error:
        if "`" in sql and dialect in ("duckdb", "postgres"):  # quoting by habit of another engine; sqlite knows both
            tree = parse(sql, "sqlite")
        else:
            raise ReplyError(_syntax_error(error, dialect)) from None
    except RecursionError:
        raise ReplyError("The statement is nested too deeply. Write a simpler one.") from None
    except (AttributeError, TypeError, ValueError, LookupError):  # the parser stumbles over some broken statements
        raise ReplyError(f"The statement is not valid {_engine(dialect)} SQL. Write it anew, more simply.") from None
    if not isinstance(tree, exp.Query):
        raise ReplyError(f"Only one SELECT statement is allowed, not {tree.key.upper()}.")
    return tree


def _refuse_other_verbs(sql: str, dialect: str) -> None:
    """Stops by tokens what the parser would take as a command it does not know, or as a second statement."""
    from sqlglot import Dialect

    if not _LOG.handlers:
        _LOG.addHandler(logging.NullHandler())  # else its warnings on unknown syntax go to the user's terminal
    tokens = Dialect.get_or_raise(dialect).tokenize(sql)
    while tokens and tokens[-1].token_type.name == "SEMICOLON":
        tokens.pop()
    if not tokens:
        raise ReplyError("There is no statement. Write one SELECT statement.")
    if any(t.token_type.name == "SEMICOLON" for t in tokens):
        raise ReplyError("Only one statement is allowed. Write a single SELECT without ';' in it.")
    if tokens[0].token_type.name not in OPENERS:
        raise ReplyError(f"Only one SELECT statement is allowed; this one begins with {tokens[0].text[:20]!r}.")


def _refuse_unknown_syntax(tree: exp.Query, dialect: str) -> None:
    from sqlglot import exp

    for hint in list(tree.find_all(exp.Hint)):  # MySQL reads settings out of hints
        hint.pop()
    for node in tree.walk():
        kind = type(node).__name__
        if isinstance(node, exp.Func):
            _check_function(node, dialect)
        elif isinstance(node, exp.Into):
            raise ReplyError("SELECT … INTO writes; only reading is allowed.")
        elif isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func) and dialect != "duckdb":
            raise ReplyError("A function with a schema before its name is not allowed; use a plain SQL function.")
        elif isinstance(node, exp.DataType) and node.this == exp.DType.USERDEFINED:
            raise ReplyError(f"There is no type {node.sql(dialect=dialect)!r}.")
        elif kind not in SYNTAX and (not isinstance(node, exp.Binary) or kind in NOT_OPERATORS):
            raise ReplyError(f"{_what(node)} is not allowed; only reading with one plain SELECT is.")


def _check_function(node: exp.Func, dialect: str) -> None:
    from sqlglot import exp

    allowed = FUNCTIONS[dialect]
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
        names = [str(node.this if isinstance(node.this, str) else node.name)]
    else:
        names = list(type(node).sql_names())
    name = names[0].lower()
    instead = INSTEAD[dialect].get(name)
    if not instead and any(name.lower() in allowed for name in names):
        return
    near = None if instead else nearest(name, sorted(allowed), whole=True)
    hint = f" Use {instead}." if instead else f" Did you mean {near}?" if near else ""
    raise ReplyError(f"Function {name} is not available here ({_engine(dialect)} SQL).{hint}")


def _what(node: exp.Expression) -> str:
    from sqlglot import exp

    if isinstance(node, exp.Lock):
        return "FOR UPDATE"
    if isinstance(node, exp.Parameter | exp.Placeholder | exp.SessionParameter):
        return "A parameter or variable"
    return str(node.key).upper()


def _engine(dialect: str) -> str:
    return {"sqlite": "SQLite", "duckdb": "DuckDB", "postgres": "PostgreSQL", "mysql": "MySQL"}[dialect]


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:300] if str(error) else type(error).__name__


def _syntax_error(error: Exception, dialect: str) -> str:
    """sqlglot's message underlines with terminal codes; its parts are put together without them."""
    details = getattr(error, "errors", None)
    if not details:
        return f"Syntax error in {_engine(dialect)} SQL: {_first_line(error)}"
    d = details[0]
    place = f"{(d.get('start_context') or '')[-40:]}>>>{d.get('highlight') or ''}<<<{(d.get('end_context') or '')[:40]}"
    return (
        f"Syntax error in {_engine(dialect)} SQL at line {d.get('line')}: {d.get('description')} near: {place}. "
        "Names with blanks or of reserved words need quotes."
    )
