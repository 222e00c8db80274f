"""A table with any boxes: they lie where they are put, as large as they are made."""

from __future__ import annotations

import copy

import mujoco
import numpy as np

from graspline.robots.so101 import HOME
from graspline.scenes.scene import Lying
from graspline.scenes.table import Box, table_start, table_variation, table_with
from graspline.scenes.variation import apply_to_model

BOXES = tuple(Box(name=name, rgb=(0.5, 0.5, 0.5)) for name in ("one", "two", "three"))


def test_boxes_rest_where_they_were_put_and_those_not_named_are_parked() -> None:
    scene = table_with(*BOXES)
    lying = {
        "one": Lying(x_m=0.2, y_m=0.1, half_extents_m=(0.02, 0.01, 0.03), mass_kg=0.05),
        "two": Lying(x_m=0.25, y_m=-0.1, half_extents_m=(0.015, 0.015, 0.015), mass_kg=0.03, yaw_rad=0.5),
    }
    model = copy.copy(scene.model)
    apply_to_model(model, table_variation(lying, 1.0, {"size": 2.0}))
    data = mujoco.MjData(model)
    data.qpos[:] = table_start(scene, lying)
    data.act[:] = data.ctrl[:] = HOME
    for _ in range(240):
        mujoco.mj_step(model, data)
    for name, each in lying.items():
        np.testing.assert_allclose(data.body(name).xpos, each.pose[0], atol=2e-4)
    assert np.hypot(*data.body("three").xpos[:2]) > 1.5


def test_a_variation_says_what_was_drawn() -> None:
    described = table_variation({}, 1.1, {"edge_m": 0.03}).described
    assert dict(described) == {"pad_friction": 1.1, "edge_m": 0.03}
