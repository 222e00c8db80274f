"""Taking balls: jaw angles by plain geometry, headings around neighbours, and a hand turned in a move of its own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graspline.grasping.candidates import BallJaw, Grasp, JawParameters, ball_grasps, ball_open_rad, ball_touch_rad
from graspline.grasping.cartesian_lines import ReachParameters
from graspline.grasping.topdown import GraspPlan, plan_grasp, plan_shift
from graspline.kinematics.so101 import forward
from graspline.motion.path import Path, at_rest, check_path
from graspline.perception.core.beliefs import Belief
from graspline.planning.collision import CollisionWorld
from graspline.refusal import Refusal
from graspline.robots.so101 import FIXED_FACE_M, HOME, SO101, TIP_M, moving_finger_m
from graspline.scenes.fruit_table import fruit_table
from graspline.spatial.rotations import wrap

from .balls import around, ball, beside

Array = NDArray[np.float64]

JAW, REACH = BallJaw(standoff_m=0.02).whole(), ReachParameters(lift_m=0.085)
RADII = st.floats(0.02, 0.036)
# How much wider the jaws may open than they must: the angles tried are this far apart, times the finger's length.
STEP_M = 0.01 * 0.12


@pytest.fixture(scope="module")
def world() -> CollisionWorld:
    return CollisionWorld(fruit_table(5, None, 0, False))


def grasps(estimate: Belief, jaw: JawParameters = JAW) -> list[Grasp]:
    found = ball_grasps(SO101, estimate, jaw, HOME)
    assert isinstance(found, list)
    return found


def finger_to_m(jaw_rad: float, along_m: float, across_m: float) -> float:
    """How far a point is from the moving finger's inner face, by its corners and many points between them."""
    along, across = moving_finger_m(jaw_rad)
    share = np.linspace(0, 1, 50)[:, None, None]
    corners = np.stack([along, across], axis=-1)
    between = corners[:-1] + share * (corners[1:] - corners[:-1])
    return float(np.linalg.norm(between - np.array([along_m, across_m]), axis=-1).min())


# Jaw angles


@settings(max_examples=60)
@given(RADII, RADII)
def test_the_jaw_touches_a_larger_ball_at_a_wider_angle(one: float, other: float) -> None:
    small, large = sorted([one, other])
    assert ball_touch_rad(SO101.hand, small, TIP_M - 0.006) <= ball_touch_rad(SO101.hand, large, TIP_M - 0.006)
    if large - small > STEP_M:
        assert ball_touch_rad(SO101.hand, small, TIP_M - 0.006) < ball_touch_rad(SO101.hand, large, TIP_M - 0.006)


@settings(max_examples=60)
@given(RADII, st.floats(0.0, 0.012))
def test_where_it_touches_the_finger_just_clears_a_ball_that_rests_against_the_other(
    radius: float, below: float
) -> None:
    along, across = TIP_M - below, FIXED_FACE_M + radius
    touch = ball_touch_rad(SO101.hand, radius, along)
    assert radius - 1e-4 <= finger_to_m(touch, along, across) < radius + STEP_M
    assert finger_to_m(touch - 0.02, along, across) < radius


@settings(max_examples=60)
@given(RADII, st.floats(0.002, 0.012), st.floats(0.0, 0.005))
def test_at_the_open_angle_the_finger_keeps_the_clearance_and_hardly_more(
    radius: float, clearance: float, off: float
) -> None:
    along, across = TIP_M - 0.006, FIXED_FACE_M + off + radius
    opened = ball_open_rad(SO101.hand, radius, along, across, clearance)
    assert opened is not None
    assert radius + clearance - 1e-4 <= finger_to_m(opened, along, across) < radius + clearance + STEP_M
    corners = np.stack(moving_finger_m(opened), axis=-1)
    assert (np.linalg.norm(corners - [along, across], axis=-1) >= radius + clearance - 1e-9).all()


def test_no_angle_is_open_enough_for_a_ball_as_large_as_the_hand() -> None:
    assert ball_open_rad(SO101.hand, 0.08, TIP_M, FIXED_FACE_M + 0.08, 0.01) is None


# Candidates


def test_a_ball_offers_headings_all_around() -> None:
    found = grasps(ball())
    yaws = np.sort([each.yaw_rad for each in found])
    assert len(found) == 16
    np.testing.assert_allclose(np.diff(yaws), 2 * np.pi / 16)
    assert len({each.label for each in found}) == len(found)
    assert all(each.round for each in found)


