"""Carrying a held ball to a spot: the whole way keeps limits and distances, and ends where it was asked to."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graspline.grasping.candidates import BallJaw
from graspline.grasping.cartesian_lines import ReachParameters
from graspline.grasping.topdown import GraspPlan, plan_grasp
from graspline.kinematics.so101 import PAN_X_M, forward
from graspline.motion.path import Path, at_rest, check_path
from graspline.perception.core.beliefs import Belief
from graspline.placement.carry import plan_carry
from graspline.placement.held import held_ball, held_clearance
from graspline.placement.parameters import CarryParameters
from graspline.placement.query import CarryPlan, CarryQuery, Support
from graspline.planning.collision import CollisionWorld
from graspline.refusal import Refusal
from graspline.robots.so101 import FIXED_FACE_M, HOME, SO101, moving_finger_m
from graspline.scenes.fruit_table import FLOOR_M, PLATE, fruit_table

Array = NDArray[np.float64]

CARRY = CarryParameters()
PLATE_XY = (PAN_X_M + 0.22 * np.cos(0.8), 0.22 * np.sin(0.8))
SPOT = PLATE_XY
UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


def believed(name: str, position_m: Array, half_m: Array, shape: Literal["ball", "plate", "box"]) -> Belief:
    return Belief(
        name=name,
        position_m=position_m,
        quaternion=UPRIGHT,
        half_extents_m=half_m,
        position_sigma_m=0.0,
        yaw_sigma_rad=0.0,
        time_s=0.0,
        shape=shape,
    )


def ball(x_m: float, y_m: float, radius_m: float = 0.03, *, floor_m: float = FLOOR_M, number: int = 2) -> Belief:
    return believed(f"orange_{number}", np.array([x_m, y_m, floor_m + radius_m]), np.full(3, radius_m), "ball")


def tower(x_m: float, y_m: float) -> Belief:
    """A box as high as things are carried."""
    return believed("tower", np.array([x_m, y_m, 0.08]), np.array([0.015, 0.015, 0.08]), "box")


THE_PLATE = believed(PLATE, np.array([*PLATE_XY, 0.0]), np.array([0.105, 0.105, 0.0]), "plate")
TARGET = ball(PAN_X_M + 0.29 * np.cos(-0.6), 0.29 * np.sin(-0.6), floor_m=0.0, number=1)


@pytest.fixture(scope="module")
def world() -> CollisionWorld:
    return CollisionWorld(fruit_table(4, 0.105, 0, False))


@pytest.fixture(scope="module")
def pick(world: CollisionWorld) -> GraspPlan:
    jaw, reach = BallJaw(standoff_m=0.02).whole(), ReachParameters(lift_m=CARRY.clear_height_m)
    found = plan_grasp(SO101, world, TARGET, at_rest(HOME), jaw, reach, others=(THE_PLATE,), posture_apart=True)
    assert isinstance(found, GraspPlan)
    return found


def query(world: CollisionWorld, pick: GraspPlan, *obstacles: Belief, **carry: Any) -> CarryQuery:
    """The ball in the hand, raised as high as it is carried."""
    grasp = pick.grasp
    centre = (grasp.tool_m[0], 0.0, FIXED_FACE_M + grasp.width_m / 2)
    jaw_rad = grasp.touch_rad - 0.06
    held = held_ball("orange_1", centre, grasp.width_m / 2, jaw_rad=jaw_rad, branch=pick.branch)
    return CarryQuery(
        world=world,
        held=held,
        start=at_rest(np.append(pick.lift.end[:5], held.jaw_rad)),
        obstacles=(THE_PLATE, *obstacles),
        settings=CARRY.model_copy(update=carry),
        margin_rad=0.01,
    )


def planned(asked: CarryQuery, *spots: tuple[float, float]) -> CarryPlan:
    found = plan_carry(asked, on_plate(*(spots or (SPOT,))))
    assert isinstance(found, CarryPlan), str(found)
    return found


def on_plate(*spots: tuple[float, float]) -> list[Support]:
    return [Support(x_m=x, y_m=y, z_m=FLOOR_M) for x, y in spots]


def ways(plan: CarryPlan) -> list[Path]:
    paths = [plan.retreat, plan.transport, plan.lower, plan.open, plan.withdraw]
    return [path for path in paths if path is not None]


def held_m(asked: CarryQuery, joints: Array) -> Array:
    """Where the held ball's middle is along joints (T, nu)."""
    return forward(joints[:, :5], np.array(asked.held.centre_m))[0]


def test_the_ball_ends_two_millimetres_above_the_plates_floor_at_the_spot(
    world: CollisionWorld, pick: GraspPlan
) -> None:
    asked = query(world, pick)
    plan = planned(asked)
    assert plan.spot_m == SPOT
    end = held_m(asked, plan.lower.positions[-1:])[0]
    np.testing.assert_allclose(end, [*SPOT, FLOOR_M + asked.held.spread_m + 0.002], atol=1e-5)


def test_the_way_down_is_straight(world: CollisionWorld, pick: GraspPlan) -> None:
    asked = query(world, pick)
    way = held_m(asked, planned(asked).lower.positions)
    assert np.hypot(*(way[1:, :2] - SPOT).T).max() < 1e-4
    assert (np.diff(way[:, 2]) < 1e-6).all()


