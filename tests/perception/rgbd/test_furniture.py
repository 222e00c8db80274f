"""Where levels of furniture are looked for, and what stands on them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from graspline.perception.core.beliefs import Belief
from graspline.perception.rgbd.furniture import as_seen, bounds, standing_on, surface_of
from graspline.scenes.fittings import SHELF, TABLE

UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


def box(x_m: float, y_m: float, half_m: tuple[float, float, float] = (0.03, 0.03, 0.05)) -> Belief:
    """Something whose middle is above the table, so far from its middle."""
    at = TABLE.in_world((x_m, y_m, TABLE.levels[0].position_m[2] + half_m[2]))
    return Belief.exact("unknown", at, UPRIGHT, np.array(half_m))


def test_a_level_is_looked_for_all_around_where_it_is_believed_to_be() -> None:
    level = TABLE.levels[0]
    within = bounds(TABLE, level)
    middle = TABLE.in_world(level.position_m)
    assert all(low < at < high for low, at, high in zip(within.low_m, middle, within.high_m, strict=True))
    assert within.high_m[0] - within.low_m[0] > 2 * level.half_extents_m[0]


def test_a_thing_beyond_the_rim_stands_on_nothing_and_a_sheet_at_the_rim_is_a_wall() -> None:
    half_x, _ = TABLE.levels[0].half_extents_m
    inside, outside = box(0.0, 0.0), box(half_x + 0.01, 0.0)
    wall, sheet = (box(x, 0.0, (0.005, 0.1, 0.1)) for x in (half_x - 0.02, 0.0))
    assert standing_on(TABLE, "table", [inside, outside, wall, sheet]) == (inside, sheet)


def test_furniture_is_where_its_surface_was_seen() -> None:
    moved = SHELF.moved((0.02, -0.01, 0.0), 0.03)
    found = as_seen(SHELF, "board_low", surface_of(moved, "board_low"))
    np.testing.assert_allclose(found.position_m, moved.position_m, atol=1e-3)
    assert abs(found.yaw_rad - moved.yaw_rad) < 1e-9
    unseen = replace(surface_of(moved, "board_low"), near="unseen", far="unseen", right="unseen", left="unseen")
    np.testing.assert_allclose(as_seen(SHELF, "board_low", unseen).position_m, SHELF.position_m, atol=1e-9)
