"""Statements that find the rows a SELECT rests on, and what it leaves out, made from the SELECT itself.

Runs in the parent. A BOX stands in them under a second name that also has row numbers, so that the tables the
answer was computed from stay as they are. A shape that is not understood gives no statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

ROW = "__rowhop_row"
_SELECT = re.compile(r"(\s|--[^\n]*\n|/\*.*?\*/)*(select|with)\b", re.IGNORECASE | re.DOTALL)
# kind, BOX or names, statement
Probe = tuple[str, str, str]


def numbered(box: str) -> str:
    """The name under which a BOX has its row numbers."""
    return f"__rowhop_{box}"


def probes(sql: str, boxes: Iterable[str]) -> tuple[Probe, ...]:
    """ "rows": the row numbers of one BOX; "ties": what was sorted by, in order, with the number kept in the name;
    "lost": unmatched rows, all rows, whether the partner's key is unique."""
    import sqlglot
    from sqlglot import exp

    if not _SELECT.match(sql):  # sqlglot would say on the terminal what it cannot read
        return ()
    try:
        tree = sqlglot.parse_one(sql, dialect="duckdb")
    except (sqlglot.ParseError, sqlglot.TokenError, RecursionError):
        return ()
    if not isinstance(tree, exp.Select) or tree.args.get("qualify") or tree.args.get("windows"):
        return ()
    found = _Select(tree, {name.casefold(): name for name in boxes})
    return (*found.rows(), *found.ties(), *found.lost()) if found.tables else ()


