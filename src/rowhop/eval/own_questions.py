"""Questions that benchmarks of paths leave out, made by rule from a graph of MetaQA's shape when they are asked for:
counts, comparisons, superlatives and dates, fifteen of each, with the answers that the triples give.

Nothing of the data is kept here; the same graph and seed give the same questions.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rowhop.eval.benchmarks import Gold, Item, text_of
from rowhop.types import Question, Value

EACH = 15
_MADE, _YEAR, _PLAYED, _WROTE = "directed_by", "release_year", "starred_actors", "written_by"
_DID = {_MADE: "direct", _PLAYED: "star in", _WROTE: "write"}


@dataclass(frozen=True)
class Films:
    """`by` has, for each relation, the films of each person; `year` only films that have just one."""

    by: dict[str, dict[str, list[str]]]
    year: dict[str, int]

    def dated(self, relation: str) -> list[str]:
        """People with two to eight films, all dated, no two in one year."""
        found = []
        for person, films in sorted(self.by[relation].items()):
            years = [self.year.get(f) for f in films]
            if 2 <= len(films) <= 8 and None not in years and len(set(years)) == len(years):
                found.append(person)
        return found


def read_films(kb: Path) -> Films:
    by: dict[str, dict[str, list[str]]] = {r: defaultdict(list) for r in _DID}
    years: dict[str, set[str]] = defaultdict(set)
    for line in text_of(kb).splitlines():
        film, _, rest = line.partition("|")
        relation, _, value = rest.partition("|")
        if relation in by:
            by[relation][value].append(film)
        elif relation == _YEAR:
            years[film].add(value)
    single = {f: int(next(iter(y))) for f, y in years.items() if len(y) == 1 and next(iter(y)).isdigit()}
    return Films(by, single)


def questions(folder: Path, _split: str = "", seed: int = 0) -> list[Item]:
    """Four kinds, as `level` of the items: count, comparison, superlative, date."""
    kb = folder / "kb.txt"
    films, draw = read_films(kb), random.Random(seed)
    items = []
    for kind, make in _KINDS.items():
        some = _distinct(make(films, draw))
        for number in range(EACH):
            text, topics, gold = next(some)
            name = f"{kind}-{number:02d}"
            question = Question(text, topics, name)
            items.append(Item(name, question, (str(kb),), Gold(gold), "list", level=kind))
    return items


_Made = tuple[str, tuple[str, ...], tuple[Value, ...]]


def _distinct(made: Iterator[_Made]) -> Iterator[_Made]:
    seen: set[str] = set()
    for one in made:
        if one[0] not in seen:
            seen.add(one[0])
            yield one


def _count(films: Films, draw: random.Random) -> Iterator[_Made]:
    while True:
        relation = draw.choice(sorted(_DID))
        person = draw.choice([p for p, own in sorted(films.by[relation].items()) if 2 <= len(own) <= 12])
        yield f"How many films did {person} {_DID[relation]}?", (person,), (len(films.by[relation][person]),)


def _comparison(films: Films, draw: random.Random) -> Iterator[_Made]:
    dated = sorted(films.year)
    directors = [p for p, own in sorted(films.by[_MADE].items()) if len(own) > 1]
    while True:
        one, two = draw.sample(dated, 2)
        if films.year[one] != films.year[two]:
            first = min(one, two, key=lambda f: films.year[f])
            yield f"Which film has the earlier release year, {one} or {two}?", (one, two), (first,)
        a, b = draw.sample(directors, 2)
        own = films.by[_MADE]
        if len(own[a]) != len(own[b]):
            more = max(a, b, key=lambda p: len(own[p]))
            yield f"Who directed more films, {a} or {b}?", (a, b), (more,)


def _superlative(films: Films, draw: random.Random) -> Iterator[_Made]:
    while True:
        relation, last = draw.choice(sorted(_DID)), draw.random() < 0.5
        person = draw.choice(films.dated(relation))
        own = sorted(films.by[relation][person], key=lambda f: films.year[f])
        said = {_MADE: "directed by", _PLAYED: "starring", _WROTE: "written by"}[relation]
        when = "latest" if last else "earliest"
        yield f"Which film {said} {person} has the {when} release year?", (person,), (own[-1] if last else own[0],)


def _date(films: Films, draw: random.Random) -> Iterator[_Made]:
    dated = sorted(films.year)
    while True:
        film = draw.choice(dated)
        yield f"In which year was {film} released?", (film,), (str(films.year[film]),)
        person = draw.choice(films.dated(_MADE))
        years = sorted(films.year[f] for f in films.by[_MADE][person])
        yield f"In which years were the films directed by {person} released?", (person,), tuple(map(str, years))


_KINDS: dict[str, Callable[[Films, random.Random], Iterator[_Made]]] = {
    "count": _count,
    "comparison": _comparison,
    "superlative": _superlative,
    "date": _date,
}