@settings(max_examples=40)
@given(RADII, st.floats(0.0, 0.003))
def test_the_fixed_jaw_stands_off_by_its_clearance_and_the_error_of_the_sighting(radius: float, sigma: float) -> None:
    found = ball_grasps(SO101, ball(radius_m=radius, position_sigma_m=sigma), JAW, HOME)
    if isinstance(found, Refusal):
        assert found.check == "jaw_width"
        return
    grasp, error = found[0], JAW.error_sigmas * sigma
    assert grasp.tool_m[2] - FIXED_FACE_M - radius == pytest.approx(JAW.fixed_clearance_m + error)
    assert (
        finger_to_m(grasp.open_rad, grasp.tool_m[0], grasp.tool_m[2]) >= radius + JAW.moving_clearance_m + error - 1e-4
    )
    assert grasp.seat_m > grasp.tool_m[2] - FIXED_FACE_M - radius
    assert grasp.width_m == 2 * radius
    assert grasp.open_rad > grasp.touch_rad


def test_a_ball_too_large_for_the_jaws_is_refused_with_the_room_it_needs() -> None:
    found = ball_grasps(SO101, ball(radius_m=0.06), JAW, HOME)
    assert isinstance(found, Refusal)
    assert (found.check, found.stage) == ("jaw_width", "open")
    (evidence,) = found.evidence
    assert evidence.value == pytest.approx(0.06 + JAW.moving_clearance_m)
    assert not evidence.passed


def test_an_oval_ball_is_taken_as_if_it_were_as_large_as_its_longest_axis() -> None:
    oval = ball()
    oval.half_extents_m[:] = (0.028, 0.032, 0.03)
    assert grasps(oval)[0].width_m == 0.064


# Whole plans


def planned(world: CollisionWorld, target: Belief, *others: Belief, **options) -> GraspPlan:
    found = plan_grasp(SO101, world, target, at_rest(HOME), JAW, REACH, others=others, **options)
    assert isinstance(found, GraspPlan), str(found)
    return found


def refused(world: CollisionWorld, target: Belief, *others: Belief) -> Refusal:
    found = plan_grasp(SO101, world, target, at_rest(HOME), JAW, REACH, others=others)
    assert isinstance(found, Refusal)
    return found


def heading_rad(plan: GraspPlan) -> float:
    _, rotation = forward(plan.descend.end[None, :5], np.zeros(3))
    return float(np.arctan2(rotation[0, 1, 2], rotation[0, 0, 2]))


def test_the_open_jaws_come_down_around_the_ball(world: CollisionWorld) -> None:
    for target in (around(0.22, 0.3), around(0.3, -0.6, 0.025), around(0.18, 1.1, 0.035)):
        plan = planned(world, target)
        joints = plan.descend.end
        point, rotation = forward(joints[None, :5], np.array(plan.grasp.tool_m))
        np.testing.assert_allclose(point[0], target.position_m, atol=1e-5)
        origin, _ = forward(joints[None, :5], np.zeros(3))
        along, _, across = (target.position_m - origin[0]) @ rotation[0]
        assert finger_to_m(joints[5], along, across) > target.radius_m + 0.005
        assert across - FIXED_FACE_M > target.radius_m


@settings(max_examples=25, deadline=None)
@given(st.floats(0.17, 0.27), st.floats(-1.5, 1.5), RADII)
def test_a_ball_that_stands_alone_is_taken_without_turning_the_wrist(
    radius: float, azimuth: float, ball_m: float
) -> None:
    world = CollisionWorld(fruit_table(5, None, 0, False))
    plan = planned(world, around(radius, azimuth, ball_m))
    assert abs(plan.descend.end[4] - HOME[4]) < 1e-5


def test_after_a_failed_grasp_the_next_one_turns_as_little_as_possible(world: CollisionWorld) -> None:
    target, tried = around(0.22, 0.3), list[str]()
    for label in ("turned_0", "turned_22", "turned_-22"):
        assert planned(world, target, tried=tuple(tried)).grasp.label == label
        tried.append(label)


def test_a_neighbour_that_blocks_some_headings_gives_another_one(world: CollisionWorld) -> None:
    target = around(0.24, 0.2)
    alone = planned(world, target)
    # Where the moving jaw would come down.
    neighbour = beside(target, heading_rad(alone), 0.01)
    found = planned(world, target, neighbour)
    assert abs(wrap(heading_rad(found) - heading_rad(alone))) > 0.3
    world.place((neighbour,))
    for path in (found.approach, found.descend, found.seat, found.lift):
        assert world.first_collision(path.positions[::3]) is None


