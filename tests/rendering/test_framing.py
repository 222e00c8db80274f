from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspline.errors import InputError
from graspline.rendering.framing import angles, direction, frame_points

coordinates = st.tuples(*[st.floats(-2, 2)] * 3)


@given(
    points=st.lists(coordinates, min_size=1, max_size=12),
    azimuth=st.floats(-3, 3),
    elevation=st.floats(-1.4, 1.4),
    aspect=st.floats(0.5, 2),
    margin=st.floats(0, 0.3),
)
def test_every_point_is_in_the_picture_and_some_point_is_at_its_margin(
    points: list[tuple[float, float, float]], azimuth: float, elevation: float, aspect: float, margin: float
) -> None:
    array = np.array(points)
    view = frame_points(array, azimuth_rad=azimuth, elevation_rad=elevation, fovy_rad=0.6, aspect=aspect, margin=margin)
    local = (array - view.position_m) @ view.rotation
    room = (1 - 2 * margin) * np.tan(0.3)
    # How far outside of the margin each point is, in metres; a point in the camera itself is at all margins.
    beyond = np.maximum(np.abs(local[:, 0]) + aspect * room * local[:, 2], np.abs(local[:, 1]) + room * local[:, 2])
    assert beyond.max() == pytest.approx(0, abs=1e-9)


@given(azimuth=st.floats(-3.1, 3.1), elevation=st.floats(-1.5, 1.5))
def test_a_direction_has_the_angles_it_was_made_from(azimuth: float, elevation: float) -> None:
    assert angles(direction(azimuth, elevation)) == pytest.approx((azimuth, elevation))


def test_points_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="must be finite"):
        frame_points(np.full((3, 3), np.nan), azimuth_rad=0, elevation_rad=0, fovy_rad=0.6, aspect=1, margin=0)
