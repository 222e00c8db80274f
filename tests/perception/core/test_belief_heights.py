"""How high solids reach, however they lean."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.perception.core.beliefs import Belief, Shape
from graspline.spatial.rotations import quaternion_from_matrix, rotation_x, rotation_z


def solid(shape: Shape, rotation: np.ndarray) -> Belief:
    return Belief(
        name="thing",
        shape=shape,
        position_m=np.array([1.0, 2.0, 0.5]),
        quaternion=quaternion_from_matrix(rotation),
        half_extents_m=np.array([0.03, 0.03, 0.03] if shape == "ball" else [0.03, 0.03, 0.1]),
        position_sigma_m=0.001,
        yaw_sigma_rad=0.0,
    )


@pytest.mark.parametrize("shape, high", [("box", 0.1), ("cylinder", 0.1), ("ball", 0.03)])
def test_upright_ones_reach_as_high_as_they_are(shape: Shape, high: float) -> None:
    found = solid(shape, rotation_z(0.4))
    assert (found.bottom_m, found.top_m) == pytest.approx((0.5 - high, 0.5 + high))
    assert found.yaw_rad == pytest.approx(0.4)


@pytest.mark.parametrize("shape", ["box", "cylinder"])
def test_lying_ones_are_as_high_as_they_were_wide(shape: Shape) -> None:
    assert solid(shape, rotation_x(np.pi / 2)).top_m == pytest.approx(0.53)


def test_a_leaning_cylinder_reaches_to_its_rim() -> None:
    assert solid("cylinder", rotation_x(0.3)).top_m == pytest.approx(0.5 + 0.1 * np.cos(0.3) + 0.03 * np.sin(0.3))
