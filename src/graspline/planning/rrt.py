"""A way for the whole robot around what is in the way: straight where it can, else by RRTConnect, then shortened.

Joints are weighed by how far they move the robot, so distances are in metres. A query is bounded by how many
configurations it checks, not by time, and the same query has the same answer whatever was asked before.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray
from ompl import base, geometric, util

from graspline.errors import WiringError
from graspline.motion.path import Path
from graspline.motion.waypoints import duration_s, through
from graspline.planning.collision import STEP_M, Collision, CollisionWorld

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

# How far trees grow in one step.
_RANGE_M = 0.5
# Joints are searched this far beyond start and goals, as far as their ranges go.
_ROOM_M, _ROOM_RAD = 1.2, np.pi
# Joints that move hardly anything still have a say.
_LEAST_LEVER_M = 0.01
# How often it is tried to shorten a way, and for how many more checks, as a share of the search's.
_SHORTEN_TRIES, _SHORTEN_SHARE = 60, 0.25
_LEAST_GAIN_S = 0.02
# How far corners are cut, widest first, and what of the clearance must be left then.
_CORNERS_M, _KEPT = (0.1, 0.03, 0.01, 0.003), 0.5
# OMPL has one source of seeds for the whole process. Zero is none, and it complains when it is seeded again.
_SEEDING, _SEEDS = threading.Lock(), 2**31 - 1
util.setLogLevel(util.LOG_NONE)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WaypointRoute:
    """Waypoints, (M, nu), joined by straight lines that touch nothing; the last is `goals[goal]`."""

    waypoints: Array
    goal: int
    checks: int
    by: Literal["line", "search"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoWay:
    """Why there is none: the start touches something, every goal does, or the search spent its budget."""

    reason: Literal["start_in_collision", "goals_in_collision", "not_found"]
    # What the start or each goal touches; its sample is the number of the goal.
    collisions: tuple[Collision, ...] = ()
    checks: int
    budget: int

    def __str__(self) -> str:
        if self.reason == "start_in_collision":
            return f"{self.collisions[0].robot_part} meets {self.collisions[0].touched} at the start"
        touching = ", ".join(f"goal {each.sample}: {each.robot_part} meets {each.touched}" for each in self.collisions)
        if self.reason == "goals_in_collision":
            return f"no goal is free; {touching}"
        return f"no way found in {self.checks} checks, {self.budget} allowed" + (f"; {touching}" if touching else "")


def plan_way(
    world: CollisionWorld,
    start: Array,
    goals: Array,
    *,
    moving: Sequence[str],
    seed: int,
    checks: int = 20_000,
) -> WaypointRoute | NoWay:
    """A way from `start` (nu,) to any of `goals` (K, nu), on which no joints move but those named.

    Joints that do not carry the hand, such as jaw and head, go from where they are to where they are to be; they are
    not used to get around things. `checks` bounds the search; shortening takes up to a quarter more.
    """
    still = ~np.isin(world.robot.joints, moving)
    if (goals[:, still] != start[still]).any():
        raise WiringError(f"goals differ from the start in joints that may not move; these may: {', '.join(moving)}")
    query = _FreeSpaceQuery(world, start, goals, still, checks)
    collision = world.first_collision(start[None])
    if collision is not None:
        return NoWay(reason="start_in_collision", collisions=(collision,), checks=1, budget=checks)
    touching = tuple(_touching(world, goals))
    query.checks += 1 + len(goals)
    blocked = {collision.sample for collision in touching}
    far_s = (np.abs(goals - start) / world.robot.limits.velocity).max(axis=1)
    open_goals = [int(goal) for goal in np.argsort(far_s, kind="stable") if goal not in blocked]
    if not open_goals:
        return NoWay(reason="goals_in_collision", collisions=touching, checks=query.checks, budget=checks)
    for goal in open_goals:
        if query.free_between(start, goals[goal]):
            return WaypointRoute(waypoints=np.stack([start, goals[goal]]), goal=goal, checks=query.checks, by="line")
    found = _search(query, goals[open_goals], seed)
    if found is None:
        return NoWay(reason="not_found", collisions=touching, checks=query.checks, budget=checks)
    query.budget += int(_SHORTEN_SHARE * checks)
    found = _shorten(query, found, np.random.default_rng(seed % _SEEDS))
    goal = open_goals[int(np.flatnonzero((goals[open_goals] == found[-1]).all(axis=1))[0])]
    return WaypointRoute(waypoints=found, goal=goal, checks=query.checks, by="search")


def _touching(world: CollisionWorld, goals: Array) -> list[Collision]:
    """What each goal that is not free touches."""
    found = ((index, world.first_collision(goal[None])) for index, goal in enumerate(goals))
    return [replace(collision, sample=index) for index, collision in found if collision is not None]


class _FreeSpaceQuery:
    """One question to a world: what may move, and how often was looked."""

    def __init__(self, world: CollisionWorld, start: Array, goals: Array, still: Flags, budget: int) -> None:
        self.world, self.start, self.budget = world, start, budget
        self.levers_m, limits = world.robot.levers_m, world.robot.limits
        room = np.where(world.robot.sliding, _ROOM_M, _ROOM_RAD) * world.carries_hand
        ends = np.vstack([start, goals])
        # A robot may stand a hair beyond a limit.
        self.lower = np.minimum(np.maximum(ends.min(axis=0) - room, limits.lower), ends.min(axis=0))
        self.upper = np.maximum(np.minimum(ends.max(axis=0) + room, limits.upper), ends.max(axis=0))
        self.moving = ~still & (self.lower < self.upper)
        # Metres per unit of each joint that moves.
        self.weights = np.maximum(self.levers_m[self.moving], _LEAST_LEVER_M)
        self.checks = 0

    def free_between(self, first: Array, second: Array) -> bool:
        """Whether the straight line from one row to the other touches nothing; the first is known not to."""
        steps = max(1, int(np.ceil(float(np.abs(second - first) @ self.levers_m) / STEP_M)))
        touching = self.world.first_touching(first + _shares(steps) * (second - first))
        self.checks += steps if touching is None else touching + 1
        return touching is None

    def free(self, row: Array) -> bool:
        self.checks += 1
        return self.world.free(row)

    def spent(self) -> bool:
        return self.checks >= self.budget

    def row(self, state: base.State) -> Array:
        """All joints, (nu,), from OMPL's coordinates: those that move, in metres."""
        found = self.start.copy()
        found[self.moving] = np.array(cast(base.RealVectorStateType, state)[: len(self.weights)]) / self.weights
        return found

    def state(self, space: base.RealVectorStateSpace, row: Array) -> base.State:
        state = cast(base.RealVectorStateType, space.allocState())
        state[: len(self.weights)] = (row[self.moving] * self.weights).tolist()
        return state


