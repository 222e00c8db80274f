"""The rows of one episode: what a policy sees and should do, and beside it what only people and audits read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graspline.datasets.format.recording import Recording
from graspline.datasets.format.settings import DatasetSettings
from graspline.engine.events import Event
from graspline.episodes.log import EpisodeLog
from graspline.episodes.units import joint_names, units_of
from graspline.execution.sensor_faults import shown_tick
from graspline.machine.machine import Machine
from graspline.scenes.scene import Scene
from graspline.spatial.rotations import quaternion_from_matrix

Array = NDArray[np.float64]

# Columns a policy must not read begin with this, for loaders take what begins with `observation` or `action`.
OURS = "graspline."
_POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
_COUNTERS = {
    "frame_index": "number of the frame in its episode",
    "episode_index": "number of the episode",
    "index": "number of the frame in the dataset",
    "task_index": "row of the instruction in `meta/tasks.parquet`",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One feature that is a column of the data files."""

    name: str
    dtype: str
    # Its meaning, for the reference.
    about: str
    # Names of its entries; None for a plain number.
    entries: tuple[str, ...] | None = None

    def feature(self) -> dict[str, Any]:
        """As `info.json` declares it."""
        names = None if self.entries is None else list(self.entries)
        return {"dtype": self.dtype, "shape": [1 if names is None else len(names)], "names": names}

    def arrow(self) -> pa.DataType:
        """The column's type in Parquet."""
        plain = {"float32": pa.float32(), "int64": pa.int64(), "bool": pa.bool_(), "string": pa.string()}[self.dtype]
        # A list of one would be read as a plain number.
        return plain if self.entries is None or len(self.entries) == 1 else pa.list_(plain, len(self.entries))


def columns_of(scene: Scene) -> tuple[Column, ...]:
    """All columns of this scene's data files, in order."""
    joints = joint_names(scene.robot)
    things = (*scene.object_names, *scene.place_names)
    return (
        Column(name="observation.state", dtype="float32", entries=joints, about="measured joint positions"),
        Column(name="action", dtype="float32", entries=joints, about="commanded joint positions at the frame's end"),
        Column(name="next.done", dtype="bool", about="true on the last frame"),
        Column(name="next.success", dtype="bool", about="true on the last frame of a success that truth confirmed"),
        # As LeRobot names it.
        Column(name="intervention", dtype="bool", about="the expert has taken over from a policy"),
        Column(name=f"{OURS}state", dtype="string", about="state of the task"),
        Column(name=f"{OURS}state_index", dtype="int64", about="its number; -1 while a policy drives"),
        Column(name=f"{OURS}recovery", dtype="bool", about="from a failure until the state that failed is passed"),
        Column(name=f"{OURS}disturbed", dtype="bool", about="the arm is pushed off its path, or on the way back"),
        Column(name=f"{OURS}tool_pose", dtype="float32", entries=_POSE, about="pose of the tool"),
        Column(name=f"{OURS}tool_target", dtype="float32", entries=_POSE, about="commanded pose at the frame's end"),
        Column(
            name=f"{OURS}object_poses",
            dtype="float32",
            entries=tuple(f"{thing}.{part}" for thing in things for part in _POSE),
            about="ground-truth poses of objects and places",
        ),
        Column(name=f"{OURS}evidence", dtype="string", about="outcomes in this frame with their measurements, as JSON"),
        Column(name="timestamp", dtype="float32", about="seconds since the episode's first frame"),
        *(Column(name=name, dtype="int64", about=about) for name, about in _COUNTERS.items()),
    )


def stats_widths(settings: DatasetSettings, scene: Scene) -> dict[str, int]:
    """Features that have statistics, with how many numbers each of them is."""
    columns = {each.name: len(each.entries or (each.name,)) for each in columns_of(scene) if each.dtype != "string"}
    return {**columns, **{view.key: 3 for view in settings.views}}


