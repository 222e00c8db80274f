"""MuJoCo Warp's pictures against OpenGL's: the same geoms to a pixel, the same colours to a step.

On Warp's CPU device, where the first picture of a scene waits for its kernel to be compiled.
"""

from __future__ import annotations

from functools import cache

import mujoco
import numpy as np
import pytest

from graspline.episodes.scenario import Scenario
from graspline.errors import InputError
from graspline.gpu.looks import AppearanceRows, Singles
from graspline.gpu.renderer import WarpRenderer
from graspline.parameters import build
from graspline.rendering.choose import Renderer, gl_problem, open_renderer
from graspline.scenes.cube_table import cube_table
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Edit, Variation
from graspline.tasks.catalogue import TASKS, find_task
from rendering.render_cases import SHAPES, random_state, scene_of

pytestmark = pytest.mark.slow

WIDTH, HEIGHT, WORLDS = 320, 240, 2
SEEDS = range(100, 103)
# Every geom a colour of its own: six steps of 40 for each of red, green and blue, and white for none.
_STEPS, _STEP = 6, 40


@cache
def scenarios(task: str, textures: bool) -> tuple[Scenario, ...]:
    """Everything varies, patterns if asked for."""
    found = find_task(task)
    aspects = [aspect for aspect in found.randomization(found.parameters()).aspects if textures or aspect != "textures"]
    parameters = build(found.parameters, None, [f"randomize.{aspect}.on=true" for aspect in aspects])
    return tuple(Scenario(task=found, parameters=parameters, seed=seed) for seed in SEEDS)


def drawn(task: str, textures: bool = False) -> tuple[Scene, np.ndarray, list[Variation]]:
    """A scene and some starts of it, with the robot's joints turned a little."""
    draws = [scenario.sample() for scenario in scenarios(task, textures)]
    first = scenarios(task, textures)[0]
    scene = first.task.scene(first.parameters)
    qpos = np.stack([draw.start for draw in draws])
    random = np.random.default_rng(0)
    for joint in scene.robot.joints:
        low, high = scene.model.joint(joint).range
        at = scene.joint_address(joint)
        if high > low and scene.model.joint(joint).type == mujoco.mjtJoint.mjJNT_HINGE:
            qpos[:, at] = np.clip(qpos[:, at] + random.uniform(-1, 1, len(qpos)) * (high - low) / 8, low, high)
    return scene, qpos, [draw.variation for draw in draws]


def reference(scene: Scene) -> Renderer:
    """OpenGL without antialiasing."""
    if problem := gl_problem():
        pytest.skip(problem)
    return open_renderer(scene, WIDTH, HEIGHT, "gl", smooth=False)


