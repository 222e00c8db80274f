"""What faults do to servos."""

from __future__ import annotations

import pytest

from graspline.engine.events import Change
from graspline.faults.context import Timed
from graspline.faults.hints import FaultHints
from graspline.faults.robot import JAM, STUCK_JAW, WEAKEN
from graspline.robots.so101 import SO101

from .fruit_world import world


def edits_of(events: list[Timed]) -> dict[str, tuple[float, ...]]:
    ((_, change),) = events
    assert isinstance(change, Change)
    return {edit.field: edit.values for edit in change.edits}


def test_a_weakened_servo_has_two_fifths_of_its_force_and_gain() -> None:
    context = world(beside=1)
    events = WEAKEN.strike(context)
    ((_, change),) = events
    assert isinstance(change, Change)
    servo = context.engine.scene.model.actuator(change.edits[0].element)
    edits = edits_of(events)
    assert edits["actuator_gainprm"][0] == pytest.approx(0.4 * servo.gainprm[0])
    assert edits["actuator_biasprm"][1] == pytest.approx(0.4 * servo.biasprm[1])
    assert edits["actuator_biasprm"][2] == servo.biasprm[2]
    assert edits["actuator_forcerange"] == pytest.approx(0.4 * servo.forcerange)


def test_jammed_joints_are_of_the_arm_and_the_stuck_one_is_the_jaw() -> None:
    context, jammed = world(beside=1), set()
    for _ in range(20):
        ((_, change),) = JAM.strike(context)
        assert isinstance(change, Change)
        jammed.add(change.edits[0].element)
    assert jammed <= set(SO101.joints[SO101.arm])
    assert len(jammed) > 2
    ((_, change),) = STUCK_JAW.strike(context)
    assert isinstance(change, Change)
    assert change.edits[0].element == SO101.joints[SO101.jaw]


def test_a_task_with_strong_servos_says_how_fast_a_jammed_joint_may_creep() -> None:
    context = world(beside=1)
    assert edits_of(STUCK_JAW.strike(context)) == {"dof_damping": (2000.0,)}
    context.hints = FaultHints(jam_creep=0.0001)
    full_force = context.number("actuator_forcerange", SO101.joints[SO101.jaw])[1]
    assert edits_of(STUCK_JAW.strike(context)) == {"dof_damping": (pytest.approx(full_force / 0.0001),)}
