"""Numbers as people read them."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graspline.wording import beside, counted, duration, quantity

UNITS = ("", "m", "m/s", "s", "rad", "rad/s", "m²", "kg", "N", "px")


@pytest.mark.parametrize(
    "value, unit, text",
    [
        (0.06021, "m", "60.2 mm"),
        (1.5, "m", "1.5 m"),
        (-0.0123, "m", "-12.3 mm"),
        (7.234e-05, "m", "< 0.1 mm"),
        (2.552e-11, "m/s", "< 1 mm/s"),
        (0.25, "m/s", "250 mm/s"),
        (0.35, "s", "0.35 s"),
        (0.05, "s", "50 ms"),
        (3.2, "rad/s", "183°/s"),
        (math.pi / 2, "rad", "90°"),
        (4e-06, "m²", "4 mm²"),
        (0.012, "kg", "12 g"),
        (0.15, "N", "0.15 N"),
        (12, "px", "12 px"),
        (1234567, "", "1234567"),
        (-0.0, "m", "0 mm"),
        (math.inf, "s", "∞ s"),
    ],
)
def test_a_quantity_is_in_the_unit_that_suits_it(value: float, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


@given(st.floats(-1e9, 1e9), st.sampled_from(UNITS))
def test_no_quantity_has_an_exponent_or_a_negative_zero(value: float, unit: str) -> None:
    text = quantity(value, unit)
    assert re.fullmatch(r"(< |-)?\d+(\.\d+)?\D*", text), text
    assert not re.fullmatch(r"-0(\.0*)?\D*", text), text


@given(st.floats(-1e3, 1e3), st.sampled_from(UNITS))
def test_a_quantity_keeps_three_digits(value: float, unit: str) -> None:
    scale = {"m": 1.0, "s": 1.0, "N": 1.0}.get(unit, 0.0)
    text = quantity(value, unit)
    if scale and text[0] not in "<0":
        number, _, shown = text.partition(" ")
        factor = 1e-3 if shown.startswith("m") and shown != "m" else 1.0
        assert float(number) * factor == pytest.approx(value, rel=5.1e-3)


@given(st.floats(-10, 10), st.floats(-10, 10), st.sampled_from(UNITS))
def test_a_measurement_and_its_limit_have_the_same_unit(value: float, limit: float, unit: str) -> None:
    one, other = (text.lstrip("<> -0123456789.") for text in beside(value, limit, unit))
    assert one == other


def test_a_measurement_just_past_its_limit_does_not_look_equal() -> None:
    assert beside(0.0500004, 0.05, "m") == ("50.0004 mm", "50 mm")
    assert beside(0.05, 0.05, "m") == ("50 mm", "50 mm")


def test_a_small_limit_has_small_measurements_beside_it() -> None:
    assert beside(3e-7, 1e-6, "m") == ("0.0003 mm", "0.001 mm")
    assert beside(1e-9, 0.0, "m") == ("< 0.1 mm", "0 mm")
    assert beside(-1e-9, 0.0, "m") == ("> -0.1 mm", "0 mm")
    assert beside(-1e-9, 0.05, "m") == ("0 mm", "50 mm")


def test_one_is_singular() -> None:
    assert [counted(n, "episode") for n in (0, 1, 2)] == ["0 episodes", "1 episode", "2 episodes"]
    assert [counted(n, "retry", "retries") for n in (1, 2)] == ["1 retry", "2 retries"]


@pytest.mark.parametrize(
    "seconds, text",
    [
        (0, "0 s"),
        (20.4, "20 s"),
        (59.6, "1.0 min"),
        (200, "3.3 min"),
        (3569, "59.5 min"),
        (3590, "1.0 h"),
        (9000, "2.5 h"),
    ],
)
def test_a_long_time_is_in_seconds_minutes_or_hours(seconds: float, text: str) -> None:
    assert duration(seconds) == text
