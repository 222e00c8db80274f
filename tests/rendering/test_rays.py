"""Rays against OpenGL: the same geoms, depths and colours."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.errors import WiringError
from graspline.rendering.rays import RayRenderer
from graspline.scenes.cube_table import cube_table
from graspline.scenes.scene import Scene
from graspline.scenes.textures import PATTERNS
from graspline.scenes.variation import Edit, Variation

from .render_cases import SHAPES, random_state, scene_of

LENS_IN_CASE = """
<mujoco>
  <asset>
    <mesh name="hand" inertia="shell"
      vertex="-.1 -.1 .45  .1 -.1 .45  0 .1 .45  0 0 .65   -.1 -.1 .15  .1 -.1 .15  0 .1 .15  0 0 .25"
      face="0 2 1  0 1 3  1 2 3  2 0 3   4 6 5  4 5 7  5 6 7  6 4 7"/>
  </asset>
  <worldbody>
    <light type="directional" dir="0 0 -1"/>
    <camera name="lens" pos="0 0 .5" fovy="60"/>
    <geom name="table" type="plane" size="1 1 .1"/>
    <geom name="hand" type="mesh" mesh="hand"/>
  </worldbody>
</mujoco>
"""
CAMERAS = ("front", "wrist")
SKY = '<texture type="skybox" builtin="gradient" rgb1="1 0 0" rgb2="0 0 1" width="8" height="48"/>'


def colour_error(a, b) -> float:
    return float(np.abs(a.rgb.astype(float) - b.rgb).mean())


@pytest.mark.parametrize("camera", CAMERAS)
@pytest.mark.parametrize("seed", range(5))
def test_both_renderers_show_the_same_geom_on_99_percent_of_pixels(opened, camera, seed):
    scene = cube_table()
    qpos, variation = random_state(seed)
    by_gl = opened("gl", scene).geoms(qpos, variation, camera)
    by_rays = opened("rays", scene).geoms(qpos, variation, camera)
    assert np.mean(by_gl == by_rays) >= 0.99


@pytest.mark.parametrize("camera", CAMERAS)
@pytest.mark.parametrize("seed", range(5))
def test_colours_differ_by_at_most_10_of_255_on_average(opened, camera, seed):
    scene = cube_table()
    qpos, variation = random_state(seed)
    by_gl = opened("gl", scene).render(qpos, variation, camera)
    by_rays = opened("rays", scene).render(qpos, variation, camera)
    assert colour_error(by_gl, by_rays) <= 10


def test_shadows_fall_on_the_same_pixels(opened):
    scene = cube_table()
    qpos, variation = random_state(1)
    gl, rays = opened("gl", scene), opened("rays", scene)
    dark = [
        renderer.render(qpos, variation, "front").rgb.mean(axis=2)
        - renderer.render(qpos, variation, "front", shadows=True).rgb.mean(axis=2)
        > 20
        for renderer in (gl, rays)
    ]
    assert dark[0].mean() > 0.01
    assert np.sum(dark[0] & dark[1]) > 0.8 * np.sum(dark[0] | dark[1])


def test_flat_surfaces_have_the_same_colour_to_one_step(opened):
    """Away from outlines, where only OpenGL smooths, there is nothing left to differ."""
    scene = cube_table()
    qpos, variation = random_state(1)
    gl, rays = opened("gl", scene), opened("rays", scene)
    flat = [scene.model.geom("table").id, scene.model.geom("cube").id, -1]
    geoms = gl.geoms(qpos, variation, "front")
    inner = np.isin(geoms, flat)
    for axis in (0, 1):
        for step in (-1, 1):
            inner &= np.roll(geoms, step, axis) == geoms
    difference = np.abs(gl.render(qpos, variation, "front").rgb.astype(int) - rays.render(qpos, variation, "front").rgb)
    assert inner.mean() > 0.5
    # Not all: within the cube, its edges are outlines too.
    assert np.mean(difference[inner] <= 1) > 0.998


@pytest.mark.parametrize("camera", CAMERAS)
def test_depths_agree_to_a_millimetre_and_the_background_is_infinitely_far(opened, camera):
    scene = cube_table()
    qpos, variation = random_state(2)
    gl, rays = opened("gl", scene), opened("rays", scene)
    a, b = gl.depth(qpos, variation, camera), rays.depth(qpos, variation, camera)
    seen = rays.geoms(qpos, variation, camera) >= 0
    assert a.dtype == b.dtype == np.float32
    assert np.array_equal(np.isfinite(b), seen)
    assert np.mean(np.isfinite(a) == np.isfinite(b)) > 0.999
    near = seen & np.isfinite(a)
    assert np.mean(np.abs(a[near] - b[near]) < 1e-3) > 0.99


@pytest.mark.parametrize("camera", ["front", "inside"])
def test_every_shape_looks_the_same_even_from_inside_of_one(opened, camera):
    scene = scene_of(SHAPES)
    gl, rays = opened("gl", scene), opened("rays", scene)
    start = (scene.model.qpos0, Variation(), camera)
    assert np.mean(gl.geoms(*start) == rays.geoms(*start)) >= 0.99
    assert colour_error(gl.render(*start), rays.render(*start)) <= 2


def test_a_lens_sees_past_the_part_it_sits_in_and_the_rest_of_that_mesh(opened):
    """One mesh holds the camera's case and a finger in front of it, as the wrist camera's does."""
    scene = scene_of(LENS_IN_CASE)
    start = (scene.model.qpos0, Variation(), "lens")
    by_rays = opened("rays", scene).geoms(*start)
    assert set(np.unique(by_rays)) == {scene.model.geom("table").id, scene.model.geom("hand").id}
    assert np.mean(opened("gl", scene).geoms(*start) == by_rays) >= 0.99


def test_looking_from_inside_leaves_the_model_as_it_was(opened):
    scene = scene_of(SHAPES)
    rays = opened("rays", scene)
    before = rays.geoms(scene.model.qpos0, Variation(), "front")
    rays.geoms(scene.model.qpos0, Variation(), "inside")
    assert np.array_equal(before, rays.geoms(scene.model.qpos0, Variation(), "front"))


def test_what_rays_would_draw_differently_is_refused_all_at_once():
    glassy = SHAPES.replace('rgba="1 0 0 1"', 'rgba="1 0 0 .5"')
    with pytest.raises(WiringError, match="lights that are not directional and translucent geoms"):
        RayRenderer(scene_of(glassy.replace("<light ", '<light type="spot"/><light ', 1)), 32, 24)


def patterned(scene: Scene, surface: str, pattern: str) -> Variation:
    worn = float(scene.model.material(f"{surface}/{pattern}").id)
    return Variation(edits=(Edit(field="geom_matid", element=surface, values=(worn,)),))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_patterned_table_has_by_rays_the_mean_colour_it_has_by_opengl(opened, pattern):
    scene = cube_table()
    qpos, _ = random_state(1)
    variation = patterned(scene, "table", pattern)
    gl, rays = opened("gl", scene), opened("rays", scene)
    table = rays.geoms(qpos, variation, "front") == scene.model.geom("table").id
    by_gl, by_rays = (each.render(qpos, variation, "front").rgb[table].astype(float) for each in (gl, rays))
    assert np.ptp(by_rays, axis=0).max() == 0
    assert by_gl.std(axis=0).max() > 2
    # Within what differs between the part of the pattern that is seen and the whole of it.
    np.testing.assert_allclose(by_rays.mean(axis=0), by_gl.mean(axis=0), atol=6)


def test_a_pattern_nobody_wears_changes_no_picture(opened):
    scene = cube_table()
    qpos, _ = random_state(1)
    rays = opened("rays", scene)
    plain = rays.render(qpos, Variation(), "front").rgb
    assert not np.array_equal(plain, rays.render(qpos, patterned(scene, "table", "checks"), "front").rgb)
    assert np.array_equal(plain, rays.render(qpos, Variation(), "front").rgb)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (('rgba="1 0 0 1"', 'rgba="1 0 0 .5"'), "translucent"),
        (('contype="1073741824"', 'contype="0"'), "without a contact bit"),
        (("<asset>", f"<asset>{SKY}"), "backdrop"),
    ],
)
def test_scenes_that_rays_cannot_draw_faithfully_are_refused(change, complaint):
    with pytest.raises(WiringError, match=complaint):
        RayRenderer(scene_of(SHAPES.replace(*change)), 32, 24)
