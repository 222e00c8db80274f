"""Episodes played again from their logs: to the same bits, past the frames the dataset holds, and judged once more.

Every episode is played as its own row says: those of a merged dataset may have other parameters than the rest.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.datasets.frames import OURS, frame_values, timeline_of
from graspline.datasets.recording import KeptLog, Recording
from graspline.datasets.rows import Row, log_file
from graspline.datasets.store import Dataset, numbers_in
from graspline.engine.cpu import CpuEngine
from graspline.engine.events import Change, CorruptControl, Place, Push
from graspline.episodes.log import EpisodeLog, Replayed, replay_logs
from graspline.episodes.run import cores, snapshot_of, truth_of
from graspline.errors import DatasetProblem, InputError
from graspline.evidence import Evidence
from graspline.parameters import Parameters, load
from graspline.scenes.scene import Scene
from graspline.scenes.variation import write_edits
from graspline.tasks.catalogue import find_task
from graspline.tasks.task import Draw, Task
from graspline.version import VERSION

# Logs that are played side by side: enough to keep many cores busy, few enough for their states to stay in memory.
_LANES = 32
# A stored number may differ by a few roundings to float32.
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """One episode played again."""

    row: Row
    # What is not as the dataset says, in words; nothing if all is equal.
    differences: tuple[str, ...]
    # The goal by truth at its end; empty if that end is not the recorded one.
    goal: Evidence = ()


def rerun(dataset: Dataset, rows: Sequence[Row]) -> Iterator[Rerun]:
    """Play these episodes again on all cores; each comes when it is finished, in no order."""
    alike: dict[str, list[Row]] = {}
    for row in rows:
        scenario = json.loads(row["scenario"])
        alike.setdefault(json.dumps([scenario.get("task"), scenario.get("parameters")]), []).append(row)
    for key, some in alike.items():
        try:
            player = _Player(dataset, *_task_of(*json.loads(key)), min(len(some), _LANES))
        except InputError as error:
            yield from (Rerun(row=row, differences=error.problems) for row in some)
            continue
        for replayed in replay_logs(player.engine, player.logs(some)):
            yield player.compared(replayed)
            yield from player.refused()
        yield from player.refused()


def _task_of(name: object, plain: object) -> tuple[Task[Any], Parameters]:
    if not isinstance(name, str) or not isinstance(plain, dict):
        raise InputError("its scenario names no task or no parameters")
    task = find_task(name)
    return task, load(task.parameters, plain)


class _Player:
    """Feeds logs to an engine and holds what comes out against the dataset."""

    def __init__(self, dataset: Dataset, task: Task[Any], parameters: Parameters, lanes: int) -> None:
        self._dataset, self._task, self._parameters = dataset, task, parameters
        self._machine = task.machine(parameters)
        self.engine = CpuEngine(task.scene(parameters), lanes, cores())
        self._playing: dict[int, tuple[Row, KeptLog, Recording]] = {}
        self._refused: list[Rerun] = []

    def logs(self, rows: Sequence[Row]) -> Iterator[EpisodeLog]:
        """Those that can be played, read as they are asked for."""
        numbers, scratch = itertools.count(), copy.copy(self.engine.scene.model)
        for row in rows:
            try:
                kept = self._dataset.log(row)
                _check_playable(self.engine.scene, kept.log, scratch)
                self._playing[next(numbers)] = row, kept, _recording_of(row, kept)
            except DatasetProblem as error:
                self._refused.append(Rerun(row=row, differences=tuple(str(error).splitlines())))
            except _UNPLAYABLE as error:
                path = self._dataset.root / log_file(row["episode_id"])
                self._refused.append(Rerun(row=row, differences=(f"{path}: cannot be played: {error}",)))
            else:
                yield kept.log

    def refused(self) -> list[Rerun]:
        """Those that could not be played, since this was last asked."""
        refused, self._refused = self._refused, []
        return refused

    def compared(self, replayed: Replayed) -> Rerun:
        dataset, scene = self._dataset, self.engine.scene
        row, kept, recording = self._playing.pop(replayed.number)
        different, goal = list(log_differences(dataset, row, kept)), ()
        same = replayed.state_hash == row["state_hash"]
        if same:
            draw = Draw(start=kept.log.start, variation=kept.log.variation, refused=0)
            snapshot = snapshot_of(self.engine, replayed.lane, draw, kept.log.ticks * scene.robot.dt_s)
            goal = self._task.judge(self._parameters, draw, snapshot)
            if truth_of(snapshot) != kept.facts["truth"]:
                different.append("the truth in the log is not what the replay ends with")
        else:
            different.append(f"the replay ends in state {replayed.state_hash}, recorded was {row['state_hash']}")
        # Other versions part from what was recorded in every column; that they are others says it all.
        if same or not versions_note(row):
            whole = replace(recording, log=replace(recording.log, states=replayed.states[1:]))
            derived = frame_values(whole, dataset.settings, scene, self._machine)
            different += _frame_differences(dataset, row, derived)
        return Rerun(row=row, differences=tuple(different), goal=goal)


def versions_note(row: Row) -> str:
    """Who recorded an episode, if that was not us: then bits cannot be expected to be the same."""
    scenario = json.loads(row["scenario"])
    recorded = f"graspline {scenario.get('graspline')} on MuJoCo {scenario.get('mujoco')}"
    this = f"graspline {VERSION} on MuJoCo {mujoco.__version__}"
    if recorded == this:
        return ""
    return f"recorded by {recorded}, and this is {this}: they cannot be expected to give the same bits"


def log_differences(dataset: Dataset, row: Row, kept: KeptLog) -> Iterator[str]:
    """In what a log contradicts the episode's row; nothing is played for this."""
    for name in ("seed", "verdict", "state_hash"):
        if kept.facts[name] != row[name]:
            yield f"{name} is {row[name]} in the row and {kept.facts[name]} in the log"
    for name, fact in (("scenario", kept.facts["scenario"]), ("randomized", kept.log.variation.described)):
        if fact != json.loads(row[name]):
            yield f"column {name} of the row is not what the log says"
    robot = dataset.scene.robot
    if abs(kept.log.ticks * robot.dt_s - row["end_s"]) > robot.dt_s / 2:
        yield f"the row ends after {row['end_s']:.3f} s, the log after {kept.log.ticks * robot.dt_s:.3f} s"
    frames = len(timeline_of(kept.log.ticks, robot.control_hz, dataset.settings.fps))
    if frames != row["length"]:
        yield f"the row has {row['length']} frames, the log {frames}"