def features_of(settings: DatasetSettings, scene: Scene, encoder: Mapping[str, Any]) -> dict[str, Any]:
    """`features` of `info.json`; `encoder` says how videos are made."""
    features = {
        view.key: {
            "dtype": "video",
            "shape": [view.height, view.width, 3],
            "names": ["height", "width", "channels"],
            "info": {
                "video.height": view.height,
                "video.width": view.width,
                "video.fps": settings.fps,
                "video.channels": 3,
                "video.is_depth_map": False,
                "is_depth_map": False,
                "has_audio": False,
                **encoder,
            },
        }
        for view in settings.views
    }
    return {**features, **{column.name: column.feature() for column in columns_of(scene)}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Where the frames of an episode fall on its ticks: frame k shows the start of tick `ticks[k]`."""

    ticks: NDArray[np.intp]
    # Where the reference stands at each frame's end.
    ends: NDArray[np.intp]
    control_hz: int

    def __len__(self) -> int:
        return len(self.ticks)


def timeline_of(ticks: int, control_hz: int, fps: int, first_tick: int = 0) -> Timeline:
    """From a tick on at least one frame; the last one may reach past the end, where the reference holds."""
    step = control_hz // fps
    begins = np.arange(first_tick, max(ticks, first_tick + 1), step)
    return Timeline(ticks=begins, ends=np.minimum(begins + step, ticks), control_hz=control_hz)


def shown_states(events: tuple[tuple[int, Event], ...], timeline: Timeline, camera: str) -> list[int | None]:
    """For each frame the number of ticks after which its picture shows the world; None for a black one."""
    shown = (shown_tick(events, int(tick) - 1, camera, timeline.control_hz) for tick in timeline.ticks)
    return [None if after is None else after + 1 for after in shown]


def states_of(recording: Recording) -> Array:
    """qpos at the start of each tick and at the end, (T + 1, nq)."""
    return np.concatenate([recording.log.start[None], recording.log.states])


def frame_values(
    recording: Recording, settings: DatasetSettings, scene: Scene, machine: Machine
) -> dict[str, NDArray[Any]]:
    """Every column but the counters, one row per frame."""
    robot, log = scene.robot, recording.log
    timeline = timeline_of(log.ticks, robot.control_hz, settings.fps, recording.first_tick)
    units = units_of(robot, settings.units)
    qpos = states_of(recording)[timeline.ticks]
    joints = qpos[:, [scene.joint_address(name) for name in robot.joints]]
    targets = log.intention[timeline.ends] if log.ticks else joints
    times: Array = timeline.ticks * np.float64(robot.dt_s)
    names = _state_at(recording.entries, times)
    order = {path: index for index, path in enumerate(machine.paths())}
    last = np.arange(len(timeline)) == len(timeline) - 1
    tool = _ToolPoses(scene)
    things = [scene.joint_address(name) for name in (*scene.object_names, *scene.place_names)]
    return {
        "observation.state": units.outward(joints).astype(np.float32),
        "action": units.outward(targets).astype(np.float32),
        "next.done": last,
        "next.success": last & recording.succeeded,
        "intervention": _intervened(recording, times),
        f"{OURS}state": np.array(names, dtype=object),
        f"{OURS}state_index": np.array([order.get(name, -1) for name in names], dtype=np.int64),
        f"{OURS}recovery": _within(recording.recoveries, times),
        f"{OURS}disturbed": disturbed_in(log, timeline),
        f"{OURS}tool_pose": tool.of(qpos),
        f"{OURS}tool_target": tool.of(tool.with_joints(qpos, targets)),
        f"{OURS}object_poses": qpos[:, [at + part for at in things for part in range(7)]].astype(np.float32),
        f"{OURS}evidence": np.array(_evidence_in(recording, timeline, robot.dt_s), dtype=object),
        "timestamp": (np.arange(len(timeline)) / settings.fps).astype(np.float32),
    }


def disturbed_in(log: EpisodeLog, timeline: Timeline) -> NDArray[np.bool_]:
    """In which frames the arm was pushed off its path, or on its way back, at the start or at the end."""
    if not len(log.off):
        return np.zeros(len(timeline), bool)
    return log.off[timeline.ticks] | log.off[timeline.ends]


def table_of(
    values: Mapping[str, NDArray[Any]], scene: Scene, episode: int, first_row: int, task_index: int
) -> pa.Table:
    """The rows as a data file holds them; the episode's number and its place in the whole set come in here."""
    count = len(values["timestamp"])
    counters = {
        "frame_index": np.arange(count),
        "episode_index": np.full(count, episode),
        "index": np.arange(first_row, first_row + count),
        "task_index": np.full(count, task_index),
    }
    columns, arrays = columns_of(scene), []
    for column in columns:
        rows = values[column.name] if column.name in values else counters[column.name].astype(np.int64)
        kind = column.arrow()
        if pa.types.is_fixed_size_list(kind):
            arrays.append(pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel(), kind.value_type), rows.shape[1]))
        else:
            arrays.append(pa.array(rows.ravel(), kind))
    return pa.Table.from_arrays(arrays, names=[column.name for column in columns])


