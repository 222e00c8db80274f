"""The collision world finds what would touch, knows only what is believed, and leaves the shared model alone."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.kinematics.so101 import STRAIGHT_DOWN_RAD, solve
from graspline.motion.joint_moves import joint_move
from graspline.motion.path import at_rest
from graspline.perception.core.beliefs import Belief
from graspline.planning.collision import CLEARANCE_M, Collision, CollisionWorld
from graspline.robots.so101 import CAMERA_HOUSING, CAMERA_KEEPS_M, FIXED_FACE_M, HOME, SO101, TIP_M
from graspline.scenes.cube_table import CUBE, cube_table

Array = NDArray[np.float64]

TIP = np.array([TIP_M, 0.0, FIXED_FACE_M])


def believed(x: float = 0.25, y: float = 0.0, half: float | tuple[float, float, float] = 0.015) -> Belief:
    extents = np.broadcast_to(np.asarray(half, float), 3).copy()
    return Belief(
        name=CUBE,
        position_m=np.array([x, y, extents[2]]),
        quaternion=np.array([1.0, 0.0, 0.0, 0.0]),
        half_extents_m=extents,
        position_sigma_m=0.0,
        yaw_sigma_rad=0.0,
        time_s=0.0,
    )


def tip_at(x: float, y: float, z: float, *, yaw_rad: float = np.pi / 2, jaw_rad: float = 0.5) -> Array:
    """Joints that bring the fixed jaw's tip face there, pointing straight down."""
    joints, reached = solve(np.array([[x, y, z]]), STRAIGHT_DOWN_RAD, yaw_rad, TIP).best()
    assert reached[0]
    return np.append(joints[0], jaw_rad)


def world_with(*estimates: Belief) -> CollisionWorld:
    world = CollisionWorld(cube_table())
    world.place(estimates)
    return world


def hit(world: CollisionWorld, *poses: Array) -> Collision:
    found = world.first_collision(np.stack(poses))
    assert found is not None
    return found


def test_at_home_nothing_touches_anything() -> None:
    assert world_with(believed()).first_collision(HOME[None]) is None


def test_a_fingertip_in_the_table_is_found() -> None:
    found = hit(world_with(), tip_at(0.25, 0.0, -0.002))
    assert found.robot_part in ("fixed_pad_0", "moving_pad_0")
    assert found.touched == "table"
    (evidence,) = found.evidence
    assert evidence.value == pytest.approx(-0.002, abs=2e-3)
    assert evidence.limit == CLEARANCE_M
    assert not evidence.passed


@pytest.mark.parametrize(("height", "free"), [(0.0005, False), (0.0009, False), (0.0011, True), (0.005, True)])
def test_fingers_keep_their_clearance_from_the_table(height: float, free: bool) -> None:
    # The moving tip of an opened jaw is higher than the fixed one, so the fixed one decides.
    found = world_with().first_collision(tip_at(0.25, 0.0, height, jaw_rad=0.6)[None])
    assert (found is None) == free


def test_a_finger_in_the_cube_is_found() -> None:
    found = hit(world_with(believed()), tip_at(0.25, 0.0, 0.01))
    assert found.robot_part.startswith(("fixed_pad", "moving_pad"))
    assert found.touched == CUBE
    assert not found.evidence[0].passed


def test_a_cube_between_the_open_jaws_touches_neither() -> None:
    # The jaws open along y: the fixed face stands beside the cube's lower side.
    assert world_with(believed()).first_collision(tip_at(0.25, -0.018, 0.006, jaw_rad=0.5)[None]) is None


@pytest.mark.parametrize(("gap", "free"), [(0.0008, False), (0.0015, True)])
def test_fingers_keep_their_clearance_from_what_is_believed(gap: float, free: bool) -> None:
    found = world_with(believed()).first_collision(tip_at(0.25, -0.015 - gap, 0.006, jaw_rad=0.6)[None])
    assert (found is None) == free


@pytest.mark.parametrize(
    ("part", "pose"),
    [
        ("palm", [0.443, -0.406, 1.681, 1.595, 1.085, 1.074]),
        ("wrist_block", [1.752, 0.756, 1.393, 1.467, 1.737, 0.06]),
        ("fixed_pad_0", [1.559, -0.294, 0.917, 1.652, -2.304, 1.183]),
    ],
)
def test_the_arm_in_its_own_base_is_found(part: str, pose: list[float]) -> None:
    found = hit(world_with(), np.array(pose))
    assert {found.robot_part, found.touched} == {"base_block", part}


def camera_below(tip_m: float) -> Array:
    """Joints of a hand that leans by 50° with its camera underneath, 20 mm nearer to the table than its tip."""
    solved = solve(np.array([[0.36, 0.0, tip_m]]), np.radians(40.0), np.pi / 2, TIP, backwards=False)
    assert solved.reached[0, 0]
    return np.append(solved.joints_rad[0, 0], 0.4)


@pytest.mark.parametrize(("tip_m", "free"), [(0.028, True), (0.0255, True), (0.024, False), (0.020, False)])
def test_the_camera_keeps_farther_from_the_table_than_fingers_do(tip_m: float, free: bool) -> None:
    found = world_with().first_collision(camera_below(tip_m)[None])
    assert (found is None) == free
    if found is not None:
        assert (found.robot_part, found.touched) == (CAMERA_HOUSING, "table")
        assert found.evidence[0].limit == pytest.approx(CLEARANCE_M + CAMERA_KEEPS_M)
        assert not found.evidence[0].passed


