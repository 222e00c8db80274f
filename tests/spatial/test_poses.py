"""Poses compose, invert and move points as transforms do."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graspline.spatial.poses import Pose
from graspline.spatial.rotations import matrix_from_quaternion

seeds = st.integers(0, 2**32 - 1)


def poses(seed: int, count: int) -> list[Pose]:
    random = np.random.default_rng(seed)
    turned = random.normal(size=(count, 4))
    turned /= np.linalg.norm(turned, axis=1, keepdims=True)
    return [Pose(position_m=random.normal(size=3), rotation=matrix_from_quaternion(each)) for each in turned]


def assert_same(one: Pose, other: Pose) -> None:
    np.testing.assert_allclose(one.position_m, other.position_m, atol=1e-9)
    np.testing.assert_allclose(one.rotation, other.rotation, atol=1e-9)


@given(seeds)
def test_composing_moves_points_one_after_the_other(seed: int) -> None:
    X_WG, X_GO = poses(seed, 2)
    point = np.array([0.1, -0.2, 0.3])
    np.testing.assert_allclose((X_WG @ X_GO).apply(point), X_WG.apply(X_GO.apply(point)), atol=1e-9)


@given(seeds)
def test_a_pose_and_its_inverse_are_nothing(seed: int) -> None:
    (X_WG,) = poses(seed, 1)
    assert_same(X_WG.inverse() @ X_WG, Pose(position_m=np.zeros(3), rotation=np.eye(3)))


@given(seeds)
def test_what_is_seen_from_a_frame_is_where_it_was_in_it(seed: int) -> None:
    X_WG, X_WO = poses(seed, 2)
    assert_same(X_WG @ X_WO.seen_from(X_WG), X_WO)
    assert_same(X_WO.seen_from(X_WG), X_WG.inverse() @ X_WO)


@given(seeds)
def test_its_quaternion_turns_as_its_rotation_does(seed: int) -> None:
    (X_WG,) = poses(seed, 1)
    np.testing.assert_allclose(matrix_from_quaternion(X_WG.quaternion), X_WG.rotation, atol=1e-9)
