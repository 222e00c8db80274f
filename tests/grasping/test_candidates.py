"""Candidates: which faces, how deep and how wide, and why a box offers none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graspline.grasping.candidates import Grasp, JawParameters, box_grasps
from graspline.refusal import Refusal
from graspline.robots.so101 import FIXED_FACE_M, SO101, TIP_M
from graspline.spatial.rotations import wrap

from .boxes import box

JAW = JawParameters()
HALVES = st.floats(0.008, 0.022)


def grasps(*arguments, **options) -> list[Grasp]:
    found = box_grasps(SO101.hand, *arguments, **options)
    assert isinstance(found, list)
    return found


def refusal(*arguments, **options) -> Refusal:
    found = box_grasps(SO101.hand, *arguments, **options)
    assert isinstance(found, Refusal)
    return found


@settings(deadline=None)
@given(st.floats(-np.pi, np.pi), HALVES, HALVES, HALVES)
def test_a_box_is_taken_by_each_of_its_four_side_faces(yaw: float, x: float, y: float, z: float) -> None:
    found = grasps(box(yaw_rad=yaw, half_m=(x, y, z)), JAW)
    assert [each.label for each in found] == ["along", "across", "along_turned", "across_turned"]
    for grasp, turn in zip(found, (0, np.pi / 2, np.pi, -np.pi / 2), strict=True):
        assert abs(float(wrap(grasp.yaw_rad - yaw - turn))) < 1e-9
    assert [each.width_m for each in found] == pytest.approx([2 * x, 2 * y, 2 * x, 2 * y])


@settings(deadline=None)
@given(HALVES)
def test_the_tips_reach_below_the_centre_but_stay_off_the_table(half: float) -> None:
    found = grasps(box(half_m=half), JAW, deeper=True)
    assert len(found) >= 4
    for grasp in found:
        below = TIP_M - grasp.tool_m[0]
        assert half - below >= JAW.ground_clearance_m - 1e-12
        if not grasp.label.endswith("deeper"):
            assert below == pytest.approx(min(JAW.tip_below_centre_m, half - JAW.ground_clearance_m))


def test_deeper_grasps_come_only_when_asked_for() -> None:
    assert len(grasps(box(half_m=0.02), JAW)) == 4
    deeper = grasps(box(half_m=0.02), JAW, deeper=True)
    assert [each.label for each in deeper[4:]] == [f"{each.label}_deeper" for each in deeper[:4]]
    for shallow, deep in zip(deeper[:4], deeper[4:], strict=True):
        assert shallow.tool_m[0] - deep.tool_m[0] == pytest.approx(JAW.deeper_m)
        assert deep.standoff_m - shallow.standoff_m == pytest.approx(JAW.deeper_m)


def test_a_box_too_low_to_reach_deeper_offers_no_deeper_grasp() -> None:
    assert len(grasps(box(half_m=(0.015, 0.015, 0.007)), JAW, deeper=True)) == 4


@settings(deadline=None)
@given(HALVES, st.floats(-np.pi, np.pi))
def test_open_jaws_leave_the_clearance_asked_for_and_hardly_more(half: float, yaw: float) -> None:
    found = grasps(box(half_m=half, yaw_rad=yaw), JAW)
    assert len(found) == 4
    for grasp in found:
        top = grasp.tool_m[0] - half
        room = float(SO101.hand.clear_gap_m(grasp.open_rad, top))
        asked = 2 * half + JAW.fixed_clearance_m + JAW.moving_clearance_m
        assert asked <= room < asked + 0.002
        # The object stands off the fixed jaw by its clearance.
        assert grasp.tool_m[2] - FIXED_FACE_M - half == pytest.approx(JAW.fixed_clearance_m)


@settings(deadline=None)
@given(HALVES, st.floats(0.0001, 0.004), st.floats(0.0, 0.15))
def test_the_less_sure_the_sighting_the_wider_the_jaws_open(half: float, sigma: float, turn: float) -> None:
    sure, unsure = (
        grasps(box(half_m=half, position_sigma_m=s, yaw_sigma_rad=t), JAW)[0] for s, t in ((0, 0), (sigma, turn))
    )
    assert unsure.open_rad >= sure.open_rad
    # Room for the error on either side, and for the corners of a box that is turned.
    turned = half * np.sin(JAW.error_sigmas * turn)
    assert unsure.tool_m[2] - sure.tool_m[2] == pytest.approx(JAW.error_sigmas * sigma + turned)
    room = float(SO101.hand.clear_gap_m(unsure.open_rad, unsure.tool_m[0] - half))
    clearances = JAW.fixed_clearance_m + JAW.moving_clearance_m
    assert room >= 2 * (half + turned + JAW.error_sigmas * sigma) + clearances - 1e-12
    assert unsure.seat_m > sure.seat_m
    assert unsure.width_m == sure.width_m


def test_fingers_that_lean_are_given_more_room() -> None:
    straight, leaning = (grasps(box(half_m=0.02), JAW, lean_rad=lean)[0] for lean in (0.0, 0.2))
    assert leaning.open_rad > straight.open_rad
    assert leaning.tool_m[2] - straight.tool_m[2] == pytest.approx(0.02 * np.tan(0.2))


def test_the_hand_stands_off_above_the_top_of_the_object() -> None:
    for half in (0.01, 0.02):
        grasp = grasps(box(half_m=half), JAW)[0]
        tips_over_top = grasp.standoff_m - (TIP_M - grasp.tool_m[0]) - half
        assert tips_over_top == pytest.approx(JAW.standoff_m)


@pytest.mark.parametrize("tilt", [0.25, 0.5, np.pi / 4])
def test_a_tilted_object_is_refused_with_its_tilt(tilt: float) -> None:
    found = refusal(box(tilt_rad=tilt), JAW)
    assert (found.check, found.stage) == ("shape", "grasp")
    (evidence,) = found.evidence
    assert evidence.name == "object_tilt"
    assert evidence.value == pytest.approx(tilt)
    assert evidence.limit == 0.2
    assert "shape at grasp: object_tilt" in str(found)


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_an_object_lying_on_another_face_is_as_good(quarters: int) -> None:
    half = (0.010, 0.014, 0.018)
    found = grasps(box(half_m=half, tilt_rad=quarters * np.pi / 2), JAW)
    height = half[1] if quarters % 2 else half[2]
    widths = {round(each.width_m, 9) for each in found}
    assert widths == {0.02, round(2 * (half[2] if quarters % 2 else half[1]), 9)}
    assert found[0].standoff_m == pytest.approx(height + JAW.tip_below_centre_m + JAW.standoff_m)


@pytest.mark.parametrize("width", [0.08, 0.1, 0.2])
def test_an_object_too_wide_for_the_jaws_is_refused_with_the_gap_it_needs(width: float) -> None:
    found = refusal(box(half_m=(width / 2, width / 2, 0.015)), JAW)
    assert (found.check, found.stage) == ("jaw_width", "open")
    (evidence,) = found.evidence
    assert evidence.name == "jaw_gap"
    assert evidence.value == pytest.approx(width + JAW.fixed_clearance_m + JAW.moving_clearance_m)
    assert 0.06 < evidence.limit < 0.1
    assert not evidence.passed


def test_a_box_that_nearly_fills_the_hand_gets_less_room_than_wanted_before_it_is_refused() -> None:
    generous = JAW.model_copy(update={"fixed_clearance_m": 0.01})
    rooms = []
    for half in np.arange(0.02, 0.05, 0.001):
        found = box_grasps(SO101.hand, box(half_m=(half, half, 0.015)), generous)
        tight = box_grasps(SO101.hand, box(half_m=(half, half, 0.015)), JAW)
        # Whatever can be taken with little room is not refused for want of more.
        assert isinstance(found, Refusal) == isinstance(tight, Refusal)
        if not isinstance(found, Refusal):
            rooms.append(found[0].aside_m + found[0].tool_m[2] - FIXED_FACE_M - half)
    assert rooms[0] == pytest.approx(0.01)
    assert rooms == sorted(rooms, reverse=True)
    assert 0.002 - 1e-9 <= rooms[-1] < 0.01


def test_a_long_box_is_taken_across_only() -> None:
    found = grasps(box(half_m=(0.06, 0.015, 0.015)), JAW)
    assert [each.label for each in found] == ["across", "across_turned"]


def test_a_box_that_fits_is_refused_if_its_place_is_too_unsure() -> None:
    assert isinstance(box_grasps(SO101.hand, box(half_m=0.025), JAW), list)
    found = refusal(box(half_m=0.025, position_sigma_m=0.02), JAW)
    assert found.check == "jaw_width"
