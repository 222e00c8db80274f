"""Seeing: what is there is seen with the noise the scenario names, what is not is lost."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.execution.requests import Look
from graspline.machine.outcome import Gives, Outcome
from graspline.perception.core.beliefs import Perception
from graspline.scenes.cube_table import CUBE
from graspline.tasks.stages.sight import SIGHT_M, UNSEEN, Sighted, TruthEye, look

from ..replies import play, saw

NOISY = Perception(position_sigma_m=0.003, yaw_sigma_rad=0.1)


def eye(perception: Perception | None = None, seed: int = 1) -> TruthEye:
    return TruthEye(perception=perception or Perception(), random=np.random.default_rng(seed))


def test_a_look_asks_the_estimator_once() -> None:
    requests, _ = play(look(eye(), CUBE), saw(np.array([0.2, 0.1, 0.015])))
    assert requests == [Look(None)]


def test_what_is_seen_is_handed_on() -> None:
    _, result = play(look(eye(), CUBE), saw(np.array([0.2, 0.1, 0.015]), half_m=0.015))
    assert isinstance(result, Gives)
    assert result.name == "seen"
    estimate = result.data.estimate
    assert isinstance(result.data, Sighted)
    np.testing.assert_array_equal(estimate.position_m, (0.2, 0.1, 0.015))
    assert (estimate.name, estimate.position_sigma_m, estimate.yaw_sigma_rad) == (CUBE, 0.0, 0.0)
    np.testing.assert_array_equal(estimate.half_extents_m, np.full(3, 0.015))


def test_the_height_of_a_target_on_the_table_follows_from_its_size() -> None:
    _, result = play(look(eye(NOISY), CUBE), saw(np.array([0.2, 0.1, 0.015]), half_m=0.015))
    assert result.data.estimate.position_m[2] == 0.015
    assert result.data.estimate.position_m[0] != 0.2
    assert result.data.estimate.position_sigma_m == 0.003


def test_a_target_that_is_not_there_is_lost() -> None:
    _, result = play(look(eye(), CUBE), saw(None))
    assert result == Outcome("lost", UNSEEN, about=CUBE)


@pytest.mark.parametrize("away_m", [1.01 * SIGHT_M, 3.0])
def test_a_target_out_of_sight_is_lost(away_m: float) -> None:
    _, result = play(look(eye(), CUBE), saw(np.array([away_m, 0.0, 0.015])))
    assert result == Outcome("lost", UNSEEN, about=CUBE)


def test_without_noise_what_is_watched_is_not_blurred() -> None:
    watch = eye().watch(CUBE)
    assert (watch.target, watch.look, watch.blur) == (CUBE, None, None)


def test_what_is_watched_is_as_noisy_as_what_is_looked_at() -> None:
    blur = eye(NOISY).watch(CUBE).blur
    assert blur is not None
    seen = np.array([blur(np.zeros(3)) for _ in range(2000)])
    assert seen.std() == pytest.approx(0.003, rel=0.06)
    assert abs(seen.mean()) < 2e-4


def test_the_same_seed_sees_the_same() -> None:
    results = [play(look(eye(NOISY, seed=4), CUBE), saw(np.array([0.2, 0.1, 0.015])))[1] for _ in range(2)]
    first, second = (result.data.estimate for result in results)
    assert first.position_m.tobytes() == second.position_m.tobytes()
    assert first.quaternion.tobytes() == second.quaternion.tobytes()


def test_what_is_on_something_else_keeps_the_height_it_is_seen_at() -> None:
    _, result = play(look(eye(), CUBE), saw(np.array([0.2, 0.1, 0.045]), half_m=0.015))
    assert result.data.estimate.position_m[2] == 0.045
