from __future__ import annotations

import pytest

from graspline.parameters.units import unit_of


@pytest.mark.parametrize(
    "name, unit",
    [
        ("slip_m", "metres"),
        ("timeout_s", "seconds"),
        ("speed_m_s", "metres per second"),
        ("acceleration_rad_s2", "radians per second squared"),
        ("mass_kg", "kilograms"),
        ("grip_n", "newtons"),
        ("torque_nm", "newton metres"),
        ("rate_hz", "hertz"),
        ("retries", ""),
        ("m", ""),
    ],
)
def test_the_unit_is_read_from_the_longest_ending(name: str, unit: str) -> None:
    assert unit_of(name) == unit
