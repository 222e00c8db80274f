"""Lanes in which no time passes while what they requested is computed, so that other lanes can move on.

Only an engine that steps lanes elsewhere, such as on a GPU, leaves time for that. What a lane does after a pause is the
same to the last bit as without one.
"""

from __future__ import annotations

from collections.abc import Callable

from graspline.execution.answers import LaneAnswer, LaneRequest
from graspline.execution.deferred_solves import Thinking
from graspline.execution.lanes import LaneTable
from graspline.execution.motions import MotionPlayer
from graspline.execution.requests import Solve
from graspline.execution.scheduler import Agenda
from graspline.motion.path import Command


class PausedLanes:
    """The lanes of an executor that are paused, each with the request that it waits for."""

    def __init__(self, lanes: LaneTable, motions: MotionPlayer, scheduler: Agenda, thinking: Thinking) -> None:
        self._lanes, self._motions, self._scheduler, self._thinking = lanes, motions, scheduler, thinking
        self._asked: dict[int, LaneRequest] = {}

    def __bool__(self) -> bool:
        return bool(self._asked)

    def __contains__(self, lane: int) -> bool:
        return lane in self._asked

    def pause(self, asked: list[LaneRequest]) -> list[LaneAnswer]:
        """Start computing what lanes request, and pause them; there are no answers yet."""
        for each in asked:
            assert isinstance(each.request, Solve)
            self._thinking.begin(each.lane, each.request)
            self._asked[each.lane] = each
            self._scheduler.pause(self._lanes[each.lane].world, self._lanes.now)
            self._motions.clear(each.lane)
            self._lanes.pause(each.lane, each.command)
        return []

    def end(self, lane: int) -> Command:
        """Let time pass again in a lane, whether or not there is an answer; returns the command in force."""
        del self._asked[lane]
        self._thinking.drop(lane)
        self._scheduler.go_on(self._lanes[lane].world, self._lanes.now)
        return self._lanes.go_on(lane)

    def deliver(self, give: Callable[[list[LaneAnswer]], None]) -> None:
        """Give lanes whose answer is ready that answer, and let them move on.

        If all lanes are paused, this waits for the first answer.
        """
        while self._asked:
            found = [LaneAnswer(self._asked[lane], value) for lane, value in self._thinking.take().items()]
            for each in found:
                self.end(each.asked.lane)
            give(found)
            if len(self._asked) < len(self._lanes):
                return
            if not found:
                self._thinking.go_on()
