"""Ways to an arm pose that touch nothing."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.kinematics.arms import arm_of
from graspline.motion.path import Path, at_rest, check_path
from graspline.planning.collision import CollisionWorld
from graspline.planning.routes import USUAL, free_way, raised, route, straight
from graspline.robots.robot import Robot
from graspline.robots.so101 import SO101
from graspline.robots.ur5e import UR5E
from graspline.scenes.cube_table import cube_table

WORLD = CollisionWorld(cube_table())


def test_a_straight_way_that_is_free_is_taken() -> None:
    start = SO101.home.copy()
    start[0] = 0.5
    way = free_way(SO101, WORLD, at_rest(start), SO101.home, ())
    assert isinstance(way, Path)
    assert np.allclose(way.positions[:, 1:], SO101.home[1:])


def test_close_to_the_base_the_wrist_turns_once_the_arm_is_stretched() -> None:
    """Otherwise the wrist camera would meet the upper arm."""
    folded = at_rest(np.array([-0.561, -0.829, 0.796, 1.604, 2.74, 0.409]))
    way = free_way(SO101, WORLD, folded, SO101.home, ())
    assert isinstance(way, Path)
    assert check_path(way, SO101) is None
    assert np.allclose(way.end[:5], SO101.home[:5])
    assert way.end[5] == folded.position[5]
    assert WORLD.first_collision(way.positions) is None
    stretched = np.argmax(np.abs(way.positions[:, 4] - folded.position[4]) > 1e-6)
    assert np.allclose(way.positions[stretched, :4], SO101.home[:4], atol=0.02)


def test_no_more_paths_are_checked_than_ways_are_named_and_the_first_no_is_the_answer() -> None:
    asked: list[Path] = []

    def blocked(path: Path) -> str:
        asked.append(path)
        return f"no {len(asked)}"

    goal = SO101.home.copy()
    goal[0] = 0.5
    assert route(SO101, at_rest(SO101.home), goal, blocked, ways=USUAL, speed=0.5) == "no 1"
    assert len(asked) == len(USUAL)
    for path in asked:
        assert np.array_equal(path.positions[0], SO101.home)
        assert np.allclose(path.end, goal)


def test_a_way_that_an_arm_has_not_is_passed_over() -> None:
    goal = SO101.home.copy()
    goal[0] = 0.5
    way = route(SO101, at_rest(SO101.home), goal, lambda path: None, ways=(lambda *_: None, straight), speed=0.5)
    assert isinstance(way, Path)


@pytest.mark.parametrize("robot", [SO101, UR5E], ids=lambda robot: robot.name)
def test_raising_the_shoulder_takes_a_hand_up(robot: Robot) -> None:
    down = robot.home if robot.down is None else robot.down
    first = raised(robot, at_rest(down), robot.home, 0.5)
    arm, tool = arm_of(robot), np.array(robot.hand.tool_m)
    heights = arm.forward(first.positions[:, robot.arm], tool)[0][:, 2]
    assert heights.max() > heights[0] + 0.02
