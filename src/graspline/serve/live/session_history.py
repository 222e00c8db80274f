"""What has happened in a session's lane since its scene was reset, as a snapshot shows it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from graspline.engine.events import Blind, Event, See
from graspline.evidence import Evidence
from graspline.execution.notifications import Applied, Ended, EndsAs, Entered, Finished, Happening
from graspline.machine.machine import Machine
from graspline.machine.table import Retry
from graspline.serve.live.snapshot import HISTORY, HistoryEntry

Array = NDArray[np.float64]


class SessionHistory:
    """An observer that keeps the newest of everything."""

    def __init__(self, machine: Machine, qpos: Callable[[], Array]) -> None:
        self._machine, self._qpos = machine, qpos
        # A console's driver may announce others.
        self._paths = frozenset(machine.paths())
        self.clear()

    def clear(self) -> None:
        """A new scene: nothing has happened yet."""
        self.state, self.since_s = "", 0.0
        self.evidence: Evidence = ()
        self.retries: dict[str, int] = {}
        self.blind: dict[str, Array | None] = {}
        self._history: deque[HistoryEntry] = deque(maxlen=HISTORY)
        # As snapshots have it: made anew only when something changes.
        self.history: tuple[HistoryEntry, ...] = ()

    def begin(self) -> None:
        """The machine begins, with all of its budgets."""
        self.retries = dict(self._machine.budgets)

    def __call__(self, lane: int, time_s: float, notification: Happening) -> None:
        """Keep the state and the outcomes of the lane."""
        match notification:
            case Entered():
                self.state, self.since_s = notification.state, time_s
                if notification.state in self._paths:
                    self._entered(notification.state)
            case Ended():
                self._ended(time_s, notification)
            case Applied():
                self._applied(notification.event)
            case Finished():
                self.state = ""
            case _:
                pass

    def _ended(self, time_s: float, ended: Ended) -> None:
        self.evidence = ended.evidence
        if isinstance(ended.then, EndsAs) and "." not in ended.state:
            self.state = ""
        self._history.append(
            HistoryEntry(
                t_s=time_s, state=ended.state, outcome=ended.outcome, then=str(ended.then), evidence=ended.evidence
            )
        )
        self.history = tuple(self._history)
        budget = _budget(self._machine, ended) if ended.state in self._paths else ""
        if budget in self.retries:
            self.retries = {**self.retries, budget: self.retries[budget] - 1}
        inside = f"{ended.state}."
        if any(name.startswith(inside) for name in self.retries):
            self.retries = {name: left for name, left in self.retries.items() if not name.startswith(inside)}

    def _entered(self, path: str) -> None:
        """A nested machine begins with all of its budgets, which are named after its path."""
        outer, _, name = path.rpartition(".")
        state = self._machine.nested(outer).states[name]
        if isinstance(state, Machine) and state.budgets:
            self.retries = {**self.retries, **{f"{path}.{name}": left for name, left in state.budgets.items()}}

    def _applied(self, event: Event) -> None:
        match event:
            case Blind():
                shown = None if event.kind == "black" else self._qpos()
                self.blind = {**self.blind, event.camera: shown}
            case See():
                self.blind = {}
            case _:
                pass


def _budget(machine: Machine, ended: Ended) -> str:
    """Which budget an outcome has spent, those of nested machines named after their path; empty if none."""
    outer, _, name = ended.state.rpartition(".")
    transition = machine.nested(outer).table[name][ended.outcome]
    if not isinstance(transition, Retry) or ended.then != transition.to:
        return ""
    return f"{outer}.{transition.budget}" if outer else transition.budget
