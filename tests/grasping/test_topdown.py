"""Whole plans: what is certified keeps every limit from start to lift, and a refusal says what stood in the way."""

from __future__ import annotations

import dataclasses

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.grasping.candidates import JawParameters
from graspline.grasping.topdown import (
    GraspPlan,
    ReachParameters,
    plan_grasp,
    plan_lift,
    plan_shift,
    reversed_path,
)
from graspline.kinematics.so101 import ARM, PAN_X_M, STRAIGHT_DOWN_RAD, forward
from graspline.motion.joint_moves import joint_move
from graspline.motion.path import Command, Path, at_rest, check_path
from graspline.perception.core.beliefs import Belief
from graspline.planning.collision import CLEARANCE_M, CollisionWorld
from graspline.refusal import Refusal
from graspline.robots.so101 import (
    CAMERA_HOUSING,
    CAMERA_KEEPS_M,
    FIXED_FACE_M,
    FIXED_FINGER,
    HOME,
    JOINTS,
    LOWER,
    MOVING_FINGER,
    SO101,
    TIP_M,
    UPPER,
    moving_finger_m,
)
from graspline.scenes.cube_table import cube_table
from graspline.spatial.rotations import wrap

from .boxes import box, corners_m

Array = NDArray[np.float64]

JAW, REACH = JawParameters(), ReachParameters()
STAGES = ("approach", "descend", "seat", "lift")


@pytest.fixture(scope="module")
def world() -> CollisionWorld:
    return CollisionWorld(cube_table())


def planned(world: CollisionWorld, estimate: Belief, start: Command | None = None, **options) -> GraspPlan:
    found = plan_grasp(SO101, world, estimate, start or at_rest(HOME), JAW, REACH, **options)
    assert isinstance(found, GraspPlan), str(found)
    return found


def refused(world: CollisionWorld, estimate: Belief, reach: ReachParameters = REACH) -> Refusal:
    found = plan_grasp(SO101, world, estimate, at_rest(HOME), JAW, reach)
    assert isinstance(found, Refusal)
    return found


def paths_of(plan: GraspPlan) -> dict[str, Path]:
    return {stage: getattr(plan, stage) for stage in STAGES}


def random_plans(world: CollisionWorld, count: int, seed: int) -> list[tuple[Belief, GraspPlan]]:
    """Certified plans for cubes anywhere around the arm, straight and leaning."""
    random = np.random.default_rng(seed)
    found: list[tuple[Belief, GraspPlan]] = []
    while len(found) < count:
        radius, azimuth = random.uniform(0.12, 0.36), random.uniform(-1.8, 1.8)
        estimate = box(
            PAN_X_M + radius * np.cos(azimuth),
            radius * np.sin(azimuth),
            random.uniform(-np.pi, np.pi),
            random.uniform(0.010, 0.020),
            position_sigma_m=random.choice([0.0, 0.002]),
        )
        plan = plan_grasp(SO101, world, estimate, at_rest(HOME), JAW, REACH)
        if isinstance(plan, GraspPlan):
            found.append((estimate, plan))
    return found


@pytest.fixture(scope="module")
def plans(world: CollisionWorld) -> list[tuple[Belief, GraspPlan]]:
    found = random_plans(world, 60, 1)
    leaning = [plan.pitch_rad < STRAIGHT_DOWN_RAD for _, plan in found]
    assert any(leaning)
    assert not all(leaning)
    return found


def tip_corners_m(path: Path) -> tuple[Array, Array]:
    """Lowest corners of the fixed and of the moving fingertip over a path, (4, T, 3) each."""
    step = FIXED_FINGER[0]
    fixed = [
        forward(path.positions, np.array([step.far, side * step.half_width, across]) * 1e-3)[0]
        for across in (step.inner, step.outer)
        for side in (-1, 1)
    ]
    along, across = moving_finger_m(path.positions[:, 5])
    lateral = np.full(len(along), MOVING_FINGER[0].half_width * 1e-3)
    moving = [
        forward(path.positions, np.stack([along[:, corner], side * lateral, across[:, corner]], axis=-1))[0]
        for corner in (0, 1)
        for side in (-1, 1)
    ]
    return np.stack(fixed), np.stack(moving)


