"""A laid-out diagram as SVG. It needs no font, no script and no other file, and follows the reader's light or dark
theme."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from graspline.machine.chart import Lane, Word
from graspline.machine.chart_layout import (
    BESIDE,
    CAPTION_PX,
    DOT,
    LEGEND,
    LINE,
    MARGIN,
    ChartLayout,
    ExitLines,
    StateBox,
)
from graspline.machine.chart_text import COMMA, text_width

_CORNER = 6
_TIP = 7
# Budgets have one colour each, over again where there are more.
_COLOURS = 4
# Classes have a prefix, because styles of a picture inside a page hold for the whole page.
STYLE = """<style>
.gl-m{--paper:#fff;--ink:#1b2430;--soft:#5b6675;--rule:#d5dbe3;--box:#eef3f9;--edge:#8a9bb0;--path:#1f5fa8;
--path-box:#dcebfb;--good:#16773a;--good-box:#dcf5e4;--bad:#b3261e;--bad-box:#fdeceb;--now:#ffc53d;--now-ink:#1b2430;
--pale:#a3adb9;--b0:#a34d00;--b1:#6d3fc4;--b2:#0b7285;--b3:#b02a6f}
@media (prefers-color-scheme: dark){.gl-m{--paper:#161b22;--ink:#e6edf3;--soft:#9aa7b5;--rule:#38424e;--box:#212a35;
--edge:#66788c;--path:#79b8ff;--path-box:#1b3350;--good:#6fdd8b;--good-box:#17351f;--bad:#ff9b93;--bad-box:#3b1d1c;
--now:#d99a00;--now-ink:#10151b;--pale:#5d6977;--b0:#ffb366;--b1:#c9adff;--b2:#66d9e8;--b3:#ff9ecb}}
.gl-m text{font-family:system-ui,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;fill:var(--ink)}
.gl-m path,.gl-m line{fill:none;stroke:var(--edge);stroke-width:1.5}
.gl-m .paper{fill:var(--paper)}
.gl-m .box{fill:var(--box);stroke:var(--edge)}
.gl-m .inner{fill:none;stroke:var(--edge)}
.gl-m .way .box,.gl-m .way .inner{stroke:var(--path)}
.gl-m .way .box{fill:var(--path-box);stroke-width:1.6}
.gl-m .end .box{fill:var(--good-box);stroke:var(--good);stroke-width:1.6}
.gl-m .end text{fill:var(--good);font-weight:600}
.gl-m .current .box{fill:var(--now)}
.gl-m .current text{fill:var(--now-ink);font-weight:600}
.gl-m .panel{fill:var(--bad-box);stroke:var(--bad)}
.gl-m .soft{fill:var(--soft)}
.gl-m .dot{fill:var(--path)}
.gl-m .step path{stroke:var(--path);stroke-width:2.6}
.gl-m .step polygon{fill:var(--path)}
.gl-m .plain polygon{fill:var(--edge)}
.gl-m .loop path{stroke:var(--path);stroke-width:1.8}
.gl-m .loop polygon{fill:var(--path)}
.gl-m .success path{stroke:var(--good);stroke-width:2}
.gl-m .success polygon{fill:var(--good)}
.gl-m .failure path{stroke:var(--bad)}
.gl-m .failure polygon,.gl-m text.failure{fill:var(--bad)}
.gl-m text.success{fill:var(--good)}
.gl-m .b0 path{stroke:var(--b0)}.gl-m .b0 polygon,.gl-m text.b0,.gl-m tspan.b0{fill:var(--b0)}
.gl-m .b1 path{stroke:var(--b1)}.gl-m .b1 polygon,.gl-m text.b1,.gl-m tspan.b1{fill:var(--b1)}
.gl-m .b2 path{stroke:var(--b2)}.gl-m .b2 polygon,.gl-m text.b2,.gl-m tspan.b2{fill:var(--b2)}
.gl-m .b3 path{stroke:var(--b3)}.gl-m .b3 polygon,.gl-m text.b3,.gl-m tspan.b3{fill:var(--b3)}
.gl-m .never path,.gl-m .never .box,.gl-m .never .inner{stroke:var(--pale)}
.gl-m .never polygon,.gl-m .never text,.gl-m text .never{fill:var(--pale)}
</style>"""


def picture(layout: ChartLayout, current: str = "") -> str:
    """The whole SVG document; the `current` state stands out."""
    width, height = layout.width, layout.height
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' class='gl-m' viewBox='0 0 {width} {height}' "
        f"width='{width}' height='{height}'>"
    )
    parts = [head, STYLE, "<rect class='paper' width='100%' height='100%' rx='8'/>", *_header(layout)]
    parts += _lines(layout)
    parts += _steps(layout)
    for box in layout.boxes:
        parts += _box(layout, box, current)
        parts += _labels(layout, box)
    parts += _panel(layout)
    parts += _foot(layout)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _header(layout: ChartLayout) -> list[str]:
    parts = [_text(MARGIN, 30, layout.chart.name, 17, weight=700)]
    for number, names in enumerate(layout.legend):
        shown = "".join(
            f"<tspan class='{_colour(layout, name)}'>{escape(name)} ≤ {layout.chart.budgets[name]}</tspan>"
            f"<tspan class='soft'>{'' if name == names[-1] else DOT}</tspan>"
            for name in names
        )
        lead = f"<tspan class='soft'>{LEGEND}</tspan>" if number == 0 else ""
        y = 50 + 17 * number
        parts.append(f"<text x='{MARGIN}' y='{y}' font-size='{layout.style.label_px}'>{lead}{shown}</text>")
    return parts


def _lines(layout: ChartLayout) -> list[str]:
    """Every line from an outcome along its lane to its arrow, those that were never taken first."""
    lines: list[tuple[int, str]] = []
    for box in layout.boxes:
        for number, each in enumerate(box.exits):
            # What several lines share has the look of the last.
            rank = 2 if _is_on_way(layout, box, each.lane) else 1
            lines.append((rank if each.used else 0, _line(layout, box, number, each)))
    return [each for _, each in sorted(lines, key=lambda each: each[0])]


def _is_on_way(layout: ChartLayout, box: StateBox, lane: Lane) -> bool:
    """Whether a line joins two states of the way to success, without anything having gone wrong."""
    return lane.kind == "plain" and box.name in layout.chart.spine and lane.target in layout.chart.spine


def _line(layout: ChartLayout, box: StateBox, number: int, exit: ExitLines) -> str:
    y, lane_x = box.exit_y(number), layout.lane_x[exit.lane]
    written = text_width(COMMA.join(each.text for each in exit.lines[-1]), layout.style.label_px) + 5
    begin = box.edge - BESIDE - written if box.right else box.edge + 9 + written
    path = f"M{begin:g} {y:g} {_turn(begin, y, lane_x)}"
    if exit.lane.kind == "failure":
        path += f" V{layout.panel_y - _TIP:g}"
        tip = _tip(lane_x, layout.panel_y, "down")
    else:
        target, entry = _target(layout, exit.lane)
        at = target.entry_y(entry)
        label = target.entries[entry].label
        room = text_width(label, layout.style.label_px) + BESIDE + 8 if label else _TIP
        end = target.edge - room if target.right else target.edge + room
        bend = min(_CORNER, abs(at - y) / 2)
        sign = 1 if at > y else -1
        path = f"M{begin:g} {y:g} {_turn(begin, y, lane_x, bend, sign)} V{at - sign * bend:g} "
        path += f"Q{lane_x:g} {at:g} {lane_x + (bend if end > lane_x else -bend):g} {at:g} H{end:g}"
        if label:
            short = target.edge - BESIDE if target.right else target.edge + BESIDE
            stub = target.edge - _TIP if target.right else target.edge + _TIP
            path += f" M{short:g} {at:g} H{stub:g}"
        tip = _tip(target.edge, at, "right" if target.right else "left")
    kind = _colour(layout, exit.lane.budget) if exit.lane.budget else exit.lane.kind
    kind = "loop" if _is_on_way(layout, box, exit.lane) else kind
    return f"<g class='{kind}{'' if exit.used else ' never'}'><path d='{path}'/>{tip}</g>"


def _turn(begin: float, y: float, lane_x: float, bend: float = _CORNER, sign: int = 1) -> str:
    """Across to a lane and round its corner, down unless the sign says up."""
    before = lane_x - bend if begin < lane_x else lane_x + bend
    return f"H{before:g} Q{lane_x:g} {y:g} {lane_x:g} {y + sign * bend:g}"


def _target(layout: ChartLayout, lane: Lane) -> tuple[StateBox, int]:
    for box in layout.boxes:
        for number, entry in enumerate(box.entries):
            if entry.lane == lane:
                return box, number
    raise AssertionError(f"{lane} leads nowhere")


def _steps(layout: ChartLayout) -> list[str]:
    """The arrows of the way to success, from each box to the one below."""
    parts: list[str] = []
    for box, below in zip(layout.boxes, layout.boxes[1:], strict=False):
        if box.down is None:
            continue
        x, top = box.x + box.w / 2, box.y + box.h
        kind = "step" + (" success" if below.is_end else "") + ("" if box.down.used else " never")
        arrow = f"<path d='M{x:g} {top:g} V{below.y - _TIP:g}'/>{_tip(x, below.y, 'down')}"
        parts.append(f"<g class='{kind}'>{_titled(box.down.words)}{arrow}</g>")
        first = (top + below.y) / 2 + 4 - LINE * (len(box.down_lines) - 1) / 2
        for number, words in enumerate(box.down_lines):
            more = number < len(box.down_lines) - 1
            parts.append(_words(x + 9, first + LINE * number, words, layout.style.label_px, "", more, weight=600))
    return parts


def _box(layout: ChartLayout, box: StateBox, current: str) -> list[str]:
    chart = layout.chart
    kinds = ["state"]
    if box.is_end:
        kinds = ["end"]
    elif box.name in chart.spine:
        kinds.append("way")
    if not box.is_end and box.name == current:
        kinds.append("current")
    if not box.is_end and box.name not in chart.entered:
        kinds.append("never")
    round_px = box.h / 2 if box.is_end else 7
    parts = [
        f"<rect class='box' x='{box.x:g}' y='{box.y:g}' width='{box.w:g}' height='{box.h:g}' rx='{round_px:g}'/>",
        _text(box.x + box.w / 2, box.y + box.h / 2 + 4.5, box.name, layout.style.state_px, anchor="middle", weight=600),
    ]
    if not box.is_end and box.name in chart.nested:
        parts.insert(
            1,
            f"<rect class='inner' fill='none' x='{box.x + 3:g}' y='{box.y + 3:g}' width='{box.w - 6:g}' "
            f"height='{box.h - 6:g}' rx='4'/>",
        )
    if box.caption or (box.name == chart.start and not box.is_end):
        parts += _begin(box)
    return [f"<g class='{' '.join(kinds)}'>", *parts, "</g>"]


def _begin(box: StateBox) -> list[str]:
    """A dot from which a run begins, above a box."""
    x = box.x + (8 if box.caption else box.w / 2)
    dot = f"<circle class='dot' cx='{x:g}' cy='{box.y - 9:g}' r='4.5'/>"
    return [dot, *([_text(x + 9, box.y - 5, box.caption, CAPTION_PX, kind="soft")] if box.caption else [])]


def _labels(layout: ChartLayout, box: StateBox) -> list[str]:
    px, parts = layout.style.label_px, list[str]()
    x, anchor = (box.edge - BESIDE, "end") if box.right else (box.edge + 9, "start")
    entry_x = box.edge - BESIDE - 3 if box.right else box.edge + BESIDE + 3
    for number, entry in enumerate(box.entries):
        if entry.label:
            kind = _colour(layout, entry.lane.budget)
            parts.append(_text(entry_x, box.entry_y(number) + 4, entry.label, px, anchor=anchor, kind=kind, weight=600))
    for number, each in enumerate(box.exits):
        last = box.exit_y(number)
        for line, words in enumerate(each.lines):
            y = last - LINE * (len(each.lines) - 1 - line) + 4
            more = line < len(each.lines) - 1
            kind = each.lane.kind if each.lane.kind in ("failure", "success") else ""
            parts.append(_words(x, y, words, px, kind, more, anchor=anchor))
    return parts


def _panel(layout: ChartLayout) -> list[str]:
    """The list of failures."""
    if not layout.rows:
        return []
    x, px = MARGIN + 12, layout.style.label_px
    parts = [
        f"<rect class='panel' x='{MARGIN}' y='{layout.panel_y:g}' width='{layout.width - 2 * MARGIN:g}' "
        f"height='{layout.panel_h:g}' rx='7'/>"
    ]
    y = layout.panel_y + 3
    for row in layout.rows:
        if row.heading:
            y += 1.4 * 17
            parts.append(_text(x, y - 5, row.heading, px + 1, kind="failure", weight=700))
        kind = _colour(layout, row.stop.budget) if row.stop.budget else "soft"
        parts.append(_text(x, y + 13, row.stop.cause, px, kind=kind))
        for number, words in enumerate(row.lines):
            y += 17
            parts.append(_words(layout.names_x, y - 4, words, px, "", number < len(row.lines) - 1))
    return parts


def _foot(layout: ChartLayout) -> list[str]:
    first = layout.height - MARGIN - 15 * (len(layout.footnote) - 1) + 2
    return [_text(MARGIN, first + 15 * number, line, 11, kind="soft") for number, line in enumerate(layout.footnote)]


def _colour(layout: ChartLayout, budget: str) -> str:
    return f"b{list(layout.chart.budgets).index(budget) % _COLOURS}"


def _tip(x: float, y: float, towards: str) -> str:
    """The tip of an arrow, as its own shape: markers are lost where a page hides the first picture that has them."""
    half = _TIP * 0.55
    dx, dy = {"left": (1, 0), "right": (-1, 0), "down": (0, -1)}[towards]
    base_x, base_y = x + dx * _TIP, y + dy * _TIP
    first, second = (base_x + dy * half, base_y + dx * half), (base_x - dy * half, base_y - dx * half)
    return f"<polygon points='{x:g},{y:g} {first[0]:g},{first[1]:g} {second[0]:g},{second[1]:g}'/>"


def _titled(words: Sequence[Word]) -> str:
    return f"<title>{escape('; '.join(each.meaning for each in words))}</title>"


def _words(
    x: float,
    y: float,
    words: Sequence[Word],
    px: int,
    kind: str,
    more: bool,
    *,
    anchor: str = "start",
    weight: int = 400,
) -> str:
    """Outcomes with commas between them, and one behind them if more follow."""
    parts = []
    for number, each in enumerate(words):
        last = number == len(words) - 1
        comma = "," if not last or (more and not each.text.endswith(":")) else ""
        pale = "" if each.used else " class='never'"
        parts.append(f"<tspan{pale}>{escape(each.text)}{comma}</tspan>")
    shown = " ".join(parts)
    style = f"font-size='{px}' text-anchor='{anchor}' font-weight='{weight}'"
    named = f" class='{kind}'" if kind else ""
    return f"<text{named} x='{x:g}' y='{y:g}' {style}>{_titled(words)}{shown}</text>"


def _text(
    x: float, y: float, words: str, px: float, *, kind: str = "", anchor: str = "start", weight: int = 400
) -> str:
    named = f" class='{kind}'" if kind else ""
    style = f"font-size='{px:g}' text-anchor='{anchor}' font-weight='{weight}'"
    return f"<text{named} x='{x:g}' y='{y:g}' {style}>{escape(words)}</text>"
