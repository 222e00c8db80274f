"""Small pictures of numbers as inline SVG; colours come from the page's style."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from graspline.episodes.statistics import wilson

_COLUMN_H, _MOST_COLUMNS = 110, 12
_BOX_W, _BOX_H = 220, 16


def rate_bar(hits: int, trials: int) -> str:
    """A rate as a bar, with its interval as a line across the end of it."""
    low, high = (_BOX_W * end for end in wilson(hits, trials))
    at = _BOX_W * hits / trials
    middle = _BOX_H / 2
    return (
        _opening(_BOX_W, _BOX_H) + f"<rect class='frame' width='{_BOX_W}' height='{_BOX_H}'/>"
        f"<rect class='bar' width='{at:.1f}' height='{_BOX_H}'/>"
        f"<path class='line' d='M{low:.1f} {middle} H{high:.1f} M{low:.1f} 4 v8 M{high:.1f} 4 v8'/></svg>"
    )


def box_plot(values: Sequence[float], longest: float) -> str:
    """Least, quartiles, median and most on a scale from 0 to `longest`."""
    least, lower, median, upper, most = (
        (_BOX_W - 4) * value / max(longest, 1e-9) + 2 for value in np.quantile(values, (0, 0.25, 0.5, 0.75, 1))
    )
    middle = _BOX_H / 2
    return (
        _opening(_BOX_W, _BOX_H) + f"<path class='line' d='M{least:.1f} {middle} H{most:.1f}'/>"
        f"<rect class='bar' x='{lower:.1f}' y='3' width='{max(upper - lower, 1.0):.1f}' height='{_BOX_H - 6}'/>"
        f"<path class='line' d='M{median:.1f} 1 V{_BOX_H - 1}'/></svg>"
    )


def column_chart(columns: Sequence[tuple[str, int]], unit: str) -> str:
    """A column for each label, its count above it."""
    pitch = max(34, min(60, 400 // len(columns)))
    highest = max(count for _, count in columns)
    width, height = pitch * len(columns) + 10, _COLUMN_H + 54
    parts = [_opening(width, height)]
    for index, (label, count) in enumerate(columns):
        left, tall = 5 + pitch * index, _COLUMN_H * count / max(highest, 1)
        top, middle = 18 + _COLUMN_H - tall, left + pitch / 2
        parts.append(f"<rect class='bar' x='{left + 2}' y='{top:.1f}' width='{pitch - 4}' height='{tall:.1f}'/>")
        if count:
            parts.append(f"<text x='{middle}' y='{top - 4:.1f}' text-anchor='middle'>{count}</text>")
        parts.append(f"<text x='{middle}' y='{_COLUMN_H + 34}' text-anchor='middle'>{escape(label)}</text>")
    parts.append(f"<path class='line' d='M5 {_COLUMN_H + 18} H{width - 5}'/>")
    parts.append(f"<text class='faint' x='{width / 2}' y='{height - 3}' text-anchor='middle'>{escape(unit)}</text>")
    return "".join([*parts, "</svg>"])


def rate_columns(columns: Sequence[tuple[str, int, int]], unit: str) -> str:
    """A column for the rate of each label, from (label, hits, trials), with its interval as a line.

    Lines of a label stand below each other.
    """
    pitch, deep = 74, max(label.count("\n") for label, _, _ in columns)
    width, height = pitch * len(columns) + 58, _COLUMN_H + 70 + 15 * deep
    base = 18 + _COLUMN_H
    parts = [_opening(width, height)]
    for share in (0.0, 0.5, 1.0):
        y = base - _COLUMN_H * share
        parts.append(f"<path class='frame' d='M50 {y:g} H{width - 5}'/>")
        parts.append(f"<text class='faint' x='46' y='{y + 4:g}' text-anchor='end'>{100 * share:g} %</text>")
    for index, (label, hits, trials) in enumerate(columns):
        left, middle, tall = 52 + pitch * index, 52 + pitch * (index + 0.5), _COLUMN_H * hits / max(trials, 1)
        low, high = (base - _COLUMN_H * end for end in wilson(hits, trials))
        parts.append(
            f"<rect class='bar' x='{left + 12}' y='{base - tall:.1f}' width='{pitch - 24}' height='{tall:.1f}'>"
            f"<title>{hits} of {trials}</title></rect>"
            f"<path class='line' d='M{middle} {low:.1f} V{high:.1f} M{middle - 5} {low:.1f} h10 "
            f"M{middle - 5} {high:.1f} h10'/>"
            f"<text class='faint' x='{middle}' y='{base + 33 + 15 * deep}' text-anchor='middle'>{hits}/{trials}</text>"
        )
        for row, words in enumerate(label.split("\n")):
            parts.append(f"<text x='{middle}' y='{base + 17 + 15 * row}' text-anchor='middle'>{escape(words)}</text>")
    parts.append(f"<text class='faint' x='{width / 2}' y='{height - 3}' text-anchor='middle'>{escape(unit)}</text>")
    return "".join([*parts, "</svg>"])


def histogram(values: Sequence[float], unit: str) -> str:
    """How many values fall between round numbers."""
    step = _round_step((max(values) - min(values)) / (_MOST_COLUMNS - 1))
    first, last = (math.floor(value / step) for value in (min(values), max(values)))
    counts = [0] * (last - first + 1)
    for value in values:
        counts[math.floor(value / step) - first] += 1
    return column_chart([(f"{(first + index) * step:g}–", count) for index, count in enumerate(counts)], unit)


def _round_step(least: float) -> float:
    """The smallest of 1, 2, 5, 10, … and tenths of them that is not below `least`; 1 where nothing varies."""
    if least <= 0:
        return 1.0
    decade = 10.0 ** math.floor(math.log10(least))
    return next(decade * factor for factor in (1, 2, 5, 10) if decade * factor >= least)


def _opening(width: float, height: float) -> str:
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' class='chart' viewBox='0 0 {width:g} {height:g}' width='{width:g}' "
        f"height='{height:g}'>"
    )
