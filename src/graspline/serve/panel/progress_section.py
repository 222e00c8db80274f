"""How a task goes: its verdict, the states that ended, what they measured, and the machine they belong to."""

from __future__ import annotations

import re

from graspline.machine.diagram import svg
from graspline.machine.machine import Machine
from graspline.serve.live.snapshot import SessionSnapshot
from graspline.serve.panel import words
from graspline.serve.panel.controls import Controls, Text


class ProgressSection:
    """One client's view of the task; only its first part is open at first."""

    def __init__(self, controls: Controls, machine: Machine) -> None:
        gui, self._machine = controls.gui, machine
        with gui.add_folder("Progress"):
            self._verdict, self._history = Text(gui), Text(gui)

    def fold(self, controls: Controls) -> None:
        """What is looked at when something went wrong."""
        gui = controls.gui
        with gui.add_folder("Evidence", expand_by_default=False):
            self._evidence = Text(gui)
        with gui.add_folder("State machine", expand_by_default=False):
            self._diagram = Text(gui)

    def show(self, snapshot: SessionSnapshot) -> None:
        """Show what the snapshot says."""
        self._verdict.show(words.verdict(snapshot))
        self._history.show(words.history(snapshot))
        self._evidence.show(words.measured(snapshot.evidence))
        self._diagram.show(diagram(self._machine, snapshot.state))


def diagram(machine: Machine, state: str) -> str:
    """The machine with the state it is in; below it, the nested machine that this state is."""
    outer, _, inner = state.partition(".")
    diagrams = [_fitted(svg(machine, current=outer, compact=True))]
    nested = machine.states.get(outer)
    if isinstance(nested, Machine):
        diagrams.append(diagram(nested, inner))
    return f"<div class='gl-diagram' data-diagram='{state}'>{''.join(diagrams)}</div>"


def _fitted(picture: str) -> str:
    """A picture no smaller than it can be read; what does not fit is scrolled to."""
    return re.sub(r"width='(\d+)' height='\d+'>", r"style='width:\1px;max-width:none;height:auto'>", picture, count=1)