@functools.lru_cache(maxsize=4096)
def _shares(steps: int) -> Array:
    """Shares of a line, (steps, 1), without its start: halves before quarters, so that what is hit is hit soon."""
    bits = steps.bit_length()
    backwards = [int(f"{step:0{bits}b}"[::-1], 2) for step in range(1, steps + 1)]
    return ((np.argsort(backwards) + 1) / steps)[:, None]


class _LineValidator(base.MotionValidator):
    """Lets OMPL ask whether a line is free."""

    def __init__(self, information: base.SpaceInformation, query: _FreeSpaceQuery) -> None:
        super().__init__(information)
        self._query = query

    def checkMotion(self, first: base.State, second: base.State) -> bool:
        return self._query.free_between(self._query.row(first), self._query.row(second))


def _search(query: _FreeSpaceQuery, goals: Array, seed: int) -> Array | None:
    """Waypoints by RRTConnect; start and goals are free."""
    with _SEEDING:
        util.RNG.setSeed(seed % _SEEDS + 1)
        space = _space(query)
        information = base.SpaceInformation(space)
        information.setStateValidityChecker(lambda state: query.free(query.row(state)))
        information.setMotionValidator(_LineValidator(information, query))
        information.setup()
        problem = base.ProblemDefinition(information)
        problem.addStartState(query.state(space, query.start))
        ends = base.GoalStates(information)
        for goal in goals:
            ends.addState(query.state(space, goal))
        problem.setGoal(ends)
        planner = geometric.RRTConnect(information)
        planner.setRange(_RANGE_M)
        planner.setProblemDefinition(problem)
        planner.setup()
        planner.solve(base.PlannerTerminationCondition(query.spent))
    if not problem.hasExactSolution():
        return None
    path = cast(geometric.PathGeometric, problem.getSolutionPath())
    rows = np.stack([query.row(path.getState(index)) for index in range(path.getStateCount())])
    # Weighing and back loses bits.
    rows = np.clip(rows, query.lower, query.upper)
    rows[0], rows[-1] = query.start, goals[np.abs(goals - rows[-1]).sum(axis=1).argmin()]
    return rows


