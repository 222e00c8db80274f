"""Machines on a real executor: time limits and preemption with an arm in motion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest

from graspline.engine.cpu import CpuEngine
from graspline.execution.executor import Executor
from graspline.execution.lane_recording import LaneRecording
from graspline.execution.notifications import Ended, EndsAs, Entered, Finished, Happening
from graspline.execution.requests import Look, Motion, Reply
from graspline.machine.machine import Machine, Result
from graspline.machine.outcome import Outcome, Stage
from graspline.machine.table import End
from graspline.motion.joint_moves import hold, joint_move
from graspline.robots.robot import Robot
from graspline.robots.so101 import SO101
from graspline.scenes.cube_table import cube_start, cube_table
from graspline.scenes.scene import Array
from graspline.scenes.variation import Variation

START = cube_start(x_m=0.15, y_m=0.22, yaw_rad=0.0, edge_m=0.03)
AWAY = SO101.home + np.array([-0.9, -0.3, -0.2, 0.1, 0.5, 0.6])
FAR_SIDE = SO101.home + np.array([0.9, -0.3, -0.2, 0.1, 0.5, 0.6])


def crawl(last: Reply, robot: Robot) -> Stage[Literal["there"]]:
    """Would be on its way for some ten seconds, at a steady speed most of the time."""
    yield Motion("crawl", joint_move(robot, last.command, FAR_SIDE, speed=0.03))
    return Outcome("there")


def sway(last: Reply, robot: Robot) -> Stage[Literal["there"]]:
    """Would go to and fro at full speed for ever."""
    while True:
        for target in (AWAY, robot.home):
            last = yield Motion("sway", joint_move(robot, last.command, target))
    return Outcome("there")


def stand(last: Reply, robot: Robot) -> Stage[Literal["stood"]]:
    yield Motion("stand", hold(robot, last.command, 0.5))
    return Outcome("stood")


def think() -> Stage[Literal["thought"]]:
    yield Look(None)
    return Outcome("thought")


def in_a_row(states: dict[str, Callable[..., Any] | Machine], **more: Any) -> Machine:
    """States one after the other; the time limits they have lead to the end."""
    names, limits = list(states), more.get("limits_s", {})
    outcome = {crawl: "there", sway: "there", stand: "stood", think: "thought"}
    table: dict[str, dict[str, Any]] = {}
    for index, name in enumerate(names):
        state = states[name]
        good = "success" if isinstance(state, Machine) else outcome[state]
        table[name] = {good: names[index + 1] if index + 1 < len(names) else End("success")}
        if name in limits:
            table[name]["timed_out"] = End("late")
        if isinstance(state, Machine):
            table[name] |= {each: End(each) for each in state.outcomes if each != "success"}
    return Machine(name="row", start=names[0], states=states, table=table, **more)


class Run:
    """One lane of a machine."""

    def __init__(self, machine: Machine) -> None:
        self.told: list[tuple[float, Happening]] = []
        self.executor = Executor(
            CpuEngine(cube_table(), 1, 1),
            allow_truth=True,
            observers=[lambda lane, time_s, notification: self.told.append((time_s, notification))],
            record_states=True,
        )
        self.executor.start(0, lambda first: machine.run(SO101, first, {}), START, Variation())

    def tick(self) -> dict[int, tuple[Finished, LaneRecording]]:
        return self.executor.tick()

    def finish(self) -> tuple[Finished, LaneRecording]:
        while not (done := self.tick()):
            pass
        return done[0]

    def until(self, state: str) -> None:
        """Tick until the machine enters a state."""
        while not any(isinstance(each, Entered) and each.state == state for _, each in self.told):
            assert not self.tick()


def assert_within_limits(positions: Array, velocities: Array) -> None:
    limits, rate = SO101.limits, SO101.control_hz
    assert (np.abs(velocities) <= limits.velocity * (1 + 1e-6)).all()
    assert (np.abs(np.diff(velocities, axis=0)) * rate <= limits.acceleration * (1 + 1e-6)).all()
    steps = np.diff(positions, axis=0) * rate
    assert (np.abs(np.diff(steps, axis=0)) * rate <= limits.acceleration * (1 + 1e-6)).all()


def assert_braked(track: LaneRecording) -> None:
    """The reference keeps limits to the end and stands still there; so does the arm."""
    positions, velocities = track.reference()
    assert_within_limits(positions, velocities)
    assert not velocities[-1].any()
    assert track.states[-1, :6] == pytest.approx(positions[-1], abs=0.02)


@pytest.mark.parametrize("state", [crawl, sway])
def test_a_state_that_takes_too_long_is_ended_within_a_tick_and_the_arm_brakes_within_limits(state: Any) -> None:
    run = Run(in_a_row({"move": state, "stand": stand}, limits_s={"move": 1.0}))
    finished, track = run.finish()
    assert finished.how == "returned"
    assert isinstance(finished.value, Result)
    assert finished.value.outcome == "late"
    positions, velocities = track.reference()
    began = next(time_s for time_s, each in run.told if isinstance(each, Entered))
    late = round((began + 1.0) * SO101.control_hz)
    # At speed when the time was up, and slower from then on.
    assert np.abs(velocities[late]).max() > 0.05
    after = np.abs(velocities[late:]).max(axis=1)
    assert after[-1] < after[0]
    assert len(after) <= 20
    assert_within_limits(positions, velocities)


def test_a_state_after_one_that_timed_out_begins_at_rest() -> None:
    machine = Machine(
        name="row",
        start="move",
        states={"move": sway, "stand": stand},
        table={"move": {"there": "stand", "timed_out": "stand"}, "stand": {"stood": End("success")}},
        limits_s={"move": 0.7},
    )
    run = Run(machine)
    finished, track = run.finish()
    assert isinstance(finished.value, Result)
    assert finished.value.outcome == "success"
    ended = [(each.state, each.outcome, each.then) for _, each in run.told if isinstance(each, Ended)]
    assert ended == [("move", "timed_out", "stand"), ("stand", "stood", EndsAs("success"))]
    assert_braked(track)


def nested() -> Machine:
    inner = Machine(
        name="inner",
        start="sway",
        states={"sway": sway, "stand": stand},
        table={"sway": {"there": "stand", "timed_out": "stand"}, "stand": {"stood": End("success")}},
        limits_s={"sway": 0.5},
    )
    return in_a_row({"stand": stand, "think": think, "inner": inner, "crawl": crawl}, limits_s={"crawl": 1.0})


@pytest.mark.parametrize("state", ["stand", "inner", "inner.sway", "inner.stand", "crawl"])
@pytest.mark.parametrize("ticks", [0, 1, 17])
def test_a_machine_can_be_stopped_in_every_state(state: str, ticks: int) -> None:
    run = Run(nested())
    run.until(state)
    for _ in range(ticks):
        assert not run.tick()
    run.executor.preempt(0)
    finished, track = run.finish()
    assert finished == Finished("preempted")
    assert_braked(track)
    # No state is told to have ended that did not.
    entered = [each.state for _, each in run.told if isinstance(each, Entered)]
    ended = [each.state for _, each in run.told if isinstance(each, Ended)]
    assert state in entered
    assert state not in ended


def test_a_machine_can_be_stopped_before_it_begins() -> None:
    run = Run(nested())
    run.executor.preempt(0)
    finished, track = run.finish()
    assert finished == Finished("preempted")
    assert not any(isinstance(each, Entered) for _, each in run.told)
    assert_braked(track)


def test_left_alone_the_same_machine_runs_to_its_end() -> None:
    run = Run(nested())
    finished, _ = run.finish()
    assert isinstance(finished.value, Result)
    assert finished.value.outcome == "late"
    entered = [each.state for _, each in run.told if isinstance(each, Entered)]
    assert entered == ["stand", "think", "inner", "inner.sway", "inner.stand", "crawl"]
