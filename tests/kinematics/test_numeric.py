"""The numerical arm: what it claims is so, each row alone, steadily along a path, for arms of four to seven joints."""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace
from typing import Any

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graspline.errors import WiringError
from graspline.kinematics.arm import STRAIGHT_DOWN_RAD, Arm
from graspline.kinematics.numeric import TOLERANCE_M, TOLERANCE_RAD, NumericArm
from graspline.kinematics.so101 import ARM as SO101_ARM
from graspline.kinematics.ur5e import ARM as UR5E_ARM
from graspline.robots.robot import JointLimits, Robot
from graspline.robots.so101 import SO101
from graspline.robots.ur5e import UR5E

Array = NDArray[np.float64]

# Joint axes and offsets of arms of our own: (axis, offset from the joint before, slides).
Chain = tuple[tuple[tuple[int, int, int], tuple[float, float, float], bool], ...]
UP, ACROSS, AHEAD = (0, 0, 1), (0, 1, 0), (1, 0, 0)
SEVEN: Chain = (
    (UP, (0, 0, 0.33), False),
    (ACROSS, (0, 0, 0), False),
    (UP, (0, 0, 0.32), False),
    ((0, -1, 0), (0.08, 0, 0), False),
    (UP, (-0.08, 0, 0.38), False),
    ((0, -1, 0), (0, 0, 0), False),
    ((0, 0, -1), (0.09, 0, 0), False),
)
FIVE: Chain = (
    (UP, (0, 0, 0.1), False),
    (ACROSS, (0, 0, 0.05), False),
    (ACROSS, (0, 0, 0.2), False),
    (ACROSS, (0, 0, 0.2), False),
    (UP, (0, 0, 0.05), False),
)
FOUR: Chain = ((UP, (0, 0, 0.4), False), (UP, (0.25, 0, 0), False), (UP, (0.2, 0, 0), True), (UP, (0, 0, -0.05), False))
HOMES = {
    SEVEN: (0.0, -0.5, 0.0, -2.4, 0.0, 1.9, 0.8),
    FIVE: (0.0, -0.4, 1.6, 1.9, 0.0),
    FOUR: (0.6, -1.2, -0.1, 0.0),
}


@functools.cache
def robot_of(chain: Chain) -> Robot:
    names = tuple(f"joint_{index + 1}" for index in range(len(chain)))

    def add_to(spec: mujoco.MjSpec) -> None:
        body = spec.worldbody
        for name, (axis, offset, slides) in zip(names, chain, strict=True):
            body = body.add_body(name=name, pos=offset, mass=1, inertia=(1, 1, 1), explicitinertial=True)
            kind = mujoco.mjtJoint.mjJNT_SLIDE if slides else mujoco.mjtJoint.mjJNT_HINGE
            body.add_joint(name=name, axis=axis, type=kind)
        # Hands of arms that stand up at rest point up; of the others, down.
        down = chain[-1][0] == (0, 0, -1) or any(slides for *_, slides in chain)
        quat = (0.70710678, 0.0, 0.70710678, 0.0) if down else (0.70710678, 0.0, -0.70710678, 0.0)
        body.add_site(name="tool", pos=(0, 0, -0.1 if down else 0.1), quat=quat)

    count = len(chain)
    room = np.array([0.3 if slides else 2.9 for *_, slides in chain])
    rates = np.ones(count + 1)
    return replace(
        UR5E,
        name=f"arm_of_{count}",
        joints=(*names, "jaw"),
        jaw=count,
        home=np.array([*HOMES.get(chain, (0.3,) * count), 0.0]),
        limits=JointLimits(
            lower=np.append(-room, 0.0), upper=np.append(room, 1.0), velocity=rates, acceleration=rates, jerk=rates
        ),
        add_to=add_to,
        closed_form="",
        down=None,
    )


@functools.cache
def numeric(robot: Robot) -> NumericArm:
    return NumericArm(replace(robot, closed_form=""))


