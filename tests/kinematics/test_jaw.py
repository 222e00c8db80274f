"""The jaw's law, measured on the compiled model."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.kinematics.jaw import SMALL_RAD, Opening, measure
from graspline.robots.so101 import SO101
from graspline.robots.ur5e import UR5E


@pytest.fixture(scope="module")
def opening() -> Opening:
    return measure(SO101)


def test_it_covers_the_whole_range(opening: Opening) -> None:
    limits = SO101.limits
    assert (opening.angles_rad[0], opening.angles_rad[-1]) == (limits.lower[SO101.jaw], limits.upper[SO101.jaw])


def test_what_grasping_uses_is_what_is_measured(opening: Opening) -> None:
    # Beyond, the moving tip rather swings away than aside, and nothing is gripped between the tips.
    used = opening.angles_rad <= SO101.jaw_law.angles_rad[-1]
    angles, gaps = opening.angles_rad[used], opening.tip_gap_m[used]
    assert angles[-1] > 1.15
    np.testing.assert_allclose(SO101.jaw_law.gap_m(angles), gaps, atol=4e-6)
    np.testing.assert_allclose(SO101.jaw_law.gap_m(SO101.jaw_law.angle_rad(gaps)), gaps, atol=4e-6)
    # Wide open the gap hardly changes with the angle.
    steep = angles < 1.7
    np.testing.assert_allclose(SO101.jaw_law.angle_rad(gaps[steep]), angles[steep], atol=1e-4)


def test_a_shut_jaw_is_narrowest_at_its_tips_and_an_open_one_is_not(opening: Opening) -> None:
    assert opening.narrowest_m[0] == pytest.approx(opening.tip_gap_m[0], abs=1e-4)
    assert opening.narrowest_m[-1] < 0.7 * opening.tip_gap_m[-1]
    # The tips' faces are not quite parallel, so the shortest way may be a little longer than straight across.
    assert (opening.narrowest_m <= opening.tip_gap_m + 1e-4).all()


def test_a_line_serves_small_angles_only(opening: Opening) -> None:
    small, whole = opening.lines
    assert small.up_to_rad == SMALL_RAD
    # Users publish 19.0 mm and 74.9 mm/rad: the rate is right while the jaw is nearly shut, the gap 3 mm too wide.
    assert small.rate_m_per_rad == pytest.approx(0.0749, abs=1e-3)
    assert small.at_zero_m == pytest.approx(0.0154, abs=5e-4)
    assert small.worst_m < 1e-3
    assert whole.worst_m > 0.01
    assert opening.tip_gap_m[np.argmin(np.abs(opening.angles_rad))] == pytest.approx(0.0158, abs=1e-4)


def test_fingers_that_both_move_are_measured_between_each_other() -> None:
    opening = measure(UR5E)
    np.testing.assert_allclose(opening.tip_gap_m, UR5E.jaw_law.gap_m(opening.angles_rad), atol=1e-6)
    np.testing.assert_allclose(opening.narrowest_m, opening.tip_gap_m, atol=1e-4)
    np.testing.assert_allclose(opening.tip_back_m, 0.0, atol=1e-9)
    assert opening.tip_gap_m[-1] == pytest.approx(0.085, abs=1e-6)
