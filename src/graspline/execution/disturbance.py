"""Pushes arms off their paths, so that demonstrations contain corrections.

What is executed differs from what is intended. A wobble is an offset from a path that is meant to be kept. After a push
the rest of the way is planned again from where the arm is, or the arm comes back to its path before it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graspline.execution.requests import Disturbed, Driver, Free, Motion, Within
from graspline.kinematics.differential import ToolKinematics
from graspline.motion.path import Command, Path, check_corners, check_path
from graspline.motion.path_offsets import bump, slowed, step, with_offset
from graspline.parameters import Parameters, Range
from graspline.robots.robot import Robot

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
# Whether an arm at these joint positions (n, nu), and what it holds, touch nothing.
Clear = Callable[[Array], bool]

# Pushes that are tried before a motion is left alone, and how much each is shrunk to fit.
_TRIES = 4
_SHRINKS = (1.0, 0.6, 0.35)
# A smaller offset of the tool is not worth it.
_LEAST_M = 0.002
# Nothing is touched even if an offset were this many times as large.
_ROOM = 1.25
# Ticks in which a path that waits for the arm slows down and goes on again; the fewest are for its slow start.
_CHANGE, _FEWEST = 10, 4
# A way that ends in the open is not halted while the arm comes back to it, but slowed down to this share.
_ON_THE_WAY = 0.5
# Pauses between two wobbles last up to this long.
_PAUSE_S = 0.4
# A wobble turns the wrist by at most this share of what a push does.
_WOBBLE_TURN = 0.3
# A joint moves by no more than this in a push.
_JOINT_RAD = 0.6


class Disturbance(Parameters):
    """How arms are pushed off their paths. Sizes are displacements of the tool."""

    strength: float = Field(default=1.0, gt=0, le=2, description="multiplies all sizes and turns")
    pushed: float = Field(
        default=0.75, ge=0, le=1, description="fraction of motions through free space that get a push"
    )
    push_m: Range = Field(default=Range(0.010, 0.040), ge=0.002, le=0.1, description="how far a push moves the tool")
    push_s: Range = Field(default=Range(0.25, 0.45), ge=0.1, le=2, description="duration of a push")
    turn_rad: float = Field(default=0.44, ge=0, le=1.5, description="largest angle by which a push turns the wrist")
    return_m_s: float = Field(default=0.08, ge=0.01, le=0.3, description="mean speed of the return to the path")
    near: float = Field(
        default=0.8, ge=0, le=1, description="factor on these sizes during the descent to an object or a spot"
    )
    wobbling: float = Field(default=0.8, ge=0, le=1, description="fraction of motions through free space that wobble")
    wobble_m: Range = Field(default=Range(0.003, 0.012), ge=0.001, le=0.05, description="amplitude of a wobble")
    wobble_s: Range = Field(default=Range(0.25, 0.9), ge=0.1, le=5, description="duration of a wobble")


def disturbed(driver: Driver, disturb: Callable[[Motion], Motion]) -> Generator[Any, Any, Any]:
    """A driver whose motions are disturbed before they are played."""
    answer = None
    try:
        while True:
            request = driver.send(answer)
            if isinstance(request, Within) and isinstance(request.request, Motion):
                request = replace(request, request=disturb(request.request))
            elif isinstance(request, Motion):
                request = disturb(request)
            try:
                answer = yield request
            except Exception as error:
                # The driver has to stop, and unwinds by itself.
                driver.throw(error)
                raise
    except StopIteration as stop:
        return stop.value
    finally:
        driver.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """A motion on its way to being disturbed; rows are (T + 1, nu)."""

    path: Path
    # The same without what pushes it off.
    base: Array
    intended: Array
    off: Flags
    until: int


class Disturber:
    """Disturbs the motions of one episode."""

    def __init__(
        self,
        robot: Robot,
        tool: ToolKinematics,
        settings: Disturbance,
        random: np.random.Generator,
        clear_from: Callable[[Array], Clear],
    ) -> None:
        """`clear_from` gives by the joints (nu,) where a motion begins what it may touch then."""
        self._robot, self._tool, self._settings, self._random = robot, tool, settings, random
        self._clear_from = clear_from

    def __call__(self, motion: Motion) -> Motion:
        """The motion, pushed and wobbling if it leads through free space and there is room."""
        free, path = motion.free, motion.path
        if free is None:
            return motion
        until = path.ticks if free.until is None else min(free.until, path.ticks)
        none = np.zeros(len(path.positions), bool)
        draft = _Draft(path=path, base=path.positions, intended=path.positions, off=none, until=until)
        clear = self._clear_from(path.positions[0])
        if self._random.random() < self._settings.pushed:
            draft = self._pushed(draft, free, clear)
        if self._random.random() < self._settings.wobbling:
            draft = self._wobbling(draft, free, clear)
        if not draft.off.any():
            return motion
        return replace(motion, path=draft.path, disturbed=Disturbed(intended=draft.intended, off=draft.off))

    # Pushes

    def _pushed(self, draft: _Draft, free: Free, clear: Clear) -> _Draft:
        """With a push and the way back from it; as it was if no push fits."""
        settings, random = self._settings, self._random
        for _ in range(_TRIES):
            up = self._ticks(settings.push_s)
            # From its very end a way may be planned again; a path that waits needs time to slow down and go on.
            latest = draft.until - (0 if free.again is not None else _FEWEST if free.until is not None else up)
            share, size_m = random.random(), random.uniform(*settings.push_m) * self._near(free)
            way_m, turn = size_m * self._direction(), random.uniform(-1, 1) * settings.turn_rad * self._near(free)
            if latest < free.since:
                continue
            start = free.since + int(share * (latest - free.since + 1))
            offset = self._offset(draft.path.positions[min(start + up, draft.path.ticks)], way_m, turn)
            for shrink in _SHRINKS:
                if size_m * shrink < _LEAST_M:
                    break
                for found in self._ways(draft, free, start, up, shrink * offset, size_m * shrink):
                    if self._fits(found, clear):
                        return found
        return draft

    def _ways(self, draft: _Draft, free: Free, start: int, up: int, offset: Array, size_m: float) -> Iterator[_Draft]:
        """A push, and what leads on from there: the rest planned again, or else back to the path."""
        if free.again is not None:
            found = _planned_again(draft, free.again, start, up, offset)
            if found is not None:
                yield found
        back = max(round(size_m / self._settings.return_m_s * self._robot.control_hz), up)
        found = _back_on_path(draft, start, up, back, offset, halted=free.until is not None)
        if found is not None:
            yield found

    def _direction(self) -> Array:
        """Any direction, rather sideways than up or down."""
        way = self._random.normal(size=3) * (1.0, 1.0, 0.6)
        return way / max(float(np.linalg.norm(way)), 1e-9)

    def _offset(self, joints: Array, way_m: Array, turn: float) -> Array:
        """Joint offsets (nu,) that move the tool this way and turn the wrist, which is the last joint of the arm."""
        wrist = self._robot.jaw - 1
        offset = np.zeros(len(joints))
        offset[self._robot.arm] = self._tool.at(joints).damped_step(way_m, locked=(wrist,))
        points, _ = self._tool.poses(np.stack([joints, joints + offset]))
        moved_m, wanted_m = float(np.linalg.norm(points[1] - points[0])), float(np.linalg.norm(way_m))
        shrink = min(1.0, wanted_m / max(moved_m, 1e-9), _JOINT_RAD / max(float(np.abs(offset).max()), 1e-9))
        offset *= shrink
        offset[wrist] = turn
        return offset

    # Wobbles

    def _wobbling(self, draft: _Draft, free: Free, clear: Clear) -> _Draft:
        """With bumps one after the other, each as large as there is room for."""
        settings, random = self._settings, self._random
        at = free.since + int(random.random() * _PAUSE_S * self._robot.control_hz)
        while True:
            ticks = self._ticks(settings.wobble_s)
            way_m = random.uniform(*settings.wobble_m) * self._near(free) * self._direction()
            turn = random.uniform(-1, 1) * _WOBBLE_TURN * settings.turn_rad * self._near(free)
            pause = int(random.random() * _PAUSE_S * self._robot.control_hz)
            if at + ticks > draft.until:
                return draft
            offset = self._offset(draft.path.positions[at + ticks // 2], way_m, turn)
            for shrink in _SHRINKS:
                off = draft.off.copy()
                off[at + 1 : at + ticks] = True
                found = replace(draft, path=with_offset(draft.path, shrink * offset, at, bump(ticks)), off=off)
                if self._fits(found, clear):
                    draft = found
                    break
            at += ticks + pause

    # Both

    def _fits(self, draft: _Draft, clear: Clear) -> bool:
        """Whether it keeps all limits and touches nothing, with room to spare."""
        path, robot = draft.path, self._robot
        if check_path(path, robot) is not None:
            return False
        wanted = Path(positions=draft.intended, velocities=path.velocities, dt_s=path.dt_s)
        if check_corners(wanted, robot) is not None:
            return False
        rows = draft.base[draft.off] + _ROOM * (path.positions[draft.off] - draft.base[draft.off])
        return clear(np.clip(rows, robot.limits.lower, robot.limits.upper))

    def _near(self, free: Free) -> float:
        return self._settings.strength * (1.0 if free.until is None else self._settings.near)

    def _ticks(self, span_s: Range) -> int:
        return max(6, round(self._random.uniform(*span_s) * self._robot.control_hz))


def _planned_again(
    draft: _Draft, again: Callable[[Command], Path | None], start: int, up: int, offset: Array
) -> _Draft | None:
    """Off the path within `up` ticks, and from there as planned again."""
    path = draft.path
    longer = max(0, start + up - path.ticks)
    positions = np.concatenate([path.positions, np.repeat(path.positions[-1:], longer, axis=0)])
    velocities = np.concatenate([path.velocities, np.zeros((longer, path.positions.shape[1]))])
    values, slopes = step(up)
    end = start + up
    base = positions[: end + 1].copy()
    pushed, speeds = base.copy(), velocities[: end + 1].copy()
    pushed[start:] += values[:, None] * offset
    speeds[start:] += slopes[:, None] * (offset / path.dt_s)
    # At first the path is what is still wanted; at the end of the push, to go on from where the arm is.
    intended = base.copy()
    intended[start:] += (values**2)[:, None] * offset
    rest = again(Command(position=pushed[-1].copy(), velocity=speeds[-1].copy(), acceleration=np.zeros(len(offset))))
    if rest is None:
        return None
    whole = Path(
        positions=np.concatenate([pushed[:-1], rest.positions]),
        velocities=np.concatenate([speeds[:-1], rest.velocities]),
        dt_s=path.dt_s,
    )
    off = np.zeros(len(whole.positions), bool)
    off[start + 1 : -1] = True
    return _Draft(
        path=whole,
        base=np.concatenate([base[:-1], rest.positions]),
        intended=np.concatenate([intended[:-1], rest.positions]),
        off=off,
        until=whole.ticks,
    )


def _back_on_path(draft: _Draft, start: int, up: int, back: int, offset: Array, *, halted: bool) -> _Draft | None:
    """Off the path within `up` ticks and back in `back`, while the path waits, or goes on at a slower speed."""
    ticks, share, change = up + back, 0.0 if halted else _ON_THE_WAY, min(_CHANGE, draft.until - start)
    if not halted:
        # So that what is added is a whole number of ticks.
        ticks += (ticks - change) % 2
    if change < _FEWEST or ticks < 2 * change:
        return None
    added = round((1 - share) * (ticks - change))
    if start + ticks > draft.until + added:
        return None
    base = slowed(draft.path, start, ticks, share=share, change=change)
    (rise, rising), (fall, falling) = step(up), step(ticks - up)
    shape = np.concatenate([rise, 1 - fall[1:]]), np.concatenate([rising, -falling[1:]])
    path = with_offset(base, offset, start, shape)
    intended = path.positions.copy()
    # At first the path is what is still wanted; at the end of the push, to come back from where the arm is.
    intended[start : start + up + 1] = base.positions[start : start + up + 1] + (rise**2)[:, None] * offset
    off = np.zeros(len(path.positions), bool)
    off[start + 1 : start + ticks] = True
    return _Draft(path=path, base=base.positions, intended=intended, off=off, until=draft.until + added)
