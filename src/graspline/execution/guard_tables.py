"""Guards of all lanes, stacked by kind, with the memory of how long each condition has held."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence
from graspline.motion.guards import (
    EVERY,
    FEEL_THE_PADS,
    FOLLOW_A_PLACE,
    FOLLOW_AN_OBJECT,
    Guard,
    GuardKind,
    Rows,
    TrackingError,
)
from graspline.spatial.flags import some

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


class GuardTable:
    """All guards of one kind, one row per lane. Lanes without one have nan parameters, for which nothing fires."""

    def __init__(self, kind: GuardKind, width: int, lanes: int) -> None:
        self._kind = kind
        self.follows_object, self.follows_place = kind in FOLLOW_AN_OBJECT, kind in FOLLOW_A_PLACE
        self.follows = self.follows_object or self.follows_place
        self.feels = kind in FEEL_THE_PADS
        self.reads_command = kind is TrackingError
        # A kind that is not looked at on every tick: which lanes in which phase, counted from when the lane began.
        self.every = EVERY.get(kind, 1)
        self._phase = np.zeros((self.every, lanes), bool)
        self._in_phase = [0] * self.every
        self._phase_of: dict[int, int] = {}
        self._parameters = np.full((lanes, width), np.nan)
        self._needed = np.ones(lanes, np.int64)
        self._held = np.zeros(lanes, np.int64)
        # Whether any condition held at the last evaluation.
        self._warm = False
        self._measured: tuple[Array, ...] = ()
        self._guards: dict[int, Guard] = {}

    def put(self, lane: int, guard: Guard, rate_hz: float, began: int) -> None:
        """Evaluate this guard for a lane from now on."""
        self._guards[lane] = guard
        phase = self._phase_of[lane] = began % self.every
        self._phase[phase, lane] = True
        self._in_phase[phase] += 1
        self._parameters[lane] = guard.parameters()
        self._needed[lane] = max(1, math.ceil(guard.for_s * rate_hz / self.every - 1e-9))
        self._held[lane] = 0
        if self.follows or self.every > 1:
            # Until something is seen there is nothing to tell, least of all of the last motion.
            for column in self._measured:
                column[lane] = np.nan

    def clear(self, lane: int) -> None:
        """Stop evaluating a lane's guard."""
        if self._guards.pop(lane, None) is not None:
            self._parameters[lane] = np.nan
            self._held[lane] = 0
            phase = self._phase_of.pop(lane)
            self._phase[phase, lane] = False
            self._in_phase[phase] -= 1

    def due(self, now: int) -> bool:
        """Whether any lane is looked at on this tick."""
        return self._in_phase[now % self.every] > 0

    def in_phase(self, now: int) -> Flags | None:
        """Which lanes are looked at on this tick; None if all are."""
        phase = now % self.every
        return None if self._in_phase[phase] == len(self._guards) else self._phase[phase]

    def evaluate(self, rows: Rows, fresh: Flags | None) -> Flags | None:
        """Which lanes' guards fire now. With `fresh`, only those lanes have something new to judge."""
        true, measured = self._kind.evaluate(rows, self._parameters)
        if fresh is not None:
            # What a lane without a new sight measured last stays, whichever lanes are judged now.
            self._measured = self._measured or tuple(np.full(column.shape, np.nan) for column in measured)
            for new, old in zip(measured, self._measured, strict=True):
                np.copyto(old, new, where=fresh)
        else:
            self._measured = measured
        if not self._warm and not some(true):
            return None
        held = (self._held + 1) * true
        self._held = held if fresh is None else np.where(fresh, held, self._held)
        self._warm = bool(self._held.any())
        return self._held >= self._needed

    def evidence(self, lane: int) -> Evidence:
        """What the lane's guard measured last; absent if it has not been evaluated."""
        guard = self._guards[lane]
        values = [float(column[lane]) for column in self._measured] or [math.nan] * 4
        return guard.evidence(values)

    def has_fired(self, lane: int) -> bool:
        """Whether the guard has held for as long as it must."""
        return bool(self._held[lane] >= self._needed[lane])

    def guard(self, lane: int) -> Guard:
        """The guard of a lane."""
        return self._guards[lane]


class GuardTables:
    """One table per kind, and a second one where a motion carries two guards of the same kind."""

    def __init__(self, lanes: int, control_hz: float) -> None:
        self._lanes = lanes
        self._control_hz = control_hz
        self._tables: dict[tuple[GuardKind, int], GuardTable] = {}
        self._of_lane: dict[int, list[GuardTable]] = {}

    @property
    def busy(self) -> bool:
        """Whether any lane has a guard."""
        return bool(self._of_lane)

    def reads_command(self, now: int) -> bool:
        """Whether a guard that compares joints with the command is looked at on this tick."""
        return any(table.reads_command and table.due(now) for table in self._tables.values())

    def load(self, lane: int, guards: tuple[Guard, ...], watch_hz: float, began: int, place_hz: float = 0.0) -> None:
        """Replace the guards of a lane that began at this tick by those of its next motion.

        Object and place, if it watches any, are seen at these rates.
        """
        for table in self._of_lane.pop(lane, ()):
            table.clear(lane)
        if guards:
            seen: dict[GuardKind, int] = {}
            tables = []
            for guard in guards:
                kind = type(guard)
                index = seen.get(kind, 0)
                seen[kind] = index + 1
                table = self._tables.get((kind, index))
                if table is None:
                    table = GuardTable(kind, len(guard.parameters()), self._lanes)
                    self._tables[kind, index] = table
                seen_hz = place_hz if table.follows_place else watch_hz
                table.put(lane, guard, seen_hz if table.follows else self._control_hz, began)
                tables.append(table)
            self._of_lane[lane] = tables

    def evaluate(self, rows: Rows, fresh: Flags | None, now: int, fresh_places: Flags | None = None) -> Flags | None:
        """Lanes in which a guard fires, or None if there is none.

        `fresh` says which lanes have a new sight of their object, `fresh_places` which have one of their place.
        """
        due = [
            table
            for table in self._tables.values()
            if table.due(now)
            and (fresh is not None or not table.follows_object)
            and (fresh_places is not None or not table.follows_place)
        ]
        if any(table.feels for table in due):
            rows.feel()
        fired = None
        for table in due:
            seen = fresh_places if table.follows_place else fresh
            hit = table.evaluate(rows, seen if table.follows else table.in_phase(now))
            if hit is not None:
                fired = hit if fired is None else fired | hit
        return fired

    def fired(self, lane: int) -> Guard | None:
        """The guard that ended the lane's motion, the first in the order the motion named them."""
        for table in self._of_lane.get(lane, ()):
            if table.has_fired(lane):
                return table.guard(lane)
        return None

    def evidence(self, lane: int) -> Evidence:
        """What the guards of a lane measured last."""
        return tuple(found for table in self._of_lane.get(lane, ()) for found in table.evidence(lane))
