"""Colours keep their names in other light, and what is not in the palette has none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.perception.belt.belt_studio import PAINTS, RGB

from graspline.perception.core.palette import UNKNOWN, Paint, colours_of, name_of

NAMES = [paint.name for paint in PAINTS]


def shown(colour: str, brightness: float, tint: tuple[float, ...]) -> np.ndarray:
    """As eight bits show it."""
    return np.rint(np.minimum(255 * brightness * np.array(RGB[colour]) * np.array(tint), 255.0))


@given(st.sampled_from(list(RGB)), st.floats(0.3, 2.5), st.tuples(*[st.floats(0.85, 1.15)] * 3))
def test_a_colour_keeps_its_name_in_dim_bright_and_tinted_light(
    colour: str, brightness: float, tint: tuple[float, ...]
) -> None:
    assert name_of(shown(colour, brightness, tint), PAINTS) == (colour if colour in NAMES else UNKNOWN)


@given(st.floats(0.1, 1.0), st.tuples(*[st.floats(0.85, 1.15)] * 3))
def test_grey_has_no_colour_in_tinted_light(brightness: float, tint: tuple[float, ...]) -> None:
    grey = np.rint(np.minimum(255 * brightness * np.array(tint), 255)).astype(np.uint8)
    assert not colours_of(np.tile(grey, (2, 2, 1))).coloured.any()


@pytest.mark.parametrize("colour", RGB)
@pytest.mark.parametrize("brightness", [0.15, 1.0])
def test_a_paint_has_a_colour_in_the_shade_and_in_the_light(colour: str, brightness: float) -> None:
    pixel = shown(colour, brightness, (1.0, 1.0, 1.0)).astype(np.uint8)
    assert colours_of(np.tile(pixel, (2, 2, 1))).coloured.all()


def test_orange_is_not_red_and_cyan_is_not_blue() -> None:
    assert name_of(np.array([240.0, 120.0, 20.0]), PAINTS) == UNKNOWN
    assert name_of(np.array([20.0, 200.0, 220.0]), PAINTS) == UNKNOWN


def test_the_nearer_of_two_paints_is_meant() -> None:
    paints = (Paint(name="yellow", rgb=(0.93, 0.78, 0.10)), Paint(name="orange", rgb=(0.95, 0.55, 0.08)))
    for paint in paints:
        assert name_of(255 * np.array(paint.rgb), paints) == paint.name
