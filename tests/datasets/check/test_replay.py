from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import graspline.datasets.check.replay
from graspline.datasets.check.doctor import examine
from graspline.datasets.check.replay import Rerun, log_differences, rerun
from graspline.datasets.edit.merge import merge
from graspline.datasets.format.rows import log_file
from graspline.datasets.format.settings import CHANGED_ROBOT, settings_of
from graspline.datasets.format.store import OURS, Dataset
from graspline.datasets.write.generate import generate
from graspline.errors import EnvironmentProblem
from graspline.evidence import passes
from graspline.execution.requests import Motion, Reply
from graspline.machine.machine import Machine
from graspline.machine.outcome import Outcome, Stage
from graspline.machine.table import End
from graspline.motion.joint_moves import hold
from graspline.registry import Origin
from graspline.robots.robot import Robot
from graspline.scenes.cube_table import CUBE
from graspline.tasks.catalogue import TASKS
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube, StillHold

from ..conftest import InlinePool, cube_settings
from ..damage import edit_frames, edit_json, edit_log, edit_row


def played(root: Path) -> dict[int, Rerun]:
    dataset = Dataset.open(root)
    return {each.row["episode_index"]: each for each in rerun(dataset, dataset.rows)}


def differences(root: Path) -> dict[int, tuple[str, ...]]:
    """Of the episodes that differ."""
    return {episode: each.differences for episode, each in played(root).items() if each.differences}


def test_every_episode_of_a_dataset_replays_to_the_same_state_and_frames(made: Path) -> None:
    reruns = played(made)
    assert sorted(reruns) == [0, 1, 2]
    assert all(not each.differences for each in reruns.values())
    assert all(passes(each.goal) for each in reruns.values())


def test_episodes_replay_alone_as_among_others(made: Path) -> None:
    dataset = Dataset.open(made)
    (alone,) = rerun(dataset, [dataset.row(1)])
    assert alone.row["episode_index"] == 1
    assert not alone.differences


def test_no_episode_is_no_work(made: Path) -> None:
    assert list(rerun(Dataset.open(made), [])) == []


@pytest.mark.parametrize(
    "settings",
    [
        cube_settings(views=(), faults=("drop@lift+0.3",)),
        cube_settings(views=(), faults=("nan-control@lift+0.2",), keep="all"),
        cube_settings(views=(), units="normalized", fps=60),
    ],
    ids=["dropped", "diverged", "normalized"],
)
def test_faults_and_units_do_not_keep_an_episode_from_replaying(settings: Any, tmp_path: Path) -> None:
    generate(tmp_path / "dataset", settings, 1, InlinePool())
    assert differences(tmp_path / "dataset") == {}


def test_merged_episodes_are_played_with_their_own_parameters(made: Path, tmp_path: Path) -> None:
    longer = LiftCube(hold=StillHold(still_s=0.9))
    like = cube_settings()
    settings = settings_of(LIFT_CUBE, longer, fps=like.fps, views=like.views, renderer=like.renderer)
    generate(tmp_path / "longer", settings, 1, InlinePool())
    merge([made, tmp_path / "longer"], tmp_path / "merged")
    assert len(Dataset.open(tmp_path / "merged")) == 4
    assert differences(tmp_path / "merged") == {}


def test_a_log_that_was_changed_by_a_hair_ends_elsewhere(dataset: Path) -> None:
    edit_log(dataset, 1, lambda arrays, facts: arrays.update(positions=arrays["positions"] + 1e-9))
    found = differences(dataset)
    assert list(found) == [1]
    recorded = Dataset.open(dataset).row(1)["state_hash"]
    assert any(each.startswith("the replay ends in state") and recorded in each for each in found[1])


def test_a_robot_whose_files_have_changed_is_named_as_the_reason(dataset: Path) -> None:
    edit_json(dataset, OURS, lambda plain: plain["settings"].update(robot_digest="another"))
    assert differences(dataset) == {}
    edit_row(dataset, 2, state_hash="0" * 32)
    assert f"robot: {CHANGED_ROBOT}" in differences(dataset)[2]


def test_an_end_that_is_not_the_recorded_one_is_not_judged(dataset: Path) -> None:
    edit_row(dataset, 2, state_hash="0" * 32)
    assert [bool(each.goal) for _, each in sorted(played(dataset).items())] == [True, True, False]


@pytest.mark.parametrize("column", ["observation.state", "action", "graspline.object_poses", "graspline.tool_target"])
def test_a_stored_frame_that_the_replay_does_not_pass_is_named(dataset: Path, column: str) -> None:
    def change(frames: list[list[float]]) -> list[list[float]]:
        frames[7][1] += 1e-3
        return frames

    edit_frames(dataset, 0, column, change)
    (found,) = differences(dataset)[0]
    assert found.startswith(f"{column} is not what the replay gives in 1 of ")
    assert found.endswith("first in frame 7")


