"""A picture is a function of scene, variation, state and camera, and of nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.errors import InputError
from graspline.rendering.picture import pixel_rays
from graspline.scenes.cube_table import CUBE, cube_table, cube_variation
from graspline.scenes.variation import Edit, Variation
from graspline.spatial.rotations import rotate

from .render_cases import SHAPES, random_state, scene_of

KINDS = ("gl", "rays")
pytestmark = pytest.mark.parametrize("kind", KINDS)


def test_a_picture_does_not_depend_on_earlier_pictures(opened, kind):
    renderer = opened(kind, cube_table())
    (qpos_a, variation_a), (qpos_b, variation_b) = random_state(3), random_state(4)
    first = renderer.render(qpos_a, variation_a, "front").rgb
    other = renderer.render(qpos_b, variation_b, "wrist", shadows=True).rgb
    renderer.geoms(qpos_b, variation_b, "front")
    renderer.depth(qpos_b, variation_b, "front")
    assert not np.array_equal(first, other)
    assert np.array_equal(first, renderer.render(qpos_a, variation_a, "front").rgb)


def test_a_second_renderer_gives_the_same_picture(opened, kind):
    (qpos_a, variation_a), (qpos_b, variation_b) = random_state(5), random_state(6)
    used = opened(kind, cube_table())
    used.render(qpos_a, variation_a, "front")
    fresh = opened(kind, cube_table())
    assert np.array_equal(used.render(qpos_b, variation_b, "front").rgb, fresh.render(qpos_b, variation_b, "front").rgb)


def test_an_edit_that_the_next_variation_lacks_does_not_stay(opened, kind):
    renderer = opened(kind, cube_table())
    qpos, _ = random_state(3)
    plain = renderer.render(qpos, Variation(), "front").rgb
    blue = Variation(edits=(Edit(field="geom_rgba", element=CUBE, values=(0, 0, 1, 1)),))
    assert not np.array_equal(plain, renderer.render(qpos, blue, "front").rgb)
    assert np.array_equal(plain, renderer.render(qpos, Variation(), "front").rgb)


def test_a_backdrop_takes_the_colour_of_its_variation_and_gives_it_back(opened, kind):
    renderer = opened(kind, cube_table())
    qpos, _ = random_state(3)
    plain = renderer.render(qpos, Variation(), "front").rgb
    beyond = renderer.geoms(qpos, Variation(), "front") < 0
    pink = Variation(edits=(Edit(field="tex_rgb", element="backdrop", values=(230, 130, 150)),))
    shown = renderer.render(qpos, pink, "front").rgb
    assert (shown[beyond] == (230, 130, 150)).all(axis=1).mean() > 0.95
    assert np.array_equal(plain, renderer.render(qpos, Variation(), "front").rgb)


def test_half_the_light_from_everywhere_darkens_what_is_in_the_shade(opened, kind):
    renderer = opened(kind, cube_table())
    qpos, _ = random_state(3)
    dim = Variation(edits=(Edit(field="headlight_ambient", element="headlight", values=(0.19, 0.19, 0.19)),))
    plain, dimmed = (renderer.render(qpos, each, "front").rgb.astype(float) for each in (Variation(), dim))
    table = renderer.geoms(qpos, Variation(), "front") == cube_table().model.geom("table").id
    expected = 255 * 0.19 * cube_table().model.geom("table").rgba[:3]
    np.testing.assert_allclose(np.median((plain - dimmed)[table], axis=0), expected, atol=2)


def test_a_larger_cube_covers_more_pixels(opened, kind):
    scene = cube_table()
    renderer = opened(kind, scene)
    qpos, _ = random_state(3)
    cube = scene.model.geom(CUBE).id
    pixels = []
    for edge_m in (0.02, 0.03, 0.04):
        variation = cube_variation(edge_m=edge_m, mass_kg=0.03, pad_friction=1)
        pixels.append(np.sum(renderer.geoms(qpos, variation, "front") == cube))
    assert pixels[0] < pixels[1] < pixels[2]


def test_a_plane_takes_the_size_of_its_variation(opened, kind):
    scene = scene_of(SHAPES)
    renderer = opened(kind, scene)
    table = scene.model.geom("table").id
    small = Variation(edits=(Edit(field="geom_size", element="table", values=(0.2, 0.15, 0.05)),))
    whole = np.sum(renderer.geoms(scene.model.qpos0, Variation(), "front") == table)
    assert np.sum(renderer.geoms(scene.model.qpos0, small, "front") == table) < 0.5 * whole
    assert np.sum(renderer.geoms(scene.model.qpos0, Variation(), "front") == table) == whole


def test_collision_shapes_and_markers_are_hidden(opened, kind):
    scene = scene_of(SHAPES)
    seen = np.unique(opened(kind, scene).geoms(scene.model.qpos0, Variation(), "front"))
    assert set(scene.model.geom_group[seen[seen >= 0]]) == {0}
    assert scene.model.geom("hull").id not in seen


def test_depths_times_pixel_rays_lie_on_the_surfaces_they_show(opened, kind):
    """Ties depth, camera pose and field of view together: pixels of the cube are points of the cube."""
    scene = cube_table()
    renderer = opened(kind, scene)
    qpos, _ = random_state(3)
    edge = 0.04
    at = scene.joint_address(CUBE)
    qpos[at : at + 7] = (0.3, 0.1, edge / 2, 1, 0, 0, 0)
    variation = cube_variation(edge_m=edge, mass_kg=0.03, pad_friction=1)
    picture = renderer.render(qpos, variation, "front")
    shown = renderer.geoms(qpos, variation, "front") == scene.model.geom(CUBE).id
    depth = renderer.depth(qpos, variation, "front")[shown].astype(float)
    rays = pixel_rays(picture.width, picture.height, picture.fovy_rad)[shown]
    points = picture.position_m + rotate(picture.rotation, depth[:, None] * rays)
    beyond = np.abs(points - (0.3, 0.1, edge / 2)).max(axis=1) - edge / 2
    assert shown.sum() > 100
    assert np.abs(beyond).max() < 1e-4


def test_an_unknown_camera_is_answered_with_the_known_ones(opened, kind):
    qpos, variation = random_state(0)
    with pytest.raises(InputError, match="no camera 'wrst'; did you mean 'wrist'"):
        opened(kind, cube_table()).render(qpos, variation, "wrst")


def test_a_state_of_the_wrong_size_is_refused(opened, kind):
    _, variation = random_state(0)
    with pytest.raises(InputError, match=r"has 13 coordinates, got qpos \(5,\)"):
        opened(kind, cube_table()).render(np.zeros(5), variation, "front")
