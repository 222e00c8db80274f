"""Whole episodes with objects of a user's own shape."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.rendering.rays import RayRenderer
from graspline.tasks.grab.parameters import Grab
from graspline.tasks.grab.task import GRAB
from scenes.meshes import shapes


def parameters(name: str, tmp_path: Path, **more: object) -> Grab:
    path = shapes.write_stl(shapes.SOLIDS[name](), tmp_path / f"{name}.stl")
    mesh = {"file": str(path), "scale": 0.001, "colour": [0.9, 0.1, 0.8]}
    return Grab.model_validate({"things": {"meshes": [mesh]}, "order": {"target": name}, **more})


@pytest.mark.parametrize("name", shapes.SOLIDS)
def test_a_mesh_is_picked_and_put_down_and_twice_to_the_same_bits(name: str, tmp_path: Path) -> None:
    settings = parameters(name, tmp_path)
    scenario = Scenario(task=GRAB, parameters=settings, seed=11)
    (first,), (again,) = (tuple(run_scenarios([scenario])) for _ in range(2))
    assert first.verdict == "success"
    assert first.succeeded
    assert first.state_hash == again.state_hash
    assert f"Pick up the {name}" in first.instruction.sentence


def test_pictures_show_its_surface(tmp_path: Path) -> None:
    settings = parameters("bracket", tmp_path)
    scene, draw = GRAB.scene(settings), GRAB.sample(settings, np.random.default_rng(3))
    with RayRenderer(scene, 320, 240) as renderer:
        seen = renderer.geoms(draw.start, draw.variation, "front")
        rgb = renderer.render(draw.start, draw.variation, "front").rgb[seen == scene.model.geom("bracket").id]
    assert len(rgb) > 50
    assert (rgb[:, 0].astype(int) - rgb[:, 1] > 60).all()
