"""Runs of `lift-cube` for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from graspline.episodes.episode import Episode
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.robots.so101 import SO101
from graspline.scenes.scene import Array
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube, RetryParameters

PARAMETERS = LiftCube()
ONE_TRY = LiftCube(retries=RetryParameters(grasps=0))


def scenario(seed: int, *faults: str, parameters: LiftCube = PARAMETERS) -> Scenario:
    return Scenario(task=LIFT_CUBE, parameters=parameters, seed=seed, faults=faults)


def run(scenarios: Iterable[Scenario], **options: Any) -> dict[int, Episode]:
    """Episodes by seed."""
    return {episode.scenario.seed: episode for episode in run_scenarios(list(scenarios), **options)}


def run_seeds(
    seeds: Iterable[int], *faults: str, parameters: LiftCube = PARAMETERS, **options: Any
) -> dict[int, Episode]:
    return run((scenario(seed, *faults, parameters=parameters) for seed in seeds), **options)


def told(episodes: dict[int, Episode]) -> dict[int, dict[str, Any]]:
    """What `run --json` prints, by seed."""
    return {seed: episodes[seed].as_dict() for seed in sorted(episodes)}


def assert_within_limits(positions: Array, velocities: Array) -> None:
    """A reference keeps range, velocity and acceleration limits, and its positions move as fast as it says."""
    limits, rate = SO101.limits, SO101.control_hz
    slack = 1 + 1e-6
    assert (positions >= limits.lower).all()
    assert (positions <= limits.upper).all()
    assert (np.abs(velocities) <= limits.velocity * slack).all()
    assert (np.abs(np.diff(velocities, axis=0)) * rate <= limits.acceleration * slack).all()
    # From one row to the next it moves at the mean of their speeds, give or take what jerk can add within a tick.
    steps, means = np.diff(positions, axis=0) * rate, (velocities[1:] + velocities[:-1]) / 2
    assert np.abs(steps - means).max() <= 0.1