def _space(query: _FreeSpaceQuery) -> base.RealVectorStateSpace:
    """The joints that move, in metres."""
    bounds = base.RealVectorBounds(len(query.weights))
    for index, weight in enumerate(query.weights):
        bounds.setLow(index, float(query.lower[query.moving][index] * weight))
        bounds.setHigh(index, float(query.upper[query.moving][index] * weight))
    space = base.RealVectorStateSpace(len(query.weights))
    space.setBounds(bounds)
    return space


class _Shortening:
    """A way that is replaced by another one whenever that takes less time and touches nothing."""

    def __init__(self, query: _FreeSpaceQuery, rows: Array) -> None:
        self._query, self.rows = query, rows
        self._duration_s = self._timed(rows)

    def cut(self, random: np.random.Generator) -> None:
        """Go straight from one random point to another."""
        along_m = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(self.rows, axis=0)) @ self._query.levers_m)])
        at_m = np.sort(random.uniform(0.0, along_m[-1], 2))
        first, last = np.searchsorted(along_m, at_m) - 1
        if first < last:
            ends = np.stack([np.interp(at_m, along_m, column) for column in self.rows.T], axis=1)
            self._replace(first + 1, last + 1, ends)

    def prune(self) -> None:
        """Leave out every waypoint that can be left out."""
        index = 1
        while index < len(self.rows) - 1:
            if not self._replace(index, index + 1, self.rows[:0]):
                index += 1

    def steady(self) -> None:
        """Let what does not carry the hand go evenly, if nothing is then touched."""
        rows, along = self.rows.copy(), ~self._query.world.carries_hand
        moved_m = np.abs(np.diff(rows[:, ~along], axis=0)) @ self._query.levers_m[~along]
        share = np.concatenate([[0.0], np.cumsum(moved_m)]) / max(float(moved_m.sum()), _LEAST_LEVER_M)
        rows[:, along] = rows[0, along] + share[:, None] * (rows[-1, along] - rows[0, along])
        rows[-1] = self.rows[-1]
        changed = (rows != self.rows).any()
        if changed and all(self._query.free_between(*line) for line in itertools.pairwise(rows)):
            self.rows = rows

    def _replace(self, begin: int, end: int, by: Array) -> bool:
        """Take other waypoints instead of some, if that is better; the line among them is new."""
        if self._query.spent():
            return False
        rows = np.concatenate([self.rows[:begin], by, self.rows[end:]])
        duration_s = self._timed(rows)
        line = by if len(by) else rows[begin - 1 : begin + 1]
        if duration_s > self._duration_s - _LEAST_GAIN_S or not self._query.free_between(*line):
            return False
        self.rows, self._duration_s = rows, duration_s
        return True

    def _timed(self, rows: Array) -> float:
        return duration_s(self._query.world.robot, rows, corner_m=_CORNERS_M[1])


def _shorten(query: _FreeSpaceQuery, rows: Array, random: np.random.Generator) -> Array:
    """A way like this one without its detours."""
    shortening = _Shortening(query, rows)
    shortening.prune()
    for _ in range(_SHORTEN_TRIES):
        if len(shortening.rows) == 2 or query.spent():
            break
        shortening.cut(random)
    shortening.prune()
    shortening.steady()
    return shortening.rows


def timed(world: CollisionWorld, way: WaypointRoute, *, speed: float = 1.0) -> Path | Collision:
    """The way over time, its corners cut as widely as nothing is touched; or what is touched however they are cut."""
    *wider_m, least_m = _CORNERS_M
    for corner_m in wider_m:
        path = _with_corners(world, way, speed, corner_m)
        if isinstance(path, Path):
            return path
    return _with_corners(world, way, speed, least_m)


def _with_corners(world: CollisionWorld, way: WaypointRoute, speed: float, corner_m: float) -> Path | Collision:
    path = through(world.robot, way.waypoints, speed=speed, corner_m=corner_m)
    collision = world.first_collision(world.between(path.positions), clearance_m=_KEPT * world.clearance_m)
    return path if collision is None else collision
