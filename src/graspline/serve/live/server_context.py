"""What a server serves: a session, what goes with it that only the caller that started it knows, and how it begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graspline.episodes.scenario import Scenario
from graspline.parameters import Parameters
from graspline.serve.live.commands import ReplayEpisode
from graspline.serve.live.session import Session
from graspline.tasks.console import Console, Refused, Result
from graspline.tasks.task import Task

# Seeds that are tried for the first scene; if none of them will do, the server starts with seed 0.
SEEDS = 40


def _only_task(name: str) -> Result:
    return Refused(reason=f"this server was started for one task; start another for {name!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """`session` is asked for at every call, for another task means another session.

    Clients name episodes and places to record to by what is listed here; they never name files.
    """

    session: Callable[[], Session]
    # What this robot can do, by name, each with a sentence about it.
    tasks: Mapping[str, str] = field(default_factory=dict)
    change_task: Callable[[str], Result] = _only_task
    # Names of faults, each with a sentence about it.
    faults: Mapping[str, str] = field(default_factory=dict)
    # Recorded episodes by name; the call reads the one that is asked for.
    episodes: Callable[[], Mapping[str, Callable[[], ReplayEpisode]]] = dict
    # What people call the place that recordings go to; empty if there is none.
    recording: str = ""


def first_seed(task: Task[Any], parameters: Parameters) -> int:
    """The first seed whose scene passes the task's check; 0 for tasks without one: they sample what they can do."""
    if task.shows_well is None:
        return 0
    for seed in range(SEEDS):
        if task.shows_well(parameters, Scenario(task=task, parameters=parameters, seed=seed).sample()):
            return seed
    return 0


def console_for(task: Task[Any], parameters: Parameters, seed: int) -> Console | None:
    """A new console with randomness of this seed; None where a task offers nothing but running."""
    return None if task.console is None else task.console(parameters, np.random.default_rng(seed))