class _Select:
    def __init__(self, tree: exp.Select, boxes: dict[str, str]) -> None:
        from sqlglot import exp

        self._tree = tree
        self._ctes = {cte.alias.casefold() for cte in tree.ctes}
        first = tree.args.get("from_") or tree.args.get("from")
        self._joins: list[exp.Join] = tree.args.get("joins") or []
        sources = [first.this] if first is not None else []
        sources += [join.this for join in self._joins]
        # alias → BOX, for the sources that are BOXes themselves
        self.tables: dict[str, str] = {}
        for source in sources:
            name = source.name.casefold() if isinstance(source, exp.Table) and not source.db else ""
            if name in boxes and name not in self._ctes:
                self.tables[source.alias or source.name] = boxes[name]
        group = tree.args.get("group")
        self._grouped = group is not None
        # ALL, ROLLUP, CUBE: the groups are not given by the keys alone
        extras = {k: v for k, v in group.args.items() if k != "expressions"} if group is not None else {}
        self._odd_group = group is not None and (not group.expressions or any(extras.values()))
        self._aggregated = any(_aggregates(e) for e in tree.expressions)
        self._keys = [self._resolved(key) for key in group.expressions] if group is not None else []

    def rows(self) -> list[Probe]:
        if self._odd_group or (self._tree.args.get("distinct") and self._tree.args.get("limit")):
            return []
        return [("rows", box, self._rows_of(alias)) for alias, box in self.tables.items()]

    def _rows_of(self, alias: str) -> str:
        from sqlglot import exp

        select = self._over_numbered()
        select.set("distinct", None)
        row = exp.alias_(exp.column(ROW, table=alias, quoted=True), ROW)
        if self._grouped:
            self._only_kept_groups(select)
        elif self._aggregated:
            self._only_extreme(select)
        else:
            self._resolve_order(select)
        if self._grouped or self._aggregated:
            for part in ("group", "having", "order", "limit", "offset"):
                select.set(part, None)
        select.set("expressions", [row])
        inner = select.subquery("__rowhop_found")
        return str(exp.select(exp.column(ROW)).distinct().from_(inner).sql(dialect="duckdb"))

    def _over_numbered(self) -> exp.Select:
        from sqlglot import exp

        select = self._tree.copy()
        first = select.args.get("from_") or select.args.get("from")
        for holder in [first, *(select.args.get("joins") or [])]:
            source = holder.this if holder is not None else None
            if isinstance(source, exp.Table) and (source.alias or source.name) in self.tables:
                alias = source.alias or source.name
                holder.set("this", exp.table_(numbered(self.tables[alias]), quoted=True, alias=alias))
        return select

    def _only_kept_groups(self, select: exp.Select) -> None:
        """Of the groups, those that are still there after HAVING and LIMIT."""
        from sqlglot import exp

        if not any(self._tree.args.get(part) for part in ("having", "limit")):
            return
        kept = self._tree.copy()
        self._resolve_order(kept)
        kept.set("distinct", None)
        kept.set("with_", None)
        kept.set("expressions", [exp.alias_(key.copy(), f"__rowhop_g{i}") for i, key in enumerate(self._keys)])
        kept.set("group", exp.Group(expressions=[key.copy() for key in self._keys]))
        same = [
            exp.NullSafeEQ(this=exp.column(f"__rowhop_g{i}", table="__rowhop_kept"), expression=key.copy())
            for i, key in enumerate(self._keys)
        ]
        inside = exp.select("1").from_(kept.subquery("__rowhop_kept")).where(*same)
        select.where(exp.Exists(this=inside), copy=False)

    def _only_extreme(self, select: exp.Select) -> None:
        """A single maximum or minimum rests on the rows that have it."""
        from sqlglot import exp

        only = self._tree.expressions[0].unalias() if len(self._tree.expressions) == 1 else None
        if isinstance(only, (exp.Max, exp.Min)) and isinstance(only.this, exp.Column) and not only.expressions:
            whole = self._tree.copy()
            whole.set("with_", None)
            select.where(exp.EQ(this=only.this.copy(), expression=whole.subquery()), copy=False)

    # -- names and numbers that stand for expressions of the SELECT

    def _resolved(self, key: exp.Expression) -> exp.Expression:
        from sqlglot import exp

        chosen = self._tree.expressions
        if isinstance(key, exp.Literal) and key.is_int and 0 < int(key.this) <= len(chosen):
            return chosen[int(key.this) - 1].unalias().copy()
        if isinstance(key, exp.Column) and not key.table:
            for expression in chosen:
                if isinstance(expression, exp.Alias) and expression.alias.casefold() == key.name.casefold():
                    return expression.this.copy()
        return key.copy()

    def _resolve_order(self, select: exp.Select) -> None:
        order = select.args.get("order")
        for ordered in order.expressions if order is not None else []:
            ordered.set("this", self._resolved(ordered.this))

    # -- what is left out

    def ties(self) -> list[Probe]:
        from sqlglot import exp

        order, limit = self._tree.args.get("order"), self._tree.args.get("limit")
        kept = limit.expression if isinstance(limit, exp.Limit) else None
        if order is None or not isinstance(kept, exp.Literal) or not kept.is_int or self._odd_group:
            return []
        if self._tree.args.get("offset") or self._tree.args.get("distinct"):
            return []
        select = self._tree.copy()
        self._resolve_order(select)
        keys = [ordered.this for ordered in select.args["order"].expressions]
        select.set("expressions", [exp.alias_(key.copy(), f"__rowhop_k{i}") for i, key in enumerate(keys)])
        if self._grouped:
            select.set("group", exp.Group(expressions=[key.copy() for key in self._keys]))
        select.limit(int(kept.this) + 1000, copy=False)
        return [("ties", kept.this, select.sql(dialect="duckdb"))]

    def lost(self) -> list[Probe]:
        """Inner joins of two BOXes on equal columns."""
        from sqlglot import exp

        found: list[Probe] = []
        for join in self._joins:
            condition = join.args.get("on")
            if join.side or join.kind not in ("", "INNER") or not isinstance(condition, exp.EQ):
                continue
            left, right = condition.this, condition.expression
            if not isinstance(left, exp.Column) or not isinstance(right, exp.Column):
                continue
            if left.table == (join.this.alias or join.this.name):
                left, right = right, left
            if left.table in self.tables and right.table in self.tables:
                found += [self._unmatched(left, right), self._unmatched(right, left)]
        return found

    def _unmatched(self, own: exp.Column, other: exp.Column) -> Probe:
        mine, theirs = self.tables[own.table], self.tables[other.table]
        key, partner = _quoted(own.name), _quoted(other.name)
        return (
            "lost",
            f"{mine}\n{theirs}",
            f"SELECT (SELECT count(*) FROM {_quoted(mine)} WHERE {key} IS NULL OR {key} NOT IN "
            f"(SELECT {partner} FROM {_quoted(theirs)} WHERE {partner} IS NOT NULL)), "
            f"(SELECT count(*) FROM {_quoted(mine)}), "
            f"(SELECT count({partner}) = count(DISTINCT {partner}) FROM {_quoted(theirs)})",
        )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _aggregates(expression: exp.Expression) -> bool:
    """Outside subqueries; a window function keeps the rows."""
    from sqlglot import exp

    if isinstance(expression, (exp.Subquery, exp.Select, exp.Window)):
        return False
    if isinstance(expression, exp.AggFunc):
        return True
    return any(_aggregates(child) for child in expression.iter_expressions())


def cautions(probe: Probe, answer: Sequence[tuple[object, ...]], earlier: list[str]) -> list[str]:
    """What the answer to a "ties" or "lost" probe means in words. Runs in the child."""
    kind, name, _ = probe
    if kind == "ties":
        kept = int(name)
        if len(answer) <= kept or kept < 1 or answer[kept] != answer[kept - 1]:
            return []
        equal = [row == answer[kept - 1] for row in answer]
        value = answer[kept - 1][0] if len(answer[kept - 1]) == 1 else answer[kept - 1]
        inside = sum(equal[:kept])
        return [
            f"ties_cut: {sum(equal)} rows share the value {str(value)[:60]!r} at the cut; "
            f"{inside} of them {'was' if inside == 1 else 'were'} kept"
        ]
    (lost, rows, unique) = answer[0]
    mine, theirs = name.split("\n")
    mirrored = any(f"rows of {theirs} ha" in text and text.endswith(f"in {mine}") for text in earlier)
    if not lost or not unique or mirrored or not isinstance(lost, int):
        return []
    return [f"rows_lost: {lost} of {rows} rows of {mine} {'has' if lost == 1 else 'have'} no match in {theirs}"]
