"""BOX: one named table of fields and values, whatever it came from.

The paper's B = (b, Φ, Ψ): `Box.name` is b, `Box.columns` are Φ; Ψ, the values, stay in the source until a
program needs them (`Source.load`). Here is the schema only, with the little of the data that a prompt shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rowhop.types import Value

# The types a program sees. "date" and "datetime" are pandas datetimes; "mixed" is text that only partly parses.
Dtype = Literal["text", "integer", "number", "boolean", "date", "datetime", "list", "mixed"]


@dataclass(frozen=True)
class Column:
    name: str
    dtype: Dtype
    samples: tuple[Value, ...] = ()
    matched: tuple[str, ...] = ()  # cell values that match words of the question
    parsed_from: str = ""  # how the source writes it where `dtype` was read out of text, e.g. "1,234", "$4.5m"
    about: str = ""  # a description from the source or the user's notes
    nullable: bool = True


@dataclass(frozen=True)
class Box:
    """`rows` is None where counting would cost a scan. `origin` says where it came from, for people."""

    name: str
    columns: tuple[Column, ...]
    about: str = ""
    keys: tuple[str, ...] = ()  # primary key fields
    rows: int | None = None
    origin: str = ""

    def column(self, name: str) -> Column | None:
        return next((c for c in self.columns if c.name == name), None)

    def _repr_html_(self) -> str:
        from rowhop import notebook

        return notebook.box(self)


@dataclass(frozen=True)
class ForeignKey:
    box: str
    field: str
    to_box: str
    to_field: str


@dataclass(frozen=True)
class BoxSet:
    """BOXes that one question is asked over. `left_out` says in words what was not shown for lack of room."""

    boxes: tuple[Box, ...]
    foreign_keys: tuple[ForeignKey, ...] = ()
    left_out: tuple[str, ...] = ()

    def box(self, name: str) -> Box | None:
        return next((b for b in self.boxes if b.name == name), None)
