"""How arms bring their tools to poses that people name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graspline.kinematics.reach import TcpConvention, ToolPose, reach_of
from graspline.motion.path import Path, at_rest, check_path
from graspline.robots.ur5e import HOME, UR5E
from graspline.scenes.belt_line import belt_line
from graspline.serve.live.moves import Mover
from graspline.tasks.console import Refused

_reach = reach_of(UR5E)
assert _reach is not None
REACH = _reach
DOWN = np.pi / 2


@pytest.fixture(scope="module")
def mover() -> Mover:
    return Mover(belt_line(UR5E, 1))


def pose(x: float, y: float, z: float, pitch: float = DOWN, yaw: float | None = 0.0) -> ToolPose:
    return ToolPose(position_m=np.array([x, y, z]), pitch_rad=pitch, yaw_rad=yaw)


@settings(deadline=None)
@given(
    x=st.floats(0.2, 0.6),
    y=st.floats(-0.5, 0.5),
    z=st.floats(0.0, 0.5),
    pitch=st.floats(0.1, 2.5),
    yaw=st.floats(-3.0, 3.0),
)
def test_every_solution_of_the_ur5e_has_the_pose_that_was_asked_for(
    x: float, y: float, z: float, pitch: float, yaw: float
) -> None:
    tool_m = REACH.tool_m("fixed_tip", 0.0)
    joints, reached = REACH.solve([pose(x, y, z, pitch, yaw)], tool_m, HOME)
    for solution in joints[reached]:
        found = REACH.pose(np.append(solution, 0.0), tool_m)
        assert found.yaw_rad is not None
        np.testing.assert_allclose(found.position_m, [x, y, z], atol=1e-9)
        assert found.pitch_rad == pytest.approx(pitch, abs=1e-9)
        assert np.sin(found.yaw_rad - yaw) == pytest.approx(0, abs=1e-9)


def test_most_poses_before_the_ur5e_have_a_solution() -> None:
    random = np.random.default_rng(0)
    low, high = (0.2, -0.5, 0.0, 0.1, -3.0), (0.6, 0.5, 0.5, 2.5, 3.0)
    asked = [pose(*row) for row in random.uniform(low, high, (200, 5)).tolist()]
    _, reached = REACH.solve(asked, REACH.tool_m("fixed_tip", 0.0), HOME)
    assert reached.any(axis=1).mean() > 0.8


def test_solutions_are_on_the_turn_that_joints_are_on() -> None:
    tool_m = REACH.tool_m("fixed_tip", 0.0)
    turned = HOME.copy()
    turned[5] += 2 * np.pi
    joints, reached = REACH.solve([REACH.pose(turned, tool_m)], tool_m, turned)
    apart = np.abs(joints[reached] - turned[:6]).max(axis=1)
    assert apart.min() < 1e-6


@pytest.mark.parametrize("tcp", ["fixed_tip", "between"])
def test_the_tool_arrives_where_it_was_sent(mover: Mover, tcp: TcpConvention) -> None:
    wanted = pose(0.5, 0.1, 0.2, DOWN, 0.3)
    path = mover.to_tool((), at_rest(HOME), wanted, tcp)
    assert isinstance(path, Path)
    assert check_path(path, UR5E) is None
    found = REACH.pose(path.end, REACH.tool_m(tcp, float(UR5E.jaw_law.gap_m(HOME[6]))))
    np.testing.assert_allclose(found.position_m, wanted.position_m, atol=1e-6)
    assert path.end[UR5E.jaw] == HOME[UR5E.jaw]


def test_a_yaw_that_is_free_is_one_that_is_near(mover: Mover) -> None:
    free = mover.to_tool((), at_rest(HOME), pose(0.5, 0.1, 0.2, yaw=None), "fixed_tip")
    far = mover.to_tool((), at_rest(HOME), pose(0.5, 0.1, 0.2, yaw=0.0), "fixed_tip")
    assert isinstance(free, Path)
    assert isinstance(far, Path)
    assert np.abs(free.end - HOME).max() <= np.abs(far.end - HOME).max()


def test_what_is_out_of_reach_or_in_the_belt_is_refused_with_the_measurement(mover: Mover) -> None:
    away = mover.to_tool((), at_rest(HOME), pose(0.9, 0.8, 0.2), "fixed_tip")
    assert isinstance(away, Refused)
    assert "out of reach: wrist_beyond_reach" in away.reason
    below = mover.to_tool((), at_rest(HOME), pose(0.5, 0.1, -0.05), "fixed_tip")
    assert isinstance(below, Refused)
    assert "belt_in" in below.reason
