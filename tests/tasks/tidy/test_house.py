"""Furniture as it is believed to stand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspline.scenes.fittings import SHELF, TABLE, Fitting
from graspline.tasks.tidy.house import before, solids_of

from .stagecraft import HOUSE

OFF = st.floats(-0.1, 0.1)


def test_everything_that_could_be_hit_is_there_once() -> None:
    names = [each.name for each in HOUSE.solids]
    assert len(names) == len(set(names)) == len(TABLE.slabs) + len(SHELF.slabs) + 2
    assert {"table_top", "board_low", "board_middle", "board_high", "wall_back", "wall_left"} <= set(names)


def test_what_nobody_looks_at_before_it_is_passed_is_less_sure() -> None:
    sigmas = {each.name: each.position_sigma_m for each in HOUSE.solids}
    unsure = {name for name, sigma in sigmas.items() if sigma > 0}
    assert unsure == {name for name in sigmas if "leg" in name or "wall" in name} | {"shelf_left", "shelf_right"}
    assert max(sigmas.values()) < 0.03


@pytest.mark.parametrize("fitting", [TABLE, SHELF])
def test_levels_are_on_top_of_their_slabs(fitting: Fitting) -> None:
    tops = {each.name: each.top_m for each in solids_of(fitting)}
    for level in fitting.levels:
        slab = "table_top" if level.name == "table" else level.name
        assert tops[slab] == pytest.approx(level.position_m[2])


@given(OFF, OFF, st.floats(-0.5, 0.5), st.floats(0.3, 1.0), st.sampled_from([TABLE, SHELF]))
def test_a_robot_before_furniture_faces_it_at_that_distance(
    x: float, y: float, turn_rad: float, away_m: float, meant: Fitting
) -> None:
    fitting = meant.moved((x, y, 0.0), turn_rad)
    base_x, base_y, heading = before(fitting, away_m)
    ahead = np.array([np.cos(heading), np.sin(heading)])
    front = [
        float((each.position_m[:2] - [base_x, base_y]) @ ahead - each.half_extents_m[0]) for each in solids_of(fitting)
    ]
    assert min(front) == pytest.approx(away_m, abs=1e-6)
    middle = fitting.in_world((0.0, 0.0, 0.0))[:2] - [base_x, base_y]
    assert abs(float(middle @ [-ahead[1], ahead[0]])) < 1e-9


def test_aside_is_to_the_left() -> None:
    x, y, _ = before(TABLE, 0.5, 0.2)
    assert (x, y) == pytest.approx((1.3 - 0.3 - 0.5, 0.2))
