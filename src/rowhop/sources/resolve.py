"""Finds for every table and column of a statement what it means, mends its case and quoting, and notes what is used.

Written over sqlglot's scopes. Where a source's columns cannot be known (a table function, a pivot) names are let
through: the engine then says what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from rowhop.errors import ReplyError
from rowhop.sources.naming import listed, missing, nearest
from rowhop.sources.quoting import meant_as_text

if TYPE_CHECKING:
    from rowhop.sources.readonly import Relation

ROW_IDS = {"sqlite": {"rowid", "_rowid_", "oid"}, "duckdb": {"rowid"}, "postgres": set(), "mysql": set()}


def resolve(tree: exp.Query, dialect: str, relations: Sequence[Relation]) -> dict[str, tuple[str, ...]]:
    """Changes `tree` so that names are the engine's own; returns BOX → columns used. Raises ReplyError."""
    return _Resolver(dialect, relations).run(tree)


@dataclass
class _From:
    """One source of a scope. `columns`: name → identifier to write; `open` when there may be more."""

    name: exp.Identifier | None
    columns: dict[str, exp.Identifier]
    relation: Relation | None = None
    open: bool = False

    def find(self, name: str) -> exp.Identifier | None:
        """The column of that name; of two that differ in case alone the one that is spelled so."""
        low = name.lower()
        return self.columns.get(name) or next((i for n, i in self.columns.items() if n.lower() == low), None)


