"""What variations look like, as rows of numbers, and what cannot be told by one."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.errors import WiringError
from graspline.gpu.looks import AppearanceRows, what_warp_cannot_render
from graspline.scenes.cube_table import cube_table
from graspline.scenes.furniture import BACKDROP
from graspline.scenes.randomization import TexturedRandomization, randomized
from graspline.scenes.variation import Edit, Variation
from rendering.render_cases import SHAPES, random_state, scene_of

SKY = '<texture type="skybox" builtin="gradient" rgb1="1 0 0" rgb2="0 0 1" width="8" height="48"/>'


def edited(field: str, element: str, *values: float) -> Variation:
    return Variation(edits=(Edit(field=field, element=element, values=values),))


def everything_varied(seed: int) -> Variation:
    settings = TexturedRandomization(**{aspect: {"on": True} for aspect in TexturedRandomization().aspects})  # type: ignore[arg-type]
    return randomized(cube_table(), random_state(seed)[1], settings, np.random.default_rng(seed))


def test_a_row_has_what_a_model_of_its_own_would_have() -> None:
    scene, size = cube_table(), (0.02, 0.03, 0.01)
    looks = AppearanceRows(scene)
    row = looks.row(edited("geom_size", "cube", *size))[None]
    sizes = row[:, looks.places["geom_size"]].reshape(scene.model.ngeom, 3)
    expected = scene.model.geom_size.copy()
    expected[scene.model.geom("cube").id] = size
    np.testing.assert_allclose(sizes, expected, atol=1e-7)


def test_one_variation_leaves_nothing_to_the_next() -> None:
    looks, plain = AppearanceRows(cube_table()), AppearanceRows(cube_table()).row(Variation())
    for seed in range(3):
        assert not np.array_equal(looks.row(everything_varied(seed)), plain)
    assert np.array_equal(looks.row(Variation()), plain)


def test_of_two_edits_of_one_number_the_later_one_counts() -> None:
    looks = AppearanceRows(cube_table())
    one, two = (edited("geom_rgba", "cube", shade, shade, shade, 1.0) for shade in (0.1, 0.2))
    assert np.array_equal(looks.row(one + two), looks.row(two))
    assert np.array_equal(looks.row(two + Variation()), looks.row(two))


def test_light_from_everywhere_is_one_number() -> None:
    looks = AppearanceRows(cube_table())
    row = looks.row(edited("headlight_ambient", "headlight", 0.1, 0.2, 0.3))
    np.testing.assert_allclose(row[looks.places["light_ambient"]], [0.1, 0.2, 0.3, 0, 0, 0], atol=1e-7)


def test_each_world_has_a_backdrop_of_its_own() -> None:
    looks = AppearanceRows(cube_table())
    rows, which = looks.rows([Variation(), edited("tex_rgb", BACKDROP, 10.0, 20.0, 30.0)])
    assert rows[which][1, looks.backdrop].tolist() == [10, 20, 30]
    assert rows[which][0, looks.backdrop].tolist() != [10, 20, 30]


def test_frames_that_share_a_variation_share_a_row() -> None:
    looks, one, other = AppearanceRows(cube_table()), Variation(), edited("geom_size", "cube", 0.01, 0.01, 0.01)
    rows, which = looks.rows([one, one, other, one])
    assert rows.shape == (2, looks.size)
    assert which.tolist() == [0, 0, 1, 0]
    assert looks.rows([])[0].shape == (0, looks.size)


def test_what_only_physics_notices_changes_no_row() -> None:
    looks = AppearanceRows(cube_table())
    assert np.array_equal(looks.row(edited("body_mass", "cube", 0.5)), looks.row(Variation()))


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_randomised_can_be_drawn(seed: int) -> None:
    assert not what_warp_cannot_render(cube_table(), everything_varied(seed))


@pytest.mark.parametrize(
    ("variation", "complaint"),
    [
        (edited("geom_rgba", "cube", 1.0, 0.0, 0.0, 0.5), "translucent geoms"),
        (edited("tex_rgb", "checks", 1.0, 2.0, 3.0), "another texture 'checks'"),
        (edited("headlight_diffuse", "headlight", 0.5, 0.5, 0.5), "another headlight_diffuse"),
        (edited("light_type", "key", 0.0), "another light_type"),
    ],
)
def test_variations_that_would_be_drawn_wrong_are_refused(variation: Variation, complaint: str) -> None:
    assert complaint in what_warp_cannot_render(cube_table(), variation)
    with pytest.raises(WiringError, match=complaint):
        AppearanceRows(cube_table()).row(variation)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (('rgba="1 0 0 1"', 'rgba="1 0 0 .5"'), "translucent"),
        (("<asset>", f"<asset>{SKY}"), "backdrop of more than one colour"),
        (('name="front"', 'name="front" projection="orthographic"'), "orthographic"),
        (('<light type="directional" pos', '<light active="false" type="directional" pos'), "no light that is on"),
        (('name="front"', 'name="front" mode="targetbodycom" target="ball"'), "turn by themselves"),
    ],
)
def test_scenes_that_would_be_drawn_wrong_are_refused(change: tuple[str, str], complaint: str) -> None:
    named = SHAPES.replace('<body pos="0 .15 .1">', '<body name="ball" pos="0 .15 .1">')
    scene = scene_of(named.replace(*change))
    with pytest.raises(WiringError, match=complaint):
        AppearanceRows(scene)
    assert complaint in what_warp_cannot_render(scene)