def coloured_by_geom(looks: AppearanceRows, rows: Singles) -> Singles:
    """Rows with a colour for each geom, lit from everywhere alone."""
    rows = rows.copy()
    fields = {name: rows[:, place] for name, place in looks.places.items()}
    colours = fields["geom_rgba"].reshape(len(rows), -1, 4)
    geom = np.arange(colours.shape[1])
    digits = np.stack([geom % _STEPS, geom // _STEPS % _STEPS, geom // _STEPS**2], axis=1)
    # Half a step more, or rounding could take one away.
    colours[..., :3] = (_STEP * digits + 0.5) / 255
    fields["light_diffuse"][:] = fields["light_ambient"][:] = 0
    fields["light_ambient"][:, :3] = 1
    if "mat_emission" in fields:
        fields["mat_emission"][:] = 0
    rows[:, looks.backdrop] = 255
    return rows


def geoms(renderer: WarpRenderer, looks: AppearanceRows, qpos: np.ndarray, rows: Singles, camera: str) -> np.ndarray:
    """(n, H, W): the geom in each pixel, -1 for the background."""
    chunks = range(0, len(qpos), WORLDS)
    painted = coloured_by_geom(looks, rows)
    rgb = [renderer.render_looks(qpos[i : i + WORLDS], painted[i : i + WORLDS], camera).astype(int) for i in chunks]
    digits = np.concatenate(rgb) // _STEP
    return np.where(digits[..., 0] == _STEPS, -1, digits @ (1, _STEPS, _STEPS**2))


@pytest.mark.parametrize("task", TASKS)
def test_geoms_are_where_opengl_has_them(task: str) -> None:
    scene, qpos, variations = drawn(task)
    gl, looks = reference(scene), AppearanceRows(scene)
    renderer = WarpRenderer(scene, WIDTH, HEIGHT, WORLDS, "cpu")
    rows, which = looks.rows(variations)
    for camera in scene.cameras:
        by_warp = geoms(renderer, looks, qpos, rows[which], camera)
        by_gl = np.stack([gl.geoms(*each, camera) for each in zip(qpos, variations, strict=True)])
        # OpenGL's balls and cylinders have corners.
        assert np.mean(by_warp != by_gl) < 0.001
    gl.close()


@pytest.mark.parametrize(
    ("task", "textures", "share_within_2", "mean"),
    [
        ("lift-cube", False, 0.999, 0.6),
        ("oranges", False, 0.997, 0.6),
        ("grab", False, 0.999, 0.6),
        ("sort", False, 0.999, 0.6),
        ("lift-cube", True, 0.99, 0.6),
        ("oranges", True, 0.98, 0.6),
        ("grab", True, 0.99, 0.6),
        ("tidy", True, 0.90, 1.5),
    ],
)
def test_colours_are_those_of_opengl(task: str, textures: bool, share_within_2: float, mean: float) -> None:
    """Of 255. Patterns are not smoothed where they are finer than pixels; in `tidy` most surfaces wear one."""
    scene, qpos, variations = drawn(task, textures)
    gl, renderer = reference(scene), WarpRenderer(scene, WIDTH, HEIGHT, WORLDS, "cpu")
    for camera in scene.cameras:
        by_warp = renderer.render_many(qpos, variations, camera)
        by_gl = np.stack([gl.render(*each, camera).rgb for each in zip(qpos, variations, strict=True)])
        difference = np.abs(by_warp.astype(int) - by_gl)
        assert np.mean(difference.max(axis=-1) <= 2) > share_within_2
        assert difference.mean() < mean
    gl.close()


@pytest.mark.parametrize("camera", ["front", "inside"])
def test_every_shape_looks_the_same_even_from_inside_of_one(camera: str) -> None:
    scene = scene_of(SHAPES)
    start, gl = scene.model.qpos0, reference(scene)
    by_gl = gl.render(start, Variation(), camera).rgb
    by_warp = WarpRenderer(scene, WIDTH, HEIGHT, 1, "cpu").render_many(start[None], [Variation()], camera)[0]
    assert np.abs(by_warp.astype(int) - by_gl).mean() < 1
    gl.close()


@pytest.fixture(scope="module")
def cubes() -> WarpRenderer:
    return WarpRenderer(cube_table(), 64, 48, 3, "cpu")


def test_a_picture_does_not_depend_on_those_drawn_with_it(cubes: WarpRenderer) -> None:
    """Nor on what was drawn before, nor on the camera that was used then."""
    states = [random_state(seed) for seed in range(5)]
    qpos, variations = np.stack([state for state, _ in states]), [variation for _, variation in states]
    painted = Edit(field="geom_rgba", element="cube", values=(0.1, 0.9, 0.2, 1.0))
    variations[1] += Variation(edits=(painted,))
    together = cubes.render_many(qpos, variations, "front")
    cubes.render_many(qpos, variations, "wrist")
    alone = [cubes.render_many(qpos[i : i + 1], variations[i : i + 1], "front")[0] for i in (1, 4, 0, 2, 3)]
    assert together.shape == (5, 48, 64, 3)
    assert np.array_equal(together[[1, 4, 0, 2, 3]], np.stack(alone))


def test_a_batch_may_be_begun_before_the_last_ones_pictures_are_looked_at(cubes: WarpRenderer) -> None:
    states = [random_state(seed) for seed in range(3)]
    qpos, variations = np.stack([state for state, _ in states]), [variation for _, variation in states]
    rows, which = AppearanceRows(cube_table()).rows(variations)
    one = cubes.begin_looks(qpos, rows[which], "front")
    other = cubes.begin_looks(qpos[:2], rows[which[:2]], "wrist")
    found = one().copy(), other().copy()
    assert np.array_equal(found[0], cubes.render_many(qpos, variations, "front"))
    assert np.array_equal(found[1], cubes.render_many(qpos[:2], variations[:2], "wrist"))


def test_nothing_is_drawn_of_nothing(cubes: WarpRenderer) -> None:
    assert cubes.render_many(np.zeros((0, cube_table().model.nq)), [], "front").shape == (0, 48, 64, 3)


def test_wrong_states_and_cameras_are_refused(cubes: WarpRenderer) -> None:
    qpos, variation = random_state(1)
    with pytest.raises(InputError, match="13 coordinates"):
        cubes.render_many(qpos[None, :-1], [variation], "front")
    with pytest.raises(InputError, match="no camera 'frnt'; did you mean 'front'"):
        cubes.render_many(qpos[None], [variation], "frnt")