@dataclass
class _Resolver:
    dialect: str
    relations: Sequence[Relation]
    used: dict[str, set[str]] = field(default_factory=dict)
    tables: dict[int, Relation] = field(default_factory=dict)  # id(exp.Table) → what it is
    outputs: dict[int, tuple[dict[str, exp.Identifier], bool]] = field(default_factory=dict)
    froms: dict[int, dict[str, _From]] = field(default_factory=dict)

    def run(self, tree: exp.Query) -> dict[str, tuple[str, ...]]:
        self._resolve_tables(tree)
        scopes = traverse_scope(tree)
        for scope in scopes:
            self._resolve_columns(scope)
        order = {r.box.name: [c.name for c in r.box.columns] for r in self.relations}
        return {box: _in_order(columns, order[box]) for box, columns in self.used.items()}

    # tables

    def _resolve_tables(self, tree: exp.Query) -> None:
        ctes = {cte.alias.lower(): cte.args["alias"].this for cte in tree.find_all(exp.CTE) if cte.alias}
        for table in list(tree.find_all(exp.Table)):
            if not isinstance(table.this, exp.Identifier):
                continue  # a table function: its name has been checked
            if not table.db and table.name.lower() in ctes and not _inside_its_own(table):
                table.set("this", ctes[table.name.lower()].copy())
                continue
            relation = self._relation(table)
            self.tables[id(table)] = relation
            self.used.setdefault(relation.box.name, set())
            written = table.this.copy()
            *schema, name = relation.path
            table.set("this", exp.to_identifier(name, quoted=True))
            table.set("db", exp.to_identifier(schema[-1], quoted=True) if schema else None)
            table.set("catalog", None)
            if not table.alias and written.name.lower() != name.lower():
                table.set("alias", exp.TableAlias(this=exp.to_identifier(written.name, quoted=True)))

    def _relation(self, table: exp.Table) -> Relation:
        parts = tuple(p.name for p in table.parts)
        exact = [r for r in self.relations if parts == r.path[-len(parts) :] or parts == (r.box.name,)]
        low = tuple(p.lower() for p in parts)
        boxed = "_".join(low)  # other.orders is also understood where only its BOX, other_orders, is known
        loose = [r for r in self.relations if low == _lower(r.path[-len(low) :]) or boxed == r.box.name.lower()]
        schemaless = [r for r in self.relations if len(low) > len(r.path) and low[-1] == r.path[-1].lower()]
        own = low[0] in ("main", "public", "memory")
        for found in (exact, loose, schemaless if own else []):
            if len(found) > 1:  # in several schemas: the plain name is the BOX's
                found = [r for r in found if r.box.name.lower() == low[-1]] or found
            if found:
                return found[0]
        names = [r.box.name for r in self.relations]
        near = nearest(parts[-1], names)
        hint = f" Did you mean '{near}'?" if near else ""
        raise ReplyError(f"No table '{'.'.join(parts)}'. There are: {listed(names)}.{hint}")

    # columns

    def _resolve_columns(self, scope: Scope) -> None:
        self._usings(scope)
        for column in _own_columns(scope):
            if isinstance(column.this, exp.Star):
                self._star(scope, column.table)
            elif isinstance(column.this, exp.Identifier):
                self._column(scope, column)
        for star in scope.find_all(exp.Star, exp.Columns):
            if not isinstance(star.parent, exp.Column | exp.Count):
                self._star(scope, "")
        self.outputs[id(scope)] = self._outputs(scope)

    def _usings(self, scope: Scope) -> None:
        select = scope.expression
        for join in select.args.get("joins") or []:
            if str(join.args.get("method") or "").upper() == "NATURAL":
                self._star(scope, "")
            for name in join.args.get("using") or []:
                ident = name.this if isinstance(name, exp.Column) else name
                holders = [s for s in self._sources(scope).values() if s.find(ident.name)]
                if not holders and not any(s.open for s in self._sources(scope).values()):
                    raise ReplyError(self._unknown(scope, ident.name))
                for source in holders:
                    self._mark(source, ident.name)
                if holders and (found := holders[0].find(ident.name)):
                    ident.replace(found.copy())

    def _sources(self, scope: Scope) -> dict[str, _From]:
        """By lower-case name; of a scope's own FROM only."""
        known = self.froms.get(id(scope))
        if known is None:
            known = {name.lower(): self._from(name, source) for name, source in _selected(scope).items()}
            self.froms[id(scope)] = known
        return known

    def _from(self, name: str, source: exp.Expression | Scope) -> _From:
        if isinstance(source, Scope):
            alias = _alias(source.expression)
            columns, is_open = self._derived(source)
            return _From(alias or exp.to_identifier(name), columns, None, is_open)
        relation = self.tables.get(id(source))
        alias_node = source.args.get("alias")
        ident = alias_node.this if alias_node and alias_node.this else source.this
        ident = ident if isinstance(ident, exp.Identifier) else exp.to_identifier(name)
        renamed = {c.name: c for c in alias_node.columns} if alias_node else {}
        if relation is None or source.args.get("pivots") or renamed:
            if relation is not None:
                self.used[relation.box.name].add("*")
            return _From(ident, renamed, None, True)
        columns = {c.name: exp.to_identifier(c.name, quoted=True) for c in relation.box.columns}
        return _From(ident, columns, relation)

    def _derived(self, scope: Scope) -> tuple[dict[str, exp.Identifier], bool]:
        if isinstance(scope.expression, exp.UDTF):
            alias = scope.expression.args.get("alias")
            return {c.name: c for c in (alias.columns if alias else [])}, True
        named = _alias_columns(scope.expression)
        if named:
            return {c.name: c for c in named}, False
        if id(scope) not in self.outputs:  # a recursive part that refers to itself
            left = scope.expression
            while isinstance(left, exp.SetOperation):
                left = left.this
            return {n: exp.to_identifier(n) for n in left.named_selects}, True
        return self.outputs[id(scope)]

    def _outputs(self, scope: Scope) -> tuple[dict[str, exp.Identifier], bool]:
        query = scope.expression
        if isinstance(query, exp.SetOperation):
            return (
                self.outputs.get(id(scope.set_operation_scopes[0]), ({}, True))
                if scope.set_operation_scopes
                else ({}, True)
            )
        found: dict[str, exp.Identifier] = {}
        is_open = False
        for item in query.selects if isinstance(query, exp.Select) else []:
            if isinstance(item, exp.Alias):
                ident = item.args["alias"]
                found[ident.name] = ident
            elif isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
                table = item.table.lower() if isinstance(item, exp.Column) else ""
                for name, source in self._sources(scope).items():
                    if not table or name == table:
                        found.update(source.columns)
                        is_open = is_open or source.open
                is_open = is_open or any(item.args.get(change) for change in ("except_", "replace", "rename"))
            elif isinstance(item, exp.Column):
                found[item.name] = item.this
            else:
                is_open = True  # its name is the engine's own choice
        return found, is_open or not isinstance(query, exp.Select)

    def _star(self, scope: Scope, table: str) -> None:
        for name, source in self._sources(scope).items():
            if source.relation and (not table or name == table.lower()):
                self.used[source.relation.box.name].add("*")

    def _mark(self, source: _From, column: str) -> None:
        found = source.find(column)
        if source.relation and found:
            self.used[source.relation.box.name].add(found.name)

    def _column(self, scope: Scope, column: exp.Column) -> None:
        if column.table:
            return self._qualified(scope, column)
        if _is_loop_variable(column):
            return None
        low = column.name.lower()
        for level in _outward(scope):
            sources = self._sources(level)
            holders = [s for s in sources.values() if s.find(column.name)]
            aliases = _aliases(level, column)
            if holders:
                if len(holders) > 1 and low in aliases:
                    return None
                for source in holders:
                    self._mark(source, column.name)
                if found := holders[0].find(column.name):
                    column.set("this", found.copy())
                return None
            if low in aliases or any(s.open for s in sources.values()):
                return None
            if low in ROW_IDS[self.dialect] and any(s.relation for s in sources.values()):
                return None
            if low in sources:  # a whole row used as a value
                source = sources[low]
                if source.relation:
                    self.used[source.relation.box.name].add("*")
                return None
        names = [n.lower() for level in _outward(scope) for s in self._sources(level).values() for n in s.columns]
        if meant_as_text(column, names):
            column.replace(exp.Literal.string(column.name))
            return None
        raise ReplyError(self._unknown(scope, column.name))

    def _qualified(self, scope: Scope, column: exp.Column) -> None:
        table, low = column.table.lower(), column.name.lower()
        for level in _outward(scope):
            source = self._sources(level).get(table) or self._by_real_name(level, table)
            if source is None:
                continue
            if found := source.find(column.name):
                self._mark(source, column.name)
                column.set("this", found.copy())
            elif not source.open and low not in ROW_IDS[self.dialect]:
                raise ReplyError(self._not_in(source, column))
            column.set("table", source.name.copy() if source.name else None)
            column.set("db", None)
            column.set("catalog", None)
            return
        first = column.parts[0].name.lower()
        if self.dialect == "duckdb" and self._struct(scope, first):
            return
        names = [n for level in _outward(scope) for n in self._sources(level)]
        raise ReplyError(f"No table or alias '{column.table}' in this part of the statement. It has: {listed(names)}.")

    def _struct(self, scope: Scope, first: str) -> bool:
        """A field of a struct: the column that holds it is used, or the whole table when a table's name comes first."""
        holders = [(n, s) for v in _outward(scope) for n, s in self._sources(v).items() if first == n or s.find(first)]
        for name, source in holders:
            if first != name:
                self._mark(source, first)
            elif source.relation:
                self.used[source.relation.box.name].add("*")
        return bool(holders)

    def _by_real_name(self, scope: Scope, table: str) -> _From | None:
        """`singer.name` where the statement says `FROM singer AS s`: meant is s, if there is only one."""
        found = [
            s
            for s in self._sources(scope).values()
            if s.relation and table in (s.relation.path[-1].lower(), s.relation.box.name.lower())
        ]
        return found[0] if len(found) == 1 else None

    def _not_in(self, source: _From, column: exp.Column) -> str:
        names = [i.name for i in source.columns.values()]
        what = "table" if source.relation else "subquery"
        label = source.relation.box.name if source.relation else column.table
        text = missing("column", column.name, names, f"{what} '{label}'")
        return text + self._elsewhere(column.name, {label})

    def _unknown(self, scope: Scope, name: str) -> str:
        sources = list(self._sources(scope).values())
        real = [s for s in sources if s.relation]
        names = [i.name for s in sources for i in s.columns.values()]
        if not sources:
            text = f"No column '{name}' here: this SELECT has no FROM, or the name is none that it gives."
        elif len(sources) == 1:
            s = sources[0]
            where = f"table '{s.relation.box.name}'" if s.relation else "the subquery"
            text = missing("column", name, names, where)
        else:
            has = "; ".join(
                f"{s.relation.box.name if s.relation else s.name.name if s.name else '?'}: "
                f"{listed([i.name for i in s.columns.values()], 25)}"
                for s in sources
            )
            near = nearest(name, names)
            text = f"No column '{name}' here. There are: {has}." + (f" Did you mean '{near}'?" if near else "")
        return text + self._elsewhere(name, {s.relation.box.name for s in real if s.relation})

    def _elsewhere(self, name: str, here: set[str]) -> str:
        others = [
            r.box.name
            for r in self.relations
            if r.box.name not in here and any(c.name.lower() == name.lower() for c in r.box.columns)
        ]
        return f" '{name}' is a column of {listed(others, 5)}." if others else ""


