"""Annotated grasps: a hand that follows them closes on the item, and on nothing else of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspline.scenes.annotated_grasps import WIDEST_M, AnnotatedGrasp, grasps_of_box, grasps_of_cylinder
from graspline.scenes.household import KNOWN, Item, item_of

# Of a fingertip, along the item's surface.
FINGER_HALF_M = 0.012
ALL = [(item, grasp) for item in KNOWN for each in item.grasps for grasp in each.spread(0.2)]


def extent_m(item: Item, grasp: AnnotatedGrasp) -> float:
    """How wide the item's main body is along the opening, where it is grasped."""
    main = item.parts[0]
    if main.shape == "box":
        return 2 * float(np.abs(np.array(grasp.opening)) @ np.array(main.half_extents_m))
    return 2 * main.half_extents_m[0]


def test_every_known_item_has_grasps_and_no_unknown_one() -> None:
    assert all(item.grasps for item in KNOWN)
    assert not item_of("unknown_can_1").known


def test_hands_come_from_the_side_or_above_and_open_level() -> None:
    for item, grasp in ALL:
        rotation = grasp.rotation
        assert rotation.T @ rotation == pytest.approx(np.eye(3), abs=1e-12), item.name
        assert np.linalg.det(rotation) == pytest.approx(1.0)
        assert rotation[2, 0] <= 1e-12
        assert rotation[2, 2] == 0.0
        assert {"side": rotation[2, 0] == 0, "top": rotation[2, 0] == -1, "slanted": True}[grasp.kind]


def test_the_width_is_that_of_the_item_and_fits_the_hand() -> None:
    for item, grasp in ALL:
        assert grasp.width_m == pytest.approx(extent_m(item, grasp)), item.name
        assert grasp.width_m <= WIDEST_M


def test_fingertips_close_on_the_main_body_and_stay_off_the_ground() -> None:
    for item, grasp in ALL:
        main = item.parts[0]
        inside = np.abs(np.array(grasp.point_m) - main.position_m) <= np.array(main.half_extents_m) - 0.01
        assert inside.all(), (item.name, grasp)
        above_m = grasp.point_m[2] + item.half_extents_m[2]
        assert above_m >= (0.044 if grasp.kind == "side" else 0.03)


def test_fingers_around_a_mug_stay_clear_of_its_handle() -> None:
    mug = item_of("mug")
    handle = [part for part in mug.parts if part.solid and part.name]
    for each in mug.grasps:
        for grasp in each.spread(0.1):
            for sign in (1, -1):
                tip = np.array(grasp.point_m) + sign * grasp.width_m / 2 * np.array(grasp.opening)
                for part in handle:
                    outside = np.abs(tip - part.position_m)[:2] - part.half_extents_m[:2]
                    assert outside.max() > FINGER_HALF_M
            # Nor does the palm come from where the handle is.
            assert grasp.approach[0] >= -1e-9


def test_a_box_is_taken_across_narrow_sides_only() -> None:
    narrow = grasps_of_box((0.03, 0.08, 0.10))
    assert {tuple(np.abs(grasp.opening)) for grasp in narrow} == {(1.0, 0.0, 0.0)}
    assert {grasp.approach for grasp in narrow if grasp.kind == "side"} == {(0.0, 1.0, 0.0), (0.0, -1.0, 0.0)}
    # Fingers do not reach the middle of something that deep.
    for grasp in narrow:
        if grasp.kind == "side":
            assert np.dot(grasp.point_m, grasp.approach) == pytest.approx(-0.035)
    assert len(grasps_of_box((0.03, 0.045, 0.10))) == 2 * len(narrow)
    assert grasps_of_box((0.06, 0.06, 0.06)) == ()


@given(st.floats(-3, 3), st.floats(0.01, 3), st.floats(0.05, 1))
def test_a_spread_covers_its_range_evenly(low: float, length: float, step: float) -> None:
    grasp = grasps_of_cylinder(0.03, -0.05, 0.05, -0.05, turn_rad=(low, low + length))[0]
    spread = grasp.spread(step)
    turns = np.unwrap([np.arctan2(each.approach[1], each.approach[0]) for each in spread])
    assert np.diff(turns).max(initial=0.0) <= step + 1e-9
    assert turns[-1] - turns[0] == pytest.approx(length)
    assert all(each.turn_rad == (0.0, 0.0) for each in spread)


def test_of_a_full_turn_no_angle_comes_twice() -> None:
    spread = item_of("soup_can").grasps[0].spread(np.pi / 4)
    assert len({tuple(np.round(each.approach, 6)) for each in spread}) == len(spread) == 8
