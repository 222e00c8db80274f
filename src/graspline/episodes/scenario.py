"""A scenario: everything that decides a run, saved whole with each episode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from graspline.parameters import Parameters, Value, dump
from graspline.tasks.task import Task
from graspline.version import VERSION

# Sensors are those of the last of the eight substeps; see engine/cpu.py.
SENSOR_STAGE = "last_substep"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scenario:
    """One episode before it is played: task, parameters, seed and faults."""

    task: Task[Any]
    parameters: Parameters
    seed: int
    faults: tuple[str, ...] = ()

    def random(self) -> tuple[np.random.Generator, np.random.Generator, np.random.Generator]:
        """Independent randomness for the scene, for perception and for faults."""
        scene, perception, faults = np.random.SeedSequence(self.seed).spawn(3)
        return np.random.default_rng(scene), np.random.default_rng(perception), np.random.default_rng(faults)

    def as_dict(self) -> dict[str, Value]:
        """Plain values, with the versions that the bits depend on."""
        return {
            "task": self.task.name,
            "seed": self.seed,
            "parameters": dump(self.parameters),
            "faults": list(self.faults),
            "engine": "cpu",
            "sensor_stage": SENSOR_STAGE,
            "graspline": VERSION,
            "mujoco": mujoco.__version__,
        }
