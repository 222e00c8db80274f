"""Free places on a board, without pictures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graspline.perception.core.beliefs import Belief, Shape
from graspline.perception.rgbd.free_areas import FreeArea, free_areas
from graspline.perception.rgbd.planes import Plane
from graspline.perception.rgbd.surfaces import Surface
from graspline.spatial.rotations import quaternion_from_matrix, rotation_z

YAW_RAD = 0.7
BOARD = Surface(
    plane=Plane(normal=np.array([0.0, 0.0, 1.0]), offset_m=0.8),
    middle_m=np.array([1.0, 2.0, 0.8]),
    yaw_rad=YAW_RAD,
    half_m=(0.16, 0.38),
    near="drop",
    far="rise",
    right="rise",
    left="rise",
)
HALF_M, MARGIN_M = (0.03, 0.05), 0.02


def solid(x_m: float, y_m: float, shape: Shape = "cylinder", yaw_rad: float = 0.0, sigma_m: float = 0.0) -> Belief:
    """Something 8 cm wide, or 8 by 16 cm, so far behind and left of the board's middle."""
    return Belief(
        name="thing",
        shape=shape,
        position_m=BOARD.middle_m + BOARD.rotation @ np.array([x_m, y_m, 0.1]),
        quaternion=quaternion_from_matrix(rotation_z(YAW_RAD + yaw_rad)),
        half_extents_m=np.array([0.04, 0.08 if shape == "box" else 0.04, 0.1]),
        position_sigma_m=sigma_m,
        yaw_sigma_rad=0.0,
    )


def places(areas: tuple[FreeArea, ...]) -> np.ndarray:
    """(N, 2): along the board's own axes."""
    return np.array([BOARD.in_own_frame(area.position_m) for area in areas]).reshape(-1, 2)


def test_on_an_empty_board_the_first_place_is_as_far_back_as_the_margin_allows() -> None:
    areas = free_areas(BOARD, (), HALF_M, margin_m=MARGIN_M)
    found = places(areas)
    assert found[0, 0] == pytest.approx(0.16 - 0.03 - 0.02, abs=0.006)
    assert (np.diff(found[:, 0]) <= 1e-9).all()
    assert areas[0].position_m[2] == pytest.approx(0.8)
    assert areas[0].yaw_rad == YAW_RAD


def test_inside_of_a_rectangle_all_of_the_footprint_is() -> None:
    middle, half = (-0.05, 0.2), (0.08, 0.1)
    areas = free_areas(BOARD, (), HALF_M, margin_m=MARGIN_M, most=50, inside=(middle, half))
    off = np.abs(places(areas) - middle)
    assert len(areas) >= 2
    assert (off <= np.array(half) - HALF_M + 1e-6).all()
    assert not free_areas(BOARD, (), HALF_M, margin_m=MARGIN_M, inside=(middle, (0.02, 0.1)))


def test_places_keep_away_from_things_and_from_the_sides() -> None:
    areas = free_areas(BOARD, (solid(0.05, 0.1),), HALF_M, margin_m=MARGIN_M, most=50)
    assert areas
    for place, area in zip(places(areas), areas, strict=True):
        gap = np.maximum(np.abs(place - np.array([0.05, 0.1])) - np.array(HALF_M), 0)
        assert np.hypot(*gap) >= 0.04 + MARGIN_M - 0.006
        assert (np.abs(place) + np.array(HALF_M) + MARGIN_M <= np.array(BOARD.half_m) + 0.006).all()
        assert area.room_m >= MARGIN_M


@given(x_m=st.floats(-0.1, 0.1), y_m=st.floats(-0.3, 0.3), yaw_rad=st.floats(-3, 3))
@settings(max_examples=40)
def test_places_are_never_under_a_box(x_m: float, y_m: float, yaw_rad: float) -> None:
    box = solid(x_m, y_m, "box", yaw_rad)
    found = places(free_areas(BOARD, (box,), HALF_M, margin_m=MARGIN_M, most=50))
    assert len(found)
    for place in found:
        corners = place + np.array([[a, b] for a in (-1, 0, 1) for b in (-1, 0, 1)]) * np.array(HALF_M)
        own = np.abs((corners - np.array([x_m, y_m])) @ rotation_z(yaw_rad)[:2, :2])
        assert not (own < np.array([0.04, 0.08])).all(axis=1).any()


def test_what_is_less_sure_takes_more_room() -> None:
    sure, unsure = (
        places(free_areas(BOARD, (solid(0.0, 0.0, sigma_m=sigma),), HALF_M, margin_m=0.0, most=200))
        for sigma in (0.0, 0.03)
    )
    assert len(unsure) < len(sure)


def test_where_nothing_fits_there_is_no_place() -> None:
    assert free_areas(BOARD, (), (0.2, 0.05), margin_m=MARGIN_M) == ()
    crowd = tuple(solid(x, y) for x in (-0.08, 0.08) for y in np.arange(-0.32, 0.33, 0.16))
    assert free_areas(BOARD, crowd, (0.05, 0.06), margin_m=MARGIN_M) == ()
