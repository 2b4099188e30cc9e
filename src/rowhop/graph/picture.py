"""A picture of the walked part of a graph, as SVG: nodes in columns by their distance from where the walk began."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from rowhop.types import TripleEvidence

WIDTH, HEIGHT = 220, 44  # of one column and of one row
BOX_WIDTH, BOX_HEIGHT = 150, 28
MOST = 40  # triples drawn; more cannot be read


def svg(triples: Sequence[TripleEvidence], answers: Sequence[str] = (), topics: Sequence[str] = ()) -> str:
    """The whole file. Answers and topics are marked; what is beyond `MOST` is said in the picture."""
    drawn = list(triples[:MOST])
    columns = _columns(drawn, topics)
    layers: dict[int, list[str]] = {}
    for name, column in columns.items():
        layers.setdefault(column, []).append(name)
    spot = {
        name: (20 + column * WIDTH, 20 + row * HEIGHT)
        for column, names in layers.items()
        for row, name in enumerate(names)
    }
    width = 20 + max(layers, default=0) * WIDTH + BOX_WIDTH + 20
    height = 40 + max((len(names) for names in layers.values()), default=0) * HEIGHT
    parts = [_edge(t, spot) for t in drawn] + [_node(n, p, n in answers, n in topics) for n, p in spot.items()]
    if len(triples) > MOST:
        parts.append(f'<text x="20" y="{height - 8}">and {len(triples) - MOST} more triples</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="11">\n<rect width="100%" height="100%" fill="white"/>\n'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#777"/></marker></defs>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _columns(triples: Sequence[TripleEvidence], topics: Sequence[str]) -> dict[str, int]:
    """Distance from the topics (from the first triple's subject where none is named), against or along edges."""
    near: dict[str, set[str]] = {}
    for t in triples:
        near.setdefault(t.subject, set()).add(t.object)
        near.setdefault(t.object, set()).add(t.subject)
    starts = [t for t in topics if t in near] or [t.subject for t in triples[:1]]
    found = dict.fromkeys(starts, 0)
    queue = list(starts)
    for name in queue:
        for other in sorted(near.get(name, ())):
            if other not in found:
                found[other] = found[name] + 1
                queue.append(other)
    return found | {n: max(found.values(), default=0) + 1 for n in near if n not in found}


def _node(name: str, at: tuple[int, int], answer: bool, topic: bool) -> str:
    x, y = at
    fill, line = ("#d9f2d9", "#2a7d2a") if answer else ("#dde8fa", "#2a5ab0") if topic else ("#f5f5f5", "#999")
    shown = name if len(name) <= 24 else name[:23] + "…"
    return (
        f'<g><title>{escape(name)}</title><rect x="{x}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6" '
        f'fill="{fill}" stroke="{line}"/><text x="{x + BOX_WIDTH / 2:g}" y="{y + 18}" text-anchor="middle">'
        f"{escape(shown)}</text></g>"
    )


def _edge(triple: TripleEvidence, spot: dict[str, tuple[int, int]]) -> str:
    (x1, y1), (x2, y2) = spot[triple.subject], spot[triple.object]
    y1, y2 = y1 + BOX_HEIGHT // 2, y2 + BOX_HEIGHT // 2
    if x1 < x2:
        x1 += BOX_WIDTH
    elif x1 > x2:
        x2 += BOX_WIDTH
    label = triple.relation.rsplit(".", 1)[-1].replace("_", " ")
    return (
        f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#777" marker-end="url(#tip)"/>'
        f'<text x="{(x1 + x2) / 2:g}" y="{(y1 + y2) / 2 - 3:g}" text-anchor="middle" fill="#555" font-size="9">'
        f"{escape(label)}</text>"
    )