def schema_problems(table: pa.Table, scene: Scene) -> list[str]:
    """What a data file's columns lack or have of another type; without problems every one of them can be read."""
    problems = []
    for column in columns_of(scene):
        if table.column_names.count(column.name) != 1:
            problems.append(f"column {column.name} is missing")
            continue
        found = table.column(column.name)
        if found.type != column.arrow():
            problems.append(f"column {column.name} is {found.type}, expected {column.arrow()}")
        elif found.null_count or (
            pa.types.is_fixed_size_list(found.type) and found.combine_chunks().flatten().null_count
        ):
            problems.append(f"column {column.name} has gaps")
    return problems


def _state_at(entries: tuple[tuple[float, str], ...], times_s: Array) -> list[str]:
    if not entries:
        return [""] * len(times_s)
    began = np.array([t_s for t_s, _ in entries])
    index = np.searchsorted(began, times_s + 1e-9, side="right") - 1
    return [entries[max(each, 0)][1] for each in index.tolist()]


def _intervened(recording: Recording, times_s: Array) -> NDArray[np.bool_]:
    taken = recording.takeover
    return np.zeros(len(times_s), bool) if taken is None else times_s >= taken.t_s - 1e-9


def _within(spans_s: tuple[tuple[float, float], ...], times_s: Array) -> NDArray[np.bool_]:
    inside = np.zeros(len(times_s), dtype=bool)
    for begin_s, end_s in spans_s:
        inside |= (times_s >= begin_s - 1e-9) & (times_s < end_s - 1e-9)
    return inside


def _evidence_in(recording: Recording, timeline: Timeline, dt_s: float) -> list[str]:
    """For each frame the outcomes that fell into it, with what was measured, as JSON; empty where there was none."""
    found: list[list[dict[str, Any]]] = [[] for _ in range(len(timeline))]
    for each in recording.transitions:
        frame = int(np.searchsorted(timeline.ticks * dt_s, each.t_s + 1e-9, side="right")) - 1
        found[max(frame, 0)].append(
            {
                "state": each.state,
                "outcome": each.outcome,
                "about": each.about,
                "evidence": [measurement.as_dict() for measurement in each.evidence],
            }
        )
    return [json.dumps(each) if each else "" for each in found]


class _ToolPoses:
    """Where the tool is for given coordinates, by kinematics on data of its own."""

    def __init__(self, scene: Scene) -> None:
        self._model, self._data = scene.model, mujoco.MjData(scene.model)
        self._site = scene.model.site("tool").id
        self._joints = [scene.joint_address(name) for name in scene.robot.joints]

    def with_joints(self, qpos: Array, joints: Array) -> Array:
        changed = qpos.copy()
        changed[:, self._joints] = joints
        return changed

    def of(self, qpos: Array) -> NDArray[np.float32]:
        """(T, 7): position and quaternion of the tool for coordinates (T, nq)."""
        positions, rotations = np.empty((len(qpos), 3)), np.empty((len(qpos), 3, 3))
        for row, coordinates in enumerate(qpos):
            self._data.qpos[:] = coordinates
            mujoco.mj_kinematics(self._model, self._data)
            positions[row] = self._data.site_xpos[self._site]
            rotations[row] = self._data.site_xmat[self._site].reshape(3, 3)
        return np.concatenate([positions, quaternion_from_matrix(rotations)], axis=1).astype(np.float32)