def _outward(scope: Scope) -> Iterator[Scope]:
    level: Scope | None = scope
    while level is not None:
        yield level
        level = level.parent


def _is_loop_variable(column: exp.Column) -> bool:
    """`[x + 1 for x in list]`: x is no column."""
    node = column.find_ancestor(exp.Comprehension)
    return node is not None and node.args["expression"].name.lower() == column.name.lower()


def _inside_its_own(table: exp.Table) -> bool:
    """`WITH t AS (SELECT … FROM t)`: the inner t is the real table, unless the WITH is recursive."""
    node: exp.Expression | None = table
    while node is not None:
        if isinstance(node, exp.CTE) and node.alias.lower() == table.name.lower():
            return not (isinstance(node.parent, exp.With) and node.parent.args.get("recursive"))
        node = node.parent
    return False


def _own_columns(scope: Scope) -> list[exp.Column]:
    return list(scope.find_all(exp.Column))


def _selected(scope: Scope) -> dict[str, exp.Expression | Scope]:
    if isinstance(scope.expression, exp.Select):
        found = {name: source for name, (_, source) in scope.selected_sources.items()}
        for name, source in scope.sources.items():
            if name not in found and isinstance(source, Scope) and isinstance(source.expression, exp.UDTF):
                found[name] = source
        return found
    return {}