def test_every_path_of_a_plan_keeps_every_limit_and_ends_at_rest(plans: list[tuple[Belief, GraspPlan]]) -> None:
    for _, plan in plans:
        for path in paths_of(plan).values():
            assert check_path(path, SO101) is None
            assert not path.velocities[[0, -1]].any()


def test_each_path_starts_where_the_one_before_it_ends(plans: list[tuple[Belief, GraspPlan]]) -> None:
    for _, plan in plans:
        np.testing.assert_array_equal(plan.approach.positions[0], HOME)
        np.testing.assert_array_equal(plan.approach.end, plan.descend.positions[0])
        np.testing.assert_allclose(plan.descend.end, plan.seat.positions[0], atol=1e-9)
        np.testing.assert_allclose(plan.descend.end, plan.lift.positions[0], atol=1e-9)


def test_plans_keep_away_from_joint_limits(plans: list[tuple[Belief, GraspPlan]]) -> None:
    for _, plan in plans:
        for stage in ("descend", "seat", "lift"):
            arm = paths_of(plan)[stage].positions[:, :5]
            assert (arm >= LOWER[:5] + REACH.joint_margin_rad - 1e-9).all()
            assert (arm <= UPPER[:5] - REACH.joint_margin_rad + 1e-9).all()


def test_at_the_end_of_the_descent_the_open_jaws_straddle_the_cube(plans: list[tuple[Belief, GraspPlan]]) -> None:
    for estimate, plan in plans:
        joints = plan.descend.end[None]
        origin, rotation = forward(joints, np.zeros(3))
        corners = (corners_m(estimate) - origin[0]) @ rotation[0]
        along, across = moving_finger_m(joints[0, 5])
        assert corners[:, 2].min() > FIXED_FACE_M
        inside = along > corners[:, 0].min()
        assert corners[:, 2].max() < across[inside].min()
        np.testing.assert_allclose(forward(joints, np.array(plan.grasp.tool_m))[0][0], estimate.position_m, atol=1e-5)
        # The fixed tip is below the cube's centre; the moving one is beside the cube and swings lower as it closes.
        fixed, moving = tip_corners_m(plan.descend)
        assert fixed[:, -1, 2].min() < estimate.position_m[2]
        assert moving[:, -1, 2].min() < corners_m(estimate)[:, 2].max()


def test_on_the_way_down_the_fingers_stay_clear_of_the_cube_by_plain_geometry(
    plans: list[tuple[Belief, GraspPlan]],
) -> None:
    for estimate, plan in plans:
        for path in (plan.approach, plan.descend):
            for tips in tip_corners_m(path):
                in_cube = (tips - estimate.position_m) @ estimate.rotation
                deep_inside = (np.abs(in_cube) < estimate.half_extents_m - 1e-4).all(axis=-1)
                assert not deep_inside.any()


def test_the_jaw_axis_is_square_to_the_faces_it_closes_on(plans: list[tuple[Belief, GraspPlan]]) -> None:
    for estimate, plan in plans:
        _, rotation = forward(plan.descend.end[None], np.zeros(3))
        opening = rotation[0, :, 2] @ estimate.rotation
        off = float(np.arccos(np.clip(np.abs(opening[:2]).max(), -1, 1)))
        assert off <= REACH.max_face_error_rad + 1e-9
        assert off == pytest.approx(float(ARM.jaw_lean_rad(plan.descend.end[None])[0]), abs=1e-6)
        assert abs(float(wrap(np.arctan2(rotation[0, 1, 2], rotation[0, 0, 2]) - plan.grasp.yaw_rad))) < 1e-9


