"""Computations that lanes request, done one question at a time by the process that has time.

An engine that steps thousands of lanes at once would wait for the few that plan. There a lane that has asked stands
still instead, no time passing in it, until there is an answer; what it does then is the same to the last bit.
"""

from __future__ import annotations

import traceback
from typing import Any

from graspline.execution.batched_solves import Crash, solve_all
from graspline.execution.requests import Solve
from graspline.planning.batched_planning import Rounds, Together


class Thinking:
    """Computations under way, one for each lane that has asked."""

    def __init__(self) -> None:
        self._rounds = Rounds[int, Any]()
        # Those of functions that ask no questions.
        self._whole: dict[int, Solve[Any]] = {}
        self._found: dict[int, Any] = {}

    def begin(self, lane: int, solve: Solve[Any]) -> None:
        """Work at this from now on."""
        if not isinstance(solve.function, Together):
            self._whole[lane] = solve
            return
        try:
            self._rounds.begin(lane, solve.function.steps(*solve.arguments))
        except Exception:
            self._found[lane] = Crash(traceback.format_exc())

    def drop(self, lane: int) -> None:
        """Drop what this lane asked."""
        self._rounds.drop(lane)
        self._whole.pop(lane, None)
        self._found.pop(lane, None)

    @property
    def under_way(self) -> bool:
        """Whether anything is being computed."""
        return bool(self._rounds.under_way or self._whole)

    def go_on(self) -> bool:
        """One question of each planner, and one computation that asks none; whether there was any."""
        works = self.under_way
        if self._rounds.under_way:
            self._rounds.go_on()
        if self._whole:
            lane, solve = next(iter(self._whole.items()))
            del self._whole[lane]
            (self._found[lane],) = solve_all([solve])
        return works

    def take(self) -> dict[int, Any]:
        """What has been found since, by lane; of one that raised, its `Crash`."""
        found, self._found = {**self._found, **self._rounds.found}, {}
        for lane, error in self._rounds.raised.items():
            found[lane] = Crash("".join(traceback.format_exception(error)))
        self._rounds.found, self._rounds.raised = {}, {}
        return found
