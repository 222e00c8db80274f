from __future__ import annotations

import numpy as np
import pytest

from graspline.rendering.choose import gl_problem
from graspline.rendering.film_look import dressed
from graspline.rendering.framing import Viewpoint
from graspline.rendering.gl import GlRenderer
from graspline.scenes.cube_table import cube_table
from graspline.scenes.variation import Edit, Variation

VIEW = Viewpoint(target_m=(0.15, 0.0, 0.1), distance_m=0.9, azimuth_rad=2.6, elevation_rad=-0.4, fovy_rad=0.5)

needs_gl = pytest.mark.skipif(gl_problem() is not None, reason="needs OpenGL")


@needs_gl
def test_pictures_of_datasets_keep_every_bit_when_a_film_is_rendered_of_their_scene() -> None:
    scene = cube_table()
    start = scene.start({"cube": (np.array([0.2, 0.0, 0.02]), np.array([1.0, 0, 0, 0]))})
    before = scene.model.tex_data.copy(), scene.model.light_dir.copy(), scene.model.geom_matid.copy()
    with GlRenderer(scene, 160, 120) as renderer:
        plain = renderer.render(start, Variation(), "front").rgb
        with GlRenderer(dressed(scene, VIEW), 160, 120, smooth=False) as film:
            shown = film.render(start, Variation(), VIEW, shadows=True).rgb
        again = renderer.render(start, Variation(), "front").rgb
    with GlRenderer(scene, 160, 120) as renderer:
        anew = renderer.render(start, Variation(), "front").rgb
    assert np.array_equal(plain, again)
    assert np.array_equal(plain, anew)
    assert not np.array_equal(plain, shown)
    after = scene.model.tex_data, scene.model.light_dir, scene.model.geom_matid
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))


def test_a_film_has_one_lamp_that_casts_shadows_and_it_comes_from_above() -> None:
    model = dressed(cube_table(), VIEW).model
    assert model.light_castshadow.sum() == 1
    assert (model.light_dir[:, 2] < 0).all()


@needs_gl
def test_a_variation_colours_a_dressed_scene_as_it_colours_the_scene() -> None:
    scene = dressed(cube_table(), VIEW)
    start = scene.start({"cube": (np.array([0.2, 0.0, 0.02]), np.array([1.0, 0, 0, 0]))})
    green = Variation(edits=(Edit(field="geom_rgba", element="table", values=(0.1, 0.9, 0.1, 1.0)),))
    with GlRenderer(scene, 160, 120, smooth=False) as film:
        rgb = film.render(start, green, VIEW).rgb[-10:].reshape(-1, 3).mean(axis=0)
    assert rgb[1] > 2 * rgb[0]


@needs_gl
def test_a_viewpoint_s_picture_says_where_it_was_taken_from() -> None:
    scene = cube_table()
    start = scene.start({"cube": (np.array([0.2, 0.0, 0.02]), np.array([1.0, 0, 0, 0]))})
    with GlRenderer(scene, 160, 120, smooth=False) as renderer:
        picture = renderer.render(start, Variation(), VIEW)
        eyes = renderer._stage.visible.camera
    assert picture.position_m == pytest.approx(VIEW.position_m)
    assert np.mean([each.pos for each in eyes], axis=0) == pytest.approx(VIEW.position_m, abs=1e-5)
    assert np.asarray(eyes[0].forward) == pytest.approx(-picture.rotation[:, 2], abs=1e-5)
    assert np.asarray(eyes[0].up) == pytest.approx(picture.rotation[:, 1], abs=1e-5)
