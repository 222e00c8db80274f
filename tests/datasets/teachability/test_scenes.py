from __future__ import annotations

import numpy as np
import pytest

from graspline.datasets.teachability.scenes import folded, grip_period_rad, kinds_of, look_period_rad, start_of
from graspline.tasks.catalogue import find_task

QUARTER = np.pi / 2


def test_a_cube_looks_the_same_after_a_quarter_turn_a_brick_after_half_a_can_and_a_ball_at_any() -> None:
    assert look_period_rad("box", (0.015, 0.015, 0.01)) == QUARTER
    assert look_period_rad("box", (0.015, 0.03, 0.01)) == np.pi
    assert look_period_rad("cylinder", (0.02, 0.02, 0.05)) == 0
    assert look_period_rad("ball", (0.02, 0.02, 0.02)) == 0


def test_a_brick_whose_long_side_fits_the_jaw_can_be_taken_every_quarter_turn() -> None:
    assert grip_period_rad("box", (0.015, 0.03, 0.01), 0.1) == QUARTER
    assert grip_period_rad("box", (0.015, 0.06, 0.01), 0.1) == np.pi
    assert grip_period_rad("cylinder", (0.02, 0.02, 0.05), 0.1) == 0


@pytest.mark.parametrize(
    ("angle", "period", "left"), [(1.6, QUARTER, 1.6 - QUARTER), (0.3, 0.0, 0.0), (-3.0, np.pi, np.pi - 3.0)]
)
def test_an_angle_is_taken_modulo_the_symmetry(angle: float, period: float, left: float) -> None:
    assert folded(np.array(angle), period) == pytest.approx(left)


def test_oranges_are_interchangeable_and_the_plate_is_not_one() -> None:
    task = find_task("oranges")
    kinds = kinds_of(task.scene(task.parameters()))
    assert kinds["orange_1"] == kinds["orange_2"] == kinds["orange_3"] != kinds["plate"]


def test_blocks_of_other_colours_are_of_other_kinds() -> None:
    task = find_task("grab")
    kinds = kinds_of(task.scene(task.parameters()))
    assert len(set(kinds.values())) == len(kinds)


def test_what_is_parked_far_away_or_below_the_floor_is_no_part_of_a_scene() -> None:
    task = find_task("oranges")
    scene = task.scene(task.parameters())
    upright = [1.0, 0, 0, 0]
    poses = np.array(
        [[0.2, 0, 0.03, *upright], [-8.0, -1.5, 0.03, *upright], [0.2, 0, -3.0, *upright], [0.1, 0.2, 0, *upright]]
    )
    start = start_of(scene, kinds_of(scene), poses, {"orange_1": (0.05, 0.05, 0.05)}, np.zeros(3), "Put it there.")
    assert [each.name for each in start.objects] == ["orange_1", "plate"]
    assert start.objects[0].half_mm == pytest.approx([25, 25, 25])
    assert start.named("orange_2") is None
