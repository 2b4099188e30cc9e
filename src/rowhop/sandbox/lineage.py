"""Which rows of which BOX a value came from, found from a program's kept values (see `tracing`).

An `Origin` says for each place of a frame, series or list which rows stand behind it. It is worked out from
the outermost expression inwards: what is known to keep rows (filter, sort, select, merge, group, …) is followed,
what is not known ends the search with nothing said rather than something wrong.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pandas as pd

from rowhop.sandbox.merges import merge_sides, merged_places
from rowhop.sandbox.origins import Found, Origin, Positions, by_labels, by_value, stacked, union
from rowhop.sandbox.tracing import Trail, UnknownValue

_GROUP_BY = (pd.core.groupby.DataFrameGroupBy, pd.core.groupby.SeriesGroupBy)
_INDEXERS = ("loc", "iloc", "at", "iat")
_ACCESSORS = (*_INDEXERS, "str", "dt", "cat", "values", "array", "index")
# methods whose result has the labels of the rows it came from
_KEEPING_WORDS = """
    abs add apply applymap assign astype between bfill ceil clip combine_first contains convert_dtypes copy cummax
    cummin cumsum day day_name diff div drop drop_duplicates dropna duplicated endswith eq explode extract ffill fillna
    filter floor ge get gt head infer_objects interpolate isin isna isnull le len lower lstrip lt map mask match mod
    month month_name mul ne nlargest normalize notna notnull nsmallest pct_change pow query rank reindex_like
    removeprefix removesuffix rename replace round rstrip sample select_dtypes shift slice sort_index sort_values split
    startswith strftime strip sub tail title to_frame to_period transform truediv upper where year zfill
