"""Scripted replies: a state's only window on the world, painted by hand."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.engine.layout import Readings, layout_of
from graspline.evidence import Evidence
from graspline.execution.requests import Motion, ObjectSeen, Reply
from graspline.motion.path import Command, at_rest
from graspline.robots.so101 import HOME
from graspline.scenes.cube_table import CUBE, cube_table

Array = NDArray[np.float64]

LAYOUT = layout_of(cube_table().model)
ANSWER = Reply | Callable[[Any], Reply]


def readings(
    joints: Array = HOME,
    *,
    fixed_n: float = 0.0,
    moving_n: float = 0.0,
    tool_m: tuple[float, float, float] = (0.2, 0.0, 0.02),
    rotation: Array | None = None,
) -> Readings:
    row = np.zeros(LAYOUT.readings_size)
    row[LAYOUT.readings["joint_position"]] = joints
    row[LAYOUT.readings["pad_force"]] = (0.0, 0.0, fixed_n, 0.0, -moving_n, 0.0)
    row[LAYOUT.readings["tool_position"]] = tool_m
    row[LAYOUT.readings["tool_axes"]] = (np.eye(3) if rotation is None else rotation).T.ravel()
    return Readings(row, LAYOUT)


def reply(
    by: Any = "completed",
    *,
    command: Command | None = None,
    sensed: Readings | None = None,
    evidence: Evidence = (),
    value: object = None,
    time_s: float = 0.0,
) -> Reply:
    command = command or at_rest(HOME)
    sensed = sensed or readings(command.position)
    return Reply(by=by, evidence=evidence, value=value, readings=sensed, command=command, time_s=time_s)


def completed(
    fixed_n: float = 0.0, moving_n: float = 0.0, *, jaw_rad: float | None = None
) -> Callable[[Motion], Reply]:
    """The motion was played to its end; the joints followed, but for a jaw held off by what it grips."""

    def answer(motion: Motion) -> Reply:
        assert isinstance(motion, Motion)
        joints = motion.path.end.copy()
        if jaw_rad is not None:
            joints[5] = jaw_rad
        sensed = readings(joints, fixed_n=fixed_n, moving_n=moving_n)
        return reply(command=at_rest(motion.path.end), sensed=sensed)

    return answer


def cut(
    kind: type, tick: int | None = None, *, fixed_n: float = 0.0, moving_n: float = 0.0
) -> Callable[[Motion], Reply]:
    """The motion's own guard of this kind ended it, half way unless told otherwise."""

    def answer(motion: Motion) -> Reply:
        assert isinstance(motion, Motion)
        guard = next(each for each in motion.guards if isinstance(each, kind))
        command = motion.path.command_at(motion.path.ticks // 2 if tick is None else tick)
        sensed = readings(command.position, fixed_n=fixed_n, moving_n=moving_n)
        return reply(guard, command=command, sensed=sensed, evidence=guard.evidence([1.0] * 4))

    return answer


def saw(position_m: Array | None, half_m: float = 0.015, quaternion: Array | None = None) -> Reply:
    """The answer to a look: the cube there, or nothing."""
    if position_m is None:
        return reply(value={})
    seen = ObjectSeen(
        position_m=np.asarray(position_m, float),
        quaternion=np.array([1.0, 0, 0, 0]) if quaternion is None else quaternion,
        velocity_m_s=np.zeros(3),
        half_extents_m=np.full(3, half_m),
    )
    return reply(value={CUBE: seen})


def play(stage: Generator[Any, Any, Any], *answers: ANSWER) -> tuple[list[Any], Any]:
    """Drive a state by hand; what it asked for, and what it returned."""
    requests: list[Any] = []
    try:
        requests.append(next(stage))
        for answer in answers:
            given = answer(requests[-1]) if callable(answer) else answer
            requests.append(stage.send(given))
    except StopIteration as stop:
        assert len(requests) == len(answers), f"ended after {len(requests)} requests, {len(answers)} answers given"
        return requests, stop.value
    raise AssertionError(f"the state asks on, after {[getattr(each, 'name', each) for each in requests]}")


def play_through(stage: Generator[Any, Any, Any]) -> tuple[list[Motion], Any]:
    """Drive a state that asks for motions only, each played to its end."""
    requests: list[Motion] = []
    try:
        requests.append(next(stage))
        while True:
            requests.append(stage.send(completed()(requests[-1])))
    except StopIteration as stop:
        return requests, stop.value


def assert_continuous(requests: Sequence[Any], start: Command) -> None:
    """Every motion starts where the one before it ended, all of them played to their ends."""
    at = start
    for motion in requests:
        assert isinstance(motion, Motion)
        np.testing.assert_allclose(motion.path.positions[0], at.position, atol=1e-6)
        np.testing.assert_allclose(motion.path.velocities[0], at.velocity, atol=1e-6)
        at = at_rest(motion.path.end)
