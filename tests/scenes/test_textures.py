"""Patterns are shades of grey, the same whenever a scene is built."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from graspline.scenes.cube_table import cube_table
from graspline.scenes.fruit_table import fruit_table
from graspline.scenes.textures import PATTERNS, texels_of


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_darkens_a_little_and_keeps_the_hue(pattern: str) -> None:
    model = cube_table().model
    texels = texels_of(model, model.texture(pattern).id)
    assert (texels == texels[:, :1]).all()
    assert texels.min() >= 0.77 * 255
    assert np.ptp(texels) > 20


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_is_the_same_in_every_scene(pattern: str) -> None:
    cube, fruit = cube_table().model, fruit_table(1, 0.1, 0, False).model
    first, second = (texels_of(model, model.texture(pattern).id) for model in (cube, fruit))
    assert np.array_equal(first, second)


def test_table_and_plate_can_wear_every_pattern_and_wear_none() -> None:
    model = fruit_table(1, 0.1, 0, False).model
    names = {model.material(index).name for index in range(model.nmat)}
    assert names == {f"{surface}/{pattern}" for surface in ("table", "plate") for pattern in PATTERNS}
    assert (model.geom_matid == -1).all()
    for name in names:
        texture = model.mat_texid[model.material(name).id, int(mujoco.mjtTextureRole.mjTEXROLE_RGB)]
        assert model.texture(int(texture)).name == name.split("/")[1]
