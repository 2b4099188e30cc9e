"""Names: a BOX's name out of a table's, the nearest existing name, and lists of names for messages."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterable, Sequence

# What a program finds under these names must stay what it expects.
TAKEN = frozenset({"pd", "np", "answer"})


def identifier(text: str) -> str:
    """A Python name as near to `text` as can be.

    >>> identifier("Order Details (2024)"), identifier("2024"), identifier("class"), identifier("时间")
    ('Order_Details_2024', 't_2024', 'class_', '时间')
    """
    text = unicodedata.normalize("NFKC", text)
    name = re.sub(r"_*\W+_*", "_", text).strip("_") or "t"
    if not name.isidentifier():
        name = f"t_{name}"
    if not name.isidentifier():  # digits of other scripts and the like
        name = re.sub(r"\W", "_", name, flags=re.ASCII)
    return f"{name}_" if keyword.iskeyword(name) or name in TAKEN else name


def unique(name: str, used: Iterable[str], suffix: str = "") -> str:
    """`name`, changed until no used name equals it; case does not count, since SQL ignores it."""
    lowered = {u.lower() for u in used}
    if name.lower() not in lowered:
        return name
    if suffix and f"{name}_{suffix}".lower() not in lowered:
        return f"{name}_{suffix}"
    number = 2
    while f"{name}_{number}".lower() in lowered:
        number += 1
    return f"{name}_{number}"


def nearest(name: str, names: Sequence[str], whole: bool = False) -> str | None:
    """The existing name that was probably meant, None when nothing is near. `whole`: a part in common is not enough."""
    from rapidfuzz import fuzz, process, utils

    if not whole:  # a short name is a part of many others by chance
        long = [n for n in names if len(n) > 2]
        found = process.extractOne(name, long, scorer=fuzz.WRatio, processor=utils.default_process, score_cutoff=72)
        if found:
            return str(found[0])
    found = process.extractOne(name, names, scorer=fuzz.ratio, processor=utils.default_process, score_cutoff=72)
    return str(found[0]) if found else None


def listed(names: Sequence[str], most: int = 40) -> str:
    """`a, b, c` for a message; a long list is cut and says so."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def missing(what: str, name: str, names: Sequence[str], where: str = "") -> str:
    """The sentence for a name that does not exist, with what there is and what was probably meant.

    >>> missing("column", "grup", ["group", "select"], "table 'order'")
    "No column 'grup' in table 'order'. It has: group, select. Did you mean 'group'?"
    """
    near = nearest(name, names)
    place = f" in {where}" if where else ""
    has = f" It has: {listed(names)}." if names else ""
    return f"No {what} '{name}'{place}.{has}" + (f" Did you mean '{near}'?" if near else "")


def quoted(name: str) -> str:
    """A name in double quotes, as SQLite, DuckDB and PostgreSQL take it."""
    return '"' + name.replace('"', '""') + '"'
