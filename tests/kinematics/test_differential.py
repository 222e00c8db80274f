"""Joint rates by the Jacobian: the tool moves as asked, as far as the joints can turn it."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.kinematics.differential import ToolKinematics
from graspline.spatial.rotations import rotation_vector
from graspline.tasks.catalogue import find_task

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
