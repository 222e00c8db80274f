"""The pool of blocks, cans and fruit: sizes, masses, where they lie and that they stay there."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from graspline.engine.cpu import CpuEngine
from graspline.scenes.block_table import KINDS, block_table, blocks_start, blocks_variation, kind_of
from graspline.scenes.scene import Lying
from graspline.scenes.variation import apply_to_model


def lying(name: str, scale: float, x: float = 0.25, y: float = 0.0) -> Lying:
    kind = kind_of(name)
    a, b, c = (scale * half for half in kind.half_extents_m)
    return Lying(x_m=x, y_m=y, half_extents_m=(a, b, c), mass_kg=kind.mass_kg(scale), yaw_rad=0.4)


def test_names_are_unique_and_say_how_many_studs() -> None:
    assert len({each.name for each in KINDS}) == len(KINDS)
    assert kind_of("blue_2x4").size_m[:2] == (0.064, 0.032)


@pytest.mark.parametrize("name", [each.name for each in KINDS])
def test_a_scaled_thing_has_the_mass_and_inertia_of_its_shape(name: str) -> None:
    scene = block_table()
    varied = copy.copy(scene.model)
    apply_to_model(varied, blocks_variation({name: lying(name, 1.1)}, 1.0, {}))
    body = varied.body(name).id
    plain = scene.model.body(name).id
    assert varied.body_mass[body] == pytest.approx(1.1**3 * scene.model.body_mass[plain])
    assert varied.body_inertia[body] == pytest.approx(1.1**5 * scene.model.body_inertia[plain], rel=1e-6)


def test_an_engine_tells_half_extents_whatever_the_shape() -> None:
    things = {"white_can": lying("white_can", 1.1), "orange_1": lying("orange_1", 0.9, 0.1, 0.2)}
    engine = CpuEngine(block_table(), 1, 1)
    engine.reset(0, blocks_start(things), blocks_variation(things, 1.0, {}))
    for name, each in things.items():
        assert engine.half_extents_m(0, name) == pytest.approx(each.half_extents_m)


def test_everything_stays_where_it_is_put() -> None:
    things = {
        each.name: lying(each.name, 1.0, 0.12 + 0.05 * (number % 3), -0.2 + 0.11 * (number // 3))
        for number, each in enumerate(KINDS)
    }
    engine = CpuEngine(block_table(), 1, 1)
    start = blocks_start(things)
    engine.reset(0, start, blocks_variation(things, 1.0, {}))
    home = np.repeat(block_table().robot.home[None], 1, axis=0)
    for _ in range(60):
        engine.step(home, np.array([0]))
    for name in things:
        at = block_table().joint_address(name)
        assert engine.qpos[0][at : at + 3] == pytest.approx(start[at : at + 3], abs=2e-3)
