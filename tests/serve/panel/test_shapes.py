"""What the page draws, without a browser."""

from __future__ import annotations

import copy

import pytest

from graspline.episodes.scenario import Scenario
from graspline.scenes.variation import apply_to_model
from graspline.tasks.sort.parameters import COLOURS, Sort
from graspline.tasks.sort.task import SORT

pytest.importorskip("trimesh", reason="the panel needs trimesh: pip install 'graspline[serve]'")
from graspline.serve.panel.shapes import shapes_of


def test_blocks_have_the_colours_that_an_episode_gives_them_and_not_that_of_their_material() -> None:
    parameters = Sort()
    model = copy.copy(SORT.scene(parameters).model)
    apply_to_model(model, Scenario(task=SORT, parameters=parameters, seed=0).sample().variation)
    painted = {tuple(round(255 * each) for each in rgb) for rgb in COLOURS.values()}
    shown = {shape.rgb for shape in shapes_of(model) if shape.name.startswith("block_")}
    assert len(shown) > 1
    assert shown <= painted
