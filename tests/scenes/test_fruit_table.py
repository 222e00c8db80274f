"""Oranges, blocks and a plate on a table: they stay where they are put, roll, slide and come to rest."""

from __future__ import annotations

import copy

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from graspline.kinematics.so101 import PAN_X_M, STRAIGHT_DOWN_RAD, solve
from graspline.rendering.rays import RayRenderer
from graspline.robots.so101 import FIXED_FACE_M, HOME, LOWER, PAD_GEOMS, TIP_M, UPPER
from graspline.scenes.distractors import distractor_name
from graspline.scenes.fruit_table import (
    FLOOR_M,
    PLATE,
    PLATE_KG,
    RIM_TOP_M,
    Lying,
    fruit_start,
    fruit_table,
    fruit_variation,
    orange_name,
)
from graspline.scenes.scene import Scene
from graspline.scenes.variation import apply_to_model

Array = NDArray[np.float64]

RADIUS_M = 0.105
PLATE_XY = (0.05, 0.27)
SCENE = fruit_table(3, RADIUS_M, 2, False)
OVAL = fruit_table(2, RADIUS_M, 0, True)


def orange(x_m: float, y_m: float, half_m: float | tuple[float, float, float] = 0.03, mass_kg: float = 0.12) -> Lying:
    half = half_m if isinstance(half_m, tuple) else (half_m, half_m, half_m)
    return Lying(x_m=x_m, y_m=y_m, half_extents_m=half, mass_kg=mass_kg)


def block(x_m: float, y_m: float) -> Lying:
    return Lying(x_m=x_m, y_m=y_m, half_extents_m=(0.012, 0.018, 0.015), mass_kg=0.05, yaw_rad=0.7)


THINGS = {
    "orange_1": orange(0.25, 0.05, 0.025),
    "orange_2": orange(0.2, -0.2, 0.035),
    "orange_3": orange(0.3, -0.08, 0.03),
    "block_1": block(0.22, -0.05),
    "block_2": block(0.35, 0.1),
}


class World:
    """The scene in physics, the arm at home."""

    def __init__(self, scene: Scene, things: dict[str, Lying], on_plate: tuple[str, ...] = ()) -> None:
        self.model = copy.copy(scene.model)
        apply_to_model(self.model, fruit_variation(things, 1.0))
        self.data = mujoco.MjData(self.model)
        self.data.qpos[:] = fruit_start(scene, things, PLATE_XY)
        for name in on_plate:
            self.data.qpos[scene.joint_address(name) + 2] += FLOOR_M
        self.data.act[:] = self.data.ctrl[:] = HOME
        mujoco.mj_forward(self.model, self.data)

    def pass_s(self, seconds: float) -> None:
        for _ in range(round(seconds / self.model.opt.timestep)):
            mujoco.mj_step(self.model, self.data)

    def push(self, name: str, force_n: float, seconds: float) -> None:
        self.data.xfrc_applied[self.model.body(name).id, 0] = force_n
        self.pass_s(seconds)
        self.data.xfrc_applied[:] = 0

    def place(self, name: str) -> Array:
        return self.data.body(name).xpos.copy()

    def speed(self, name: str) -> float:
        at = int(self.model.joint(name).dofadr[0])
        return float(np.linalg.norm(self.data.qvel[at : at + 3]))


def test_things_rest_where_they_are_put() -> None:
    world = World(SCENE, THINGS)
    before = {name: world.place(name) for name in (*THINGS, PLATE)}
    for name, thing in THINGS.items():
        np.testing.assert_allclose(before[name], [thing.x_m, thing.y_m, thing.half_extents_m[2]])
    world.pass_s(1.0)
    for name, at in before.items():
        assert np.linalg.norm(world.place(name) - at) < 5e-4, name
        assert world.speed(name) < 1e-3