def test_states_that_the_log_does_not_know_are_named(dataset: Path) -> None:
    edit_frames(dataset, 0, "graspline.state", lambda names: ["hold", *names[1:]])
    (found,) = differences(dataset)[0]
    assert found.startswith("graspline.state is not what the replay gives in 1 of")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("seed", 99),
        ("verdict", "dropped"),
        ("state_hash", "00"),
        ("retries", 2),
        ("recovered", True),
        ("target_objects", ["plate"]),
        ("target_objects", []),
        ("start_s", 0.5),
        ("end_s", 1.0),
        ("randomized", "{}"),
        ("strikes", '[[0.5, "drop", "cube", ""]]'),
    ],
)
def test_a_row_that_contradicts_its_log_is_told(dataset: Path, column: str, value: Any) -> None:
    edit_row(dataset, 1, **{column: value})
    found = differences(dataset)
    assert list(found) == [1]
    assert any(column in each and ("in the row and" in each or "of the row" in each) for each in found[1])
    opened = Dataset.open(dataset)
    read = log_differences(opened, opened.row(1), opened.log(opened.row(1)))
    assert any(column in each for each in read), "and it needs no replay"


def test_evidence_that_is_not_the_logs_is_told(dataset: Path) -> None:
    def change(values: list[str]) -> list[str]:
        at = next(frame for frame, text in enumerate(values) if "true" in text)
        return [*values[:at], values[at].replace("true", "false"), *values[at + 1 :]]

    edit_frames(dataset, 0, "graspline.evidence", change)
    (found,) = differences(dataset)[0]
    assert found.startswith("graspline.evidence is not what the replay gives in 1 of ")


def test_truth_that_was_changed_in_the_log_is_told(dataset: Path) -> None:
    edit_log(dataset, 0, lambda arrays, facts: facts["truth"]["tool"].update(jaw_gap_m=0.5))
    assert differences(dataset) == {0: ("the truth in the log is not what the replay ends with",)}


def test_another_version_is_blamed_only_where_bits_differ(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graspline.datasets.check.replay, "VERSION", "99.0")
    assert differences(dataset) == {}
    edit_log(dataset, 1, lambda arrays, facts: arrays.update(velocities=arrays["velocities"] + 1e-6))
    (told,) = differences(dataset)[1]
    assert told.startswith("the replay ends in state")
    note = graspline.datasets.check.replay.versions_note(Dataset.open(dataset).row(1))
    assert "recorded by graspline" in note
    assert "this is graspline 99.0" in note
    assert "cannot be expected" in note


def _cut(arrays: dict[str, Any], facts: dict[str, Any]) -> None:
    arrays["start"] = arrays["start"][:-1]


def _no_number(arrays: dict[str, Any], facts: dict[str, Any]) -> None:
    arrays["positions"][3, 2] = np.nan


def _strange_push(arrays: dict[str, Any], facts: dict[str, Any]) -> None:
    facts["events"].append([5, {"event": "Push", "body": "nobody", "force_n": [0.0, 0.0, 1.0]}])


def _strange_edit(arrays: dict[str, Any], facts: dict[str, Any]) -> None:
    facts["variation"]["edits"][0]["element"] = "nothing"


def _strange_entry(arrays: dict[str, Any], facts: dict[str, Any]) -> None:
    facts["entries"].append(["soon"])


def _short_floats(arrays: dict[str, Any], facts: dict[str, Any]) -> None:
    arrays["velocities"] = arrays["velocities"].astype(np.float32)


def _without_events(arrays: dict[str, Any], facts: dict[str, Any]) -> None:
    del facts["events"]


@pytest.mark.parametrize(
    "change", [_cut, _no_number, _strange_push, _strange_edit, _strange_entry, _short_floats, _without_events]
)
def test_a_log_that_cannot_be_played_is_told_and_the_others_are_played(
    dataset: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]
) -> None:
    edit_log(dataset, 1, change)
    found = differences(dataset)
    assert list(found) == [1]
    assert found[1][0].startswith(str(dataset / log_file(1)))


def test_a_scenario_that_names_no_task_is_told(dataset: Path) -> None:
    edit_row(dataset, 0, scenario=json.dumps({"task": 3}))
    found = differences(dataset)
    assert found == {0: ("its scenario has no task or no parameters",)}


def test_a_task_that_is_not_installed_is_told_with_what_to_install(dataset: Path) -> None:
    juggle = Origin("juggle", "circus:JUGGLE", "circus", "1.0")
    edit_row(dataset, 2, scenario=json.dumps({"origin": juggle.as_dict(), "parameters": {}}))
    with pytest.raises(EnvironmentProblem, match="pip install circus"):
        differences(dataset)


def stand(last: Reply, robot: Robot) -> Stage[Literal["stood"]]:
    yield Motion("stand", hold(robot, last.command, 0.5))
    return Outcome("stood")


def test_a_target_that_no_outcome_mentions_is_the_same_in_row_and_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(name="quiet", start="stand", states={"stand": stand}, table={"stand": {"stood": End("tired")}})
    quiet = dataclasses.replace(
        LIFT_CUBE, name="quiet", machine=lambda parameters: machine, inputs=lambda parameters, draw, random: {}
    )
    monkeypatch.setitem(TASKS, "quiet", quiet)
    generate(tmp_path / "quiet", settings_of(quiet, LiftCube(), fps=10, keep="all"), 1, InlinePool())
    dataset = Dataset.open(tmp_path / "quiet")
    assert dataset.row(0)["target_objects"] == [CUBE]
    assert differences(dataset.root) == {}
    assert examine(dataset.root).problems == ()
