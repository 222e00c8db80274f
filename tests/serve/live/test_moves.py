"""Moves are planned without physics: a refusal names what was measured, a path is free and keeps limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspline.kinematics.reach import TcpConvention, ToolPose, reach_of
from graspline.kinematics.so101 import forward
from graspline.motion.path import Path, at_rest, check_path
from graspline.perception.core.beliefs import Belief
from graspline.planning.collision import CollisionWorld
from graspline.robots.so101 import SO101
from graspline.scenes.cube_table import CUBE, cube_table
from graspline.serve.live.moves import Mover
from graspline.tasks.console import Refused
from graspline.tasks.scatter import lying_at

DOWN = np.pi / 2
HOME = at_rest(SO101.home)
_reach = reach_of(SO101)
assert _reach is not None
REACH = _reach


@pytest.fixture(scope="module")
def mover() -> Mover:
    return Mover(cube_table())


def cube_at(x_m: float, y_m: float, edge_m: float = 0.03) -> Belief:
    return lying_at(CUBE, x_m, y_m, np.full(3, edge_m / 2), "box", 0.0)


def pose(x: float, y: float, z: float, pitch: float = DOWN, yaw: float | None = 0.0) -> ToolPose:
    return ToolPose(position_m=np.array([x, y, z]), pitch_rad=pitch, yaw_rad=yaw)


def assert_free(path: Path, believed: tuple[Belief, ...]) -> None:
    assert check_path(path, SO101) is None
    world = CollisionWorld(cube_table())
    world.place(believed)
    assert world.first_collision(path.positions) is None


@pytest.mark.parametrize("tcp", ["fixed_tip", "between"])
def test_the_tool_centre_point_arrives_where_it_was_sent(mover: Mover, tcp: TcpConvention) -> None:
    wanted = pose(0.22, 0.05, 0.06)
    path = mover.to_tool((), HOME, wanted, tcp)
    assert isinstance(path, Path)
    gap_m = float(SO101.jaw_law.gap_m(SO101.home[SO101.jaw]))
    tool_m = REACH.tool_m(tcp, gap_m)
    position, rotation = forward(path.end, tool_m)
    assert position[0] == pytest.approx(wanted.position_m, abs=1e-6)
    assert rotation[0, :, 0] == pytest.approx([0, 0, -1], abs=1e-6)
    assert rotation[0, :2, 2] == pytest.approx([1, 0], abs=1e-6)
    assert path.end[SO101.jaw] == SO101.home[SO101.jaw]
    assert_free(path, ())


def test_a_pose_out_of_reach_is_refused_with_what_is_missing(mover: Mover) -> None:
    refused = mover.to_tool((), HOME, pose(0.6, 0.0, 0.1), "fixed_tip")
    assert isinstance(refused, Refused)
    (missed,) = refused.evidence
    assert missed.name == "wrist_beyond_reach"
    assert missed.value > missed.limit == 0
    assert "out of reach: wrist_beyond_reach" in refused.reason


def test_a_pose_in_the_table_is_refused_with_the_distance(mover: Mover) -> None:
    refused = mover.to_tool((), HOME, pose(0.22, 0.0, -0.005), "fixed_tip")
    assert isinstance(refused, Refused)
    assert refused.reason.startswith("not free: ")
    assert refused.evidence[0].value < refused.evidence[0].limit


def test_a_pose_in_an_object_is_refused_by_its_name(mover: Mover) -> None:
    refused = mover.to_tool((cube_at(0.22, 0.0),), HOME, pose(0.22, 0.0, 0.01), "fixed_tip")
    assert isinstance(refused, Refused)
    assert CUBE in refused.reason
    assert isinstance(mover.to_tool((), HOME, pose(0.22, 0.0, 0.01), "fixed_tip"), Path)


def straddling(mover: Mover, believed: Belief) -> Path:
    """A hand whose open jaws stand round a cube."""
    wide = SO101.home.copy()
    wide[SO101.jaw] = SO101.jaw_law.angle_rad(0.05)
    x, y, _ = believed.position_m
    # They open sideways.
    down = mover.to_tool((), at_rest(wide), pose(x, y, 0.012, yaw=np.pi / 2), "between")
    assert isinstance(down, Path)
    return down


def test_a_hand_round_an_object_rises_before_it_turns_away(mover: Mover) -> None:
    cube = cube_at(0.24, 0.0)
    here = straddling(mover, cube).end
    aside = here.copy()
    aside[0] += 0.8
    path = mover.to_joints((cube,), at_rest(here), aside)
    assert isinstance(path, Path)
    assert_free(path, (cube,))
    heights = forward(path.positions, np.array([0.098, 0.0, 0.0]))[0][:, 2]
    assert heights.max() > heights[0] + 0.045
    np.testing.assert_array_equal(path.positions[0], here)
    np.testing.assert_array_equal(path.end, aside)


def test_what_the_hand_touches_already_goes_along(mover: Mover) -> None:
    cube = cube_at(0.24, 0.0)
    here = straddling(mover, cube).end.copy()
    here[SO101.jaw] = SO101.jaw_law.angle_rad(0.03)
    world = CollisionWorld(cube_table())
    world.place((cube,))
    assert world.first_collision(here[None]) is not None
    assert isinstance(mover.to_joints((cube,), at_rest(here), SO101.home), Path)


def test_an_arm_that_is_in_the_table_must_be_jogged_clear(mover: Mover) -> None:
    low = SO101.home + np.array([0.0, 1.0, 0.2, 0.0, 0.0, 0.0])
    refused = mover.to_joints((), at_rest(low), SO101.home)
    assert isinstance(refused, Refused)
    assert "jog it clear" in refused.reason


@pytest.mark.parametrize("target", [SO101.home, np.zeros(6)])
def test_home_and_zero_are_free_on_an_empty_table(mover: Mover, target: np.ndarray) -> None:
    away = SO101.home + np.array([-0.9, -0.3, -0.2, 0.1, 0.5, 0.6])
    path = mover.to_joints((), at_rest(away), target)
    assert isinstance(path, Path)
    assert_free(path, ())


@given(st.floats(0.05, 0.45), st.floats(-0.3, 0.3), st.floats(-0.05, 0.3), st.floats(0.3, 1.7), st.floats(-3.1, 3.1))
def test_whatever_is_asked_the_answer_is_a_free_path_to_it_or_a_reason(
    x: float, y: float, z: float, pitch: float, yaw: float
) -> None:
    mover, wanted, believed = _MOVER, pose(x, y, z, pitch, yaw), (cube_at(0.2, 0.1),)
    found = mover.to_tool(believed, HOME, wanted, "fixed_tip")
    if isinstance(found, Refused):
        assert found.evidence
        assert not all(each.passed for each in found.evidence)
    else:
        position, _ = forward(found.end, REACH.tool_m("fixed_tip", 0.0))
        assert position[0] == pytest.approx(wanted.position_m, abs=1e-6)
        assert check_path(found, SO101) is None


_MOVER = Mover(cube_table())


def test_an_arm_that_touches_the_table_may_be_jogged_clear_but_not_further_in(mover: Mover) -> None:
    # The fingertips are some millimetres deep in the table.
    into = np.array([0.0, 0.62, 0.1, 0.85, 0.0, 0.1])
    start = at_rest(into)
    assert isinstance(mover.to_joints((), start, SO101.home), Refused)
    assert mover.jog_refusal((), start, SO101.home) is None
    deeper = mover.jog_refusal((), start, into + np.array([0, 0.1, 0, 0, 0, 0]))
    assert deeper is not None
    assert "table" in deeper.reason
    assert deeper.evidence[0].value < deeper.evidence[0].limit


def test_a_jog_keeps_clear_of_what_is_believed_to_lie_there(mover: Mover) -> None:
    there = mover.to_tool((), HOME, pose(0.22, 0.0, 0.012), "fixed_tip")
    assert isinstance(there, Path)
    assert mover.jog_refusal((), HOME, there.end) is None
    refused = mover.jog_refusal((cube_at(0.22, 0.0, 0.04),), HOME, there.end)
    assert refused is not None
    assert CUBE in refused.reason
