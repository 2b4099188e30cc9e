"""What a program left in `answer`, as JSON scalars or columns.

Runs in the child. Whatever pandas or numpy can hold becomes text, number, truth value or nothing; dates become
ISO 8601 text (a date alone where there is no time of day), a missing value becomes None.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

LONGEST_LIST = 5_000_000
_INT64 = 1 << 63


class NotAnAnswer(Exception):
    """`answer` holds something that is no value; the message is written to the model."""


def to_message(answer: Any, row_like: Callable[[pd.Series], bool]) -> dict[str, Any]:
    """The part of the child's reply that holds the answer: a shape with `values` or `columns`.

    `row_like` tells whether a series is one row of a BOX (its labels are the BOX's columns).
    """
    if isinstance(answer, pd.DataFrame):
        return {"shape": "frame", "columns": _frame_columns(answer)}
    if isinstance(answer, pd.Series):
        if row_like(answer):
            return {"shape": "series", "columns": _frame_columns(answer.to_frame().T.infer_objects(), labels=False)}
        return {"shape": "series", "columns": _series_columns(answer)}
    if isinstance(answer, pd.MultiIndex):
        return {"shape": "frame", "columns": _frame_columns(answer.to_frame(index=False))}
    if isinstance(answer, np.ndarray) and answer.ndim == 2:
        return {"shape": "frame", "columns": _frame_columns(pd.DataFrame(answer))}
    if isinstance(answer, Mapping):
        return _mapping(answer)
    if isinstance(answer, (set, frozenset)):
        return {"shape": "list", "values": _sorted_where_possible([scalar(v) for v in answer])}
    if _is_listlike(answer):
        return _listlike(answer)
    return {"shape": "scalar", "values": [scalar(answer)]}


def scalar(value: Any) -> Any:
    """One cell as a JSON scalar. Raises NotAnAnswer for what is no value (a function, a group-by, a module)."""
    if value is None or value is pd.NA or value is pd.NaT or isinstance(value, (bool, str)):
        return value if isinstance(value, (bool, str)) else None
    if isinstance(value, np.generic):
        return _numpy_scalar(value)
    if isinstance(value, int):
        return value
    if isinstance(value, (float, decimal.Decimal)):
        number = float(value)
        return number if math.isfinite(number) else None
    if isinstance(value, (dt.date, dt.time, dt.timedelta, pd.Period, pd.Interval)):
        return _time_text(value)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, complex):
        return str(value)
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray, pd.Series, pd.Index, Mapping)):
        return _nested_text(value)
    raise NotAnAnswer(f"`answer` holds a {type(value).__name__}, which is not a value, list, Series or DataFrame.")


def _numpy_scalar(value: np.generic) -> Any:
    if isinstance(value, np.datetime64):
        return scalar(pd.Timestamp(value))
    if isinstance(value, np.timedelta64):
        return scalar(pd.Timedelta(value))
    plain = value.item()
    if isinstance(plain, np.generic):  # longdouble gives itself back
        plain = float(plain)
    return scalar(plain)


def _time_text(value: Any) -> str:
    if isinstance(value, dt.datetime):
        midnight = value.tzinfo is None and value.time() == dt.time(0)
        return value.date().isoformat() if midnight and not getattr(value, "nanosecond", 0) else value.isoformat()
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    return str(value)


def _nested_text(value: Any) -> str:
    """A list inside a cell has no column type of its own; JSON text keeps its parts apart."""

    def plain(part: Any, depth: int = 0) -> Any:
        if depth > 20:
            raise NotAnAnswer("`answer` is nested too deeply.")
        if isinstance(part, Mapping):
            return {str(k): plain(v, depth + 1) for k, v in part.items()}
        if isinstance(part, (list, tuple, set, frozenset, np.ndarray, pd.Series, pd.Index)):
            return [plain(v, depth + 1) for v in part]
        return scalar(part)

    return json.dumps(plain(value), ensure_ascii=False)


def _is_listlike(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, bytearray)) and not _is_group_by(value)


def _is_group_by(value: Any) -> bool:
    return type(value).__module__.startswith("pandas.") and not isinstance(
        value, (pd.Index, pd.api.extensions.ExtensionArray)
    )


def _listlike(answer: Iterable[Any]) -> dict[str, Any]:
    if isinstance(answer, np.ndarray) and answer.ndim == 0:
        return {"shape": "scalar", "values": [scalar(answer.item())]}
    items: list[Any] = []
    for item in answer:
        items.append(item)
        if len(items) > LONGEST_LIST:
            raise NotAnAnswer(f"`answer` is a list of more than {LONGEST_LIST:,} values.")
    if items and all(isinstance(item, (pd.DataFrame, pd.Series)) for item in items):
        if len(items) == 1:
            return to_message(items[0], lambda _: False)
        return {"shape": "frame", "columns": _frame_columns(pd.concat([_as_frame(item) for item in items]))}
    if items and all(isinstance(item, Mapping) for item in items):
        return {"shape": "frame", "columns": _frame_columns(pd.DataFrame([dict(item) for item in items]))}
    if items and all(isinstance(item, (list, tuple, np.ndarray)) for item in items):
        widths = {len(item) for item in items}
        if widths != {0} and len(widths) == 1:
            columns = [_column(str(i), [item[i] for item in items]) for i in range(widths.pop())]
            return {"shape": "frame", "columns": columns}
    return {"shape": "list", "values": [scalar(item) for item in items]}


def _as_frame(item: Any) -> pd.DataFrame:
    return item if isinstance(item, pd.DataFrame) else item.to_frame()


def _mapping(answer: Mapping[Any, Any]) -> dict[str, Any]:
    """A dict of equally long lists is a frame; any other is a series of key and value."""
    values = list(answer.values())
    lists = [v for v in values if isinstance(v, (list, tuple, np.ndarray, pd.Series, pd.Index))]
    if values and len(lists) == len(values) and len({len(v) for v in lists}) == 1:
        columns = [_column(_name(k), list(v)) for k, v in answer.items()]
        return {"shape": "frame", "columns": columns}
    keys = [" ".join(str(scalar(p)) for p in k) if isinstance(k, tuple) else k for k in answer]
    return {"shape": "series", "columns": [_column("key", keys), _column("value", values)]}


def _sorted_where_possible(values: list[Any]) -> list[Any]:
    """A set has no order of its own, and its order must not differ from run to run."""
    return sorted(values, key=lambda v: (type(v) is str, v is None, str(v) if isinstance(v, str) else v or 0))


def _name(label: Any) -> str:
    if isinstance(label, tuple):  # the columns of an aggregation by several functions
        return " ".join(str(part) for part in label if part != "")
    return "" if label is None else str(scalar(label))


def _label_columns(index: pd.Index, taken: list[str]) -> list[dict[str, Any]]:
    """The labels of the rows as columns, unless they are only row numbers."""
    if isinstance(index, pd.RangeIndex) and index.name is None:
        return []
    if index.nlevels == 1 and index.name is None and index.dtype.kind in "iu":
        return []  # what filtering and sorting leave of the BOX's row numbers
    columns = []
    for level in range(index.nlevels):
        label = index.names[level]
        name = _name(label) if label is not None else ("index" if index.nlevels == 1 else f"level_{level}")
        while name in taken:
            name += "_"
        columns.append(_column(name, index.get_level_values(level)))
        taken.append(name)
    return columns


def _series_columns(series: pd.Series) -> list[dict[str, Any]]:
    name = _name(series.name) or "answer"
    return [*_label_columns(series.index, [name]), _column(name, series)]


def _frame_columns(frame: pd.DataFrame, labels: bool = True) -> list[dict[str, Any]]:
    names = [_name(label) for label in frame.columns]
    columns = _label_columns(frame.index, list(names)) if labels else []
    return columns + [_column(name, frame.iloc[:, i]) for i, name in enumerate(names)]


def _column(name: str, values: Any) -> dict[str, Any]:
    dtype = getattr(values, "dtype", None)
    kind = getattr(dtype, "kind", "O") if dtype is not None else "O"
    if isinstance(dtype, pd.CategoricalDtype):
        return _column(name, pd.Series(values).astype(dtype.categories.dtype))
    if kind in "biuf" and not isinstance(dtype, (pd.SparseDtype, pd.IntervalDtype)):
        return _number_column(name, kind, pd.Series(values))
    if kind == "M" and getattr(dtype, "tz", None) is None:
        return _time_column(name, pd.Series(values))
    return _typed(name, [scalar(v) for v in values])


def _number_column(name: str, kind: str, series: pd.Series) -> dict[str, Any]:
    series = series.reset_index(drop=True)
    if kind == "f":
        numbers = series.to_numpy(dtype="float64", na_value=np.nan)
        finite = np.isfinite(numbers)
        plain = numbers.tolist()
        return {
            "name": name,
            "kind": "double",
            "values": plain if finite.all() else [v if ok else None for v, ok in zip(plain, finite, strict=True)],
        }
    missing = series.isna().to_numpy()
    plain = series.to_numpy().tolist() if not missing.any() else [None if pd.isna(v) else v for v in series.tolist()]
    if kind == "b":
        return {"name": name, "kind": "bool", "values": plain}
    return _typed(name, plain)


def _time_column(name: str, series: pd.Series) -> dict[str, Any]:
    series = series.reset_index(drop=True)
    missing = series.isna().to_numpy()
    micros = series.to_numpy().astype("datetime64[us]").astype("int64")
    day = 86_400_000_000
    dates_only = not (micros[~missing] % day).any() and bool((~missing).any())
    counts = (micros // day if dates_only else micros).tolist()
    values = [None if gone else count for count, gone in zip(counts, missing.tolist(), strict=True)]
    return {"name": name, "kind": "date32" if dates_only else "timestamp", "values": values}


def _typed(name: str, values: list[Any]) -> dict[str, Any]:
    """Scalars under the narrowest kind that holds them all; text where they differ."""
    found = {type(v) for v in values if v is not None}
    if found == {bool}:
        kind = "bool"
    elif found == {int} and all(v is None or -_INT64 <= v < _INT64 for v in values):
        kind = "int64"
    elif found and found <= {int, float} and float in found and _fit_doubles(values):
        kind, values = "double", [None if v is None else float(v) for v in values]
    else:
        kind, values = "string", [v if v is None or isinstance(v, str) else str(v) for v in values]
    return {"name": name, "kind": kind, "values": values}


def _fit_doubles(values: list[Any]) -> bool:
    return all(not isinstance(v, int) or abs(v) <= 1 << 53 for v in values)


def plain_column(name: str, cells: list[Any]) -> dict[str, Any]:
    """A column out of Python values, as a database gives them."""
    if any(isinstance(c, dt.datetime) for c in cells) and all(
        c is None or (isinstance(c, dt.datetime) and c.tzinfo is None) for c in cells
    ):
        return _time_column(name, pd.Series(cells, dtype="datetime64[us]"))
    return _typed(name, [scalar(c) for c in cells])
