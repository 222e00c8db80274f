"""The motions that lanes play: what the servos get on each tick, what guards watch, and when a motion ends."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from graspline.engine.protocol import Engine
from graspline.evidence import Evidence
from graspline.execution.guard_rows import guard_rows
from graspline.execution.guard_tables import GuardTables
from graspline.execution.lanes import ENDLESS, LaneTable
from graspline.execution.object_watch import Sights
from graspline.execution.requests import Completed, Look, Motion, Preempted, TimedOut
from graspline.execution.sensor_faults import Eyesight
from graspline.execution.trajectory_buffer import NEVER, Reel
from graspline.motion.guards import FOLLOW_A_PLACE, FOLLOW_AN_OBJECT, Guard, Unsteady
from graspline.motion.path import Command
from graspline.rendering.picture import Picture

Array = NDArray[np.float64]
Rows = NDArray[np.intp] | slice


class MotionPlayer:
    """One motion per lane, all of them played and guarded together."""

    def __init__(
        self,
        engine: Engine,
        lanes: LaneTable,
        eyesight: Eyesight,
        photograph: Callable[[int, Look], Picture] | None = None,
    ) -> None:
        """`photograph` takes the pictures of what motions watch by camera."""
        self._engine, self._lanes, self._robot = engine, lanes, engine.scene.robot
        self._buffer = Reel(self._robot, engine.count)
        self._next_stop = NEVER
        self._guards = GuardTables(engine.count, self._robot.control_hz)
        self._photograph = photograph
        # Pictures taken of what is watched on this tick: object and place may be in the same one.
        self._pictures: dict[tuple[int, Look], Picture] = {}
        taken = None if photograph is None else self._photograph_once
        self._sights, self._places = (Sights(engine, eyesight, taken) for _ in range(2))
        self._rows = guard_rows(engine, self._sights, self._places)

    def put(self, lane: int, motion: Motion) -> None:
        """Make this the motion the lane plays from its next tick on."""
        mine, now, ticks = self._lanes[lane], self._lanes.now, motion.path.ticks
        mine.motion = motion
        if mine.until_s != ENDLESS:
            left = math.ceil((mine.until_s - self._lanes.time_s(lane)) * self._robot.control_hz - 1e-9)
            ticks = min(ticks, max(1, left))
        self._buffer.put(lane, motion.path, now, ticks)
        self._next_stop = min(self._next_stop, now + ticks)
        # Nothing is looked at, and no noise sampled, for guards that do not ask.
        watch = motion.watch
        follows = watch is not None and any(isinstance(guard, FOLLOW_AN_OBJECT) for guard in motion.guards)
        steadiness = follows and any(isinstance(guard, Unsteady) for guard in motion.guards)
        self._sights.aim(lane, watch if follows else None, now, mine.began, steadiness=steadiness)
        place = motion.place if any(isinstance(guard, FOLLOW_A_PLACE) for guard in motion.guards) else None
        self._places.aim(lane, place, now, mine.began)
        object_hz, place_hz = (0.0 if each is None else each.rate_hz for each in (watch, place))
        self._guards.load(lane, motion.guards, object_hz, mine.began, place_hz)

    def clear(self, lane: int) -> None:
        """Play and watch nothing in a lane."""
        now, began = self._lanes.now, self._lanes[lane].began
        self._guards.load(lane, (), 0.0, began)
        self._sights.aim(lane, None, now, began)
        self._places.aim(lane, None, now, began)
        self._buffer.clear(lane)

    def command(self, lane: int) -> Command:
        """Where the reference of a lane's motion is now."""
        return self._buffer.command(lane, self._lanes.now)

    def cut(self, lane: int) -> Command:
        """End the motion here: log what was played and return the command in force."""
        mine, now = self._lanes[lane], self._lanes.now
        if mine.logged:
            mine.track.append(mine.motion.path, self._buffer.played(lane, now), mine.motion.disturbed)
        return self._buffer.command(lane, now)

    def ended_by(self, lane: int) -> tuple[Guard | Completed | TimedOut, Evidence]:
        """What ended a lane's motion, and what its guards measured last."""
        completed = self._buffer.played(lane, self._lanes.now) == self._lanes[lane].motion.path.ticks
        guard, evidence = self._guards.fired(lane), self._guards.evidence(lane)
        return guard if guard is not None else "completed" if completed else "timed_out", evidence

    # The tick

    def controls(self, rows: Rows) -> Array:
        """What the servos of moving lanes get in the tick that begins now, (n, nu)."""
        return self._buffer.controls(rows, self._lanes.now)

    def ended(self, rows: Rows, *, diverged: bool) -> list[int]:
        """Lanes whose motion has ended after a tick: by its guards, its time, or because physics diverged."""
        now = self._lanes.now
        fired = self._fired(rows) if self._guards.busy else None
        if fired is None and not diverged and now < self._next_stop:
            return []
        done = self._buffer.stop <= now
        if fired is not None:
            done |= fired
        if diverged:
            done |= self._engine.diverged
        ended = [lane for lane in done.nonzero()[0].tolist() if lane in self._lanes]
        if not ended:
            self.find_next_stop()
        return ended

    def find_next_stop(self) -> None:
        """Find out when the next motion ends; to be called after motions have been put or cleared."""
        self._next_stop = int(self._buffer.stop.min())

    def _fired(self, rows: Rows) -> NDArray[np.bool_] | None:
        now = self._lanes.now
        if self._guards.reads_command(now):
            self._rows.command[rows] = self._buffer.references(rows, now)
        fresh, fresh_places = self._see(self._sights), self._see(self._places)
        self._pictures.clear()
        return self._guards.evaluate(self._rows, fresh, now, fresh_places)

    def _see(self, sights: Sights) -> NDArray[np.bool_] | None:
        """Look at what is watched, if it is due; a lane that is about to be stopped need not see it."""
        now = self._lanes.now
        try:
            return sights.see(now) if now >= sights.next_due else None
        except Preempted:
            return None

    def _photograph_once(self, lane: int, look: Look) -> Picture:
        assert self._photograph is not None
        if (lane, look) not in self._pictures:
            self._pictures[lane, look] = self._photograph(lane, look)
        return self._pictures[lane, look]
