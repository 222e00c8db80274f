"""Episodes played again from their logs: to the same bits, past the frames the dataset holds, and judged once more."""

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

from graspline.datasets.format.frames import frame_values, timeline_of
from graspline.datasets.format.log_reader import UNREADABLE, TaskInstance, label_differences, played_by, recording_from
from graspline.datasets.format.recording import KeptLog, Recording
from graspline.datasets.format.rows import Row, log_file
from graspline.datasets.format.settings import CHANGED_ROBOT
from graspline.datasets.format.store import Dataset
from graspline.datasets.format.tables import numbers_in
from graspline.engine.cpu import CpuEngine
from graspline.engine.events import Change, CorruptControl, Place, Push
from graspline.episodes.log import EpisodeLog, Replayed, replay_logs
from graspline.episodes.processes import cores
from graspline.episodes.replay_outcome import ended_in
from graspline.errors import DatasetProblem, InputError
from graspline.evidence import Evidence
from graspline.parameters import Parameters
from graspline.robots.digest import digest_of
from graspline.scenes.scene import Scene
from graspline.scenes.variation import write_edits
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
    alike: dict[tuple[str, Parameters], tuple[TaskInstance, list[Row]]] = {}
    for row in rows:
        try:
            played = played_by(row)
        except InputError as error:
            yield Rerun(row=row, differences=error.problems)
        else:
            alike.setdefault((played.task.name, played.parameters), (played, []))[1].append(row)
    for played, some in alike.values():
        player = _LogPlayer(dataset, played, min(len(some), _LANES))
        for replayed in replay_logs(player.engine, player.logs(some)):
            yield player.compared(replayed)
            yield from player.refused()
        yield from player.refused()


class _LogPlayer:
    """Feeds logs to an engine and holds what comes out against the dataset."""

    def __init__(self, dataset: Dataset, played: TaskInstance, lanes: int) -> None:
        self._dataset, self._played = dataset, played
        self.engine = CpuEngine(played.task.scene(played.parameters), lanes, cores())
        self._playing: dict[int, tuple[Row, KeptLog, Recording]] = {}
        self._refused: list[Rerun] = []
        recorded = dataset.settings.robot_digest
        self._another_robot = bool(recorded) and digest_of(str(dataset.settings.parameters.get("robot"))) != recorded

    def logs(self, rows: Sequence[Row]) -> Iterator[EpisodeLog]:
        """Those that can be played, read as they are asked for."""
        numbers, scratch = itertools.count(), copy.copy(self.engine.scene.model)
        for row in rows:
            try:
                kept = self._dataset.log(row)
                _check_playable(self.engine.scene, kept.log, scratch)
                self._playing[next(numbers)] = row, kept, recording_from(row, kept)
            except DatasetProblem as error:
                self._refused.append(Rerun(row=row, differences=tuple(str(error).splitlines())))
            except UNREADABLE as error:
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
        different, goal = [*label_differences(row, recording), *_length_differences(dataset, row, kept)], ()
        same = replayed.state_hash == row["state_hash"]
        if same:
            end = ended_in(self.engine, self._played.task, self._played.parameters, kept.log, replayed)
            goal = end.goal
            if end.truth != kept.facts["truth"]:
                different.append("the truth in the log is not what the replay ends with")
        else:
            different.append(f"the replay ends in state {replayed.state_hash}, recorded was {row['state_hash']}")
            if self._another_robot:
                different.append(f"robot: {CHANGED_ROBOT}")
        # Other versions part from what was recorded in every column; that they are others says it all.
        if same or not versions_note(row):
            whole = replace(recording, log=replace(recording.log, states=replayed.states[1:]))
            derived = frame_values(whole, dataset.settings, scene, self._played.machine)
            different += _frame_differences(dataset, row, derived)
        return Rerun(row=row, differences=tuple(different), goal=goal)


def replayable(row: Row) -> bool:
    """Whether an episode was played, or certified, by an engine that gives the same bits every time."""
    scenario = json.loads(row["scenario"])
    return scenario.get("engine") != "gpu" or bool(scenario.get("certified"))


def versions_note(row: Row) -> str:
    """What recorded an episode, if not graspline on a CPU: then bits cannot be expected to be the same."""
    scenario = json.loads(row["scenario"])
    if not replayable(row):
        return "played on a GPU and not certified: the CPU cannot be expected to give the same bits"
    recorded = f"graspline {scenario.get('graspline')} on MuJoCo {scenario.get('mujoco')}"
    this = f"graspline {VERSION} on MuJoCo {mujoco.__version__}"
    if recorded == this:
        return ""
    return f"recorded by {recorded}, and this is {this}: they cannot be expected to give the same bits"


def log_differences(dataset: Dataset, row: Row, kept: KeptLog) -> Iterator[str]:
    """In what a log contradicts the episode's row; nothing is played for this."""
    try:
        yield from label_differences(row, recording_from(row, kept))
    except InputError as error:
        yield from error.problems
    except UNREADABLE as error:
        yield f"does not say what happened: {type(error).__name__}: {error}"
    yield from _length_differences(dataset, row, kept)


def _length_differences(dataset: Dataset, row: Row, kept: KeptLog) -> Iterator[str]:
    control_hz, fps = dataset.scene.robot.control_hz, dataset.settings.fps
    frames = len(timeline_of(kept.log.ticks, control_hz, fps, row["first_tick"]))
    if frames != row["length"]:
        yield f"the row has {row['length']} frames, the log {frames}"


def _frame_differences(dataset: Dataset, row: Row, derived: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    """Columns whose stored values are not those of the replay; states and evidence are those that the log tells."""
    try:
        table = dataset.frames(row)
    except DatasetProblem as error:
        yield from str(error).splitlines()
        return
    for name, expected in derived.items():
        if len(table) != len(expected):
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


def _check_playable(scene: Scene, log: EpisodeLog, scratch: mujoco.MjModel) -> None:
    """Refuse a log that does not fit the scene; `scratch` is a model of it to write on."""
    if log.start.shape != (scene.model.nq,) or log.positions.shape[1:] != (len(scene.robot.joints),) or not log.ticks:
        raise ValueError(f"the scene takes no start {log.start.shape} and reference {log.positions.shape}")
    if not all(np.isfinite(each).all() for each in (log.start, log.positions, log.velocities, log.intended)):
        raise ValueError("it holds NaN or infinite numbers")
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
