"""Relations and routes in words, for people, for models and for comparing meanings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from rowhop.graph import Hop, Relation


@cache
def words(name: str) -> str:
    """A relation's or type's own words.

    >>> words("people.person.place_of_birth"), words("starred_actors"), words("bornIn")
    ('place of birth', 'starred actors', 'born in')
    """
    if re.fullmatch(r"\w+(\.\w+)+", name):
        name = name.rsplit(".", 1)[-1]
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return re.sub(r"[\s_]+", " ", name).strip().lower()


def home(relation: Relation) -> str:
    """What kind of thing the relation is said of, "" where nothing is known."""
    if relation.domain:
        return words(relation.domain[0])
    parts = relation.name.split(".")
    return parts[-2].replace("_", " ") if len(parts) > 2 else ""


class Lexicon:
    """Words for the hops of one graph."""

    def __init__(self, relations: Sequence[Relation]):
        self._by_id: Mapping[str, Relation] = {r.id: r for r in relations}

    def forward(self, hop: Hop) -> tuple[Relation, bool]:
        """The relation to name, and whether it is still read backwards after using its inverse."""
        relation = self._by_id.get(hop.relation) or Relation(hop.relation, hop.relation)
        if hop.inverse and relation.inverse:
            return self._by_id.get(relation.inverse) or _swapped(relation), False
        return relation, hop.inverse

    def target(self, hops: Sequence[Hop]) -> str:
        """The kind of thing at the end, "" where nothing is known."""
        relation, back = self.forward(hops[-1])
        if back:
            return home(relation)
        return words(relation.range[0]) if relation.range else ""

    def brief(self, hops: Sequence[Hop]) -> str:
        """The relations' own words one after the other."""
        said = [words(self.forward(h)[0].name) for h in hops]
        return " ".join(w for i, w in enumerate(said) if i == 0 or w != said[i - 1])

    def whole(self, hops: Sequence[Hop]) -> str:
        """The relations' names with all their parts: "people person place of birth" says more than its last part."""
        names = [self.forward(h)[0].name for h in hops]
        said = [re.sub(r"[._]+", " ", n) if re.fullmatch(r"\w+(\.\w+)+", n) else words(n) for n in names]
        return " ".join(said)

    def full(self, hops: Sequence[Hop]) -> str:
        """With the kinds of things at both ends: what a question often names instead of the relation."""
        said = []
        for hop in hops:
            relation, back = self.forward(hop)
            kind = "" if back else home(relation)
            said.append(f"{kind} {words(relation.name)}".strip())
        end = self.target(hops)
        return "X " + " ".join(said) + (f": {end}" if end else "")

    def phrase(self, leaps: Sequence[Sequence[Hop]], of: str) -> str:
        """As one would say it: "release year of things whose director is Ann Lee". A leap of two hops goes through a
        node without a name, and is said in one."""
        text = of
        for hops in leaps:
            ends = [self.forward(h) for h in hops]
            if len(ends) == 2 and not ends[0][1] and not ends[1][1]:
                text = f"{words(ends[1][0].name)} in the {words(ends[0][0].name)} of {text}"
                continue
            for relation, back in ends:
                said = words(relation.name)
                text = f"{home(relation) or 'things'} whose {said} is {text}" if back else f"{said} of {text}"
        return text


def _swapped(relation: Relation) -> Relation:
    """The inverse of a relation where the graph holds no triple of it: only its name is known."""
    name = re.split(r"[/#:]", relation.inverse)[-1]
    return Relation(relation.inverse, name, None, relation.range, relation.domain)