def test_the_camera_keeps_as_far_from_what_is_believed() -> None:
    # A slab below the camera, well away from the fingers.
    pose, low = camera_below(0.06), 0.0402
    for gap, free in ((0.0045, False), (0.0056, True)):
        slab = believed(0.28, 0.0, (0.03, 0.03, (low - gap) / 2))
        found = world_with(slab).first_collision(pose[None])
        assert (found is None) == free
        assert found is None or found.robot_part == CAMERA_HOUSING


def test_without_a_clearance_a_camera_that_is_near_touches_nothing() -> None:
    tight = CollisionWorld(cube_table(), 0.0)
    tight.place(())
    assert tight.first_collision(camera_below(0.022)[None]) is None
    found = hit(tight, camera_below(0.015))
    assert found.robot_part == CAMERA_HOUSING
    assert found.evidence[0].limit == 0


def test_an_object_nobody_has_seen_is_not_there() -> None:
    pose = tip_at(0.25, 0.0, 0.01)
    world = world_with(believed())
    assert world.first_collision(pose[None]) is not None
    world.place(())
    assert world.first_collision(pose[None]) is None


def test_an_object_is_as_large_as_it_is_believed_to_be() -> None:
    world, beside = CollisionWorld(cube_table()), tip_at(0.25, -0.030, 0.006, jaw_rad=0.8)
    for half, free in ((0.015, True), (0.035, False), (0.020, True), ((0.015, 0.029, 0.015), False)):
        world.place((believed(half=half),))
        assert (world.first_collision(beside[None]) is None) == free


def test_an_object_is_where_it_is_believed_to_be() -> None:
    world, pose = CollisionWorld(cube_table()), tip_at(0.25, 0.0, 0.01)
    for y, free in ((0.0, False), (0.15, True), (0.0, False)):
        world.place((believed(y=y),))
        assert (world.first_collision(pose[None]) is None) == free


def test_the_first_of_many_poses_that_touches_is_named() -> None:
    down = [tip_at(0.25, 0.0, height) for height in (0.04, 0.02, 0.01, 0.0, -0.01)]
    found = hit(world_with(), *down)
    assert found.sample == 3
    assert "at sample 3" in str(found)


def test_a_path_through_the_cube_is_found_and_one_above_it_is_not() -> None:
    left, right = (joint_move(SO101, at_rest(HOME), tip_at(0.25, y, 0.01)).end for y in (-0.08, 0.08))
    through = joint_move(SO101, at_rest(left), right).positions
    assert hit(world_with(believed()), *through).touched == CUBE
    assert world_with().first_collision(through) is None


def test_the_clearance_is_a_choice() -> None:
    pose = tip_at(0.25, 0.0, 0.004, jaw_rad=0.6)[None]
    for clearance, free in ((0.001, True), (0.006, False)):
        world = CollisionWorld(cube_table(), clearance)
        world.place(())
        assert (world.first_collision(pose) is None) == free


def test_the_shared_model_is_left_as_it_was() -> None:
    model = cube_table().model
    before = model.geom_margin.copy(), model.geom_contype.copy(), model.geom_size.copy()
    world = world_with(believed(half=0.03))
    world.first_collision(HOME[None])
    for left, now in zip(before, (model.geom_margin, model.geom_contype, model.geom_size), strict=True):
        np.testing.assert_array_equal(left, now)


def test_a_robot_that_touches_nothing_is_not_disturbed_by_a_cube_on_the_table() -> None:
    """The cube rests on the table; only the robot's own contacts are asked for."""
    assert world_with(believed(half=0.02)).first_collision(np.stack([HOME] * 3)) is None


def test_nothing_of_the_arm_moves_farther_than_its_levers_say() -> None:
    model = SO101.model()
    data = mujoco.MjData(model)
    random = np.random.default_rng(0)
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])

    def points(joints: Array) -> Array:
        """Corners of the boxes around all geoms, in the world."""
        data.qpos[:] = joints
        mujoco.mj_kinematics(model, data)
        boxes = model.geom_aabb[:, None, :3] + model.geom_aabb[:, None, 3:] * corners
        turned = np.einsum("gij,gcj->gci", data.geom_xmat.reshape(-1, 3, 3), boxes)
        return data.geom_xpos[:, None] + turned

    for _ in range(300):
        joints = random.uniform(SO101.limits.lower, SO101.limits.upper)
        step = random.uniform(-1e-4, 1e-4, len(joints))
        moved = np.linalg.norm(points(joints + step) - points(joints), axis=-1).max()
        assert moved <= np.abs(step) @ SO101.levers_m * 1.001


def test_samples_of_a_path_lie_close_together_and_keep_both_ends() -> None:
    world = world_with()
    path = joint_move(SO101, at_rest(HOME), tip_at(0.25, 0.0, 0.05), speed=0.5)
    samples = world.samples(path.positions)
    assert np.array_equal(samples[0], path.positions[0])
    assert np.array_equal(samples[-1], path.end)
    assert len(samples) < len(path.positions)
    assert (np.abs(np.diff(samples, axis=0)) @ SO101.levers_m).max() < 0.05