ARMS = {"seven": robot_of(SEVEN), "five": robot_of(FIVE), "four": robot_of(FOUR), "so101": SO101, "ur5e": UR5E}
by_arm = pytest.mark.parametrize("name", list(ARMS))


def targets(name: str, count: int, seed: int) -> tuple[Array, Array, Array]:
    """Positions, pitches and yaws that the arm's hand has somewhere, joints within limits, if it points down at all."""
    arm, random = numeric(ARMS[name]), np.random.default_rng(seed)
    low, high = (np.maximum(arm.limits.lower_rad, -3), np.minimum(arm.limits.upper_rad, 3))
    joints = random.uniform(low, high, (60 * count, len(low)))
    _, rotation = arm.forward(joints, np.zeros(3))
    pitch = arm.pitch_rad(joints)
    down = np.flatnonzero((pitch > 0.9) & (pitch < 2.0) & (rotation[:, 2, 0] < -0.6))[:count]
    position, rotation = arm.forward(joints[down], np.zeros(3))
    return position, pitch[down], np.arctan2(rotation[:, 1, 2], rotation[:, 0, 2])


@by_arm
def test_the_hand_is_where_a_solution_claims_it(name: str) -> None:
    arm = numeric(ARMS[name])
    position, pitch, yaw = targets(name, 300, 0)
    solved = arm.solve(position, pitch, yaw, np.zeros(3))
    rows, branches = np.nonzero(solved.reached)
    assert len(rows) > 60
    joints = solved.joints_rad[rows, branches]
    there, rotation = arm.forward(joints, np.zeros(3))
    assert np.abs(there - position[rows]).max() < TOLERANCE_M
    if name != "four":
        assert np.abs(arm.pitch_rad(joints) - pitch[rows]).max() < 2 * TOLERANCE_RAD
    if name != "five":
        heading = np.arctan2(rotation[:, 1, 2], rotation[:, 0, 2])
        off = np.abs(np.angle(np.exp(1j * (heading - yaw[rows]))))
        # Seen from above, a leaning hand's heading is off by more than the hand itself.
        assert off.max() < 10 * TOLERANCE_RAD
    assert (joints >= arm.limits.lower_rad).all()
    assert (joints <= arm.limits.upper_rad).all()


@by_arm
def test_any_point_of_the_hand_can_be_sent_somewhere(name: str) -> None:
    arm, random = numeric(ARMS[name]), np.random.default_rng(5)
    position, pitch, yaw = targets(name, 100, 4)
    tool_m = random.uniform(-0.02, 0.02, (len(position), 3))
    solved = arm.solve(position, pitch, yaw, tool_m)
    rows, branches = np.nonzero(solved.reached)
    assert len(rows) > 15
    there, _ = arm.forward(solved.joints_rad[rows, branches], tool_m[rows])
    assert np.abs(there - position[rows]).max() < TOLERANCE_M


@by_arm
def test_each_row_has_the_bits_it_has_alone(name: str) -> None:
    arm = numeric(ARMS[name])
    position, pitch, yaw = targets(name, 40, 1)
    together = arm.solve(position, pitch, yaw, np.zeros(3), 0.02)
    for row in range(len(position)):
        alone = arm.solve(position[row : row + 1], pitch[row : row + 1], yaw[row : row + 1], np.zeros(3), 0.02)
        assert alone.joints_rad.tobytes() == together.joints_rad[row : row + 1].tobytes()
        assert alone.excess.tobytes() == together.excess[row : row + 1].tobytes()


@by_arm
def test_one_branch_alone_has_the_bits_it_has_among_all(name: str) -> None:
    arm = numeric(ARMS[name])
    pose = targets(name, 40, 2)
    every = arm.solve(*pose, np.zeros(3))
    for branch in range(arm.branches):
        one = arm.solve(*pose, np.zeros(3), branch=branch)
        assert one.joints_rad[:, branch].tobytes() == every.joints_rad[:, branch].tobytes()
        assert (one.reached[:, branch] == every.reached[:, branch]).all()
        assert not np.delete(one.reached, branch, axis=1).any()


