"""Footprints: apart, touching, and in each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.perception.belt.belt_studio import Laid

from graspline.perception.belt.overlaps import gap_m, overlaps_m

SIZE = (0.04, 0.04, 0.04)


def at(x_m: float, y_m: float = 0.0, yaw_rad: float = 0.0) -> Laid:
    return Laid(colour="red", size_m=SIZE, x_m=x_m, y_m=y_m, yaw_rad=yaw_rad)


def test_blocks_side_by_side_are_apart_by_what_is_between_them() -> None:
    assert gap_m(at(0.0), at(0.05)) == pytest.approx(0.01)
    assert gap_m(at(0.0), at(0.03)) == pytest.approx(-0.01)
    np.testing.assert_allclose(overlaps_m([at(0.0), at(0.03), at(0.2)]), [0.01, 0.01, 0.0], atol=1e-12)


@given(st.floats(-0.06, 0.06), st.floats(-0.06, 0.06), st.floats(-3, 3), st.floats(-3, 3))
def test_a_gap_is_the_same_from_both_sides_and_any_way_round(x: float, y: float, yaw: float, turn: float) -> None:
    one, other = at(0.0), at(x, y, yaw)
    assert gap_m(one, other) == pytest.approx(gap_m(other, one), abs=1e-12)
    cosine, sine = np.cos(turn), np.sin(turn)
    turned = at(cosine * x - sine * y, sine * x + cosine * y, yaw + turn)
    assert gap_m(at(0.0, 0.0, turn), turned) == pytest.approx(gap_m(one, other), abs=1e-9)
