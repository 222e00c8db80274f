"""Diagrams generated from the table: Mermaid text, and an SVG picture that needs no other file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from graspline.errors import EnvironmentProblem, InputError
from graspline.machine.chart import Taken, chart_of
from graspline.machine.chart_layout import COMPACT, WIDE, ChartLayout, lay_out
from graspline.machine.chart_picture import STYLE, picture
from graspline.machine.machine import Machine
from graspline.machine.table import End, Retry, Transition

# Two compact diagrams beside each other are as wide as a page of documentation.
_SHEET_COLUMNS = 2
_SHEET_GAP = 16


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
        vertical=tuple(f"{prefix}_{name}" for name in machine.vertical),
        work_begins=None if machine.work_begins is None else f"{prefix}_{machine.work_begins}",
    )


def svg(
    machine: Machine, taken: Taken | None = None, current: str = "", *, compact: bool = False, timeouts: bool = False
) -> str:
    """The way to success straight down; beside it where other outcomes lead; failures in a list at the bottom.

    Retries are arrows back with their budget. With counts, every outcome carries its own and what never happened is
    pale. The `current` state stands out. A `compact` picture is about 400 px wide. That a state ends when its time is
    up is a footnote unless `timeouts` is set.
    """
    return picture(_laid_out(machine, taken, compact=compact, timeouts=timeouts), current)


def _laid_out(machine: Machine, taken: Taken | None, *, compact: bool, timeouts: bool) -> ChartLayout:
    return lay_out(chart_of(machine, taken, timeouts=timeouts), COMPACT if compact else WIDE)


def svg_sheet(machine: Machine, *, timeouts: bool = False) -> str:
    """A machine and, if it is made of others, every one of them once, in columns of about the same height."""
    machines = list(_all_of(machine, {}).values())
    if len(machines) == 1:
        return svg(machine, timeouts=timeouts)
    layouts = [_laid_out(each, None, compact=True, timeouts=timeouts) for each in machines]
    wide = max(layout.width for layout in layouts) + _SHEET_GAP
    columns = min(len(layouts), _SHEET_COLUMNS)
    heights, parts = [0.0] * columns, list[str]()
    for layout in layouts:
        column = heights.index(min(heights))
        place = f"<svg x='{column * wide:g}' y='{heights[column]:g}' "
        parts.append(picture(layout).replace("<svg ", place, 1).replace(f"{STYLE}\n", "", 1))
        heights[column] += layout.height + _SHEET_GAP
    width, height = columns * wide - _SHEET_GAP, max(heights) - _SHEET_GAP
    size = f"viewBox='0 0 {width:g} {height:g}' width='{width:g}' height='{height:g}'"
    head = f"<svg xmlns='http://www.w3.org/2000/svg' class='gl-m' {size}>\n{STYLE}\n"
    return "".join([head, "<rect class='paper' width='100%' height='100%' rx='8'/>\n", *parts, "</svg>\n"])


def _all_of(machine: Machine, found: dict[str, Machine]) -> dict[str, Machine]:
    """By name, the outer ones first."""
    if machine.name not in found:
        found[machine.name] = machine
        for state in machine.states.values():
            if isinstance(state, Machine):
                _all_of(state, found)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagram:
    """A machine's diagram, which shows itself in a notebook."""

    machine: Machine
    # How often each outcome led where; None where that was not counted.
    taken: Taken | None = None
    compact: bool = False
    timeouts: bool = False

    @property
    def svg(self) -> str:
        """The diagram as SVG."""
        return svg(self.machine, self.taken, compact=self.compact, timeouts=self.timeouts)

    @property
    def mermaid(self) -> str:
        """The diagram as Mermaid text."""
        return mermaid(self.machine)

    def save(self, path: str | Path) -> Path:
        """Write the picture, or the Mermaid text if the name ends in .mmd; returns the path."""
        path = Path(path)
        if path.suffix not in (".svg", ".mmd"):
            raise InputError(f"{path}: expected a name that ends in .svg or .mmd")
        try:
            path.write_text(self.svg if path.suffix == ".svg" else self.mermaid, encoding="utf-8")
        except OSError as error:
            raise EnvironmentProblem(f"{path}: cannot be written: {error.strerror or error}") from None
        return path

    def __repr__(self) -> str:
        return f"<Diagram of {self.machine.name}: {len(self.machine.states)} states>"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return f"<div style='overflow-x:auto'>{self.svg}</div>"