def test_no_fingertip_comes_nearer_to_the_table_than_its_clearance(plans: list[tuple[Belief, GraspPlan]]) -> None:
    for _, plan in plans:
        for path in paths_of(plan).values():
            for tips in tip_corners_m(path):
                assert tips[..., 2].min() > CLEARANCE_M


def lowest_of_camera_m(path: Path) -> float:
    """How near the wrist camera's housing comes to the table, by the compiled model."""
    model = cube_table().model
    data, lowest = mujoco.MjData(model), np.inf
    at = [int(model.joint(name).qposadr[0]) for name in JOINTS]
    half = model.geom(CAMERA_HOUSING).size
    for joints in path.positions[::3]:
        data.qpos[at] = joints
        mujoco.mj_kinematics(model, data)
        housing = data.geom(CAMERA_HOUSING)
        lowest = min(lowest, float(housing.xpos[2] - np.abs(housing.xmat.reshape(3, 3)[2]) @ half))
    return lowest


def test_the_wrist_camera_comes_no_nearer_to_the_table_than_five_millimetres(
    plans: list[tuple[Belief, GraspPlan]],
) -> None:
    assert pytest.approx(0.005) == CLEARANCE_M + CAMERA_KEEPS_M
    for _, plan in plans:
        assert min(lowest_of_camera_m(path) for path in paths_of(plan).values()) > 0.005


def test_a_hand_that_brakes_past_its_seat_can_still_lift(plans: list[tuple[Belief, GraspPlan]]) -> None:
    for _, plan in plans:
        past = plan_shift(SO101, plan, at_rest(plan.seat.end), 0.0004, REACH)
        assert isinstance(past, Path)
        lift = plan_lift(SO101, plan, at_rest(past.end), REACH.lift_m, REACH)
        assert isinstance(lift, Path)


def test_a_cube_that_could_not_be_lifted_after_braking_is_refused(world: CollisionWorld) -> None:
    # At the far edge of what can be grasped: the seat ended 0.2 mm too far out for the lift.
    found = refused(world, box(-0.0465094, 0.4091324, -2.9047557, 0.0170407))
    assert (found.check, found.stage) == ("reach", "lift")


def test_pointing_straight_down_the_fixed_tip_keeps_the_ground_clearance(
    plans: list[tuple[Belief, GraspPlan]],
) -> None:
    for _, plan in plans:
        if plan.pitch_rad == STRAIGHT_DOWN_RAD:
            for path in paths_of(plan).values():
                assert tip_corners_m(path)[0][..., 2].min() > JAW.ground_clearance_m - 1e-6


def test_the_hand_comes_down_along_its_approach_axis(plans: list[tuple[Belief, GraspPlan]]) -> None:
    for estimate, plan in plans:
        points, rotation = forward(plan.descend.positions, np.array(plan.grasp.tool_m))
        way = points[-1] - points[0]
        assert np.linalg.norm(way) == pytest.approx(plan.grasp.standoff_m, abs=1e-6)
        off_line = points - points[0] - np.outer((points - points[0]) @ way / (way @ way), way)
        assert np.abs(off_line).max() < 1e-5
        # The approach axis leans in the plane of the pan axis, which a tool point off it does not quite share.
        assert way @ rotation[-1, :, 0] / np.linalg.norm(way) > np.cos(0.15)
        np.testing.assert_allclose(points[-1], estimate.position_m, atol=1e-5)


def test_the_seat_goes_sideways_towards_the_object_and_no_deeper(plans: list[tuple[Belief, GraspPlan]]) -> None:
    for _, plan in plans:
        points, _ = forward(plan.seat.positions, np.array(plan.grasp.tool_m))
        way = points[-1] - points[0]
        assert np.linalg.norm(way) == pytest.approx(plan.grasp.seat_m, abs=1e-6)
        assert way[2] == pytest.approx(0.0, abs=1e-5)
        assert float(np.arctan2(way[1], way[0])) == pytest.approx(plan.grasp.yaw_rad, abs=1e-4)


