"""Simple plots as inline SVG, without a library: scores with intervals, shares, cost over score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

_COLOURS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#ff8ab7", "#a463f2", "#97bbf5", "#9c6b4e")
_LABEL, _WIDE, _LINE = 260, 420, 24


@dataclass(frozen=True)
class Point:
    """`low` and `high` bound `y`; all of them shares between 0 and 1."""

    label: str
    x: float
    y: float
    low: float
    high: float


def scores(points: Sequence[Point]) -> str:
    """One line per run: the score as a dot, its interval as a bar."""
    height = _LINE * len(points) + 30
    parts = [_axis(height)]
    for row, p in enumerate(points):
        y = _LINE * row + 16
        left, right, at = (_LABEL + _WIDE * v for v in (p.low, p.high, p.y))
        parts.append(_text(_LABEL - 8, y + 4, p.label, "end"))
        parts.append(f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{y}" y2="{y}" stroke="#9ab" stroke-width="5"/>')
        parts.append(f'<circle cx="{at:.1f}" cy="{y}" r="5" fill="{_COLOURS[0]}"/>')
        parts.append(_text(_LABEL + _WIDE + 8, y + 4, f"{p.y:.1%}"))
    return _svg(height, parts)


def shares(rows: Mapping[str, Mapping[str, int]]) -> str:
    """One stacked bar per run, e.g. of error types; the legend stands below."""
    kinds = list(dict.fromkeys(kind for counts in rows.values() for kind in counts))
    colour = {kind: _COLOURS[i % len(_COLOURS)] for i, kind in enumerate(kinds)}
    parts = []
    for row, (label, counts) in enumerate(rows.items()):
        y, left, total = _LINE * row + 6, float(_LABEL), sum(counts.values()) or 1
        parts.append(_text(_LABEL - 8, y + 14, label, "end"))
        for kind, count in counts.items():
            width = _WIDE * count / total
            parts.append(
                f'<rect x="{left:.1f}" y="{y}" width="{width:.1f}" height="16" fill="{colour[kind]}">'
                f"<title>{escape(kind)}: {count} of {total}</title></rect>"
            )
            left += width
    top = _LINE * len(rows) + 20
    for i, kind in enumerate(kinds):
        x, y = 20 + 220 * (i % 3), top + 20 * (i // 3)
        parts.append(f'<rect x="{x}" y="{y - 10}" width="12" height="12" fill="{colour[kind]}"/>')
        parts.append(_text(x + 18, y, kind))
    return _svg(top + 20 * ((len(kinds) + 2) // 3) + 6, parts)


def cost_over_score(points: Sequence[Point], unit: str) -> str:
    """Dots: to the right costs more, above is better. A number in a dot leads to its label."""
    high, most = 260, max((p.x for p in points), default=1.0) or 1.0
    left, top = 60, 14
    parts = [f'<rect x="{left}" y="{top}" width="{_WIDE}" height="{high}" fill="none" stroke="#ccc"/>']
    for step in range(5):
        y = top + high * (1 - step / 4)
        parts.append(_text(left - 6, y + 4, f"{step * 25} %", "end"))
        parts.append(_text(left + _WIDE * step / 4, top + high + 16, f"{most * step / 4:.3g}", "middle"))
    parts.append(_text(left + _WIDE / 2, top + high + 32, unit, "middle"))
    for i, p in enumerate(points):
        x, y = left + _WIDE * p.x / most, top + high * (1 - p.y)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="9" fill="{_COLOURS[i % len(_COLOURS)]}"/>')
        parts.append(_text(x, y + 4, str(i + 1), "middle"))
        parts.append(_text(left + _WIDE + 20, top + 14 + 18 * i, f"{i + 1}  {p.label}"))
    return _svg(max(top + high + 40, top + 18 * len(points) + 10), parts)


def _axis(height: int) -> str:
    lines = []
    for step in range(5):
        x = _LABEL + _WIDE * step / 4
        lines.append(f'<line x1="{x}" x2="{x}" y1="4" y2="{height - 20}" stroke="#e4e4e4"/>')
        lines.append(_text(x, height - 4, f"{step * 25} %", "middle"))
    return "".join(lines)


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(height: float, parts: Sequence[str]) -> str:
    width = _LABEL + _WIDE + 90
    return f'<svg viewBox="0 0 {width} {height:.0f}" width="{width}" role="img">{"".join(parts)}</svg>'
