"""How likely each way through the graph answers a question: a weighted sum of a few signs, linear and in the open.

The signs are nearness in meaning, length, and what solved questions say. The weights are learnt with the lessons of a
graph (`rowhop.learn.routes`); `USUAL` holds where nothing was learnt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rowhop.agents.ppoga.lessons import Opinion
from rowhop.graph.routes import Explorer, Route

if TYPE_CHECKING:
    import numpy as np

# Nearness of all words of the route to the masked question and to the question as asked, the same for the relations'
# own words; whether it has two leaps, three; hops through nodes without a name; the neighbours' votes for this route,
# the same where a neighbour is near, votes for its last hop, for its number of hops; nearness to the neighbours'
# routes and to what those lead to; nearness of what it leads to; length of question per further leap; two topics meet.
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
)

# Rounded from what was learnt on the learn parts of WebQSP, CWQ and GrailQA without any lessons.
USUAL = (7.0, 4.6, 1.9, 0.0, -5.0, -8.0, 0.1, 2.0, 6.0, 4.0, 0.5, 2.5, 1.3, 1.4, 2.4, 1.1)


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
    ]
    return np.stack([np.asarray(c, np.float64) for c in columns], axis=1)


def joined(row: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The signs of a way that is narrowed by another: its own length and end, the better vote, the mean of nearness."""
    import numpy as np

    both = (row + other) / 2
    both[4:7] = row[4:7]
    both[7:11] = np.maximum(row[7:11], other[7:11])
    both[12:15] = row[12:15]
    both[15] = 1.0
    return np.asarray(both)


def chances(rows: np.ndarray, weights: Sequence[float]) -> np.ndarray:
    """Logarithms of how likely each row is, given that one of them is right."""
    import numpy as np

    scores = rows @ np.array(weights if len(weights) == len(SIGNS) else USUAL)
    top = scores.max()
    return np.asarray(scores - top - np.log(np.exp(scores - top).sum()))
