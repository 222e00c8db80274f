"""Where things lay around an arm, seen from above: how often in each cell, and where attempts failed.

For evaluations, each object by itself: where it lay, and whether it came to what was asked for.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from graspline.datasets.report.summary import TableObject
from graspline.kinematics.table_reach import TableReach

CELL_M = 0.025
_RINGS_M = (0.1, 0.2, 0.3, 0.4)
_SCALE = 640  # pixels per metre
_LEFT, _TOP, _RIGHT, _BOTTOM = 58, 12, 12, 86
_PALEST = 0.15
# More outlines of places than this hide each other.
_MOST_OUTLINES = 40


class _Plan:
    """From the table to the page: forward is up and the robot's left is left."""

    def __init__(self, shown: Sequence[TableObject], around: TableReach) -> None:
        self.around = around
        # Whole cells, wherever in one a thing lies.
        self.low_x = _outward(min((-0.15, *(spot.x_m - CELL_M for spot in shown))), -0.05)
        self.high_x = _outward(max((around.reach_m + around.pan_x_m, *(spot.x_m + CELL_M for spot in shown))), 0.05)
        self.half_y = _outward(max((around.reach_m, *(abs(spot.y_m) + CELL_M for spot in shown))), 0.05)

    @property
    def width(self) -> float:
        return 2 * self.half_y * _SCALE

    @property
    def height(self) -> float:
        return (self.high_x - self.low_x) * _SCALE

    def at(self, x_m: float, y_m: float) -> tuple[float, float]:
        return _LEFT + (self.half_y - y_m) * _SCALE, _TOP + (self.high_x - x_m) * _SCALE

    def ticks(self, low_m: float, high_m: float) -> list[float]:
        return [tenth / 10 for tenth in range(math.ceil(low_m * 10 - 1e-9), math.floor(high_m * 10 + 1e-9) + 1)]


def heat_map(
    targets: Sequence[TableObject], failed: Sequence[TableObject], places: Sequence[TableObject], around: TableReach
) -> str:
    """Cells by how often an object lay there at the start; a cross for each failed attempt; outlines of places."""
    plan = _Plan(targets, around)
    counts = Counter((math.floor(spot.x_m / CELL_M), math.floor(spot.y_m / CELL_M)) for spot in targets)
    width, height = _LEFT + plan.width + _RIGHT, _TOP + plan.height + _BOTTOM
    return "".join(
        [
            f"<svg xmlns='http://www.w3.org/2000/svg' class='map' viewBox='0 0 {width:.0f} {height:.0f}'>",
            _clipped(plan),
            *_cells(plan, counts),
            *_rings(plan),
            *_outlines(plan, places),
            *_base(plan),
            *_crosses(plan, failed),
            "</g>",
            *_axes(plan),
            *_legend(plan, max(counts.values(), default=0), bool(failed), bool(places)),
            "</svg>",
        ]
    )


def outcome_map(fine: Sequence[TableObject], failed: Sequence[TableObject], around: TableReach) -> str:
    """A dot for every object that lay there and came to what was asked for, a cross for every one that did not."""
    plan = _Plan([*fine, *failed], around)
    width, height = _LEFT + plan.width + _RIGHT, _TOP + plan.height + _BOTTOM
    x, y = float(_LEFT), _TOP + plan.height + 66
    return "".join(
        [
            f"<svg xmlns='http://www.w3.org/2000/svg' class='map' viewBox='0 0 {width:.0f} {height:.0f}'>",
            _clipped(plan),
            *_rings(plan),
            *_base(plan),
            *_dots(plan, fine),
            *_crosses(plan, failed),
            "</g>",
            *_axes(plan),
            f"<circle class='dot' cx='{x + 6}' cy='{y - 3}' r='5'/><text x='{x + 18}' y='{y + 2}'>done</text>",
            f"<path class='cross' d='M{x + 80} {y - 9} l12 12 m0 -12 l-12 12'/>",
            f"<text x='{x + 98}' y='{y + 2}'>failed</text>",
            f"<path class='reach' d='M{x + 165} {y - 3} h22'/><text x='{x + 192}' y='{y + 2}'>reach</text></svg>",
        ]
    )


def _clipped(plan: _Plan) -> str:
    """The beginning of a group that shows nothing outside the frame."""
    return (
        f"<clipPath id='table'><rect x='{_LEFT}' y='{_TOP}' width='{plan.width:.1f}' "
        f"height='{plan.height:.1f}'/></clipPath><g clip-path='url(#table)'>"
    )


def _dots(plan: _Plan, spots: Sequence[TableObject]) -> Iterable[str]:
    for spot in spots:
        x, y = plan.at(spot.x_m, spot.y_m)
        yield f"<circle class='dot' cx='{x:.1f}' cy='{y:.1f}' r='5'><title>{escape(spot.name)}</title></circle>"