def _alias(query: exp.Expression) -> exp.Identifier | None:
    parent = query if isinstance(query, exp.UDTF) else query.parent
    while isinstance(parent, exp.Subquery) and not parent.args.get("alias"):
        parent = parent.parent
    alias = parent.args.get("alias") if isinstance(parent, exp.CTE | exp.Subquery | exp.UDTF) else None
    return alias.this if isinstance(alias, exp.TableAlias) and alias.this else None


def _alias_columns(query: exp.Expression) -> list[exp.Identifier]:
    parent = query.parent
    alias = parent.args.get("alias") if isinstance(parent, exp.CTE | exp.Subquery) else None
    return list(alias.columns) if isinstance(alias, exp.TableAlias) else []


def _aliases(scope: Scope, column: exp.Column) -> set[str]:
    """Names that the scope's own select list gives, which other clauses may use; not one given to `column` itself."""
    query = scope.expression
    if isinstance(query, exp.SetOperation):
        return {name.lower() for name in query.named_selects}
    if not isinstance(query, exp.Select):
        return set()
    given = {id(item): item.alias.lower() for item in query.selects if isinstance(item, exp.Alias)}
    node: exp.Expression | None = column
    while node is not None and id(node) not in given:
        node = node.parent
    return {alias for key, alias in given.items() if node is None or key != id(node)}


def _lower(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(p.lower() for p in parts)


def _in_order(columns: set[str], all_columns: list[str]) -> tuple[str, ...]:
    if "*" in columns:
        return ("*",)
    return tuple(c for c in all_columns if c in columns) or tuple(all_columns[:1]) or ("*",)
