"""Pictures of the findings as inline SVG; colours come from the page's style."""

from __future__ import annotations

from collections.abc import Sequence

from graspline.datasets.teachability.findings import Pairs, ScenePoint

_SIDE = 340
_EDGE = 34
# More points than this say nothing more, and make the page large.
_MOST_POINTS = 3000


def pair_chart(pairs: Sequence[Pairs]) -> str:
    """The share of pairs that chose otherwise, a column for each range of distances."""
    pitch, height = 76, 130
    parts = [_opening(pitch * len(pairs) + 10, height + 60)]
    for index, each in enumerate(pairs):
        left = 5 + pitch * index
        share = each.otherwise / max(each.pairs, 1)
        tall, middle = height * share, left + pitch / 2
        top = 18 + height - tall
        text = f"{100 * share:.0f} %" if each.pairs else "–"
        parts.append(f"<rect class='bar' x='{left + 4}' y='{top:.1f}' width='{pitch - 8}' height='{tall:.1f}'/>")
        parts.append(f"<text x='{middle}' y='{top - 4:.1f}' text-anchor='middle'>{text}</text>")
        label = f"{each.from_mm:g}–{each.to_mm:g} mm"
        parts.append(f"<text x='{middle}' y='{height + 34}' text-anchor='middle'>{label}</text>")
        counted = f"{each.pairs} pairs"
        parts.append(f"<text class='faint' x='{middle}' y='{height + 52}' text-anchor='middle'>{counted}</text>")
    parts.append(f"<path class='line' d='M5 {height + 18} H{pitch * len(pairs) + 5}'/>")
    return "".join([*parts, "</svg>"])


def place_map(points: Sequence[ScenePoint]) -> str:
    """Where the grasped objects lay, x up and y to the left as the robot sees it."""
    shown = _thinned(points)
    across, along = [-each.y_mm for each in shown], [each.x_mm for each in shown]
    size = max(max(across) - min(across), max(along) - min(along), 1.0)
    left, low = (max(across) + min(across) - size) / 2, (max(along) + min(along) - size) / 2
    parts = [_opening(_SIDE, _SIDE), f"<rect class='frame' width='{_SIDE}' height='{_SIDE}'/>"]
    for each, u, v in zip(shown, across, along, strict=True):
        x = 8 + (_SIDE - 16) * (u - left) / size
        y = _SIDE - 8 - (_SIDE - 16) * (v - low) / size
        parts.append(_dot(x, y, tied=each.tied))
    parts.append(f"<text class='faint' x='10' y='18'>{size:.0f} mm wide</text>")
    return "".join([*parts, "</svg>"])


def roll_chart(points: Sequence[ScenePoint]) -> str:
    """How far the hand rolled over how far it had to, with the line on which the two are the same."""
    shown = _thinned(points)
    most = max(*(abs(each.roll) for each in shown), *(abs(each.least_roll) for each in shown), 45.0)
    wide = max(*(abs(each.least_roll) for each in shown), 45.0)
    middle = _SIDE / 2
    scale_x, scale_y = (middle - _EDGE) / wide, (middle - _EDGE) / most
    parts = [_opening(_SIDE, _SIDE), f"<rect class='frame' width='{_SIDE}' height='{_SIDE}'/>"]
    parts.append(f"<path class='ring' d='M{_EDGE} {middle} H{_SIDE - _EDGE} M{middle} {_EDGE} V{_SIDE - _EDGE}'/>")
    for each in shown:
        parts.append(_dot(middle + scale_x * each.least_roll, middle - scale_y * each.roll, tied=each.tied))
    reach = wide * scale_x, wide * scale_y
    line = f"M{middle - reach[0]:.1f} {middle + reach[1]:.1f} L{middle + reach[0]:.1f} {middle - reach[1]:.1f}"
    parts.append(f"<path class='line' d='{line}'/>")
    parts.append(f"<text class='faint' x='{_SIDE - 6}' y='{middle + 16}' text-anchor='end'>least {wide:.0f}</text>")
    parts.append(f"<text class='faint' x='{middle + 6}' y='18'>turned {most:.0f}</text>")
    return "".join([*parts, "</svg>"])


def _thinned(points: Sequence[ScenePoint]) -> Sequence[ScenePoint]:
    return points[:: -(-len(points) // _MOST_POINTS)]


def _dot(x: float, y: float, *, tied: bool) -> str:
    colour = "var(--bad)" if tied else "var(--heat)"
    return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='2' fill='{colour}' fill-opacity='.6'/>"


def _opening(width: float, height: float) -> str:
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' class='chart' viewBox='0 0 {width:g} {height:g}' width='{width:g}' "
        f"height='{height:g}'>"
    )
