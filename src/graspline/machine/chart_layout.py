"""Where everything of a diagram is: the way to success straight down, lanes beside it, ends at the bottom.

Beside each box, one line under the other, are the arrows that enter it and the outcomes that leave it otherwise than to
the next box. Each of these lines goes to a lane, a vertical line that ends in an arrow. Lines of the two columns are at
heights that differ by half a line, so that none covers another.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from graspline.machine.chart import FAILURE, Chart, Exit, Lane, Stop, Word
from graspline.machine.chart_text import line_width, text_width, wrapped, wrapped_words

# Distance of lines beside a box; boxes start at multiples of it.
LINE = 16
BOX_LEAST_H = 2 * LINE
MARGIN = 16
# From a box to what is written beside it: room for the tip of an arrow.
BESIDE = 15
ARROW_GAP = 2 * LINE
_LOOSE_GAP = LINE
_BOX_PAD = 22
CAPTION_PX = 11
# Before the budgets, and between them.
LEGEND, DOT = "retries ", " · "
_TAKES_OVER = "start when taking over"


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """Sizes of one kind of diagram."""

    # Whether states that are not on the way to success have a column of their own, or are below.
    two_columns: bool
    state_px: int
    label_px: int
    lane_gap: int
    label_most: int
    least_width: int


WIDE = Style(two_columns=True, state_px=14, label_px=12, lane_gap=11, label_most=190, least_width=480)
COMPACT = Style(two_columns=False, state_px=12, label_px=11, lane_gap=8, label_most=118, least_width=360)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryArrow:
    """An arrow that enters a box: its lane, and what is written at it."""

    lane: Lane
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitLines:
    """Outcomes that leave a box along a lane, in as many lines as they need."""

    lane: Lane
    lines: list[tuple[Word, ...]]
    used: bool


@dataclass(slots=True, kw_only=True)
class StateBox:
    """A state, or an end that is a success."""

    name: str
    is_end: bool = False
    # Whether its lines are to its left.
    right: bool = False
    x: float = 0
    y: float = 0
    w: float = 0
    entries: list[EntryArrow] = field(default_factory=list)
    exits: list[ExitLines] = field(default_factory=list)
    # What is written above it where a run may start from it, besides the start.
    caption: str = ""
    # Outcomes that lead to the box below.
    down: Exit | None = None
    down_lines: list[tuple[Word, ...]] = field(default_factory=list)

    @property
    def h(self) -> float:
        """The height of the box."""
        lines = len(self.entries) + sum(len(each.lines) for each in self.exits)
        return max(BOX_LEAST_H, LINE * (lines + 1))

    @property
    def edge(self) -> float:
        """Where its lines begin."""
        return self.x if self.right else self.x + self.w

    def entry_y(self, number: int) -> float:
        """The height at which an entry begins."""
        return self.y + LINE * (number + 1)

    def exit_y(self, number: int) -> float:
        """The height of an exit's last line, from which it goes on."""
        lines = sum(len(each.lines) for each in self.exits[: number + 1])
        return self.y + LINE * (len(self.entries) + lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRow:
    """A row of the list of failures: its heading if it is the first of its kind, and its names in lines."""

    stop: Stop
    heading: str
    lines: list[tuple[Word, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartLayout:
    """A chart with its geometry."""

    chart: Chart
    style: Style
    boxes: list[StateBox]
    lane_x: Mapping[Lane, float]
    # The list of failures: its top, its height, where names begin, and its rows.
    panel_y: float
    panel_h: float
    names_x: float
    rows: list[StopRow]
    legend: list[list[str]]
    footnote: list[str]
    width: float
    height: float

    @property
    def lanes(self) -> list[Lane]:
        """The vertical lines beside the boxes."""
        return list(self.lane_x)


def lay_out(chart: Chart, style: Style) -> ChartLayout:
    """Positions of a chart's boxes and lines."""
    spine, aside = _boxes(chart, style)
    left, right = (spine, aside) if style.two_columns else ([*spine, *aside], [])
    width_left, width_right = (_box_width(column, style) for column in (left, right))
    for box in left:
        box.x, box.w = MARGIN, width_left
    legend = _legend(chart, style)
    top = _up(42 + 17 * len(legend) + 16)
    _stack(left, top, len(spine) if not style.two_columns else 0)
    _place_aside(right, left, top)
    bottom = max((box.y + box.h for box in (*left, *right)), default=top)
    panel_y = _up(bottom + 2 * LINE)
    lanes_from = MARGIN + width_left + _label_zone(left, style)
    lane_x = _lanes((*left, *right), panel_y, lanes_from, style.lane_gap)
    lanes_to = max(lane_x.values(), default=lanes_from - style.lane_gap) + style.lane_gap
    width = lanes_to + MARGIN - style.lane_gap / 2
    if right:
        x = lanes_to + _label_zone(right, style)
        for box in right:
            box.x, box.w = x, width_right
        width = x + width_right + MARGIN
    width = max(width, style.least_width)
    rows, names_x = _rows(chart, style, width)
    panel_h = 17 * sum(len(row.lines) + (1.4 if row.heading else 0) for row in rows) + 14 if rows else 0
    foot = wrapped(chart.footnote, 11, width - 2 * MARGIN)
    height = (panel_y + panel_h if rows else bottom) + MARGIN + 15 * len(foot) + (6 if foot else 0)
    return ChartLayout(
        chart=chart,
        style=style,
        boxes=[*left, *right],
        lane_x=lane_x,
        panel_y=panel_y,
        panel_h=panel_h,
        names_x=names_x,
        rows=rows,
        legend=legend,
        footnote=foot,
        width=math.ceil(width),
        height=math.ceil(height),
    )


def _up(y: float) -> float:
    return LINE * math.ceil(y / LINE)


def _boxes(chart: Chart, style: Style) -> tuple[list[StateBox], list[StateBox]]:
    """The way to success with its ends, and the other states."""
    spine = [StateBox(name=state) for state in chart.spine]
    leads = [exit.lane.target for exit in chart.exits[chart.spine[-1]] if exit.lane.kind == "success"]
    ends = sorted(chart.successes, key=lambda name: name not in leads)
    spine += [StateBox(name=name, is_end=True) for name in ends]
    aside = [
        StateBox(name=state, right=style.two_columns, caption=_TAKES_OVER if state == chart.takes_over else "")
        for state in chart.aside
    ]
    boxes = {(box.name, box.is_end): box for box in (*spine, *aside)}
    below = {above.name: under for above, under in itertools.pairwise(spine) if not above.is_end}
    for state in (*chart.spine, *chart.aside):
        box, under = boxes[state, False], below.get(state)
        for each in chart.exits[state]:
            if under is not None and box.down is None and _is_down(each.lane, under):
                box.down = each
                box.down_lines = wrapped_words(each.words, style.label_px, style.label_most)
                continue
            lines = wrapped_words(each.words, style.label_px, style.label_most)
            box.exits.append(ExitLines(lane=each.lane, lines=lines, used=each.used))
            target = boxes.get((each.lane.target, each.lane.kind == "success"))
            if target is not None and each.lane not in [entry.lane for entry in target.entries]:
                budget = each.lane.budget if each.lane.kind == "retry" else ""
                label = f"{budget} ≤ {chart.budgets[budget]}" if budget else ""
                target.entries.append(EntryArrow(lane=each.lane, label=label))
    return spine, aside


def _is_down(lane: Lane, under: StateBox) -> bool:
    kinds = ("success",) if under.is_end else ("plain", "round")
    return lane.kind in kinds and lane.target == under.name


def _box_width(column: Sequence[StateBox], style: Style) -> float:
    names = [text_width(box.name, style.state_px) for box in column]
    captions = [text_width(box.caption, CAPTION_PX) for box in column if box.caption]
    return max([*names, *captions], default=0) + _BOX_PAD


def _label_zone(column: Sequence[StateBox], style: Style) -> float:
    """How wide it is between boxes and the nearest lane."""
    widest = 0.0
    for box in column:
        widest = max([widest, *(text_width(entry.label, style.label_px) for entry in box.entries)])
        widest = max([widest, *(line_width(line, style.label_px) for each in box.exits for line in each.lines)])
        # Beside the arrow to the next box, which starts in the middle of this one.
        down = max((line_width(line, style.label_px) for line in box.down_lines), default=0.0)
        widest = max(widest, down + 8 - box.w / 2)
    return BESIDE + widest + 12


def _stack(column: Sequence[StateBox], top: float, split: int) -> None:
    """One below the other; from number `split` on they are not part of the way to success."""
    y = top
    for number, box in enumerate(column):
        if split and number == split:
            y += LINE
        box.y = y = y + (LINE if box.caption else 0)
        y += box.h + (max(ARROW_GAP, LINE * (len(box.down_lines) + 1)) if box.down else _LOOSE_GAP)


def _place_aside(right: list[StateBox], left: Sequence[StateBox], top: float) -> None:
    """Each near the lines that lead to it, or from it if none does; half a line lower than those of the left column."""
    wanted: dict[str, float] = {}
    for box in right:
        sources = [
            other.exit_y(number)
            for other in left
            for number, each in enumerate(other.exits)
            if each.lane.kind != "success" and each.lane.target == box.name
        ]
        targets = [other.y for other in left for each in box.exits if each.lane.target == other.name]
        near = sources or targets[:1]
        wanted[box.name] = sum(near) / len(near) - box.h / 2 if near else top
    right.sort(key=lambda box: wanted[box.name])
    y = top + LINE / 2
    for box in right:
        box.y = max(y + (LINE if box.caption and y > top + LINE else 0), _up(wanted[box.name]) + LINE / 2)
        y = box.y + box.h + _LOOSE_GAP
    # Those at the end are moved up again where there is room.
    limit = max(left[-1].y + left[-1].h, top) + LINE / 2
    for box in reversed(right):
        if box.y + box.h <= limit:
            break
        above = [other.y + other.h + _LOOSE_GAP for other in right if other.y < box.y]
        box.y = max(_up(limit - box.h) - LINE / 2, max(above, default=top + LINE / 2))
        limit = box.y - _LOOSE_GAP - (LINE if box.caption else 0)


def _lanes(boxes: Sequence[StateBox], panel_y: float, first_x: float, gap: float) -> dict[Lane, float]:
    """The shortest lanes nearest to the boxes; lanes that do not meet may be one below the other."""
    heights: dict[Lane, list[float]] = {}
    for box in boxes:
        for number, entry in enumerate(box.entries):
            heights.setdefault(entry.lane, []).append(box.entry_y(number))
        for number, each in enumerate(box.exits):
            heights.setdefault(each.lane, []).append(box.exit_y(number))
            if each.lane.target == FAILURE and each.lane.kind == "failure":
                heights[each.lane].append(panel_y)
    taken: list[list[tuple[float, float]]] = []
    found: dict[Lane, float] = {}
    for lane in sorted(heights, key=lambda lane: max(heights[lane]) - min(heights[lane])):
        low, high = min(heights[lane]) - LINE, max(heights[lane]) + LINE
        free = [all(high <= begin or low >= end for begin, end in spans) for spans in taken]
        number = free.index(True) if any(free) else len(taken)
        if number == len(taken):
            taken.append([])
        taken[number].append((low, high))
        found[lane] = round(first_x + number * gap)
    return found


def _legend(chart: Chart, style: Style) -> list[list[str]]:
    """Names of budgets, as many in a line as fit."""
    lines: list[list[str]] = []
    for name in chart.budgets:
        longer = LEGEND + DOT.join(f"{each} ≤ {chart.budgets[each]}" for each in (*(lines[-1:] or [[]])[0], name))
        if lines and text_width(longer, style.label_px) <= style.least_width - 2 * MARGIN:
            lines[-1].append(name)
        else:
            lines.append([name])
    return lines


def _rows(chart: Chart, style: Style, width: float) -> tuple[list[StopRow], float]:
    px = style.label_px
    names_x = MARGIN + 12 + max((text_width(stop.cause, px) for stop in chart.stops), default=0) + 14
    rows: list[StopRow] = []
    headed: set[str] = set()
    for stop in chart.stops:
        heading = f"Failures, after {stop.after}" if stop.after else "Failures"
        lines = wrapped_words(stop.words, px, width - MARGIN - 12 - names_x)
        rows.append(StopRow(stop=stop, heading="" if heading in headed else heading, lines=lines))
        headed.add(heading)
    return rows, names_x
