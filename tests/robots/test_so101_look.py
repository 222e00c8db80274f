"""What is seen of the arm: cheap to draw, out of the way of physics, and true to what touches."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.robots.robot import VISUAL_CONTYPE
from graspline.robots.so101 import (
    CAMERA_HOUSING,
    FIXED_FINGER,
    HOME,
    JOINTS,
    LOWER,
    MOVING_FINGER,
    UPPER,
    FingerStep,
    add_so101,
)
from graspline.robots.so101_look import HOUSING_MM

Array = NDArray[np.float64]
VISIBLE = 2
WIDTH, HEIGHT = 640, 480


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    add_so101(spec)
    return spec.compile()


@pytest.fixture
def at_home(model: mujoco.MjModel) -> mujoco.MjData:
    data = mujoco.MjData(model)
    for joint, angle in zip(JOINTS, HOME, strict=True):
        data.joint(joint).qpos[0] = angle
    mujoco.mj_forward(model, data)
    return data


def triangles(model: mujoco.MjModel, geom: int) -> int:
    """How many triangles MuJoCo's renderer draws for a geom."""
    slices, stacks = model.vis.quality.numslices, model.vis.quality.numstacks
    kind = mujoco.mjtGeom
    match int(model.geom_type[geom]):
        case kind.mjGEOM_MESH.value:
            return int(model.mesh_facenum[model.geom_dataid[geom]])
        case kind.mjGEOM_BOX.value:
            return 12
        case kind.mjGEOM_SPHERE.value | kind.mjGEOM_CAPSULE.value | kind.mjGEOM_CYLINDER.value:
            # Round about and from pole to pole; a cylinder's lids are fans of rings.
            return 2 * slices * stacks
        case other:
            raise AssertionError(f"no triangle count for geoms of type {other}")


def visible(model: mujoco.MjModel) -> NDArray[np.intp]:
    return np.flatnonzero(model.geom_group == VISIBLE)


def test_the_whole_arm_is_under_five_thousand_triangles(model: mujoco.MjModel) -> None:
    assert sum(triangles(model, geom) for geom in visible(model)) < 5000


def test_every_link_is_seen(model: mujoco.MjModel) -> None:
    seen = {model.body(int(model.geom_bodyid[geom])).name for geom in visible(model)}
    assert seen == {"base", "shoulder", "upper_arm", "lower_arm", "wrist", "gripper", "moving_jaw"}


def test_rays_see_the_visible_parts_and_nothing_collides_with_them(model: mujoco.MjModel) -> None:
    seen = visible(model)
    assert np.all(model.geom_contype[seen] == VISUAL_CONTYPE)
    assert np.all(model.geom_conaffinity & VISUAL_CONTYPE == 0)
    assert np.all(model.geom_conaffinity[seen] == 0)


def test_looks_weigh_nothing() -> None:
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    add_so101(spec)
    assert all(geom.mass == 0 for geom in spec.geoms if geom.group == VISIBLE)
    dressed = spec.compile()
    for geom in list(spec.geoms):
        if geom.group == VISIBLE:
            spec.delete(geom)
    bare = spec.compile()
    np.testing.assert_array_equal(dressed.body_mass, bare.body_mass)
    np.testing.assert_array_equal(dressed.body_inertia, bare.body_inertia)
    np.testing.assert_array_equal(dressed.body_ipos, bare.body_ipos)


def test_the_housing_of_the_wrist_camera_is_behind_its_lens_and_as_large_as_it_looks(
    model: mujoco.MjModel, at_home: mujoco.MjData
) -> None:
    housing, camera = at_home.geom(CAMERA_HOUSING), at_home.camera("wrist")
    depth, width = (size * 1e-3 for size in HOUSING_MM)
    np.testing.assert_allclose(2 * model.geom(CAMERA_HOUSING).size, (depth, width, width))
    # A camera looks along its -z.
    ahead = -camera.xmat.reshape(3, 3)[:, 2]
    np.testing.assert_allclose(housing.xpos, camera.xpos - depth / 2 * ahead, atol=1e-9)
    np.testing.assert_allclose(housing.xmat.reshape(3, 3)[:, 0], ahead, atol=1e-9)
    groups, hit = np.zeros(6, np.uint8), np.zeros(1, np.int32)
    groups[VISIBLE] = 1
    axes = housing.xmat.reshape(3, 3)
    for side in (1, -1):
        for axis in (1, 2):
            # From outside along each side of the board at its back, towards its middle.
            start = camera.xpos - 0.01 * ahead + side * 0.03 * axes[:, axis]
            length = mujoco.mj_ray(model, at_home, start, -side * axes[:, axis], groups, 1, -1, hit)
            assert model.body(int(model.geom_bodyid[hit[0]])).name == "gripper"
            assert 0.03 - length >= width / 2 - 1e-3


