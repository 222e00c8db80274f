"""Joint rates by the Jacobian: the tool moves as asked, as far as the joints can turn it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.kinematics.differential import ToolKinematics, ToolMotion
from graspline.spatial.rotations import rotation_vector
from graspline.tasks.catalogue import find_task

Array = NDArray[np.float64]

STEP_S = 1e-4


@pytest.mark.parametrize(("task", "joints"), [("lift-cube", 5), ("sort", 6), ("tidy", 10)])
def test_the_point_moves_as_asked_and_turns_as_nearly_as_there_are_joints(task: str, joints: int) -> None:
    found = find_task(task)
    scene = found.scene(found.parameters())
    tool, home = ToolKinematics(scene), scene.robot.home
    random = np.random.default_rng(1)
    for _ in range(5):
        linear, angular = random.uniform(-0.1, 0.1, 3), random.uniform(-0.3, 0.3, 3)
        now = tool.at(home)
        rates = now.joint_rates(linear, angular)
        assert rates.shape == (joints,)
        after = home.copy()
        after[scene.robot.arm] += rates * STEP_S
        then = tool.at(after)
        assert (then.position_m - now.position_m) / STEP_S == pytest.approx(linear, abs=1e-3)
        turned = rotation_vector(then.rotation @ now.rotation.T) / STEP_S
        if joints >= 6:
            assert turned == pytest.approx(angular, abs=1e-3)


def test_an_arm_of_five_joints_keeps_a_tool_that_points_down_from_turning_as_it_pans() -> None:
    found = find_task("lift-cube")
    scene = found.scene(found.parameters())
    assert scene.robot.down is not None
    at = ToolKinematics(scene).at(scene.robot.down)
    rates = at.joint_rates(np.array([0.0, 0.1, 0.0]), np.zeros(3))
    assert abs(rates[0]) > 0.1
    assert at.angular @ rates == pytest.approx(np.zeros(3), abs=1e-6)
    # It lies ahead, so what points lower turns about an axis to the left.
    assert at.across @ [0.0, 1.0, 0.0] > 0.99


def nearer(task: str, **how: Any) -> tuple[ToolMotion, ToolMotion, ToolMotion, Array]:
    """Tool before, at its target and after steps towards that, and the joints' offset of the first step."""
    found = find_task(task)
    scene = found.scene(found.parameters())
    tool, home = ToolKinematics(scene), scene.robot.home
    goal = home.copy()
    goal[scene.robot.arm] += 0.05
    target, joints = tool.at(goal), home.copy()
    first = tool.at(home).step_towards(target.position_m, target.rotation, **how)
    for _ in range(40):
        joints[scene.robot.arm] += tool.at(joints).step_towards(target.position_m, target.rotation, **how)
    return tool.at(home), target, tool.at(joints), first


@pytest.mark.parametrize("task", ["lift-cube", "sort"])
def test_steps_towards_a_pose_reach_it(task: str) -> None:
    before, target, after, _ = nearer(task, orientation_weight_m=0.1)
    assert np.linalg.norm(before.position_m - target.position_m) > 0.01
    assert after.position_m == pytest.approx(target.position_m, abs=1e-4)
    assert after.rotation == pytest.approx(target.rotation, abs=1e-3)


def test_a_smaller_gain_makes_a_smaller_step_the_same_way() -> None:
    *_, whole = nearer("sort", gain=1.0)
    *_, half = nearer("sort", gain=0.5)
    assert half == pytest.approx(whole / 2)


def test_without_weight_of_the_orientation_the_position_is_reached_whatever_the_turn() -> None:
    _, target, after, _ = nearer("sort", orientation_weight_m=0.0)
    assert after.position_m == pytest.approx(target.position_m, abs=1e-5)
    assert np.abs(after.rotation - target.rotation).max() > 1e-3


def test_locked_joints_stay() -> None:
    *_, step = nearer("sort", locked=(0, 5))
    assert step[[0, 5]] == pytest.approx(0.0, abs=0.0)
    assert np.abs(step[1:5]).min() > 0.0