@pytest.mark.parametrize("strategy", ["auto", "direct", "retreat"])
def test_every_path_begins_where_the_one_before_it_ends_and_keeps_the_limits(
    world: CollisionWorld, pick: GraspPlan, strategy: str
) -> None:
    asked = query(world, pick, strategy=strategy)
    plan = planned(asked)
    paths = ways(plan)
    np.testing.assert_array_equal(paths[0].positions[0], asked.start.position)
    for before, after in itertools.pairwise(paths):
        np.testing.assert_array_equal(before.end, after.positions[0])
    for path in paths:
        assert check_path(path, SO101) is None
        assert not path.velocities[[0, -1]].any()


@settings(max_examples=12)
@given(st.floats(-0.055, 0.055), st.floats(-0.055, 0.055), st.sampled_from(["direct", "retreat"]))
def test_wherever_a_plan_is_claimed_it_ends_at_the_spot_and_keeps_its_distances(
    world: CollisionWorld, pick: GraspPlan, x: float, y: float, strategy: str
) -> None:
    other = ball(PLATE_XY[0] - 0.06, PLATE_XY[1])
    asked = query(world, pick, other, strategy=strategy)
    spot = (PLATE_XY[0] + x, PLATE_XY[1] + y)
    plan = plan_carry(asked, on_plate(spot))
    if isinstance(plan, Refusal):
        assert plan.evidence
        return
    np.testing.assert_allclose(held_m(asked, plan.lower.positions[-1:])[0, :2], spot, atol=1e-5)
    for path in ways(plan):
        assert check_path(path, SO101) is None
    carried = [path for path in (plan.retreat, plan.transport, plan.lower) if path is not None]
    for path in carried:
        apart = np.linalg.norm(held_m(asked, path.positions) - other.position_m, axis=-1)
        # Samples between those that were checked may be a little nearer.
        assert apart.min() - asked.held.spread_m - other.radius_m > asked.settings.clearance_m - 1e-3


def test_hand_and_ball_keep_clear_of_what_lies_around(world: CollisionWorld, pick: GraspPlan) -> None:
    others = (
        ball(PLATE_XY[0] + 0.062, PLATE_XY[1], number=2),
        ball(0.26, 0.02, floor_m=0.0, number=3),
    )
    asked = query(world, pick, *others)
    plan = planned(asked, (PLATE_XY[0] - 0.03, PLATE_XY[1]))
    world.place(asked.obstacles)
    for path in ways(plan):
        assert world.first_collision(path.positions) is None
    for path in (plan.transport, plan.lower):
        assert path is not None
        assert held_clearance(asked, path.positions[::3], asked.obstacles) == ()


