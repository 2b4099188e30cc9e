"""Names that look alike: what was probably meant by a misspelt or differently written one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable


def nearest(name: str, names: Iterable[str], k: int = 3, cutoff: float = 60.0) -> list[str]:
    """The names most like `name`, best first; case, accents and `_`/`-`/spaces do not count.

    >>> nearest("started at", ["start_ts", "StartedAt", "name"], k=1)
    ['StartedAt']
    """
    from rapidfuzz import fuzz, process

    wanted = plain(name)
    known = list(dict.fromkeys(names))
    if not wanted:
        return []
    # WRatio also finds a name inside a longer one ("price" in "unit price"), which plain edit distance does not.
    found = process.extract(wanted, [plain(n) for n in known], scorer=fuzz.WRatio, limit=k, score_cutoff=cutoff)
    return [known[index] for _, _, index in found]


def plain(text: str) -> str:
    """For comparing only: no case, no accents, words parted by one space.

    >>> plain("Größe_desHauses  (m²)")
    'grosse des hauses m2'
    """
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    text = unicodedata.normalize("NFKD", text.casefold())
    text = "".join(c for c in text if not unicodedata.combining(c))
    return " ".join(re.findall(r"\w+", text.replace("_", " ")))