@pytest.mark.parametrize("angle", np.linspace(0, 2 * np.pi, 6, endpoint=False))
def test_one_neighbour_at_a_fingers_breadth_never_makes_a_ball_unreachable(world: CollisionWorld, angle: float) -> None:
    target = around(0.22, 0.1)
    plan = planned(world, target, beside(target, angle, 0.02))
    world.place((beside(target, angle, 0.02),))
    assert world.first_collision(plan.descend.positions) is None


def test_a_ball_surrounded_on_all_sides_is_refused_by_a_named_check(world: CollisionWorld) -> None:
    target = around(0.24, 0.2, 0.03)
    ring = [
        beside(target, angle, 0.001, 0.045, f"orange_{index + 2}")
        for index, angle in enumerate(np.linspace(0, 2 * np.pi, 4, endpoint=False))
    ]
    found = refused(world, target, *ring)
    assert found.check == "collision"
    assert found.evidence
    assert not found.evidence[0].passed
    assert "_to_orange_" in found.evidence[0].name
    planned(world, target)


def test_a_ball_out_of_reach_is_refused_for_reach(world: CollisionWorld) -> None:
    assert refused(world, around(0.55, 0.0)).check == "reach"


def test_a_hand_that_is_turned_apart_travels_as_it_is_and_turns_above_the_ball(world: CollisionWorld) -> None:
    target = around(0.24, 0.4)
    together, apart = planned(world, target), planned(world, target, posture_apart=True)
    assert together.posture is None
    assert apart.posture is not None
    # Wrist and jaw keep still on the way, and only they move above the ball.
    np.testing.assert_array_equal(apart.approach.end[4:], HOME[4:])
    np.testing.assert_allclose(np.ptp(apart.posture.positions[:, :4], axis=0), 0, atol=1e-9)
    np.testing.assert_array_equal(apart.approach.end, apart.posture.positions[0])
    np.testing.assert_array_equal(apart.posture.end, apart.descend.positions[0])
    np.testing.assert_array_equal(together.approach.end, apart.descend.positions[0])
    for path in (apart.approach, apart.posture, apart.descend, apart.seat, apart.lift):
        assert check_path(path, SO101) is None


# Small shifts


def hand(joints: Array, plan: GraspPlan) -> tuple[Array, Array]:
    point, rotation = forward(joints[None, :5], np.array(plan.grasp.tool_m))
    return point[0], rotation[0]


@pytest.mark.parametrize(("along_m", "up_m"), [(0.006, 0.0), (-0.004, 0.0), (0.0, -0.002), (0.005, 0.01)])
def test_a_shift_moves_the_hand_straight_and_keeps_its_pitch_and_heading(
    world: CollisionWorld, along_m: float, up_m: float
) -> None:
    plan = planned(world, around(0.24, 0.3))
    start = at_rest(plan.descend.end)
    path = plan_shift(SO101, plan, start, along_m, REACH, up_m=up_m)
    assert isinstance(path, Path)
    assert check_path(path, SO101) is None
    np.testing.assert_array_equal(path.positions[0], start.position)
    assert not path.velocities[[0, -1]].any()
    (begin, _), (end, frame) = hand(path.positions[0], plan), hand(path.end, plan)
    yaw = heading_rad(plan)
    np.testing.assert_allclose(end - begin, [along_m * np.cos(yaw), along_m * np.sin(yaw), up_m], atol=1e-6)
    assert np.arctan2(frame[1, 2], frame[0, 2]) == pytest.approx(yaw, abs=1e-9)
    assert path.end[1:4].sum() == pytest.approx(start.position[1:4].sum(), abs=1e-9)
    assert path.positions[:, 5] == pytest.approx(start.position[5])


def test_a_shift_starts_from_wherever_the_hand_really_is(world: CollisionWorld) -> None:
    plan = planned(world, around(0.24, 0.3))
    joints = plan.descend.end + np.array([0.004, -0.003, 0.002, 0.001, 0.01, -0.4])
    path = plan_shift(SO101, plan, at_rest(joints), 0.006, REACH)
    assert isinstance(path, Path)
    np.testing.assert_array_equal(path.positions[0], joints)
    assert np.linalg.norm(hand(path.end, plan)[0] - hand(joints, plan)[0]) == pytest.approx(0.006, abs=1e-6)


def test_a_shift_out_of_reach_is_refused_with_evidence(world: CollisionWorld) -> None:
    plan = planned(world, around(0.34, 0.0, 0.025))
    found = plan_shift(SO101, plan, at_rest(plan.descend.end), 0.0, REACH, up_m=0.4)
    assert isinstance(found, Refusal)
    assert found.check == "reach"
    assert found.evidence
