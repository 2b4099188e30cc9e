"""How a checked statement is written out where sqlglot's own way does not run on every server of a kind."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.mysql import MySQL


class _AnyMySQL(MySQL):  # type: ignore[misc]
    """MariaDB has no REGEXP_LIKE; both have the operator."""

    class Generator(MySQL.Generator):  # type: ignore[misc]
        TRANSFORMS: ClassVar = {
            **MySQL.Generator.TRANSFORMS,
            exp.RegexpLike: lambda self, node: self.binary(node, "REGEXP"),
        }


def writing(dialect: str) -> type[Dialect] | str:
    return _AnyMySQL if dialect == "mysql" else dialect