def test_the_lift_is_straight_up_by_as_much_as_asked(plans: list[tuple[Belief, GraspPlan]]) -> None:
    for _, plan in plans:
        points, _ = forward(plan.lift.positions, np.array(plan.grasp.tool_m))
        np.testing.assert_allclose(points[-1] - points[0], (0, 0, REACH.lift_m), atol=1e-5)
        assert np.abs(points[:, :2] - points[0, :2]).max() < 1e-5
        assert (np.diff(points[:, 2]) > -1e-9).all()


def test_fingertips_are_no_faster_than_asked(plans: list[tuple[Belief, GraspPlan]]) -> None:
    speeds = {"descend": REACH.descend_speed_m_s, "seat": REACH.seat_speed_m_s, "lift": REACH.lift_speed_m_s}
    for _, plan in plans:
        for stage, speed in speeds.items():
            path = paths_of(plan)[stage]
            points, _ = forward(path.positions, np.array(plan.grasp.tool_m))
            fastest = np.linalg.norm(np.diff(points, axis=0), axis=1).max() / path.dt_s
            assert fastest <= speed * 1.001


def test_the_jaws_are_open_from_the_end_of_the_approach_on(plans: list[tuple[Belief, GraspPlan]]) -> None:
    for _, plan in plans:
        assert plan.approach.end[5] == plan.grasp.open_rad
        for stage in ("descend", "seat", "lift"):
            assert (paths_of(plan)[stage].positions[:, 5] == plan.grasp.open_rad).all()


def test_planning_twice_gives_the_same_bits(world: CollisionWorld) -> None:
    for estimate, plan in random_plans(world, 8, 2):
        world.place(())
        again = planned(world, estimate)
        assert again.grasp == plan.grasp
        for stage, path in paths_of(plan).items():
            assert path.positions.tobytes() == paths_of(again)[stage].positions.tobytes()
            assert path.velocities.tobytes() == paths_of(again)[stage].velocities.tobytes()


def test_a_plan_starts_from_the_command_in_force(world: CollisionWorld) -> None:
    on_the_way = joint_move(SO101, at_rest(HOME), np.array([0.8, -0.5, 0.2, 1.2, 0.3, 0.6]))
    for tick in (0, 7, 15, on_the_way.ticks):
        start = on_the_way.command_at(tick)
        plan = planned(world, box(0.22, 0.1, 0.4), start)
        np.testing.assert_array_equal(plan.approach.positions[0], start.position)
        np.testing.assert_array_equal(plan.approach.velocities[0], start.velocity)


def test_where_straight_down_works_the_hand_does_not_lean(world: CollisionWorld) -> None:
    plan = planned(world, box(0.22, 0.0, 0.3))
    assert plan.pitch_rad == STRAIGHT_DOWN_RAD


def test_far_out_the_hand_leans(world: CollisionWorld) -> None:
    plan = planned(world, box(0.36, 0.0, 0.0))
    assert STRAIGHT_DOWN_RAD - REACH.max_tilt_rad <= plan.pitch_rad < STRAIGHT_DOWN_RAD


def test_another_grasp_is_planned_after_each_failure(world: CollisionWorld) -> None:
    estimate, tried = box(0.22, 0.0, 0.3, 0.02), ()
    for _ in range(4):
        plan = planned(world, estimate, tried=tried)
        assert plan.grasp.label not in tried
        tried = (*tried, plan.grasp.label)
    assert len(set(tried)) == 4


def roll_turn_rad(plan: GraspPlan, start: Array = HOME) -> float:
    return float(abs(plan.descend.end[4] - start[4]))


