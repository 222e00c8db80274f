"""Episodes as their logs tell them: the recording that a log was packed from, and what its row has to say of it.

Every episode is read as its own row says it was played: those of a merged dataset may have other parameters than the
rest.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from graspline.datasets.format.recording import KeptLog, Recording
from graspline.datasets.format.rows import JSON_COLUMNS, Row, labels_of
from graspline.episodes.fault_injection import Strike
from graspline.errors import InputError
from graspline.machine.machine import Machine
from graspline.parameters import Parameters, load
from graspline.registry import Origin
from graspline.tasks.catalogue import TASKS
from graspline.tasks.task import Draw, Task

# What a log raises that is one, but not of this task or scene.
UNREADABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskInstance:
    """What played an episode."""

    task: Task[Any]
    parameters: Parameters
    machine: Machine


def played_by(row: Row) -> TaskInstance:
    """Bad input if the row's scenario names no task; its task may not be installed here."""
    scenario = json.loads(row["scenario"])
    return _found(json.dumps([scenario.get("origin"), scenario.get("parameters")]))


@functools.lru_cache(maxsize=8)
def _found(origin_and_parameters: str) -> TaskInstance:
    origin, plain = json.loads(origin_and_parameters)
    if not isinstance(origin, dict) or not isinstance(plain, dict):
        raise InputError("its scenario has no task or no parameters")
    task = TASKS.again(Origin.from_dict(origin))
    parameters = load(task.parameters, plain)
    return TaskInstance(
        task=task,
        parameters=parameters,
        machine=task.machine(parameters),
    )


def recording_from(row: Row, kept: KeptLog) -> Recording:
    """The recording that a log was packed from; only whether it is a success is taken from the row.

    Raises one of `UNREADABLE` if the log is not one of the task.
    """
    played, facts = played_by(row), kept.facts
    scene, transitions = played.task.scene(played.parameters), kept.transitions
    entries = tuple((float(t_s), str(state)) for t_s, state in facts["entries"])
    sampled = Draw(start=kept.log.start, variation=kept.log.variation, refused=0)
    strange = [name for name in facts["targets"] if name not in scene.object_names]
    if strange:
        raise ValueError(f"the scene has no {', '.join(map(str, strange))}")
    return Recording(
        seed=facts["seed"],
        verdict=facts["verdict"],
        succeeded=row["success"],
        contradicted=facts["verdict"] in played.machine.successes and not row["success"],
        retries=played.machine.retries_in(transitions),
        sim_time_s=kept.log.ticks * scene.robot.dt_s,
        start_s=played.machine.work_began_s(entries),
        state_hash=facts["state_hash"],
        targets=tuple(facts["targets"]),
        transitions=transitions,
        entries=entries,
        recoveries=tuple((float(begin_s), float(end_s)) for begin_s, end_s in facts["recoveries"]),
        evidence=kept.evidence,
        truth=facts["truth"],
        strikes=tuple(Strike(**each) for each in facts["strikes"]),
        scenario=facts["scenario"],
        instruction=played.task.instruct(
            played.parameters, sampled, {each.state: each.outcome for each in transitions}
        ),
        log=kept.log,
        first_tick=row["first_tick"],
    )


def label_differences(row: Row, recording: Recording) -> Iterator[str]:
    """In what the row of an episode contradicts its recording."""
    for name, logged in labels_of(recording).items():
        if name in JSON_COLUMNS:
            if json.loads(row[name]) != json.loads(logged):
                yield f"column {name} of the row is not what the log says"
        elif row[name] != logged:
            yield f"{name} is {row[name]} in the row and {logged} in the log"
    if recording.succeeded:
        for name in recording.instruction.objects:
            if name not in recording.targets:
                yield f"{recording.instruction.sentence!r} is about {name}, and no outcome of this success is"
