"""Recorded actions, and what following them comes to."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.envs.reproduction import recited, recorded_actions, reproduce
from graspline.episodes.run import run_scenarios

from .playing import interface, recorded, scenario


@pytest.mark.parametrize("fps, every", [(60, 1), (30, 2), (20, 3)])
def test_actions_are_the_reference_at_the_end_of_each_frame(fps: int, every: int) -> None:
    log, each = recorded().log, interface(fps)
    actions = recorded_actions(log, each)
    assert actions.dtype == np.float32
    assert len(actions) == -(-log.ticks // every)
    np.testing.assert_array_equal(actions[0], each.units.outward(log.positions[every]).astype(np.float32))
    np.testing.assert_array_equal(actions[-1], each.units.outward(log.positions[-1]).astype(np.float32))


def test_a_recital_goes_on_with_its_last_action() -> None:
    actions = np.arange(12, dtype=np.float32).reshape(2, 6)
    policy = recited(actions)
    said = [policy({}) for _ in range(4)]
    np.testing.assert_array_equal(said, actions[[0, 1, 1, 1]])


@pytest.mark.parametrize("fps, every", [(60, 1), (30, 2)])
def test_a_followed_reference_is_the_recorded_one_to_single_precision(fps: int, every: int) -> None:
    (again,) = reproduce([recorded()], interface(fps))
    assert again.succeeded
    frames = len(again.log.positions)
    np.testing.assert_allclose(again.log.positions[::every], recorded().log.positions[:frames:every], rtol=0, atol=2e-7)


def test_the_actions_of_another_episode_come_to_nothing() -> None:
    episodes = list(run_scenarios([scenario(seed) for seed in (7, 8)], lanes=2))
    assert all(episode.succeeded for episode in episodes)
    assert [each.verdict for each in reproduce(episodes, interface(), lanes=2, shift=1)] == ["out_of_time"] * 2