def _frame_differences(dataset: Dataset, row: Row, derived: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    """Columns whose stored values are not those of the replay; evidence is kept in the log, and not derived again."""
    try:
        table = dataset.frames(row)
    except DatasetProblem as error:
        yield from str(error).splitlines()
        return
    for name, expected in derived.items():
        if name == f"{OURS}evidence" or len(table) != len(expected):
            continue
        stored = numbers_in(table, name)
        if stored.dtype == np.float32:
            close = np.isclose(stored, expected, rtol=_ROUNDING, atol=_ROUNDING)
            same = close.reshape(len(stored), -1).all(axis=1)
        else:
            same = np.equal(stored, expected).astype(bool)
        if not same.all():
            count, first = np.sum(~same), np.argmin(same)
            yield f"{name} is not what the replay gives in {count} of {len(stored)} frames, first in frame {first}"


# What a log raises that is one, but not of this scene.
_UNPLAYABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError)


def _check_playable(scene: Scene, log: EpisodeLog, scratch: mujoco.MjModel) -> None:
    """Refuse a log that does not fit the scene; `scratch` is a model of it to write on."""
    if log.start.shape != (scene.model.nq,) or log.positions.shape[1:] != (len(scene.robot.joints),) or not log.ticks:
        raise ValueError(f"the scene takes no start {log.start.shape} and reference {log.positions.shape}")
    if not all(np.isfinite(each).all() for each in (log.start, log.positions, log.velocities)):
        raise ValueError("it holds numbers that are none")
    if log.variation.latency_ticks not in range(log.ticks + 1):
        raise ValueError(f"a latency of {log.variation.latency_ticks!r} ticks")
    write_edits(scratch, log.variation.edits)
    for _, event in log.events:
        match event:
            case Push():
                _ = scratch.body(event.body), np.reshape(event.force_n, 3).astype(float)
            case Place():
                pose = (*event.position_m, *event.quaternion)
                _ = scene.joint_address(event.body), np.reshape(pose, 7).astype(float)
            case Change():
                write_edits(scratch, event.edits)
            case CorruptControl():
                _ = scratch.actuator(event.joint)
            case _:
                pass


def _recording_of(row: Row, kept: KeptLog) -> Recording:
    """The recording that the kept log was packed from, but for evidence."""
    facts = kept.facts
    return Recording(
        seed=row["seed"],
        verdict=row["verdict"],
        succeeded=row["success"],
        contradicted=False,
        retries=row["retries"],
        sim_time_s=row["end_s"],
        state_hash=row["state_hash"],
        targets=tuple(row["target_objects"]),
        transitions=(),
        entries=tuple((float(t_s), str(state)) for t_s, state in facts["entries"]),
        recoveries=tuple((float(begin_s), float(end_s)) for begin_s, end_s in facts["recoveries"]),
        evidence=(),
        truth=facts["truth"],
        strikes=(),
        scenario=facts["scenario"],
        log=kept.log,
    )
