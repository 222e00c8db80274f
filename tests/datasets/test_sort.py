"""Datasets of another robot in a world that acts by itself: `sort`, with a UR5e at 120 Hz and a belt that is fed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graspline.datasets.check.doctor import examine
from graspline.datasets.check.replay import rerun
from graspline.datasets.edit.delete import delete
from graspline.datasets.format.card import card_of
from graspline.datasets.format.settings import settings_of
from graspline.datasets.format.store import Dataset
from graspline.datasets.report.page import report_page
from graspline.datasets.write.generate import generate
from graspline.episodes.camera_views import View
from graspline.evidence import passes
from graspline.parameters import load
from graspline.tasks.sort.parameters import Sort
from graspline.tasks.sort.task import SORT

from .conftest import InlinePool
from .damage import edit_log

TINY = load(Sort, {"belt": {"blocks": 2, "density_per_m": 6.0}})
JOINTS = ["shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3", "jaw"]


def test_a_robot_that_lerobot_has_no_name_for_keeps_ours() -> None:
    assert settings_of(SORT, TINY).robot_type == "ur5e"
    assert settings_of(SORT, TINY, robot_type="ur5e_2f85").robot_type == "ur5e_2f85"


def test_frames_may_come_as_often_as_this_robot_is_controlled() -> None:
    assert settings_of(SORT, TINY, fps=120).fps == 120


def test_the_card_says_what_the_demonstrator_saw_with() -> None:
    card = card_of(settings_of(SORT, TINY))
    assert "| perception of the demonstrator | camera wrist |" in card
    assert "| robot | ur5e, body joints in degrees, gripper from 0 (closed) to 100 (open) |" in card


@pytest.fixture(scope="module")
def sorted_twice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("datasets") / "sort"
    views = (View("overhead", 64, 48), View("wrist", 64, 48))
    settings = settings_of(SORT, TINY, seed=0, fps=20, views=views, renderer="rays")
    generate(root, settings, 2, InlinePool())
    return root


@pytest.mark.slow
def test_episodes_of_a_fed_belt_replay_to_the_same_state_frames_and_accounts(sorted_twice: Path) -> None:
    dataset = Dataset.open(sorted_twice)
    reruns = list(rerun(dataset, dataset.rows))
    assert [each.differences for each in reruns] == [(), ()]
    assert all(passes(each.goal) for each in reruns)
    assert dataset.info["features"]["action"]["names"] == [f"{name}.pos" for name in JOINTS]
    sent = dataset.log(dataset.rows[0]).facts["truth"]["sent"]
    assert [each["where"] for each in sent] == [f"bin_{each['colour']}" for each in sent]


@pytest.mark.slow
def test_the_doctor_finds_nothing_and_the_report_tells_where_blocks_went(sorted_twice: Path) -> None:
    assert examine(sorted_twice).problems == ()
    page = report_page(Dataset.open(sorted_twice))
    assert "What became of what was sent" in page
    # That map is one of a table around an SO-101.
    assert "Where the objects were" not in page


@pytest.mark.slow
def test_accounts_that_are_not_those_of_the_log_are_told(sorted_twice: Path, tmp_path: Path) -> None:
    root = tmp_path / "copy"
    shutil.copytree(sorted_twice, root)
    edit_log(root, 0, lambda arrays, facts: facts["truth"]["sent"][0].update(where="missed"))
    dataset = Dataset.open(root)
    different = {each.row["episode_index"]: each.differences for each in rerun(dataset, dataset.rows)}
    assert different == {0: ("the truth in the log is not what the replay ends with",), 1: ()}


@pytest.mark.slow
def test_such_datasets_are_cut_and_exported_like_any_other(sorted_twice: Path, tmp_path: Path) -> None:
    h5py: Any = pytest.importorskip("h5py")
    pytest.importorskip("rosbags")
    from graspline.datasets.export.hdf5 import export_hdf5
    from graspline.datasets.export.rosbag2 import export_rosbag2

    root = tmp_path / "one"
    shutil.copytree(sorted_twice, root)
    delete(root, [0])
    assert examine(root).problems == ()
    assert export_rosbag2(root, tmp_path / "bags") == 1
    assert export_hdf5(root, tmp_path / "sort.hdf5") == 1
    with h5py.File(tmp_path / "sort.hdf5") as file:
        obs = file["data/demo_0/obs"]
        assert obs["joint_pos"].shape[1] == 6
        assert obs["gripper"].attrs["names"].tolist() == ["jaw.pos"]
        assert np.ptp(obs["gripper"][:]) > 10
        assert json.loads(file["data"].attrs["env_args"])["env_name"] == "graspline/Sort-v0"
