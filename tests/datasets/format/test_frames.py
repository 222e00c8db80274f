"""What the rows of an episode mean: the observation at a frame's start, the reference at its end."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import mujoco
import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from graspline.datasets.format.frames import (
    OURS,
    columns_of,
    features_of,
    frame_values,
    shown_states,
    table_of,
    timeline_of,
)
from graspline.datasets.format.recording import Recording
from graspline.datasets.format.settings import DatasetSettings
from graspline.engine.events import Blind, Place, See
from graspline.episodes.camera_views import View
from graspline.episodes.units import CONVENTIONS, Convention, units_of
from graspline.scenes.cube_table import CUBE, cube_table
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube

from ..conftest import cube_settings

SCENE = cube_table()
MACHINE = LIFT_CUBE.machine(LiftCube())
ARM = [SCENE.joint_address(name) for name in SCENE.robot.joints]


def values_of(recording: Recording, settings: DatasetSettings) -> dict[str, NDArray[Any]]:
    return frame_values(recording, settings, SCENE, MACHINE)


@pytest.mark.parametrize(
    "ticks, fps, frames, last_end", [(60, 60, 60, 60), (61, 30, 31, 61), (60, 30, 30, 60), (7, 10, 2, 7)]
)
def test_frames_fall_on_ticks_and_the_last_may_reach_past_the_end(
    ticks: int, fps: int, frames: int, last_end: int
) -> None:
    timeline = timeline_of(ticks, 60, fps)
    assert len(timeline) == frames
    np.testing.assert_array_equal(timeline.ticks, np.arange(frames) * (60 // fps))
    np.testing.assert_array_equal(timeline.ends[:-1], timeline.ticks[1:])
    assert timeline.ends[-1] == last_end


def test_an_episode_of_no_ticks_is_one_frame() -> None:
    timeline = timeline_of(0, 60, 30)
    assert (timeline.ticks.tolist(), timeline.ends.tolist()) == ([0], [0])


@pytest.mark.parametrize("units", CONVENTIONS)
@pytest.mark.parametrize("fps", [60, 30, 10])
def test_a_frame_observes_its_start_and_acts_to_its_end(played: Recording, fps: int, units: Convention) -> None:
    values = values_of(played, cube_settings(fps=fps, units=units))
    step, log = 60 // fps, played.log
    measured = np.concatenate([log.start[None], log.states])[:, ARM]
    outward = units_of(SCENE.robot, units).outward
    end = 0
    for frame, (state, action) in enumerate(zip(values["observation.state"], values["action"], strict=True)):
        begin, end = frame * step, min((frame + 1) * step, log.ticks)
        np.testing.assert_array_equal(state, outward(measured[begin]).astype(np.float32))
        np.testing.assert_array_equal(action, outward(log.positions[end]).astype(np.float32))
    assert end == log.ticks, "the last frame holds the last reference"


def test_times_are_counted_in_frames(played: Recording) -> None:
    found = values_of(played, cube_settings(fps=30))["timestamp"]
    np.testing.assert_array_equal(found, (np.arange(len(found)) / 30).astype(np.float32))
    assert (len(found) - 1) / 30 < played.sim_time_s <= len(found) / 30 + 1e-9


def test_done_and_success_are_on_the_last_frame(played: Recording) -> None:
    values = values_of(played, cube_settings())
    last = np.arange(len(values["timestamp"])) == len(values["timestamp"]) - 1
    np.testing.assert_array_equal(values["next.done"], last)
    np.testing.assert_array_equal(values["next.success"], last)
    failed = values_of(dataclasses.replace(played, succeeded=False), cube_settings())
    np.testing.assert_array_equal(failed["next.done"], last)
    assert not failed["next.success"].any()


def test_every_frame_names_the_state_it_begins_in(played: Recording) -> None:
    values = values_of(played, cube_settings(fps=60))
    names = values[f"{OURS}state"]
    for tick, name in enumerate(names):
        begun = [state for t_s, state in played.entries if t_s <= tick / 60 + 1e-9]
        assert name == (begun[-1] if begun else played.entries[0][1])
    assert [MACHINE.paths()[index] for index in values[f"{OURS}state_index"]] == list(names)
    lasting = {
        state for (t_s, state), (end_s, _) in zip(played.entries, played.entries[1:], strict=False) if end_s > t_s
    }
    assert lasting <= set(names)


def test_recovery_is_told_from_the_failure_until_it_was_made_good(recovered: Recording) -> None:
    ((begin_s, end_s),) = recovered.recoveries
    for fps in (60, 10):
        times = np.arange(len(values_of(recovered, cube_settings(fps=fps))["timestamp"])) / fps
        found = values_of(recovered, cube_settings(fps=fps))[f"{OURS}recovery"]
        np.testing.assert_array_equal(found, (times >= begin_s - 1e-9) & (times < end_s - 1e-9))
        assert found.any()
        assert not found.all()


def test_no_trouble_is_no_recovery(played: Recording) -> None:
    assert not values_of(played, cube_settings())[f"{OURS}recovery"].any()


def test_every_outcome_is_told_once_in_the_frame_it_fell_into(recovered: Recording) -> None:
    texts = values_of(recovered, cube_settings(fps=10))[f"{OURS}evidence"]
    told = [(frame, each) for frame, text in enumerate(texts) if text for each in json.loads(text)]
    assert [(each["state"], each["outcome"], each["about"]) for _, each in told] == [
        (each.state, each.outcome, each.about) for each in recovered.transitions
    ]
    for (frame, each), transition in zip(told, recovered.transitions, strict=True):
        assert each["evidence"] == [one.as_dict() for one in transition.evidence]
        # The last outcome falls on the end, of which there is no frame.
        assert frame / 10 <= transition.t_s + 1e-9
        assert transition.t_s < (frame + 1) / 10 + 1e-9 or frame == len(texts) - 1


def test_tool_poses_are_where_the_arm_is_and_where_it_should_be(played: Recording) -> None:
    values = values_of(played, cube_settings(fps=10))
    data, site = mujoco.MjData(SCENE.model), SCENE.model.site("tool").id
    qpos = np.concatenate([played.log.start[None], played.log.states])
    for frame in (0, 11, len(values["timestamp"]) - 1):
        data.qpos[:] = qpos[6 * frame]
        for name, joints in (
            ("tool_pose", None),
            ("tool_target", played.log.positions[min(6 * frame + 6, played.log.ticks)]),
        ):
            if joints is not None:
                data.qpos[ARM] = joints
            mujoco.mj_kinematics(SCENE.model, data)
            found, rotation = values[f"{OURS}{name}"][frame], np.zeros(9)
            np.testing.assert_allclose(found[:3], data.site_xpos[site], atol=1e-6)
            mujoco.mju_quat2Mat(rotation, found[3:].astype(np.float64))
            np.testing.assert_allclose(rotation, data.site_xmat[site], atol=1e-6)


def test_object_poses_are_those_of_the_simulator(played: Recording) -> None:
    found = values_of(played, cube_settings(fps=10))[f"{OURS}object_poses"]
    at = SCENE.joint_address(CUBE)
    qpos = np.concatenate([played.log.start[None], played.log.states])[: len(found) * 6 : 6]
    np.testing.assert_array_equal(found, qpos[:, at : at + 7].astype(np.float32))


def test_every_column_is_declared_and_typed(played: Recording) -> None:
    values = values_of(played, cube_settings())
    table = table_of(values, SCENE, 4, 100, 2)
    assert table.column_names == [column.name for column in columns_of(SCENE)]
    features = features_of(cube_settings(), SCENE, {"video.codec": "h264"})
    for column in columns_of(SCENE):
        feature, kind = features[column.name], table.schema.field(column.name).type
        assert feature["shape"] == [kind.list_size if pa.types.is_fixed_size_list(kind) else 1]
        assert feature["names"] is None or len(feature["names"]) == feature["shape"][0]
    assert features["observation.state"]["names"] == [
        "shoulder_pan.pos",
        "shoulder_lift.pos",
        "elbow_flex.pos",
        "wrist_flex.pos",
        "wrist_roll.pos",
        "gripper.pos",
    ]
    assert features["observation.images.front"]["shape"] == [48, 64, 3]


def test_counters_place_an_episode_in_the_whole(played: Recording) -> None:
    table = table_of(values_of(played, cube_settings()), SCENE, 4, 100, 2)
    count = len(table)
    assert table.column("episode_index").to_pylist() == [4] * count
    assert table.column("index").to_pylist() == list(range(100, 100 + count))
    assert table.column("frame_index").to_pylist() == list(range(count))
    assert table.column("task_index").to_pylist() == [2] * count


def test_policies_are_shown_nothing_of_ours() -> None:
    for name in features_of(cube_settings(views=(View("front", 64, 48),)), SCENE, {}):
        if name.startswith(("observation", "action")):
            assert name in ("observation.state", "observation.images.front", "action")


def test_a_blackout_is_black_in_the_pictures_that_fell_into_it() -> None:
    timeline = timeline_of(6, 60, 60)
    dark = ((2, Blind(kind="black", camera="front")), (4, See()))
    assert shown_states(dark, timeline, "front") == [0, 1, 2, None, None, 5]
    assert shown_states(dark, timeline, "wrist") == [0, 1, 2, 3, 4, 5]


def test_a_frozen_picture_stays_what_it_was() -> None:
    timeline = timeline_of(6, 60, 60)
    assert shown_states(((2, Blind(kind="frozen")), (4, See())), timeline, "front") == [0, 1, 2, 2, 2, 5]


def test_what_happens_to_bodies_does_not_change_what_is_shown() -> None:
    placed = ((2, Place(body="cube", position_m=(0.0, 0.0, 0.0))),)
    assert shown_states(placed, timeline_of(4, 60, 60), "front") == [0, 1, 2, 3]
