"""Datasets of pushed arms: actions are what was intended, and the doctor holds them against that."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graspline.datasets.check.doctor import examine
from graspline.datasets.check.replay import rerun
from graspline.datasets.format.frames import timeline_of
from graspline.datasets.format.recording import pack, unpack
from graspline.datasets.format.settings import DatasetSettings, differences, settings_of
from graspline.datasets.format.store import Dataset
from graspline.datasets.format.tables import numbers_in
from graspline.datasets.write.generate import generate
from graspline.datasets.write.jobs import Attempts, attempt
from graspline.episodes.units import units_of
from graspline.errors import InputError
from graspline.execution.disturbance import Disturbance
from graspline.robots.so101 import SO101
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube

from .conftest import InlinePool
from .damage import edit_log
from .whole import tree

SETTINGS = settings_of(LIFT_CUBE, LiftCube(), disturb=Disturbance())


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("datasets") / "pushed"
    generate(root, SETTINGS, 3, InlinePool())
    return root


@pytest.fixture
def dataset(pushed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pushed, tmp_path / "dataset"))


def test_actions_are_what_was_intended_and_disturbed_frames_are_marked(pushed: Path) -> None:
    dataset = Dataset.open(pushed)
    for row in dataset.rows:
        log, frames = dataset.log(row).log, dataset.frames(row)
        timeline = timeline_of(log.ticks, SO101.control_hz, 30)
        action, marked = numbers_in(frames, "action"), numbers_in(frames, "graspline.disturbed")
        outward = units_of(SO101, "degrees").outward
        np.testing.assert_allclose(action, outward(log.intended[timeline.ends]), atol=1e-4)
        executed = outward(log.positions[timeline.ends])
        assert np.abs(action - executed).max() > 0.5
        assert np.abs(action - executed)[~marked.astype(bool)].max() < 1e-4
        np.testing.assert_array_equal(marked, log.off[timeline.ticks] | log.off[timeline.ends])


def test_a_pushed_set_is_healthy_and_replays(pushed: Path) -> None:
    assert not examine(pushed).problems
    dataset = Dataset.open(pushed)
    assert not [line for each in rerun(dataset, dataset.rows) for line in each.differences]


def _swapped(arrays: dict[str, Any], facts: dict[str, Any]) -> None:
    # In the middle of a motion: two rows that differ.
    row = int(np.flatnonzero(np.abs(np.diff(arrays["intended"], axis=0)).max(axis=1) > 0.01)[5])
    arrays["intended"][[row, row + 1]] = arrays["intended"][[row + 1, row]]


def _unmarked(arrays: dict[str, Any], facts: dict[str, Any]) -> None:
    arrays["off"][:] = False


def _executed(arrays: dict[str, Any], facts: dict[str, Any]) -> None:
    arrays["intended"][:] = arrays["positions"]


def _jumping(arrays: dict[str, Any], facts: dict[str, Any]) -> None:
    arrays["intended"][np.flatnonzero(arrays["off"])[2]] += 0.5


def _short(arrays: dict[str, Any], facts: dict[str, Any]) -> None:
    arrays["off"] = arrays["off"][:-1]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_swapped, "action is not what the log says was intended"),
        (_unmarked, "where the arm was not pushed"),
        (_executed, "action is not what the log says was intended"),
        (_jumping, "what was intended breaks limits"),
        (_short, "not a log of an episode: intended"),
    ],
)
def test_an_intention_that_was_changed_is_told(dataset: Path, change: Any, told: str) -> None:
    edit_log(dataset, 1, change)
    assert any(told in str(each) for each in examine(dataset, fast=True).problems)


def test_what_was_intended_survives_its_log_file() -> None:
    (recording,) = attempt(Attempts(settings=SETTINGS, seeds=(0,)))
    kept = unpack(pack(recording)).log  # pyright: ignore[reportArgumentType]
    np.testing.assert_array_equal(kept.intended, recording.log.intended)  # pyright: ignore[reportAttributeAccessIssue]
    np.testing.assert_array_equal(kept.off, recording.log.off)  # pyright: ignore[reportAttributeAccessIssue]


def test_a_set_that_is_gone_on_with_is_the_one_made_at_once(pushed: Path, tmp_path: Path) -> None:
    generate(tmp_path / "parts", SETTINGS, 1, InlinePool())
    generate(tmp_path / "parts", SETTINGS, 3, InlinePool())
    assert tree(tmp_path / "parts") == tree(pushed)


def test_settings_of_pushed_sets_are_kept_and_compared() -> None:
    assert DatasetSettings.from_dict(SETTINGS.as_dict()) == SETTINGS
    assert SETTINGS.scenario(3).disturb == Disturbance()
    plain, weaker = (
        settings_of(LIFT_CUBE, LiftCube()),
        settings_of(LIFT_CUBE, LiftCube(), disturb=Disturbance(strength=0.5)),
    )
    assert plain.scenario(3).disturb is None
    assert differences(SETTINGS, weaker) == ["disturb.strength: the dataset has 1.0, asked for 0.5"]
    assert differences(SETTINGS, plain) == ["disturb.strength: the dataset has 1.0, asked for nothing"]


def test_a_set_without_pushes_refuses_pushed_episodes(pushed: Path) -> None:
    with pytest.raises(InputError, match=r"disturb\.strength: the dataset has 1\.0, asked for nothing"):
        generate(pushed, settings_of(LIFT_CUBE, LiftCube()), 4, InlinePool())
