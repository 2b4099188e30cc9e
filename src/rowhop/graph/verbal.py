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

    def full(self, hops: Sequence[Hop]) -> str:
        """With the kinds of things at both ends: what a question often names instead of the relation."""
        said = []
        for hop in hops:
            relation, back = self.forward(hop)
            kind = "" if back else home(relation)
            said.append(f"{kind} {words(relation.name)}".strip())
        end = self.target(hops)
        return "X " + " ".join(said) + (f": {end}" if end else "")

    def phrase(self, hops: Sequence[Hop], of: str) -> str:
        """As one would say it: "release year of things whose director is Ann Lee"."""
        text, i = of, 0
        while i < len(hops):
            relation, back = self.forward(hops[i])
            said = words(relation.name)
            if back:
                text = f"{home(relation) or 'things'} whose {said} is {text}"
            elif i + 1 < len(hops) and self._compound(hops[i], hops[i + 1]):
                text = f"{words(self.forward(hops[i + 1])[0].name)} in the {said} of {text}"
                i += 1
            else:
                text = f"{said} of {text}"
            i += 1
        return text

    def _compound(self, one: Hop, two: Hop) -> bool:
        """Two hops that go through a nameless node are said together."""
        first, second = self.forward(one), self.forward(two)
        return not first[1] and not second[1] and bool(first[0].range) and first[0].range[:1] == second[0].domain[:1]


def _swapped(relation: Relation) -> Relation:
    """The inverse of a relation where the graph holds no triple of it: only its name is known."""
    name = re.split(r"[/#:]", relation.inverse)[-1]
    return Relation(relation.inverse, name, None, relation.range, relation.domain)
