"""Diagrams generated from the table: Mermaid text, and an SVG picture that needs nothing to be drawn."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape

from graspline.machine.machine import Machine
from graspline.machine.table import End, Retry, Transition, targets_of

_BOX_W, _BOX_H, _GAP = 150, 38, 34
_SHEET_COLUMNS = 3
_LEFT, _TOP = 120, 56
_LINE_H, _CHARACTER_W = 16, 5.8
_FONT = "font-family='Helvetica, Arial, sans-serif'"
_NEVER_OPACITY = 0.35

# How often an outcome of a state led where, all three named as events name them.
Taken = Mapping[tuple[str, str, str], int]


def mermaid(machine: Machine) -> str:
    """A Mermaid state diagram: every state, every outcome, retries with their budget."""
    lines = ["stateDiagram-v2", f"    [*] --> {machine.start}"]
    if machine.takes_over is not None:
        lines.append(f"    [*] --> {machine.takes_over}: from another driver")
    lines += _mermaid_of(machine, "    ")
    return "\n".join(lines) + "\n"


def _mermaid_of(machine: Machine, indent: str) -> Iterator[str]:
    for state, found in machine.states.items():
        if isinstance(found, Machine):
            yield f"{indent}state {state} {{"
            yield f"{indent}    [*] --> {state}_{found.start}"
            yield from _mermaid_of(_prefixed(found, state), indent + "    ")
            yield f"{indent}}}"
    for state, row in machine.table.items():
        for outcome, transition in row.items():
            if isinstance(transition, Retry):
                budget = f"{transition.budget} ≤ {machine.budgets[transition.budget]}"
                yield f"{indent}{state} --> {_node(transition.to)}: {outcome} ({budget})"
                left = f"none left{_parting(transition.otherwise, ', ')}"
                yield f"{indent}{state} --> {_node(transition.otherwise)}: {outcome} ({left})"
            else:
                parting = _parting(transition)
                label = f"{outcome} ({parting})" if parting else outcome
                yield f"{indent}{state} --> {_node(transition)}: {label}"
    for end in machine.outcomes:
        yield f"{indent}{_node(End(end))} --> [*]"


def _node(target: str | End) -> str:
    return f"end_{target.outcome}" if isinstance(target, End) else target


def _parting(target: str | End, before: str = "") -> str:
    """Through which state an end is reached, if through one."""
    return f"{before}after {target.after}" if isinstance(target, End) and target.after is not None else ""


def _prefixed(machine: Machine, prefix: str) -> Machine:
    """The same machine with names that are unique in the outer diagram."""

    def renamed(transition: Transition) -> Transition:
        match transition:
            case End():
                after = None if transition.after is None else f"{prefix}_{transition.after}"
                return End(f"{prefix}_{transition.outcome}", after=after)
            case Retry():
                to, otherwise = renamed(transition.to), renamed(transition.otherwise)
                assert isinstance(to, str)
                assert not isinstance(otherwise, Retry)
                return replace(transition, to=to, otherwise=otherwise)
            case _:
                return f"{prefix}_{transition}"

    return Machine(
        name=machine.name,
        states={f"{prefix}_{name}": state for name, state in machine.states.items()},
        table={
            f"{prefix}_{state}": {outcome: renamed(transition) for outcome, transition in row.items()}
            for state, row in machine.table.items()
        },
        start=f"{prefix}_{machine.start}",
        inputs=machine.inputs,
        budgets=machine.budgets,
        limits_s={f"{prefix}_{state}": limit for state, limit in machine.limits_s.items()},
        gives=machine.gives,
        hands_back=machine.hands_back,
        successes=tuple(f"{prefix}_{name}" for name in machine.successes),
        takes_over=None if machine.takes_over is None else f"{prefix}_{machine.takes_over}",
    )


@dataclass(frozen=True, slots=True)
class _Counts:
    """What a picture says about how often its arrows were taken: nothing if they were not counted."""

    taken: Taken | None

    def entered(self, state: str) -> bool:
        return self.taken is None or any(count for (left, _, _), count in self.taken.items() if left == state)

    def followed(self, state: str, outcome: str, transition: Transition) -> bool:
        return self.taken is None or any(self._count(state, outcome, target) for target in targets_of(transition))

    def mark(self, state: str, outcome: str, target: str | End) -> str:
        count = self._count(state, outcome, target)
        return f" ×{count}" if count else ""

    def _count(self, state: str, outcome: str, target: str | End) -> int:
        then = f"end: {target.outcome}" if isinstance(target, End) else target
        return (self.taken or {}).get((state, outcome, then), 0)


def svg(machine: Machine, taken: Taken | None = None, current: str = "") -> str:
    """States from top to bottom in the order of the table; beside each, where its other outcomes lead.

    With counts, every arrow carries its own and what was never entered or taken is pale. The `current` state stands
    out.
    """
    states, counts = list(machine.states), _Counts(taken)
    below = zip(states, [*states[1:], None], strict=True)
    onward = {state: _onward(machine, state, following) for state, following in below}
    place = _places({state: len(machine.table[state]) - len(onward[state]) for state in states})
    parts = [_text(_LEFT, 28, machine.name, size=17, weight="bold")]
    budgets = ", ".join(f"{name} {count}" for name, count in machine.budgets.items())
    if budgets:
        parts.append(_text(_LEFT, 45, f"retry budgets: {budgets}", size=11, colour="#667"))
    backs, longest = 0, 0
    for index, state in enumerate(states):
        y = place[state]
        if onward[state]:
            parts += _arrow_down(y + _BOX_H, place[states[index + 1]], _counted(counts, state, onward[state]))
        side = []
        # Outcomes that lead to one state above share an arrow.
        back: dict[str, list[str]] = {}
        for outcome, transition in machine.table[state].items():
            if outcome in onward[state]:
                continue
            if isinstance(transition, str) and place[transition] < y and len(machine.table[state]) <= 2:
                back.setdefault(transition, []).append(outcome)
            else:
                side.append((outcome, transition))
                longest = max(longest, len(_side_words(counts, state, outcome, transition)))
        for above, outcomes in back.items():
            backs += 1
            words = ", ".join(outcome + counts.mark(state, outcome, above) for outcome in outcomes)
            arrow = _arrow_back(y, place[above], words, 26 * backs)
            parts += _faded(arrow, any(counts.followed(state, outcome, above) for outcome in outcomes))
        box = _box(y, state, nested=isinstance(machine.states[state], Machine), current=state == current)
        parts += _faded(box, counts.entered(state))
        parts += _side(machine, counts, state, y, side)
    height = place[states[-1]] + _BOX_H + _GAP
    width = max(720, _LEFT + _BOX_W + 50 + round(_CHARACTER_W * longest))
    head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}'>"
    marker = (
        "<defs><marker id='tip' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='7' markerHeight='7' orient='auto'>"
        "<path d='M0 0 L8 4 L0 8 z' fill='#556'/></marker></defs><rect width='100%' height='100%' fill='white'/>"
    )
    return "\n".join([head, marker, *parts, "</svg>"]) + "\n"


def svg_sheet(machine: Machine) -> str:
    """A machine and beside it every one it is made of, each once, in columns of about the same height."""
    drawn = [svg(each) for each in _all_of(machine, {}).values()]
    if len(drawn) == 1:
        return drawn[0]
    sizes = [tuple(int(size) for size in re.findall(r"(?:width|height)='(\d+)'", each)[:2]) for each in drawn]
    columns = min(len(drawn), _SHEET_COLUMNS)
    heights, parts, wide = [0] * columns, list[str](), max(width for width, _ in sizes)
    for picture, (_, height) in zip(drawn, sizes, strict=True):
        column = heights.index(min(heights))
        parts.append(picture.replace("<svg ", f"<svg x='{column * wide}' y='{heights[column]}' ", 1))
        heights[column] += height
    size = f"viewBox='0 0 {columns * wide} {max(heights)}' width='{columns * wide}' height='{max(heights)}'"
    return "".join([f"<svg xmlns='http://www.w3.org/2000/svg' {size}>\n", *parts, "</svg>\n"])


def _all_of(machine: Machine, found: dict[str, Machine]) -> dict[str, Machine]:
    """By name, the outer ones first."""
    if machine.name not in found:
        found[machine.name] = machine
        for state in machine.states.values():
            if isinstance(state, Machine):
                _all_of(state, found)
    return found


def _faded(parts: list[str], used: bool) -> list[str]:
    return parts if used else [f"<g opacity='{_NEVER_OPACITY}'>", *parts, "</g>"]


def _counted(counts: _Counts, state: str, onward: dict[str, str]) -> dict[str, bool]:
    """What stands beside the arrow to the state below, and which of it ever happened."""
    return {
        outcome + counts.mark(state, outcome, below): counts.followed(state, outcome, below)
        for outcome, below in onward.items()
    }


def _onward(machine: Machine, state: str, following: str | None) -> dict[str, str]:
    """Outcomes that lead to the state below, and that state."""
    if following is None:
        return {}
    return {outcome: following for outcome, to in machine.table[state].items() if to == following}


def _places(lines: dict[str, int]) -> dict[str, int]:
    """The top of each state's box, far enough below the one before for the lines that stand beside both."""
    place: dict[str, int] = {}
    last, above = "", 0
    for state, count in lines.items():
        half = _LINE_H * count // 2
        if place:
            place[state] = place[last] + max(_BOX_H + _GAP, above + half + _LINE_H // 2)
        else:
            place[state] = max(_TOP, _TOP + half - _BOX_H // 2)
        last, above = state, half
    return place


def _box(y: int, state: str, nested: bool, current: bool) -> list[str]:
    stroke = "#2b5d8a" if not nested else "#8a5d2b"
    fill = "#ffc53d" if current else "#eef4fa"
    return [
        f"<rect x='{_LEFT}' y='{y}' width='{_BOX_W}' height='{_BOX_H}' rx='8' fill='{fill}' stroke='{stroke}'/>",
        _text(_LEFT + _BOX_W / 2, y + _BOX_H / 2 + 5, state, size=14, anchor="middle"),
    ]


def _arrow_down(start: int, end: int, outcomes: dict[str, bool]) -> list[str]:
    x, top = _LEFT + _BOX_W / 2, (start + end) / 2 + 4 - 6 * (len(outcomes) - 1)
    arrow = [f"<line x1='{x}' y1='{start}' x2='{x}' y2='{end - 2}' stroke='#556' marker-end='url(#tip)'/>"]
    parts = _faded(arrow, any(outcomes.values()))
    for line, (words, used) in enumerate(outcomes.items()):
        parts += _faded([_text(x + 7, top + 12 * line, words, size=11, colour="#334")], used)
    return parts


def _arrow_back(start: int, end: int, outcome: str, depth: int) -> list[str]:
    x, low, high = _LEFT, start + _BOX_H / 2, end + _BOX_H / 2
    bend = x - 40 - depth
    return [
        f"<path d='M{x} {low} C{bend} {low} {bend} {high} {x - 2} {high}' fill='none' stroke='#556' "
        "stroke-dasharray='5 3' marker-end='url(#tip)'/>",
        _text(x - 12, low + 18, outcome, size=11, colour="#334", anchor="end"),
    ]


def _side(machine: Machine, counts: _Counts, state: str, y: int, side: list[tuple[str, Transition]]) -> list[str]:
    parts = []
    x = _LEFT + _BOX_W
    top = y + _BOX_H / 2 - _LINE_H * (len(side) - 1) / 2
    for index, (outcome, transition) in enumerate(side):
        at = top + index * _LINE_H
        good = isinstance(transition, End) and transition.outcome in machine.successes
        colour = "#1d7a3c" if good else "#9a3324" if isinstance(transition, End) else "#7a5a10"
        arrow = [
            f"<line x1='{x}' y1='{y + _BOX_H / 2}' x2='{x + 34}' y2='{at}' stroke='{colour}' marker-end='url(#tip)'/>",
            _text(x + 40, at + 4, _side_words(counts, state, outcome, transition), size=11, colour=colour),
        ]
        parts += _faded(arrow, counts.followed(state, outcome, transition))
    return parts


def _side_words(counts: _Counts, state: str, outcome: str, transition: Transition) -> str:
    if isinstance(transition, Retry):
        again, then = (
            _told(target).removeprefix("to ") + counts.mark(state, outcome, target)
            for target in (transition.to, transition.otherwise)
        )
        return f"{outcome}: again from {again} while {transition.budget} last; then {then}"
    return f"{outcome}: {_told(transition)}{counts.mark(state, outcome, transition)}"


def _told(target: str | End) -> str:
    if isinstance(target, End):
        return f"end, {target.outcome}" + (f", after {target.after}" if target.after else "")
    return f"to {target}"


def _text(
    x: float,
    y: float,
    words: str,
    *,
    size: int,
    colour: str = "#112",
    anchor: str = "start",
    weight: str = "normal",
) -> str:
    style = f"{_FONT} font-size='{size}' fill='{colour}' text-anchor='{anchor}' font-weight='{weight}'"
    return f"<text x='{x}' y='{y}' {style}>{escape(words)}</text>"
