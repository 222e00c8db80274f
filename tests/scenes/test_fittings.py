"""Furniture as data: its frame, and points above its levels."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.scenes.fittings import FITTINGS, Fitting


@pytest.mark.parametrize("fitting", FITTINGS)
def test_a_point_is_above_a_level_as_far_as_it_is_from_its_middle(fitting: Fitting) -> None:
    moved = fitting.moved((0.05, -0.02, 0.01), 0.3)
    for level in moved.levels:
        x, y, z = level.position_m
        point = moved.in_world((x + 0.1, y - 0.05, z + 0.02))
        np.testing.assert_allclose(moved.above(level, point), (0.1, -0.05, 0.02), atol=1e-12)
