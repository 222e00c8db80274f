"""What faults do to a plate and to what lies on it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.faults.fruit_world import BALL_M, RADIUS_M, happen, on_plate, scene_with, world

from graspline.faults.context import FaultContext
from graspline.faults.kind import FaultKind
from graspline.robots.ur5e import UR5E
from graspline.scenes.belt_line import belt_line
from graspline.scenes.cube_table import cube_table
from graspline.scenes.fruit_table import FLOOR_M, fruit_table
from graspline.scenes.scene import Array, Scene
from graspline.tasks.oranges import faults
from graspline.tasks.oranges.faults import MOVE_PLATE, PLATE_AWAY, PLATE_FULL

PLATES = (MOVE_PLATE, PLATE_AWAY, PLATE_FULL)


def apart_m(context: FaultContext, name: str) -> float:
    """From the middle of the plate."""
    return float(np.hypot(*(context.position_m(name) - context.position_m("plate"))[:2]))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("load", [0, 3])
def test_a_plate_that_is_moved_slides_a_few_centimetres_with_what_lies_on_it(seed: int, load: int) -> None:
    context = world(*(on_plate(2.1 * index) for index in range(load)), beside=1, seed=seed)
    before = context.position_m("plate")
    happen(context, MOVE_PLATE.strike(context))
    moved = context.position_m("plate") - before
    assert 0.02 <= np.hypot(*moved[:2]) <= 0.07
    assert abs(moved[2]) < 1e-3
    assert np.hypot(*context.position_m("plate")[:2]) <= 0.31
    for index in range(load):
        name = f"orange_{index + 1}"
        assert apart_m(context, name) < RADIUS_M - BALL_M + 0.005
        assert context.position_m(name)[2] == pytest.approx(FLOOR_M + BALL_M, abs=2e-3)


def test_a_plate_moves_in_a_direction_of_its_seed() -> None:
    ends: list[Array] = []
    for seed in (0, 0, 1):
        context = world(seed=seed, beside=1)
        happen(context, MOVE_PLATE.strike(context))
        ends.append(context.position_m("plate"))
    np.testing.assert_array_equal(ends[0], ends[1])
    assert np.hypot(*(ends[2] - ends[0])[:2]) > 0.005


def test_a_plate_that_is_put_away_takes_along_what_lies_on_it_and_nothing_else() -> None:
    context = world(on_plate(0.0), beside=1)
    left, before = context.position_m("orange_2"), apart_m(context, "orange_1")
    happen(context, PLATE_AWAY.strike(context))
    assert np.hypot(*context.position_m("plate")[:2]) == pytest.approx(0.75, abs=0.01)
    assert apart_m(context, "orange_1") == pytest.approx(before, abs=2e-3)
    assert context.position_m("orange_2") == pytest.approx(left, abs=1e-3)


@pytest.mark.parametrize("lying", [0, 1, 2])
def test_strangers_fill_a_plate_until_no_spot_is_left(lying: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "extra_fruit", lambda scene: [f"orange_{lying + 1 + index}" for index in range(8)])
    context = world(*(on_plate(2.5 * index) for index in range(lying)), beside=8)
    happen(context, PLATE_FULL.strike(context))
    there = faults.on_plate(context)
    spots = [context.position_m(name)[:2] for name in there]
    assert len(there) > lying
    for index, spot in enumerate(spots):
        assert all(np.hypot(*(spot - other)) >= 2 * BALL_M - 1e-3 for other in spots[:index])
    # Nowhere within the rim is room for one more orange.
    radii, angles = np.meshgrid(np.linspace(0, RADIUS_M - 0.008 - BALL_M, 15), np.linspace(0, 2 * np.pi, 60))
    grid = context.position_m("plate")[:2] + np.stack([radii * np.cos(angles), radii * np.sin(angles)], -1)
    nearest_m = np.min([np.hypot(*np.moveaxis(grid - spot, -1, 0)) for spot in spots], axis=0)
    assert nearest_m.max() < 2 * BALL_M


def test_without_strangers_a_plate_stays_as_it_is() -> None:
    assert PLATE_FULL.strike(world(beside=1)) == []
    assert PLATE_FULL.missing_in(scene_with(1)) == "the scene has no objects named stranger_…"


@pytest.mark.parametrize("kind", PLATES, ids=lambda kind: kind.name)
@pytest.mark.parametrize("scene", [cube_table(), belt_line(UR5E, 2)])
def test_faults_of_plates_make_no_sense_without_one(kind: FaultKind, scene: Scene) -> None:
    assert kind.missing_in(scene) == "the scene has no plate"
    assert kind.missing_in(fruit_table(1, 0.11, 0, False, strangers=8)) == ""
