"""Furniture as it is believed to stand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspline.scenes.fittings import SHELF, TABLE, Fitting
from graspline.tasks.tidy.believed_room import around, parts_of, solids_of, whole, without
from graspline.tasks.tidy.postures import before

from .stagecraft import HOUSE, TABLE_M, held_object, house, solid

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


class TestWhole:
    @given(st.floats(-3.1, 3.1))
    def test_a_mug_is_a_box_around_its_handle(self, yaw_rad: float) -> None:
        mug = solid("mug", yaw_rad=yaw_rad)
        box = whole(mug)
        assert box.shape == "box"
        handle = mug.position_m + mug.rotation @ np.array([0.071, 0.0, 0.0])
        assert (np.abs(box.rotation.T @ (handle - box.position_m)) <= box.half_extents_m + 1e-9).all()
        assert (box.top_m, box.bottom_m) == (pytest.approx(mug.top_m), pytest.approx(mug.bottom_m))

    @pytest.mark.parametrize("name", ["soup_can", "cracker_box", "water_bottle", "tennis_ball", "unknown"])
    def test_what_has_no_handle_is_what_it_is(self, name: str) -> None:
        thing = solid(name)
        assert whole(thing) is thing

    def test_a_thing_that_is_taken_up_is_not_in_the_way_any_more(self) -> None:
        mug, can = solid("mug"), solid("soup_can", (1.2, 0.3, TABLE_M))
        held = held_object(mug)
        left = without(around(house(mug, can)), mug, held)
        assert [each.name for each in left.solids] == [*(each.name for each in HOUSE.solids), "soup_can"]
        assert left.held is held


class TestPartsOf:
    @given(st.floats(-3.1, 3.1))
    def test_parts_of_a_mug_together_fill_the_box_around_it(self, yaw_rad: float) -> None:
        mug = solid("mug", yaw_rad=yaw_rad)
        box = whole(mug)
        parts = parts_of(box)
        assert [each.shape for each in parts] == ["cylinder", "box", "box", "box"]
        own = [(each.position_m - box.position_m) @ box.rotation for each in parts]
        low = np.min([at - each.half_extents_m for at, each in zip(own, parts, strict=True)], axis=0)
        high = np.max([at + each.half_extents_m for at, each in zip(own, parts, strict=True)], axis=0)
        np.testing.assert_allclose(high, box.half_extents_m, atol=1e-9)
        np.testing.assert_allclose(low, -box.half_extents_m, atol=1e-9)
        np.testing.assert_allclose(parts[0].position_m, mug.position_m, atol=1e-9)
        np.testing.assert_allclose(parts[0].half_extents_m, mug.half_extents_m)

    @pytest.mark.parametrize("name", ["soup_can", "cracker_box", "tennis_ball", "unknown"])
    def test_what_has_no_parts_is_its_only_one(self, name: str) -> None:
        thing = solid(name)
        assert parts_of(thing) == (thing,)