def test_a_ball_that_would_brush_another_on_its_way_is_told_with_the_distance(
    world: CollisionWorld, pick: GraspPlan
) -> None:
    asked = query(world, pick)
    plan = planned(asked)
    assert plan.transport is not None
    middle = held_m(asked, plan.transport.positions)[plan.transport.ticks // 2]
    high = dataclasses.replace(ball(middle[0], middle[1]), position_m=middle + np.array([0, 0, -0.065]))
    (found,) = held_clearance(asked, plan.transport.positions, (high,))
    assert found.name == "held_to_orange_2"
    assert found.value == pytest.approx(0.005, abs=1e-3)
    assert (found.limit, found.unit, found.passed) == (CARRY.clearance_m, "m", False)


def test_a_carried_ball_stays_high_above_the_table_until_it_is_lowered(world: CollisionWorld, pick: GraspPlan) -> None:
    asked = query(world, pick)
    transport = planned(asked).transport
    assert transport is not None
    underside = held_m(asked, transport.positions)[:, 2] - asked.held.spread_m
    assert underside.min() > CARRY.clear_height_m - 0.005


def polar(point: Array) -> tuple[float, float]:
    return float(np.hypot(point[0] - PAN_X_M, point[1])), float(np.arctan2(point[1], point[0] - PAN_X_M))


def test_retreating_draws_back_two_sevenths_of_the_way_to_the_origin_first(
    world: CollisionWorld, pick: GraspPlan
) -> None:
    asked = query(world, pick, strategy="retreat", least_radius_m=0.1)
    plan = planned(asked)
    assert plan.retreat is not None
    assert plan.strategy == "retreat"
    here, drawn_back = held_m(asked, plan.retreat.positions[[0, -1]])
    np.testing.assert_allclose(drawn_back[:2], (1 - 2 / 7) * here[:2], atol=1e-5)
    assert drawn_back[2] == pytest.approx(here[2], abs=1e-5)


def test_the_hand_is_never_drawn_back_nearer_than_the_least_radius(world: CollisionWorld, pick: GraspPlan) -> None:
    asked = query(world, pick, strategy="retreat", least_radius_m=0.24)
    retreat = planned(asked).retreat
    assert retreat is not None
    here, drawn_back = held_m(asked, retreat.positions[[0, -1]])
    assert polar(here)[0] > 0.28
    assert polar(drawn_back)[0] == pytest.approx(0.24, abs=1e-5)


def test_straight_across_needs_no_retreat(world: CollisionWorld, pick: GraspPlan) -> None:
    for strategy in ("direct", "auto"):
        plan = planned(query(world, pick, strategy=strategy))
        assert plan.retreat is None
        assert plan.strategy == "direct"


def test_where_straight_across_is_blocked_the_ball_is_drawn_back_first(world: CollisionWorld, pick: GraspPlan) -> None:
    """Beyond the arc that draws back first, in the way of the one that does not."""
    start = polar(query(world, pick).held_m())[0]
    in_the_way = tower(PAN_X_M + start * np.cos(-0.3), start * np.sin(-0.3))
    blocked = plan_carry(query(world, pick, in_the_way, strategy="direct"), on_plate(SPOT))
    assert isinstance(blocked, Refusal)
    assert blocked.check == "collision"
    assert blocked.evidence[0].name == "held_to_tower"
    plan = planned(query(world, pick, in_the_way))
    assert plan.strategy == "retreat"
    assert plan.retreat is not None


def test_a_plan_is_used_again_and_checked_again_where_something_has_moved(
    world: CollisionWorld, pick: GraspPlan
) -> None:
    beside = ball(PLATE_XY[0] + 0.062, PLATE_XY[1], number=2)
    spot = PLATE_XY[0] - 0.03, PLATE_XY[1]
    asked = query(world, pick, beside)
    before = planned(asked, spot)
    hair = dataclasses.replace(beside, position_m=beside.position_m + 1e-5)
    again = planned(dataclasses.replace(query(world, pick, hair), planned=before), spot)
    np.testing.assert_array_equal(again.lower.positions, before.lower.positions)
    np.testing.assert_array_equal(again.withdraw.positions, before.withdraw.positions)
    rolled = dataclasses.replace(beside, position_m=np.array([spot[0] + 0.04, spot[1], beside.position_m[2]]))
    found = plan_carry(dataclasses.replace(query(world, pick, rolled), planned=before), on_plate(spot))
    assert isinstance(found, Refusal)
    assert found.check == "collision"


def test_a_hand_that_is_already_above_the_spot_does_not_travel(world: CollisionWorld, pick: GraspPlan) -> None:
    asked = query(world, pick)
    there = planned(asked).transport
    assert there is not None
    again = dataclasses.replace(asked, start=at_rest(there.end))
    plan = planned(again)
    assert plan.transport is None
    assert plan.retreat is None
    assert plan.strategy == "here"
    np.testing.assert_array_equal(plan.lower.positions[0], there.end)
    end = held_m(again, plan.lower.positions[-1:])[0]
    np.testing.assert_allclose(end, [*SPOT, FLOOR_M + asked.held.spread_m + 0.002], atol=1e-5)


def test_the_jaws_open_clear_of_the_ball_and_the_hand_leaves_sideways_and_back(
    world: CollisionWorld, pick: GraspPlan
) -> None:
    asked = query(world, pick)
    plan = planned(asked)
    let_go = held_m(asked, plan.lower.positions[-1:])[0]
    opened = plan.open.end
    origin, rotation = forward(opened[None, :5], np.zeros(3))
    along, _, across = (let_go - origin[0]) @ rotation[0]
    corners = np.stack(moving_finger_m(opened[5]), axis=-1)
    apart = np.linalg.norm(corners - [along, across], axis=-1)
    assert apart.min() >= asked.held.spread_m + CARRY.release_clearance_m - 1e-6
    gone = held_m(asked, plan.withdraw.positions[-1:])[0]
    assert gone[2] - let_go[2] > asked.held.spread_m


def test_the_first_spot_with_a_way_to_it_is_taken(world: CollisionWorld, pick: GraspPlan) -> None:
    plan = planned(query(world, pick), (0.7, 0.0), SPOT, (SPOT[0] + 0.01, SPOT[1]))
    assert plan.spot_m == SPOT


def test_a_spot_out_of_reach_is_refused_with_evidence(world: CollisionWorld, pick: GraspPlan) -> None:
    found = plan_carry(query(world, pick), on_plate((0.7, 0.0), (0.0, -0.6)))
    assert isinstance(found, Refusal)
    assert (found.check, found.label) == ("reach", "spot 0.700 0.000")
    assert found.evidence
    assert not all(each.passed for each in found.evidence)


def test_a_spot_that_is_taken_is_refused_for_what_lies_there(world: CollisionWorld, pick: GraspPlan) -> None:
    found = plan_carry(query(world, pick, ball(SPOT[0] + 0.03, SPOT[1])), on_plate(SPOT))
    assert isinstance(found, Refusal)
    assert found.check == "collision"
    assert any("orange_2" in each.name for each in found.evidence)


def test_without_a_spot_there_is_no_plan(world: CollisionWorld, pick: GraspPlan) -> None:
    found = plan_carry(query(world, pick), on_plate())
    assert isinstance(found, Refusal)
    assert found.check == "no_spot"
    (evidence,) = found.evidence
    assert (evidence.name, evidence.value, evidence.limit) == ("free_spots", 0, 1)