def test_an_orange_on_the_plate_rests_on_its_floor() -> None:
    x, y = PLATE_XY
    world = World(SCENE, {"orange_1": orange(x + 0.05, y, 0.03)}, on_plate=("orange_1",))
    world.pass_s(1.0)
    assert np.linalg.norm(world.place("orange_1") - [x + 0.05, y, FLOOR_M + 0.03]) < 5e-4


def test_a_shoved_orange_rolls_and_comes_to_rest() -> None:
    world = World(SCENE, {"orange_1": orange(0.25, -0.1)})
    before, heading = world.place("orange_1"), world.data.body("orange_1").xmat.copy()
    world.push("orange_1", 0.3, 0.1)
    assert world.speed("orange_1") > 0.1
    world.pass_s(3.0)
    way = world.place("orange_1") - before
    assert 0.02 < way[0] < 0.6
    assert abs(way[1]) < 0.01
    assert world.speed("orange_1") < 0.005
    # It rolled, it did not slide.
    assert np.abs(world.data.body("orange_1").xmat - heading).max() > 0.3
    assert world.place("orange_1")[2] == pytest.approx(0.03, abs=2e-4)


def test_a_plate_can_be_pushed_and_comes_to_rest() -> None:
    world = World(SCENE, {})
    before = world.place(PLATE)
    world.push(PLATE, 4.0, 0.1)
    world.pass_s(0.5)
    moved = world.place(PLATE) - before
    assert 0.005 < moved[0] < 0.2
    assert world.speed(PLATE) < 1e-3
    assert abs(moved[2]) < 1e-3


def test_a_plate_does_not_slide_from_a_touch() -> None:
    world = World(SCENE, {})
    before = world.place(PLATE)
    world.push(PLATE, 1.0, 0.5)
    assert np.linalg.norm(world.place(PLATE) - before) < 1e-3


def test_a_plate_is_round_with_a_rim_and_weighs_what_it_says() -> None:
    model = SCENE.model
    assert float(model.body(PLATE).subtreemass[0]) == pytest.approx(PLATE_KG)
    (place,) = SCENE.places
    assert (place.name, place.radius_m, place.floor_m) == (PLATE, RADIUS_M, FLOOR_M)
    world = World(SCENE, {})
    rims = [index for index in range(model.ngeom) if model.geom(index).name.startswith(f"{PLATE}_rim")]
    for index in rims:
        middle = world.data.geom_xpos[index] - world.place(PLATE)
        assert np.hypot(*middle[:2]) < RADIUS_M
        assert middle[2] + model.geom_size[index, 0] == pytest.approx(RIM_TOP_M)


@pytest.mark.parametrize("camera", ["front", "wrist"])
def test_what_is_parked_is_out_of_both_cameras_sight(camera: str) -> None:
    scene = fruit_table(6, RADIUS_M, 4, False, 8)
    loose = {scene.model.geom(name).id for name in (*scene.object_names, PLATE)}
    # As wide as pictures get.
    renderer = RayRenderer(scene, 192, 108)
    parked, plain = fruit_start(scene, {}, None), fruit_variation({}, 1.0)
    for joints in leaning_poses(60):
        parked[:6] = joints
        assert not loose & set(np.unique(renderer.geoms(parked, plain, camera)).tolist()), joints
    shown = fruit_start(scene, {"orange_1": orange(0.25, 0.0)}, PLATE_XY)
    shown[:6] = hand_over(0.25, 0.0)
    seen = set(np.unique(renderer.geoms(shown, plain, camera)).tolist())
    assert scene.model.geom("orange_1").id in seen


def hand_over(x_m: float, y_m: float, height_m: float = 0.14, tilt_rad: float = 0.3, turn_rad: float = 0.0) -> Array:
    """Joints with the hand above a place, leaning outward and turned about its approach axis."""
    azimuth = np.arctan2(y_m, x_m - PAN_X_M)
    pose = np.array([[x_m, y_m, height_m]]), np.array([STRAIGHT_DOWN_RAD - tilt_rad]), np.array([azimuth + turn_rad])
    solved = solve(*pose, np.array([TIP_M, 0.0, FIXED_FACE_M]))
    return np.append(solved.joints_rad[0, int(np.argmax(solved.reached[0, :2]))], 0.5)