@pytest.mark.parametrize("yaw", np.radians([-80, -50, -20, 0, 10, 44, 60, 91]))
def test_a_cube_is_taken_with_the_least_turn_of_the_wrist(world: CollisionWorld, yaw: float) -> None:
    assert roll_turn_rad(planned(world, box(0.22, 0.0, yaw, 0.015))) < np.radians(46)


def test_cubes_that_look_the_same_are_taken_the_same_way(world: CollisionWorld) -> None:
    plans = [planned(world, box(0.22, 0.05, 0.2 + quarter * np.pi / 2, 0.015)) for quarter in range(4)]
    for plan in plans[1:]:
        np.testing.assert_allclose(plan.descend.end, plans[0].descend.end, atol=1e-9)


def test_the_wrist_turns_least_from_where_it_is(world: CollisionWorld) -> None:
    estimate, start = box(0.22, 0.0, 0.3, 0.015), HOME.copy()
    start[4] += np.pi / 2
    assert roll_turn_rad(planned(world, estimate, at_rest(start)), start) < np.radians(46)


def test_leaning_the_jaws_stay_on_the_side_where_they_are(world: CollisionWorld) -> None:
    plan = planned(world, box(0.36, 0.0, 0.1, 0.015))
    assert plan.pitch_rad < STRAIGHT_DOWN_RAD
    assert roll_turn_rad(plan) < np.radians(46)


def test_after_failures_untried_grasps_come_first_those_that_turn_the_wrist_least_before_deeper_ones(
    world: CollisionWorld,
) -> None:
    estimate, plans = box(0.22, 0.0, 0.8, 0.02), list[GraspPlan]()
    for _ in range(6):
        plans.append(planned(world, estimate, tried=tuple(each.grasp.label for each in plans)))
    labels = [each.grasp.label for each in plans]
    assert len(set(labels)) == 6
    deeper = [label.endswith("deeper") for label in labels]
    assert deeper == sorted(deeper)
    turns = [roll_turn_rad(each) for each in plans]
    usual = deeper.count(False)
    assert turns[:usual] == sorted(turns[:usual])
    assert turns[usual:] == sorted(turns[usual:])


@pytest.mark.parametrize("x", [0.55, 0.8])
def test_out_of_reach_is_refused_at_the_grasp_with_how_far(world: CollisionWorld, x: float) -> None:
    found = refused(world, box(x))
    assert (found.stage, found.check) == ("grasp", "reach")
    (evidence,) = found.evidence
    assert evidence.name == "wrist_beyond_reach"
    assert evidence.value > evidence.limit == 0.0
    assert str(found).startswith(f"{found.label}: reach at grasp: wrist_beyond_reach")


def test_behind_the_robot_is_refused_for_the_pan(world: CollisionWorld) -> None:
    found = refused(world, box(-0.15, 0.1))
    assert found.check == "reach"
    assert [each.name for each in found.evidence] == ["shoulder_pan"]
    assert not found.evidence[0].passed


def test_jaws_that_would_lean_too_far_are_refused_with_the_angle(world: CollisionWorld) -> None:
    strict = ReachParameters(max_face_error_rad=0.0, max_contact_offset_m=0.0)
    found = refused(world, box(0.36, 0.05, 0.5, 0.02), strict)
    assert (found.stage, found.check) == ("grasp", "jaw_alignment")
    (evidence,) = found.evidence
    assert evidence.name == "jaw_axis_off_face"
    assert evidence.value > evidence.limit == 0.0


def test_a_tilted_or_too_wide_object_is_refused_before_anything_is_solved(world: CollisionWorld) -> None:
    assert refused(world, box(tilt_rad=0.5)).check == "shape"
    assert refused(world, box(half_m=(0.06, 0.06, 0.015))).check == "jaw_width"


