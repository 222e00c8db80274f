"""What an executor knows of every lane in play, and the time there."""

from __future__ import annotations

import itertools
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.errors import WiringError
from graspline.execution.lane_recording import LaneRecording
from graspline.execution.notifications import Finished, Happening
from graspline.execution.requests import Announce, Ask, Driver, Motion, Preempted, Reply, Within
from graspline.motion.path import Command

ENDLESS = float("inf")


@dataclass(frozen=True, slots=True)
class LanePause:
    """Since which tick no time passes in a lane, and the command in force there."""

    since: int
    command: Command


@dataclass(slots=True)
class LaneState:
    """A lane in play: its driver, the motion it plays, and what it still waits for."""

    make_driver: Callable[[Reply], Driver]
    track: LaneRecording
    # The tick of the executor that is the lane's first.
    began: int
    # Counts resets over all lanes: what is scheduled for one world does not happen in the next.
    world: int
    # Whether the track grows.
    logged: bool
    # What it plays; put there as soon as the lane is in play.
    motion: Motion = field(init=False)
    driver: Driver | None = None
    # By this time the request has to end.
    until_s: float = ENDLESS
    # The answer to a look, solve or ask, delivered when the hold now playing ends.
    answer: object = None
    # A question without an answer so far.
    asking: Ask | None = None
    # Set once the driver is gone and the lane is only coming to rest.
    parting: Finished | None = None
    paused: LanePause | None = None

    def next_request(self, reply: Reply, announce: Callable[[Happening], None]) -> Any:
        """What the driver requests after this reply; a question without an answer is repeated until its time is up."""
        asking, self.asking = self.asking, None
        if asking is not None:
            if reply.time_s < self.until_s - 1e-9:
                return asking
            reply = replace(reply, by="timed_out")
        if self.driver is None:
            self.driver = self.make_driver(reply)
            request = next(self.driver)
        else:
            request = self.driver.send(reply)
        while isinstance(request, Announce):
            announce(request.notification)
            request = self.driver.send(None)
        self.until_s = ENDLESS
        if isinstance(request, Within):
            self.until_s, request = request.until_s, request.request
        return request

    def unwind(self) -> Finished:
        """Tell the driver that it has to stop."""
        if self.driver is None:
            return Finished("preempted")
        try:
            self.driver.throw(Preempted())
        except (Preempted, StopIteration):
            return Finished("preempted")
        except Exception:
            return Finished("crashed", error=traceback.format_exc())
        return Finished("crashed", error="the driver yielded while it was being stopped")


class LaneTable:
    """The lanes in play, and the tick: it counts the ticks of the executor, and each lane its own from there."""

    def __init__(self, count: int, dt_s: float) -> None:
        self._count, self._dt_s = count, dt_s
        self.now = 0
        self._states: dict[int, LaneState] = {}
        # Of lanes that are done: when they began and in which world, and the start of what they played.
        self._left: dict[int, tuple[int, int, LaneRecording]] = {}
        self._worlds = itertools.count()
        self._moving: tuple[NDArray[np.intp], NDArray[np.intp] | slice] | None = None

    def __len__(self) -> int:
        return len(self._states)

    def __contains__(self, lane: int) -> bool:
        return lane in self._states

    def __iter__(self) -> Iterator[int]:
        return iter(self._states)

    def __getitem__(self, lane: int) -> LaneState:
        try:
            return self._states[lane]
        except KeyError:
            raise WiringError(f"lane {lane} plays nothing; busy lanes: {sorted(self._states)}") from None

    def get(self, lane: int) -> LaneState | None:
        """The state of a lane; None if it has no driver."""
        return self._states.get(lane)

    def enter(self, lane: int, make_driver: Callable[[Reply], Driver], track: LaneRecording, *, logged: bool) -> None:
        """Begin a new world in a lane, at the present tick."""
        self._put(lane, LaneState(make_driver, track, began=self.now, world=next(self._worlds), logged=logged))

    def continue_with(self, lane: int, make_driver: Callable[[Reply], Driver]) -> None:
        """Go on in the world of a lane that is done; nothing of it is logged."""
        if lane in self._states or lane not in self._left:
            raise WiringError(f"lane {lane} {'is busy' if lane in self._states else 'has played nothing'}")
        began, world, track = self._left[lane]
        self._put(lane, LaneState(make_driver, track, began=began, world=world, logged=False))

    def _put(self, lane: int, state: LaneState) -> None:
        self._states[lane] = state
        self._moving = None

    def leave(self, lane: int) -> LaneRecording:
        """Remove a lane that is done; returns what it played."""
        mine, self._moving = self._states.pop(lane), None
        self._left[lane] = mine.began, mine.world, LaneRecording(start=mine.track.start, variation=mine.track.variation)
        return mine.track

    def pause(self, lane: int, command: Command) -> None:
        """Let no time pass in a lane."""
        self[lane].paused, self._moving = LanePause(self.now, command), None

    def go_on(self, lane: int) -> Command:
        """Let time pass again in a lane, as if there had been no pause; returns the command in force."""
        mine = self[lane]
        assert mine.paused is not None
        paused, mine.paused, self._moving = mine.paused, None, None
        mine.began += self.now - paused.since
        return paused.command

    def ticks(self, lane: int) -> int:
        """How many ticks a lane's episode has had."""
        mine = self[lane]
        return (self.now if mine.paused is None else mine.paused.since) - mine.began

    def time_s(self, lane: int) -> float:
        """The simulated time of a lane."""
        return self.ticks(lane) * self._dt_s

    def moving(self) -> tuple[NDArray[np.intp], NDArray[np.intp] | slice]:
        """Lanes in which time passes, in order, and an index that takes their rows."""
        if self._moving is None:
            lanes = np.array(sorted(lane for lane, each in self._states.items() if each.paused is None), np.intp)
            # Taking all rows by a slice is cheaper than by an index.
            self._moving = lanes, slice(None) if len(lanes) == self._count else lanes
        return self._moving
