"""How likely each way through the graph answers a question: a weighted sum of a few signs, linear and in the open.

The signs are nearness in meaning, length, and what solved questions say. The weights are learnt with the lessons of a
graph (`rowhop.learn.routes`); `USUAL` holds where nothing was learnt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from rowhop.agents.ppoga.lessons import Opinion
from rowhop.graph.routes import Explorer, Route

if TYPE_CHECKING:
    import numpy as np

# Nearness of all words of the route to the masked question and to the question as asked, the same for the relations'
# own words; whether it has two leaps, three; hops through nodes without a name; the neighbours' votes for this route,
# the same where a neighbour is near, votes for its last hop, for its number of hops; nearness to the neighbours'
# routes and to what those lead to; nearness of what it leads to; length of question per further leap; two topics meet;
# the share of the question's words that the route has, and of the route's own words that the question has.
SIGNS = (
    "whole_masked",
    "whole",
    "brief_masked",
    "brief",
    "two",
    "three",
    "nameless",
    "vote",
    "vote_near",
    "last",
    "length",
    "meaning",
    "kind",
    "leads_to",
    "long",
    "meets",
    "covers",
    "said",
)

# Rounded from what was learnt without lessons on the learn parts of WebQSP, CWQ, GrailQA, MetaQA and PathQuestion
# together. The weights of the votes are for a user's own few lessons.
USUAL = (8.5, 5.5, 3.0, -3.0, -4.6, -8.2, -0.3, 2.0, 6.0, 4.0, 0.5, 2.5, 1.3, 0.7, 2.2, 1.3, 2.5, 0.0)


_PLAIN = frozenset(
    "what which when where whom whose does were been have that this these those with from many much there their they "
    "other also name some into more most than then will would could about".split()
)


def table(explorer: Explorer, asked: tuple[str, str], routes: Sequence[Route], opinion: Opinion) -> np.ndarray:
    """One row of signs per route. `asked` is the question masked, and as it was."""
    import numpy as np

    lexicon = explorer.lexicon
    hops = [r.hops for r in routes]
    masked, plain = explorer.vectors(list(asked))
    whole = explorer.vectors([lexicon.whole(h) for h in hops])
    brief = explorer.vectors([lexicon.brief(h) for h in hops])
    target = explorer.vectors([lexicon.target(h) or "thing" for h in hops])
    leaps = np.array([len(r.leaps) for r in routes])
    count = np.array([len(h) for h in hops])
    votes = np.array([opinion.routes.get(h, 0.0) for h in hops])
    nothing = np.zeros(len(routes))
    columns = [
        whole @ masked,
        whole @ plain,
        brief @ masked,
        brief @ plain,
        leaps == 2,
        leaps == 3,
        count - leaps,
        votes,
        votes * opinion.near**4,
        [opinion.last.get(h[-1], 0.0) for h in hops],
        [opinion.lengths.get(int(n), 0.0) for n in count],
        whole @ opinion.meaning if opinion.meaning is not None else nothing,
        target @ opinion.kind if opinion.kind is not None else nothing,
        target @ masked,
        (leaps - 1) * len(asked[0].split()) / 10,
        nothing,
        *_words(asked[0], [f"{lexicon.full(h)} {lexicon.whole(h)}" for h in hops], [lexicon.brief(h) for h in hops]),
    ]
    return np.stack([np.asarray(c, np.float64) for c in columns], axis=1)


def _words(question: str, texts: Sequence[str], own: Sequence[str]) -> tuple[list[float], list[float]]:
    asked = stems(question)
    covers = [len(asked & stems(text)) / max(len(asked), 1) for text in texts]
    said = [len(asked & (found := stems(text))) / max(len(found), 1) for text in own]
    return covers, said


@cache
def stems(text: str) -> frozenset[str]:
    """The beginnings of a text's telling words, so that "directed" meets "director" and "boats" meets "boat".

    >>> sorted(stems("Which boats did X's director steer?"))
    ['boat', 'direc', 'steer']
    """
    words = [w for w in re.findall(r"[^\W\d_]{4,}", text.lower()) if w not in _PLAIN]
    return frozenset(w.removesuffix("s")[:5] if len(w) > 4 else w for w in words)


def joined(row: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The signs of a way that is narrowed by another: its own length and end, the better vote, the mean of nearness."""
    import numpy as np

    both = (row + other) / 2
    both[4:7] = row[4:7]
    both[7:11] = np.maximum(row[7:11], other[7:11])
    both[12:15] = row[12:15]
    both[15] = 1.0
    both[16] = min(1.0, row[16] + other[16])
    return np.asarray(both)


def chances(rows: np.ndarray, weights: Sequence[float]) -> np.ndarray:
    """Logarithms of how likely each row is, given that one of them is right."""
    import numpy as np

    scores = rows @ np.array(weights if len(weights) == len(SIGNS) else USUAL)
    top = scores.max()
    return np.asarray(scores - top - np.log(np.exp(scores - top).sum()))