@pytest.mark.parametrize("name", ["seven", "five", "so101", "ur5e"])
def test_a_branch_moves_steadily_along_a_straight_line(name: str) -> None:
    arm = numeric(ARMS[name])
    position, pitch, yaw = targets(name, 60, 3)
    share = np.linspace(0.0, 1.0, 61)[:, None]
    steady = 0
    for start, end in itertools.pairwise(position):
        way = (end - start) * min(1.0, 0.12 / float(np.linalg.norm(end - start)))
        solved = arm.solve(start + share * way, pitch[0], yaw[0], np.zeros(3))
        for branch in range(arm.branches):
            both = solved.reached[1:, branch] & solved.reached[:-1, branch]
            if not both.any():
                continue
            moved = np.diff(solved.joints_rad[:, branch], axis=0)[both]
            # A joint with room for more than a turn may come out a whole turn away.
            moved -= 2 * np.pi * np.rint(moved / (2 * np.pi))
            # 2 mm at a time: even next to a singular posture no joint turns so far.
            assert np.abs(moved).max() < 0.9
            steady += 1
    assert steady > 10


@pytest.mark.parametrize(("name", "closed"), [("so101", SO101_ARM), ("ur5e", UR5E_ARM)])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_it_finds_what_the_closed_form_finds(name: str, closed: Arm, data: Any) -> None:
    arm, reach_m = numeric(ARMS[name]), ARMS[name].reach_m
    radius = data.draw(st.floats(0.35 * reach_m, 0.6 * reach_m))
    azimuth = data.draw(st.floats(-1.5, 1.5))
    height = data.draw(st.floats(0.0, 0.15 * reach_m))
    position = np.array([[closed.axis_m[0] + radius * np.cos(azimuth), radius * np.sin(azimuth), height]])
    pitch = STRAIGHT_DOWN_RAD - data.draw(st.floats(0.0, 0.3))
    yaw = data.draw(st.floats(-1.0, 1.0))
    known = closed.solve(position, pitch, yaw, np.zeros(3), 0.02)
    found = arm.solve(position, pitch, yaw, np.zeros(3))
    # What it claims is one of the closed form's branches.
    turns = 2 * np.pi
    for joints in found.joints_rad[found.reached]:
        off = known.joints_rad[0] - joints
        assert np.abs(off - turns * np.rint(off / turns)).max(axis=1).min() < 1e-4
    if known.reached[:, 0].any():
        assert found.reached.any()


@pytest.mark.parametrize(("name", "closed"), [("so101", SO101_ARM), ("ur5e", UR5E_ARM)])
def test_shoulder_elbow_and_wrist_fold_the_arm(name: str, closed: Arm) -> None:
    assert numeric(ARMS[name]).folding == closed.folding == (1, 2, 3)


def changed(chain: Chain, joint: int, axis: tuple[int, int, int], slides: bool = False) -> Chain:
    return tuple((axis, at, slides) if index == joint else each for index, each in enumerate(chain) for at in [each[1]])


@pytest.mark.parametrize(
    ("chain", "said"),
    [
        (changed(SEVEN, 0, ACROSS), "joint_1.*expected an upright one"),
        (changed(FIVE, 0, UP, slides=True), "first joint 'joint_1' slides; expected a hinge with an upright axis"),
        (FIVE[:3], "an arm of 3 joints .*expected 4 or more"),
        (changed(SEVEN, 6, AHEAD), "does not turn the hand about its approach.*expected a wrist that does"),
    ],
)
def test_an_arm_that_cannot_be_solved_for_is_refused_with_what_was_expected(chain: Chain, said: str) -> None:
    with pytest.raises(WiringError, match=said):
        NumericArm(robot_of(chain))


def test_a_target_that_is_out_of_reach_is_refused_with_what_it_misses() -> None:
    solved = numeric(ARMS["seven"]).solve(np.array([[2.0, 0.0, 0.1]]), STRAIGHT_DOWN_RAD, 0.0, np.zeros(3))
    assert not solved.reached.any()
    (missed,) = solved.explain(0)
    assert missed.name == "tool_off_target"
    assert float(missed.value) > 0.5
