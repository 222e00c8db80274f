from __future__ import annotations

import numpy as np
import pytest

from graspline.datasets.teachability.hand import hand_of, heading_of, roll_for_turn
from graspline.spatial.rotations import matrix_from_vector
from graspline.tasks.catalogue import TASKS, find_task


@pytest.mark.parametrize(("task", "joint"), [("lift-cube", "wrist_roll"), ("sort", "wrist_3"), ("tidy", "wrist_roll")])
def test_the_last_joint_before_the_tool_rolls_the_hand(task: str, joint: str) -> None:
    robot = TASKS[task].scene(TASKS[task].parameters()).robot
    hand = hand_of(robot)
    assert robot.joints[hand.roll] == joint
    assert np.linalg.norm(hand.axis) == pytest.approx(1.0)
    # The jaw closes along the tool's z.
    assert abs(hand.closing[2]) == pytest.approx(1.0, abs=0.02)
    assert hand.axis @ hand.closing == pytest.approx(0.0, abs=1e-9)


def test_a_hand_that_points_down_rolls_as_far_as_its_heading_turns() -> None:
    down, along = np.array([0.0, 0.0, -1.0]), np.array([1.0, 0.0, 0.0])
    assert roll_for_turn(down, along, np.array(0.3)) == pytest.approx(-0.3)


@pytest.mark.parametrize("turn", [0.4, -1.2, np.pi / 2, 3.0])
def test_a_leaning_hand_that_rolls_so_far_closes_along_the_new_heading(turn: float) -> None:
    lean = matrix_from_vector(np.array([0.3, -0.5, 0.2]))
    axis, closing = lean @ np.array([0.0, 0.0, -1.0]), lean @ np.array([0.6, 0.8, 0.0])
    rolled = matrix_from_vector(axis * roll_for_turn(axis, closing, np.array(turn))) @ closing
    apart = heading_of(rolled) - heading_of(closing) - turn
    assert np.cos(apart) == pytest.approx(1.0)


def test_a_hand_on_its_side_can_only_be_turned_over() -> None:
    ahead, up = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.6, 0.8])
    assert roll_for_turn(ahead, up, np.array([0.0, 0.5, np.pi])).tolist() == [0.0, 0.0, np.pi]


def test_the_jaws_of_every_robot_close_across_the_joint_that_rolls_its_hand() -> None:
    for name in TASKS:
        task = find_task(name)
        hand = hand_of(task.scene(task.parameters()).robot)
        assert hand.lower_deg < hand.upper_deg
        assert abs(hand.axis @ hand.closing) < 1e-9
