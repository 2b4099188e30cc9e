"""rowhop answers questions in plain language from tables, databases and graphs.

Every answer is the result of a program that ran, or of a path that was walked, over your data.
Importing this package reads nothing, prints nothing and imports no pandas.

    import rowhop

    answer = rowhop.ask("How many orders were shipped in May?", ["orders.xlsx", "shop.db"])
    answer.values, answer.program, answer.evidence
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rowhop.errors import (
        BudgetSpent,
        ConfigError,
        MissingExtra,
        ModelError,
        ModelUnavailable,
        OperatorError,
        ReplyError,
        RowhopError,
        RunEnded,
        SandboxUnavailable,
        SourceError,
        SourceUnavailable,
        UserError,
    )
    from rowhop.front import Session, ask, ask_async, open_sources
    from rowhop.trace import Budget, Trace
    from rowhop.types import (
        Answer,
        Caution,
        Cost,
        Program,
        Question,
        RowEvidence,
        Table,
        TextEvidence,
        TripleEvidence,
    )

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Budget",
    "BudgetSpent",
    "Caution",
    "ConfigError",
    "Cost",
    "MissingExtra",
    "ModelError",
    "ModelUnavailable",
    "OperatorError",
    "Program",
    "Question",
    "ReplyError",
    "RowEvidence",
    "RowhopError",
    "RunEnded",
    "SandboxUnavailable",
    "Session",
    "SourceError",
    "SourceUnavailable",
    "Table",
    "TextEvidence",
    "Trace",
    "TripleEvidence",
    "UserError",
    "__version__",
    "ask",
    "ask_async",
    "open_sources",
]

# A library says nothing until the application that uses it has chosen where its log goes.
logging.getLogger(__name__).addHandler(logging.NullHandler())

# The modules that hold the names above, searched in this order; `front` last, because it pulls in the most.
_HOMES = ("rowhop.errors", "rowhop.types", "rowhop.trace", "rowhop.front")
_FRONT = ("Session", "ask", "ask_async", "open_sources")


def __getattr__(name: str) -> object:
    if name in __all__:
        for home in _HOMES[-1:] if name in _FRONT else _HOMES[:-1]:
            if hasattr(module := import_module(home), name):
                return getattr(module, name)
    raise AttributeError(f"module 'rowhop' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
