"""A scenario: everything that decides a run, saved whole with each episode."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import mujoco
import numpy as np

from graspline.parameters import Parameters, Value, dump
from graspline.scenes.randomization import randomized
from graspline.tasks.task import Draw, Task
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

    def random(self) -> tuple[np.random.Generator, np.random.Generator, np.random.Generator, np.random.Generator]:
        """Independent randomness for the scene, for perception, for faults and for what is randomised on top."""
        scene, perception, faults, varied = map(np.random.default_rng, np.random.SeedSequence(self.seed).spawn(4))
        return scene, perception, faults, varied

    def draw(self) -> Draw:
        """The random scene it starts from: what the task draws, randomised as its parameters say."""
        for_scene, _, _, for_variation = self.random()
        draw = self.task.sample(self.parameters, for_scene)
        settings, scene = self.task.randomization(self.parameters), self.task.scene(self.parameters)
        return replace(draw, variation=randomized(scene, draw.variation, settings, for_variation))

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
