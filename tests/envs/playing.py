"""Episodes of `lift-cube` by its machine, and environments without pictures, for the tests of this folder."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from graspline.envs.environment import TaskEnv
from graspline.envs.interface import Interface, interface_of
from graspline.envs.reproduction import Actions, thinned
from graspline.episodes.log import EpisodeLog
from graspline.episodes.run import Episode, run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.scenes.cube_table import cube_table
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube

PARAMETERS = LiftCube()
SEED = 7


def scenario(seed: int = SEED, *faults: str) -> Scenario:
    return Scenario(task=LIFT_CUBE, parameters=PARAMETERS, seed=seed, faults=faults)


@functools.cache
def recorded() -> Episode:
    """One cube lifted by the machine, with its states."""
    (episode,) = run_scenarios([scenario()], record_states=True)
    assert episode.succeeded
    return episode


def interface(fps: int = 30, cameras: str = "none", units: str = "degrees") -> Interface:
    return interface_of(cube_table(), fps=fps, cameras=cameras, units=units)


def blind_env(**arguments: Any) -> TaskEnv:
    return TaskEnv("lift-cube", cameras="none", **arguments)


def recorded_actions(log: EpisodeLog, interface: Interface) -> Actions:
    """(F, nu): where the reference stands at the end of each frame, as a dataset's `action` has it."""
    return thinned(interface.units.outward(log.positions[1:]).astype(np.float32), interface.ticks_per_frame)
