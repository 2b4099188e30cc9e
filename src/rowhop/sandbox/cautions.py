"""What only the run can see and the program does not say: rows lost, groups dropped, ties cut.

Each caution is text with a fixed word before the colon, so that a program can tell them apart.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from rowhop.sandbox.lineage import Lineage
from rowhop.sandbox.merges import merge_sides, merged_places
from rowhop.sandbox.tracing import Trail, UnknownValue


def of(lineage: Lineage) -> list[str]:
    """Cautions about the expressions that the answer rests on."""
    said: list[str] = []
    for node in list(lineage.visited.values()):
        try:
            said += [text for text in _about(node, lineage) if text not in said]
        except (UnknownValue, KeyError, IndexError, TypeError, ValueError, AttributeError):
            continue  # a use of pandas not thought of: nothing is said about it
    return said


def _about(node: ast.AST, lineage: Lineage) -> Iterator[str]:
    trail = lineage.trail
    if isinstance(node, ast.Subscript):
        yield from _cut_by_place(node, lineage)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    method = node.func.attr
    if method == "merge":
        yield from _lost_rows(node, lineage)
    elif method == "groupby":
        yield from _null_groups(trail.value(node), trail.value(node.func.value), _name(node.func.value, lineage))
    elif method in ("nlargest", "nsmallest"):
        keys = _sort_keys(trail.value(node.func.value), _argument(node, 1, "columns", trail))
        yield from _tie(keys.sort_values(ascending=method == "nsmallest"), len(trail.value(node)))
    elif method in ("idxmax", "idxmin"):
        series = trail.value(node.func.value)
        if isinstance(series, pd.Series):
            yield from _tie(series.dropna().sort_values(ascending=method == "idxmin"), 1)
    elif method in ("head", "first"):
        keys = _keys_of_sorted(node.func.value, trail)
        if keys is not None and len(trail.value(node)) < len(keys):
            yield from _tie(keys, len(trail.value(node)))


def _cut_by_place(node: ast.Subscript, lineage: Lineage) -> Iterator[str]:
    """`….iloc[0]`, `….index[0]`, `…[:3]` of something sorted."""
    key = lineage.trail.value(node.slice)
    row = key[0] if isinstance(key, tuple) else key
    stop = row.stop if isinstance(row, slice) and row.start in (None, 0) and row.step is None else None
    kept = 1 if isinstance(row, int) and row == 0 else stop
    by_place = isinstance(node.value, ast.Attribute) and node.value.attr in ("iloc", "iat", "index", "values")
    if not isinstance(kept, int) or kept < 1 or not (by_place or isinstance(row, slice)):
        return
    base = node.value.value if by_place and isinstance(node.value, ast.Attribute) else node.value
    keys = _keys_of_sorted(base, lineage.trail)
    if keys is not None:
        yield from _tie(keys, kept)


def _keys_of_sorted(node: ast.AST, trail: Trail) -> pd.Series | None:
    """What a frame or series was sorted by, through selections of columns, names and new labels."""
    for _ in range(20):
        if isinstance(node, ast.Name):
            given = trail.given(node.id, node)
            if given is None:
                return None
            node = given
        elif (isinstance(node, ast.Subscript) and not _selects_rows(node, trail)) or isinstance(node, ast.Attribute):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "sort_values":
                return _sort_keys(trail.value(node), _argument(node, 0, "by", trail))
            if node.func.attr == "value_counts":
                counts = trail.value(node)
                return counts if isinstance(counts, pd.Series) else None
            if node.func.attr not in ("reset_index", "copy", "tolist", "to_list", "to_frame", "drop", "rename"):
                return None
            node = node.func.value
        else:
            return None
    return None


def _selects_rows(node: ast.Subscript, trail: Trail) -> bool:
    key = trail.value(node.slice)
    return not (isinstance(key, str) or (isinstance(key, list) and all(isinstance(k, str) for k in key)))


def _sort_keys(value: Any, by: Any) -> pd.Series:
    """One comparable text or number per row; several keys are compared together."""
    if isinstance(value, pd.Series):
        return value
    columns = [by] if isinstance(by, str) else list(by)
    if len(columns) == 1:
        return value[columns[0]]
    return pd.Series(list(value[columns].itertuples(index=False, name=None)), index=value.index)


def _argument(node: ast.Call, place: int, name: str, trail: Trail) -> Any:
    named = [k.value for k in node.keywords if k.arg == name]
    if named:
        return trail.value(named[0])
    return trail.value(node.args[place]) if len(node.args) > place else None


def _tie(keys: pd.Series, kept: int) -> Iterator[str]:
    """`keys` in order; only the first `kept` were taken."""
    if kept >= len(keys):
        return
    last = keys.iloc[kept - 1]
    equal = np.asarray([key == last for key in keys.iloc[: kept + 1000]], dtype=bool)
    if equal[kept:].any():
        yield (
            f"ties_cut: {int(equal.sum())} rows share the value {_shown(last)} at the cut; "
            f"{int(equal[:kept].sum())} of them {'was' if equal[:kept].sum() == 1 else 'were'} kept"
        )


def _shown(value: Any) -> str:
    return repr(value.item() if isinstance(value, np.generic) else value)[:60]


def _lost_rows(node: ast.Call, lineage: Lineage) -> Iterator[str]:
    sides = merge_sides(node, lineage.trail)
    if sides is None or sides[2].get("how", "inner") == "cross":
        return
    (left, left_node), (right, right_node), options = sides
    how = options.get("how", "inner")
    both = merged_places(left, right, options)
    left_kept, right_kept = both["left"].dropna().nunique(), both["right"].dropna().nunique()
    # the side that refers to the other should find its partner; the side referred to need not be used
    left_refers = not both["left"].dropna().duplicated().any()
    right_refers = not both["right"].dropna().duplicated().any()
    left_name, right_name = _name(left_node, lineage, "the left table"), _name(right_node, lineage, "the right table")
    if how in ("inner", "right") and (left_refers or not right_refers) and left_kept < len(left):
        yield _lost(len(left) - left_kept, len(left), left_name, right_name)
    if how in ("inner", "left") and not left_refers and right_kept < len(right):
        yield _lost(len(right) - right_kept, len(right), right_name, left_name)


def _lost(lost: int, rows: int, name: str, other: str) -> str:
    return f"rows_lost: {lost} of {rows} rows of {name} {'has' if lost == 1 else 'have'} no match in {other}"


def _null_groups(group_by: Any, grouped: Any, name: str) -> Iterator[str]:
    if not getattr(group_by, "dropna", True) or not isinstance(grouped, (pd.DataFrame, pd.Series)):
        return
    inside = sum(len(places) for places in group_by.indices.values())
    if inside < len(grouped):
        lost = len(grouped) - inside
        keys = ", ".join(str(n) for n in group_by._grouper.names)
        yield f"null_groups: {lost} of {len(grouped)} rows of {name} have no value in {keys} and are in no group"


def _name(node: ast.AST, lineage: Lineage, otherwise: str = "the table") -> str:
    """The BOX behind a value where there is only one."""
    origin = lineage.origin(node)
    boxes = {box for box, _ in origin.columns} if origin is not None else set()
    return boxes.pop() if len(boxes) == 1 else otherwise