def test_a_collision_names_what_meets_what(world: CollisionWorld) -> None:
    """A cube that stands so close to the base that the hand cannot come down between them."""
    random = np.random.default_rng(4)
    checks = {"collision": 0}
    for _ in range(300):
        radius, azimuth = random.uniform(0.05, 0.4), random.uniform(-1.9, 1.9)
        estimate = box(PAN_X_M + radius * np.cos(azimuth), radius * np.sin(azimuth), random.uniform(-3, 3), 0.01)
        found = plan_grasp(SO101, world, estimate, at_rest(HOME), JAW, REACH)
        if isinstance(found, Refusal):
            checks[found.check] = checks.get(found.check, 0) + 1
            assert found.evidence, str(found)
            assert not any(each.passed for each in found.evidence)
            if found.check == "collision":
                assert "_to_" in found.evidence[0].name
    assert checks["collision"] > 0


def test_plans_leave_no_object_behind_in_the_collision_world(world: CollisionWorld) -> None:
    """One world serves all lanes, so a plan may not depend on the one before it."""
    near, far = box(0.22, 0.0, 0.3), box(0.3, 0.1, 0.0, 0.02)
    alone = planned(CollisionWorld(cube_table()), near)
    planned(world, far)
    after = planned(world, near)
    assert alone.approach.positions.tobytes() == after.approach.positions.tobytes()
    assert alone.grasp == after.grasp


def lift_from(plan: GraspPlan, start: Command, lift_m: float = 0.06) -> Path:
    path = plan_lift(SO101, plan, start, lift_m, REACH)
    assert isinstance(path, Path), str(path)
    return path


def test_a_lift_starts_from_the_command_to_the_last_bit_and_goes_straight_up(
    plans: list[tuple[Belief, GraspPlan]],
) -> None:
    for _, plan in plans[:30]:
        for tick in (0, plan.seat.ticks // 2, plan.seat.ticks):
            start = plan.seat.positions[tick].copy()
            start[5] -= 0.2
            path = lift_from(plan, at_rest(start))
            assert path.positions[0].tobytes() == start.tobytes()
            assert check_path(path, SO101) is None
            points, _ = forward(path.positions, np.array(plan.grasp.tool_m))
            np.testing.assert_allclose(points[-1] - points[0], (0, 0, 0.06), atol=2e-5)
            assert np.abs(points[:, :2] - points[0, :2]).max() < 2e-5
            assert (path.positions[:, 5] == start[5]).all()


def test_a_lift_too_high_is_refused_with_the_reason(world: CollisionWorld) -> None:
    plan = planned(world, box(0.3, 0.0, 0.0))
    steep = ReachParameters(max_tilt_rad=0.0)
    path = plan_lift(SO101, dataclasses.replace(plan), at_rest(plan.descend.end), 0.4, steep)
    assert isinstance(path, Refusal)
    assert (path.stage, path.check) == ("lift", "reach")
    assert path.evidence
    assert not path.evidence[0].passed


def test_the_way_back_is_the_way_there_reversed(plans: list[tuple[Belief, GraspPlan]]) -> None:
    _, plan = plans[0]
    back = reversed_path(plan.descend)
    np.testing.assert_array_equal(back.positions, plan.descend.positions[::-1])
    np.testing.assert_array_equal(back.velocities, -plan.descend.velocities[::-1])
    assert check_path(back, SO101) is None
    twice = reversed_path(back)
    np.testing.assert_array_equal(twice.positions, plan.descend.positions)
    np.testing.assert_array_equal(twice.velocities, plan.descend.velocities)


def test_the_lean_of_the_jaws_is_their_angle_to_the_horizontal() -> None:
    random = np.random.default_rng(5)
    joints = random.uniform(LOWER, UPPER, (200, 6))
    _, rotation = forward(joints, np.zeros(3))
    np.testing.assert_allclose(ARM.jaw_lean_rad(joints), np.arcsin(np.abs(rotation[:, 2, 2])), atol=1e-7)


def test_the_tool_point_of_a_grasp_lies_between_the_jaws() -> None:
    """The tip is where the fixed finger ends."""
    assert pytest.approx(0.1044) == TIP_M