def _cells(plan: _Plan, counts: Counter[tuple[int, int]]) -> Iterable[str]:
    most, side = max(counts.values(), default=1), CELL_M * _SCALE
    for (row, column), count in sorted(counts.items()):
        x, y = plan.at((row + 1) * CELL_M, (column + 1) * CELL_M)
        yield (
            f"<rect class='heat' x='{x:.1f}' y='{y:.1f}' width='{side:g}' height='{side:g}' "
            f"fill-opacity='{_strength(count, most):.2f}'><title>{count} at x {row * CELL_M:.3f} to "
            f"{(row + 1) * CELL_M:.3f} m, y {column * CELL_M:.3f} to {(column + 1) * CELL_M:.3f} m</title></rect>"
        )


def _strength(count: int, most: int) -> float:
    return _PALEST + (1 - _PALEST) * count / most


def _rings(plan: _Plan) -> Iterable[str]:
    x, y = plan.at(plan.around.pan_x_m, 0.0)
    for radius_m in _RINGS_M:
        yield f"<circle class='ring' cx='{x:.1f}' cy='{y:.1f}' r='{radius_m * _SCALE:.1f}'/>"
        yield f"<text class='faint' x='{x + 4:.1f}' y='{y - radius_m * _SCALE + 15:.1f}'>{radius_m:g} m</text>"
    yield f"<circle class='reach' cx='{x:.1f}' cy='{y:.1f}' r='{plan.around.reach_m * _SCALE:.1f}'/>"


def _outlines(plan: _Plan, places: Sequence[TableObject]) -> Iterable[str]:
    for number in np.linspace(0, len(places) - 1, min(len(places), _MOST_OUTLINES)).astype(int):
        x, y = plan.at(places[number].x_m, places[number].y_m)
        yield f"<circle class='place' cx='{x:.1f}' cy='{y:.1f}' r='{places[number].radius_m * _SCALE:.1f}'/>"


def _base(plan: _Plan) -> Iterable[str]:
    low_x, high_x, half_y = plan.around.base_m
    x, y = plan.at(high_x, half_y)
    size = f"width='{2 * half_y * _SCALE:.1f}' height='{(high_x - low_x) * _SCALE:.1f}'"
    yield f"<rect class='base' x='{x:.1f}' y='{y:.1f}' {size} rx='6'><title>the robot's base</title></rect>"


def _crosses(plan: _Plan, failed: Sequence[TableObject]) -> Iterable[str]:
    for spot in failed:
        x, y = plan.at(spot.x_m, spot.y_m)
        cross = f"d='M{x - 6:.1f} {y - 6:.1f} l12 12 m0 -12 l-12 12'"
        yield f"<path class='cross' {cross}><title>{escape(spot.name)}</title></path>"


def _axes(plan: _Plan) -> Iterable[str]:
    bottom, left = _TOP + plan.height, _LEFT
    yield f"<rect class='frame' x='{left}' y='{_TOP}' width='{plan.width:.1f}' height='{plan.height:.1f}'/>"
    for y_m in plan.ticks(-plan.half_y, plan.half_y):
        x, _ = plan.at(0.0, y_m)
        yield f"<path class='line' d='M{x:.1f} {bottom:.1f} v5'/>"
        yield f"<text x='{x:.1f}' y='{bottom + 20:.1f}' text-anchor='middle'>{y_m:g}</text>"
    for x_m in plan.ticks(plan.low_x, plan.high_x):
        _, y = plan.at(x_m, 0.0)
        yield f"<path class='line' d='M{left} {y:.1f} h-5'/>"
        yield f"<text x='{left - 9}' y='{y + 5:.1f}' text-anchor='end'>{x_m:g}</text>"
    middle = left + plan.width / 2
    yield f"<text x='{middle:.1f}' y='{bottom + 40:.1f}' text-anchor='middle'>y, m (the robot's left is left)</text>"
    turned = f"translate(15 {_TOP + plan.height / 2:.1f}) rotate(-90)"
    yield f"<text transform='{turned}' text-anchor='middle'>x, m (forward is up)</text>"


def _legend(plan: _Plan, most: int, failed: bool, places: bool) -> Iterable[str]:
    x, y = float(_LEFT), _TOP + plan.height + 66
    for count in sorted({1, most}) if most else ():
        shade = f"width='16' height='16' fill-opacity='{_strength(count, most):.2f}'"
        yield f"<rect class='heat' x='{x}' y='{y - 11}' {shade}/>"
        yield f"<text x='{x + 21}' y='{y + 2}'>{count}</text>"
        x += 46
    yield f"<text x='{x}' y='{y + 2}'>per cell of {1000 * CELL_M:g} mm</text>"
    x += 150
    yield f"<path class='reach' d='M{x} {y - 3} h22'/><text x='{x + 27}' y='{y + 2}'>reach</text>"
    x += 84
    if places:
        yield f"<circle class='place' cx='{x + 7}' cy='{y - 3}' r='7'/><text x='{x + 20}' y='{y + 2}'>place</text>"
        x += 74
    if failed:
        yield f"<path class='cross' d='M{x} {y - 9} l12 12 m0 -12 l-12 12'/>"
        yield f"<text x='{x + 18}' y='{y + 2}'>failed</text>"


def _outward(value_m: float, step_m: float) -> float:
    """The next multiple of a step away from zero."""
    return math.ceil(value_m / step_m - 1e-9) * step_m
