"""Where things may lie: in the ring, beside the base, apart from each other."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.kinematics.so101 import PAN_X_M
from graspline.parameters import Range
from graspline.perception.core.beliefs import Belief
from graspline.scenes.distractors import DISTRACTOR_HALF_M
from graspline.spatial.rotations import yaw_of
from graspline.tasks.scatter import as_lying, lies_free, lying_at, place_in_ring, sample_block

AHEAD = Range(-1.0, 1.0)


def block(x_m: float, y_m: float, half_m: float = 0.015) -> Belief:
    return lying_at("block_1", x_m, y_m, np.full(3, half_m), "box")


def test_places_lie_in_the_ring_and_evenly_over_its_area() -> None:
    random = np.random.default_rng(0)
    places = np.array([place_in_ring(Range(0.2, 0.4), AHEAD, random) for _ in range(2000)])
    radii = np.hypot(places[:, 0] - PAN_X_M, places[:, 1])
    assert radii.min() >= 0.2
    assert radii.max() <= 0.4
    assert np.mean(radii > np.sqrt((0.2**2 + 0.4**2) / 2)) == pytest.approx(0.5, abs=0.06)


def test_things_apart_lie_free_and_things_close_do_not() -> None:
    ball = lying_at("orange_1", 0.25, 0.0, np.full(3, 0.03), "ball")
    assert lies_free(block(0.25, 0.08), [ball], 0.02)
    assert not lies_free(block(0.25, 0.06), [ball], 0.02)


def test_nothing_lies_in_the_base() -> None:
    assert not lies_free(block(0.0, 0.0), [], 0.02)
    assert lies_free(block(0.2, 0.0), [], 0.02)


def test_a_block_lies_where_it_is_welcome_and_has_a_size_it_may_have() -> None:
    random = np.random.default_rng(1)
    for _ in range(20):
        found = sample_block("block_1", AHEAD, random, lambda each: bool(each.position_m[1] > 0))
        assert found is not None
        assert found.position_m[1] > 0
        assert found.position_m[2] == found.half_extents_m[2]
        assert (found.half_extents_m >= DISTRACTOR_HALF_M[0]).all()
        assert (found.half_extents_m <= DISTRACTOR_HALF_M[1]).all()


def test_a_block_that_is_welcome_nowhere_is_not_drawn() -> None:
    assert sample_block("block_1", AHEAD, np.random.default_rng(1), lambda each: False) is None


def test_a_start_state_has_the_thing_where_it_was_drawn() -> None:
    thing = lying_at("block_1", 0.2, -0.1, np.array([0.012, 0.015, 0.018]), "box", 0.7)
    position, quaternion = as_lying(thing, 0.05).pose
    np.testing.assert_allclose(position, thing.position_m)
    assert float(yaw_of(quaternion)) == pytest.approx(0.7)
