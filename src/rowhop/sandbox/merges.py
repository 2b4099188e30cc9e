"""A merge in a traced program: what went in, and which places of both sides met."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import numpy as np
import pandas as pd

from rowhop.sandbox.tracing import Trail


def merge_sides(node: ast.Call, trail: Trail) -> tuple[tuple[Any, ast.AST], tuple[Any, ast.AST], dict[str, Any]] | None:
    """Left, right and the remaining arguments of `left.merge(right, …)` or `pd.merge(left, right, …)`."""
    assert isinstance(node.func, ast.Attribute)
    as_function = trail.value(node.func.value) is pd
    nodes: list[ast.AST] = [*([] if as_function else [node.func.value]), *node.args]
    named = {k.arg: k.value for k in node.keywords if k.arg}
    signature = inspect.signature(pd.DataFrame.merge if not as_function else pd.merge)
    bound = signature.bind(*nodes, **named).arguments
    first, second = list(signature.parameters)[:2]
    left_node, right_node = bound.pop(first), bound.pop(second)
    left, right = trail.value(left_node), trail.value(right_node)
    right = right.to_frame() if isinstance(right, pd.Series) else right
    if not isinstance(left, pd.DataFrame) or not isinstance(right, pd.DataFrame):
        return None
    return (left, left_node), (right, right_node), {name: trail.value(given) for name, given in bound.items()}


def merged_places(left: pd.DataFrame, right: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    """The merge once more, with the places of both sides carried along."""
    mine, theirs = "__rowhop_left__", "__rowhop_right__"
    both = pd.merge(
        left.assign(**{mine: np.arange(len(left))}), right.assign(**{theirs: np.arange(len(right))}), **options
    )
    return both[[mine, theirs]].set_axis(["left", "right"], axis=1)