def leaning_poses(count: int) -> list[Array]:
    """Poses in which the hand works, anywhere around the arm, and home turned every way."""
    random = np.random.default_rng(5)
    found = []
    while len(found) < count:
        radius, azimuth = random.uniform(0.14, 0.4), random.uniform(-1.8, 1.8)
        x, y = PAN_X_M + radius * np.cos(azimuth), radius * np.sin(azimuth)
        joints = hand_over(x, y, random.uniform(0.03, 0.14), random.uniform(0, 1.05), random.uniform(-np.pi, np.pi))
        if (joints > LOWER).all() and (joints < UPPER).all():
            found.append(joints)
    for pan in np.linspace(LOWER[0], UPPER[0], 7):
        found.append(np.array([pan, *HOME[1:]]))
    return found


def test_parked_things_stay_where_they_are_and_apart() -> None:
    scene = fruit_table(2, RADIUS_M, 1, False, 6)
    world = World(scene, {"orange_1": orange(0.25, 0.0)})
    names = [name for name in scene.object_names if name != "orange_1"]
    before = {name: world.place(name) for name in names}
    world.pass_s(0.5)
    places = np.array([world.place(name) for name in names])
    for name in names:
        assert np.linalg.norm(world.place(name) - before[name]) < 1e-3
    apart = np.linalg.norm(places[:, None] - places[None], axis=-1) + np.eye(len(names))
    assert apart.min() > 0.2


def test_a_variation_gives_size_mass_and_friction() -> None:
    world = World(SCENE, THINGS)
    for name, thing in THINGS.items():
        assert world.model.geom(name).size[0] == thing.half_extents_m[0]
        assert float(world.model.body(name).mass[0]) == thing.mass_kg
    ball = world.model.body("orange_1")
    np.testing.assert_allclose(ball.inertia, 0.4 * 0.12 * 0.025**2)
    rough = fruit_variation({"orange_1": THINGS["orange_1"]}, 0.7)
    apply_to_model(world.model, rough)
    assert {float(world.model.geom(pad).friction[0]) for pad in PAD_GEOMS} == {0.7}
    assert rough.described == {"pad_friction": 0.7, "orange_1.mass_kg": 0.12}


def test_an_orange_may_be_off_round_and_still_rests() -> None:
    half = (0.031, 0.029, 0.0295)
    world = World(OVAL, {"orange_1": orange(0.25, 0.05, half)})
    np.testing.assert_array_equal(world.model.geom("orange_1").size, half)
    before = world.place("orange_1")
    assert before[2] == half[2]
    world.pass_s(2.0)
    assert world.speed("orange_1") < 0.005
    assert np.linalg.norm(world.place("orange_1") - before) < 0.01


def test_round_oranges_are_spheres_and_others_are_not() -> None:
    kinds = [int(scene.model.geom("orange_1").type[0]) for scene in (SCENE, OVAL)]
    assert kinds == [int(mujoco.mjtGeom.mjGEOM_SPHERE), int(mujoco.mjtGeom.mjGEOM_ELLIPSOID)]


def test_the_scene_names_what_is_in_it() -> None:
    scene = fruit_table(2, None, 1, False, 1)
    assert scene.object_names == ("orange_1", "orange_2", "stranger_1", "block_1")
    assert scene.places == ()
    assert (orange_name(0), distractor_name(1)) == ("orange_1", "block_2")
    assert {each.shape for each in scene.objects if "block" not in each.name} == {"ball"}


def test_a_scene_is_compiled_once_for_the_same_contents() -> None:
    assert fruit_table(3, RADIUS_M, 2, False) is SCENE
    assert fruit_table(3, RADIUS_M, 1, False) is not SCENE
