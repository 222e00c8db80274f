"""Which scene a server starts with when no seed is given: one that the task's console can show well."""

from __future__ import annotations

from typing import Any

from graspline.episodes.scenario import Scenario
from graspline.parameters import Parameters
from graspline.tasks.task import Task

# Seeds that are tried; if none of them will do, the server starts with seed 0.
SEEDS = 40


def first_seed(task: Task[Any], parameters: Parameters) -> int:
    """The first seed whose scene passes the task's check; 0 for tasks without one: they sample what they can do."""
    if task.shows_well is None:
        return 0
    for seed in range(SEEDS):
        if task.shows_well(parameters, Scenario(task=task, parameters=parameters, seed=seed).draw()):
            return seed
    return 0