"""
_KEEPING = frozenset(_KEEPING_WORDS.split())
_SAME_PLACES = frozenset(("reset_index", "set_index", "tolist", "to_list", "to_numpy", "to_records"))
_BY_VALUE = frozenset(("value_counts", "unique", "mode"))
_INPLACE_KEEPING = frozenset(
    ("sort_values", "sort_index", "dropna", "drop_duplicates", "fillna", "rename", "drop", "replace", "query")
)


class Lineage:
    """Follows one trail. `visited` are the expressions that the answer was found to rest on."""

    def __init__(self, trail: Trail, boxes: dict[str, int]) -> None:
        self.trail = trail
        self.visited: dict[int, ast.AST] = {}
        self._boxes = boxes
        self._known: dict[int, Origin | None] = {}
        self._deep = 0
        self._poisoned = _relabelled(trail.tree)

    # -- rows behind a whole value

    def answer(self) -> Found:
        """Rows behind the answer; where it is a constant or a counter, those that loops and conditions went over."""
        found = self.found(self.trail.answer())
        if any(len(rows) for rows in found.values()):
            return found
        return union([self.found(part) for part in self.trail.controls()])

    def found(self, node: ast.AST | None) -> Found:
        """Rows behind a value of any kind; empty where nothing is known."""
        if node is None or self._deep > 60:
            return {}
        self._deep += 1
        try:
            self.visited[id(node)] = node
            origin = self.origin(node)
            return origin.rows() if origin is not None else self._behind(node)
        except (UnknownValue, KeyError, IndexError, TypeError, ValueError, AttributeError):
            return {}  # a shape of value not thought of: nothing is said about it
        finally:
            self._deep -= 1

    def _behind(self, node: ast.AST) -> Found:
        if isinstance(node, ast.Name):
            given = self.trail.given(node.id, node)
            return self.found(given) if given is not None else {}
        if isinstance(node, ast.Subscript):
            part = self._part(node)
            return part.rows() if part is not None else self.found(node.value)
        if isinstance(node, ast.Attribute):
            return self.found(node.value)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.AugAssign):
            earlier = self.trail.given(node.target.id, node) if isinstance(node.target, ast.Name) else None
            return union([self.found(earlier), self.found(node.value)])
        if isinstance(node, ast.IfExp):
            chosen = node.body if id(node.body) in self.trail.kept else node.orelse
            return self.found(chosen) or self.found(node.test)
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            return self.found(node.generators[0].iter)
        if isinstance(node, ast.Lambda):
            return {}
        return union([self.found(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)])

    def _call(self, node: ast.Call) -> Found:
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        if not isinstance(node.func, ast.Attribute):
            return union([self.found(a) for a in arguments])
        receiver, method = node.func.value, node.func.attr
        origin = self.origin(receiver)
        if origin is not None and method in ("max", "min", "idxmax", "idxmin"):
            value = self.trail.value(receiver)
            if isinstance(value, pd.Series) and len(value) == len(origin):
                extreme = value.max() if method.endswith("max") else value.min()
                places = np.flatnonzero((value == extreme).fillna(False).to_numpy(dtype=bool))
                return origin.take(places[:1] if method.startswith("idx") else places).rows()
        if origin is not None and method in ("sum", "any"):
            value = self.trail.value(receiver)
            if isinstance(value, pd.Series) and value.dtype.kind == "b" and len(value) == len(origin):
                true = np.flatnonzero(value.fillna(False).to_numpy(dtype=bool))  # counting what is so
                return origin.take(true).rows() if len(true) else origin.rows()
        found = origin.rows() if origin is not None else self._of_groups(receiver) or self.found(receiver)
        return found or union([self.found(a) for a in arguments])

    def _of_groups(self, node: ast.AST) -> Found:
        grouped = self._group_by(node)
        return grouped[1].rows() if grouped else {}

    def _part(self, node: ast.Subscript) -> Origin | None:
        """One row of a frame, one cell of a series, one item of a list."""
        indexer = node.value.attr if isinstance(node.value, ast.Attribute) else ""
        base = node.value.value if isinstance(node.value, ast.Attribute) and indexer in _INDEXERS else node.value
        origin = self.origin(base)
        if origin is None:
            return None
        key = self.trail.value(node.slice)
        index = self.trail.index(base)
        value = self.trail.value(base)
        if indexer in ("iloc", "iat") or not isinstance(value, (pd.DataFrame, pd.Series)):
            row = key[0] if isinstance(key, tuple) else key
            return origin.take([row] if isinstance(row, (int, np.integer)) else row)
        if index is None or (not indexer and isinstance(value, pd.DataFrame)):
            return origin
        row = key[0] if isinstance(key, tuple) and isinstance(value, pd.DataFrame) and index.nlevels == 1 else key
        return origin.take(_places(index.get_loc(row)))

    def _visit_key(self, key: ast.AST) -> None:
        """What a row was chosen by, for `cautions`: a tie may hide in it."""
        for node in ast.walk(key):
            self.visited[id(node)] = node
            given = self.trail.given(node.id, node) if isinstance(node, ast.Name) else None
            if given is not None and id(given) not in self.visited:
                self._visit_key(given)

    # -- rows behind each place

    def origin(self, node: ast.AST) -> Origin | None:
        if id(node) not in self._known:
            self._known[id(node)] = None  # a loop of names ends here
            self.visited[id(node)] = node
            try:
                origin = self._find(node)
            except (UnknownValue, KeyError, IndexError, TypeError, ValueError, AttributeError):
                origin = None
            self._known[id(node)] = origin
        return self._known[id(node)]

    def _find(self, node: ast.AST) -> Origin | None:
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.Attribute):
            origin = self.origin(node.value)
            if origin is None or node.attr in _ACCESSORS:
                return origin
            return None if self.trail.index(node) is None else self._aligned(node, node.value, origin)
        if isinstance(node, ast.Subscript):
            self._visit_key(node.slice)
            return self._subscript(node)
        if isinstance(node, ast.Call):
            return self._result(node)
        if isinstance(node, (ast.BinOp, ast.Compare, ast.UnaryOp)):
            for child in ast.iter_child_nodes(node):
                origin = self.origin(child) if isinstance(child, ast.expr) else None
                if origin is not None:
                    return self._aligned(node, child, origin)
        return None

    def _name(self, node: ast.Name) -> Origin | None:
        if node.id in self._poisoned:
            return None
        given = self.trail.given(node.id, node)
        if given is None:
            if node.id not in self._boxes:
                return None
            rows = self._boxes[node.id]
            whole = Origin(((node.id, np.arange(rows, dtype=np.int64)),))
            return by_labels(whole, pd.RangeIndex(rows), self.trail.index(node))
        origin = self.origin(given) if isinstance(given, ast.expr) else None
        return None if origin is None else self._aligned(node, given, origin)

    def _aligned(self, node: ast.AST, source: ast.AST, origin: Origin) -> Origin | None:
        """The origin of a value that has the labels of the value it was made from."""
        index, before = self.trail.index(node), self.trail.index(source)
        if index is None or before is None:
            value = self.trail.value(node)
            same = isinstance(value, (list, np.ndarray, pd.Index, tuple)) and len(value) == len(origin)
            return origin if same else None
        return by_labels(origin, before, index)

    def _subscript(self, node: ast.Subscript) -> Origin | None:
        value = self.trail.value(node)
        indexer = node.value.attr if isinstance(node.value, ast.Attribute) else ""
        base = node.value.value if isinstance(node.value, ast.Attribute) and indexer in _INDEXERS else node.value
        origin, before, index = self.origin(base), self.trail.index(base), self.trail.index(node)
        if origin is None:
            return None
        holder = self.trail.value(base)
        if index is None or before is None:
            if isinstance(value, (list, np.ndarray, pd.Index)) and isinstance(self.trail.value(node.slice), slice):
                return origin.take(self.trail.value(node.slice))
            return None
        if isinstance(holder, pd.DataFrame) and isinstance(value, pd.Series) and indexer and _is_row(value, holder):
            return None  # its places are columns; `_part` knows its row
        key = self.trail.value(node.slice) if indexer == "iloc" or not indexer else None
        row = key[0] if isinstance(key, tuple) and indexer == "iloc" else key
        if indexer == "iloc" or isinstance(row, slice):
            return origin.take(row)
        if isinstance(row, (pd.Series, np.ndarray)) and row.dtype.kind == "b" and len(row) == len(origin):
            return origin.take(np.flatnonzero(np.asarray(pd.Series(row).fillna(False), dtype=bool)))
        return by_labels(origin, before, index)

    def _result(self, node: ast.Call) -> Origin | None:
        value = self.trail.value(node)
        if isinstance(node.func, ast.Name):
            listed = node.func.id in ("list", "tuple") and len(node.args) == 1
            origin = self.origin(node.args[0]) if listed else None
            return origin if origin is not None and len(origin) == len(value) else None
        if not isinstance(node.func, ast.Attribute):
            return None
        method, receiver = node.func.attr, node.func.value
        if self.trail.kept.get(id(receiver)) and self.trail.value(receiver) is pd:
            return self._pandas_function(node, method, value)
        grouped = self._group_by(receiver)
        if grouped is not None:
            return self._aggregate(value, *grouped)
        if method == "merge":
            return self._merged(node, value)
        origin = self.origin(receiver)
        if origin is None or _ignores_labels(node, self.trail):
            return None
        if method in _SAME_PLACES:
            return origin if len(value) == len(origin) else None
        if method in _BY_VALUE:
            return by_value(origin, self.trail.value(receiver), value)
        if method in _KEEPING:
            return self._aligned(node, receiver, origin)
        return None

    def _pandas_function(self, node: ast.Call, function: str, value: Any) -> Origin | None:
        if function == "merge":
            return self._merged(node, value)
        if function in ("to_datetime", "to_numeric", "Series", "cut", "qcut", "isna", "notna") and node.args:
            origin = self.origin(node.args[0])
            return None if origin is None else self._aligned(node, node.args[0], origin)
        if function == "concat" and node.args and isinstance(node.args[0], (ast.List, ast.Tuple)):
            origins = [self.origin(part) for part in node.args[0].elts]
            known = [o for o in origins if o is not None and o.groups is None]
            if len(known) == len(origins) and sum(map(len, known)) == len(value):
                return stacked(known)
        return None

    # -- groups and merges

    def _group_by(self, node: ast.AST) -> tuple[Any, Origin] | None:
        """A group-by object and the origin of what it groups, through a selection of columns."""
        if id(node) not in self.trail.kept:
            return None
        value = self.trail.value(node)
        if not isinstance(value, _GROUP_BY):
            return None
        maker = node
        while isinstance(maker, (ast.Subscript, ast.Attribute)):
            maker = maker.value
        if isinstance(maker, ast.Name):
            given = self.trail.given(maker.id, maker)
            inner = self._group_by(given) if given is not None else None
            return (value, inner[1]) if inner else None
        if not isinstance(maker, ast.Call) or not isinstance(maker.func, ast.Attribute) or maker.func.attr != "groupby":
            return None
        self.visited[id(maker)] = maker
        origin = self.origin(maker.func.value)
        return None if origin is None else (value, origin)

    def _aggregate(self, value: Any, group_by: Any, origin: Origin) -> Origin | None:
        places: dict[Any, Positions] = {_label(k): np.asarray(v) for k, v in group_by.indices.items()}
        if not isinstance(value, (pd.DataFrame, pd.Series)):
            return None
        labels = [_label(label) for label in value.index]
        if all(label in places for label in labels) and value.index.names == list(_key_names(group_by)):
            return origin.grouped([places[label] for label in labels])
        keys = [name for name in _key_names(group_by) if isinstance(value, pd.DataFrame) and name in value.columns]
        if keys and len(value) == len(places) and isinstance(value.index, pd.RangeIndex):  # as_index=False
            rows = list(value[keys].itertuples(index=False, name=None))
            return origin.grouped([places[_label(row if len(row) > 1 else row[0])] for row in rows])
        if isinstance(value.index, pd.MultiIndex) and value.index.nlevels > len(_key_names(group_by)):
            # group keys, then the labels of the rows themselves or a second grouping by value
            return by_labels(origin, group_by.obj.index, value.index.get_level_values(-1))
        return by_labels(origin, group_by.obj.index, value.index)

    def _merged(self, node: ast.Call, value: Any) -> Origin | None:
        sides = merge_sides(node, self.trail)
        if sides is None:
            return None
        (left, left_node), (right, right_node), options = sides
        both = merged_places(left, right, options)
        if len(both) != len(value):
            return None
        columns: list[tuple[str, Positions]] = []
        for side, places in ((left_node, both["left"]), (right_node, both["right"])):
            origin = self.origin(side)
            if origin is not None and origin.groups is None:
                gone = places.isna().to_numpy()
                taken = places.fillna(0).to_numpy(dtype=np.int64)
                if len(origin):
                    columns += [(box, np.where(gone, -1, rows[taken])) for box, rows in origin.columns]
        return Origin(tuple(columns)) if columns else None


def _key_names(group_by: Any) -> list[Any]:
    return list(group_by._grouper.names)


def _label(label: Any) -> Any:
    """Group keys compare by value: a list of one key gives tuples of one."""
    return label[0] if isinstance(label, tuple) and len(label) == 1 else label


def _places(location: Any) -> Any:
    return [location] if isinstance(location, (int, np.integer)) else location


def _is_row(value: pd.Series, holder: pd.DataFrame) -> bool:
    return bool(value.index.isin(holder.columns).all()) and not value.index.equals(holder.index)


def _ignores_labels(node: ast.Call, trail: Trail) -> bool:
    return any(k.arg == "ignore_index" and trail.value(k.value) for k in node.keywords)


def _relabelled(tree: ast.Module) -> set[str]:
    """Names whose rows get new labels in place: what their labels say afterwards is not known."""
    names = set()
    for node in ast.walk(tree):
        method = node.func if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and isinstance(method, ast.Attribute) and isinstance(method.value, ast.Name):
            inplace = any(k.arg == "inplace" for k in node.keywords)
            ignored = any(k.arg == "ignore_index" for k in node.keywords)
            if inplace and (ignored or method.attr not in _INPLACE_KEEPING):
                names.add(method.value.id)
        if isinstance(node, ast.Attribute) and node.attr == "index" and isinstance(node.ctx, ast.Store):
            names |= {node.value.id} if isinstance(node.value, ast.Name) else set()
    return names
