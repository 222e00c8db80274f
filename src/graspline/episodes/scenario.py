"""A scenario: everything that decides a run, saved whole with each episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import mujoco
import numpy as np

from graspline.errors import InputError
from graspline.execution.disturbance import Disturbance
from graspline.parameters import Parameters, Value, dump
from graspline.registry import Origin
from graspline.scenes.randomization import randomized
from graspline.tasks.catalogue import TASKS, origin_of
from graspline.tasks.task import Draw, Task
from graspline.version import VERSION

# Sensors are those of the last of the eight substeps; see engine/cpu.py.
SENSOR_STAGE = "last_substep"


class Randomness(NamedTuple):
    """For the scene, perception, faults, what is randomised on top, what the world does by itself, and pushes."""

    scene: np.random.Generator
    perception: np.random.Generator
    faults: np.random.Generator
    varied: np.random.Generator
    world: np.random.Generator
    disturb: np.random.Generator


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAnswer:
    """An answer to a question of the task, given at this simulated time at the earliest."""

    text: str
    t_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scenario:
    """One episode before it is played: task, parameters, seed, faults, and answers if a person gave any.

    The same scenario gives the same bits, whatever else is played beside it.

    >>> from graspline import Scenario, find_task
    >>> task = find_task("lift-cube")
    >>> scenario = Scenario(task=task, parameters=task.parameters(), seed=7, faults=("drop@lift",))
    >>> scenario
    <Scenario lift-cube seed 7, faults drop@lift>
    >>> sorted(scenario.sample().variation.described)
    ['edge_m', 'mass_kg', 'pad_friction']
    """

    task: Task[Any]
    parameters: Parameters
    seed: int
    faults: tuple[str, ...] = ()
    # To the first questions, in their order; the rest get their default, or are asked.
    answers: tuple[GivenAnswer, ...] = ()
    # How the arm is pushed off its paths; None if it is not.
    disturb: Disturbance | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Tasks are functions, and go to other processes by where they are defined."""
        origin = origin_of(self.task)
        if not origin.place:
            raise InputError(f"task {origin.name!r} is no name in a module, so that worker processes cannot import it")
        return _scenario, (origin, self.parameters, self.seed, self.faults, self.answers, self.disturb)

    def __repr__(self) -> str:
        faults = f", faults {', '.join(self.faults)}" if self.faults else ""
        return f"<Scenario {self.task.name} seed {self.seed}{faults}>"

    def random(self) -> Randomness:
        """Independent randomness for everything that needs some."""
        return Randomness(*map(self.stream, Randomness._fields))

    def stream(self, name: str) -> np.random.Generator:
        """One of them, from its beginning, where the others are not needed."""
        key = Randomness._fields.index(name)
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(key,)))

    def sample(self) -> Draw:
        """The random scene it starts from: what the task samples, randomised as its parameters say."""
        return sample_all([self])[0]

    def as_dict(self) -> dict[str, Value]:
        """Plain values, with the versions that the bits depend on."""
        return {
            "task": self.task.name,
            "origin": origin_of(self.task).as_dict(),
            "seed": self.seed,
            "parameters": dump(self.parameters),
            "faults": list(self.faults),
            **({"answers": [{"t_s": each.t_s, "text": each.text} for each in self.answers]} if self.answers else {}),
            **({} if self.disturb is None else {"disturb": dump(self.disturb)}),
            "engine": "cpu",
            "sensor_stage": SENSOR_STAGE,
            "graspline": VERSION,
            "mujoco": mujoco.__version__,
        }


def sample_all(scenarios: Sequence[Scenario]) -> list[Draw]:
    """What each of these scenarios of one task starts from; sampled in one batch if the task's sampler can."""
    if not scenarios:
        return []
    sample = scenarios[0].task.sample
    many = getattr(sample, "many", None)
    asked = [(each.parameters, each.stream("scene")) for each in scenarios]
    samples = [sample(*each) for each in asked] if many is None else many(asked)
    return [randomized_sample(each, sampled) for each, sampled in zip(scenarios, samples, strict=True)]


def randomized_sample(scenario: Scenario, sampled: Draw) -> Draw:
    """What the task has sampled, randomised as the scenario's parameters say."""
    task, parameters = scenario.task, scenario.parameters
    settings = task.randomization(parameters)
    if not settings.any_on:
        return sampled
    varied = randomized(task.scene(parameters), sampled.variation, settings, scenario.stream("varied"))
    return replace(sampled, variation=varied)


def _scenario(
    origin: Origin,
    parameters: Parameters,
    seed: int,
    faults: tuple[str, ...],
    answers: tuple[GivenAnswer, ...],
    disturb: Disturbance | None,
) -> Scenario:
    return Scenario(
        task=TASKS.again(origin), parameters=parameters, seed=seed, faults=faults, answers=answers, disturb=disturb
    )
