"""Whether an object rests where it was to be put: by several looks of the estimator, or by truth."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence, Measurement, at_most, passes
from graspline.execution.requests import Motion, Reply, Request
from graspline.machine.outcome import Outcome, Stage
from graspline.motion.joint_moves import hold as still
from graspline.perception.core.beliefs import Belief
from graspline.perception.core.speeds import fitted_speed, speed_now
from graspline.placement.query import Support
from graspline.placement.resting import resting_evidence
from graspline.robots.robot import Robot
from graspline.scenes.meshes.solid import Solid
from graspline.scenes.scene import ObjectShape
from graspline.tasks.stages.parameters import RestGoal
from graspline.tasks.stages.place import Destination, OnObject, support_at
from graspline.tasks.stages.sight import UNSEEN, Eye
from graspline.tasks.task import Snapshot

Array = NDArray[np.float64]

# Between two sightings of the final check.
SIGHTING_S = 0.05


def confirm(
    last: Reply,
    robot: Robot,
    eye: Eye,
    target: str,
    estimate: Belief,
    destination: Destination,
    support: Support,
    goal: RestGoal,
) -> Stage[Literal["confirmed", "refuted"]]:
    """Look again, several times, and hold what is seen against the goal; what it was put on is looked at, too."""
    names = (target, destination.name) if isinstance(destination, OnObject) else (target,)
    found = yield from watched(last, robot, eye, names, goal.sightings, "confirm")
    if found is None:
        return Outcome("refuted", UNSEEN, about=target)
    replies, windows = found
    if isinstance(destination, OnObject):
        support = support_at(destination, estimate, (_averaged(windows[destination.name]),)) or support
    window, sigma = windows[target], windows[target][-1].position_sigma_m
    times, points = np.array([each.time_s for each in window]), np.stack([each.position_m for each in window])
    speed, speed_error = fitted_speed(times, points, sigma)
    # What it was put on is seen with an error of its own.
    error_m = 2 * sigma * np.sqrt(len(names) / len(window))
    seen = replace(window[-1], position_m=points.mean(axis=0))
    evidence = (
        *_at_rest(seen, speed, support, estimate, goal, error_m, 3 * speed_error),
        at_home(robot, replies[-1].readings.joints, goal),
        speed_now(times, points, goal.speed_m_s, sigma),
    )
    return Outcome("confirmed" if passes(evidence) else "refuted", evidence, about=target)


def watched(
    last: Reply, robot: Robot, eye: Eye, names: tuple[str, ...], sightings: int, motion: str
) -> Generator[Request, Reply, tuple[list[Reply], dict[str, list[Belief]]] | None]:
    """Several looks at objects while the arm holds still, and the reply at each; None if one of them is not seen.

    It ends with two sightings a tick apart: what happens after the last cannot be vouched for.
    """
    replies, windows = [last], {name: list[Belief]() for name in names}
    for sighting in range(sightings + 1):
        if sighting:
            pause_s = SIGHTING_S if sighting < sightings else robot.dt_s
            replies.append((yield Motion(motion, still(robot, replies[-1].command, pause_s))))
        for name, window in windows.items():
            seen = yield from eye.see(name)
            if seen is None:
                return None
            window.append(seen)
    return replies, windows


def _averaged(window: list[Belief]) -> Belief:
    return replace(window[-1], position_m=np.mean([each.position_m for each in window], axis=0))


def _at_rest(
    seen: Belief,
    speed_m_s: float,
    support: Support,
    stood: Belief,
    goal: RestGoal,
    error_m: float = 0.0,
    speed_error_m_s: float = 0.0,
) -> Evidence:
    """The goal, written once. Its limits are tightened by the error of a place; a speed is judged as it is seen.

    As high as it `stood`, and a mesh on the same face.
    """
    limits = (goal.off_spot_m - error_m, goal.off_table_m + error_m, goal.lean_rad, goal.speed_m_s + speed_error_m_s)
    up = seen.uprightness if stood.rest is None else seen.upright_on(stood.rest)
    return resting_evidence(seen.position_m, up, speed_m_s, support, stood.half_height_m, limits)


def at_home(robot: Robot, joints_rad: Array, goal: RestGoal) -> Measurement:
    """How far the arm is from home, at its farthest joint."""
    off = np.abs(joints_rad[robot.arm] - robot.home[robot.arm]).max()
    return at_most("off_home", float(off), goal.off_home_rad, "rad")


def rests_by_truth(
    truth: Snapshot,
    target: str,
    destination: Destination,
    robot: Robot,
    goal: RestGoal,
    shape: ObjectShape = "box",
    solid: Solid | None = None,
) -> Evidence:
    """The same goal by truth, for a task's `judge`: the object rests where it was to be put, and the arm is home."""
    thing = believed(truth, target, shape, solid)
    others = tuple(believed(truth, name) for name in truth.objects if name != target)
    support = support_at(destination, thing, others)
    assert support is not None
    resting = _at_rest(thing, truth.objects[target].speed_m_s, support, thing, goal)
    return (*resting, at_home(robot, truth.joints_rad, goal))


def believed(truth: Snapshot, name: str, shape: ObjectShape = "box", solid: Solid | None = None) -> Belief:
    """An object of a snapshot as an exact estimate, so that truth and sightings are judged alike."""
    thing = truth.objects[name]
    return Belief.exact(
        name, thing.position_m, thing.quaternion, thing.half_extents_m, time_s=truth.time_s, shape=shape, solid=solid
    )