def test_the_wrist_cameras_housing_touches_the_table(model: mujoco.MjModel) -> None:
    assert model.geom(CAMERA_HOUSING).contype[0] == 1
    assert model.geom(CAMERA_HOUSING).conaffinity[0] == 1


def seen_height(
    model: mujoco.MjModel, data: mujoco.MjData, body: str, start_mm: tuple[float, float, float], down: float
) -> float:
    """Where, in mm along the body's z axis, a ray from `start_mm` along ±z first meets something visible."""
    pose, start = data.body(body), np.array(start_mm) * 1e-3
    rotation = pose.xmat.reshape(3, 3)
    groups = np.zeros(6, np.uint8)
    groups[VISIBLE] = 1
    direction = rotation @ np.array([0, 0, down])
    hit = np.zeros(1, np.int32)
    length = mujoco.mj_ray(model, data, pose.xpos + rotation @ start, direction, groups, 1, -1, hit)
    assert hit[0] >= 0, f"nothing is seen from {start_mm} of {body}"
    return start_mm[2] + down * 1e3 * length


@pytest.mark.parametrize(
    ("body", "step", "outward"),
    [("gripper", step, -1.0) for step in FIXED_FINGER] + [("moving_jaw", step, 1.0) for step in MOVING_FINGER],
)
def test_the_inner_face_that_is_seen_is_the_one_that_touches(
    model: mujoco.MjModel, at_home: mujoco.MjData, body: str, step: FingerStep, outward: float
) -> None:
    for along in np.linspace(step.near + 0.5, step.far - 0.5, 5):
        for aside in (-0.5, 0.0, 0.5):
            start = (float(along), aside * step.half_width, step.inner - outward * 3.0)
            assert seen_height(model, at_home, body, start, outward) == pytest.approx(step.inner, abs=1.0)


def test_home_is_well_inside_the_limits_and_touches_nothing(at_home: mujoco.MjData) -> None:
    assert at_home.ncon == 0
    assert np.all(HOME > LOWER + 0.2)
    assert np.all(HOME < UPPER - 0.2)


def test_home_holds_the_tool_in_front_of_the_base_above_the_table(at_home: mujoco.MjData) -> None:
    x, y, z = at_home.site("tool").xpos
    assert 0.18 < x < 0.23
    assert abs(y) < 0.02
    assert 0.11 < z < 0.16


def pixel(model: mujoco.MjModel, data: mujoco.MjData, point_W: Array) -> Array:
    """Column and row of a world point in the wrist camera's 640×480 picture."""
    camera = data.camera("wrist")
    x, y, z = camera.xmat.reshape(3, 3).T @ (point_W - camera.xpos)
    assert z < 0, "the point is behind the camera"
    focal = HEIGHT / 2 / np.tan(np.radians(model.camera("wrist").fovy[0]) / 2)
    return np.array([WIDTH / 2 + focal * x / -z, HEIGHT / 2 - focal * y / -z])


def seen_at(model: mujoco.MjModel, data: mujoco.MjData, point_W: Array) -> str:
    """The body that the wrist camera sees in the direction of a point."""
    eye, groups, hit = data.camera("wrist").xpos, np.zeros(6, np.uint8), np.zeros(1, np.int32)
    groups[VISIBLE] = 1
    mujoco.mj_ray(model, data, eye, point_W - eye, groups, 1, -1, hit)
    return model.body(int(model.geom_bodyid[hit[0]])).name


@pytest.mark.parametrize("jaw_rad", [-0.1, 0.3, 0.7])
def test_the_wrist_camera_sees_both_fingertips(model: mujoco.MjModel, at_home: mujoco.MjData, jaw_rad: float) -> None:
    at_home.joint("gripper").qpos[0] = jaw_rad
    mujoco.mj_forward(model, at_home)
    columns = []
    for body, tip in (("gripper", FIXED_FINGER[0]), ("moving_jaw", MOVING_FINGER[0])):
        pose = at_home.body(body)
        middle = np.array([tip.far - 2.0, 0.0, (tip.inner + tip.outer) / 2]) * 1e-3
        point = pose.xpos + pose.xmat.reshape(3, 3) @ middle
        column, row = pixel(model, at_home, point)
        assert 0.03 * WIDTH < column < 0.97 * WIDTH
        assert 0.03 * HEIGHT < row < 0.97 * HEIGHT
        assert seen_at(model, at_home, point) == body
        columns.append(column)
    assert columns[0] < columns[1], "the moving jaw is on the right of the picture"
