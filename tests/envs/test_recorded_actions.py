"""Recorded actions, and what following them comes to."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graspline.datasets.format.settings import settings_of
from graspline.datasets.format.store import Dataset
from graspline.datasets.write.generate import generate
from graspline.datasets.write.pool import LocalPool
from graspline.envs.recorded_actions import RecordedActions, recited, reproduce, thinned
from graspline.episodes.run import run_scenarios
from graspline.errors import InputError

from .playing import PARAMETERS, interface, recorded, recorded_actions, scenario

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "reproduction.py"


def test_thinned_actions_are_those_at_the_end_of_each_longer_frame() -> None:
    actions = np.arange(7, dtype=np.float32)[:, None]
    assert thinned(actions, 1)[:, 0].tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert thinned(actions, 2)[:, 0].tolist() == [1, 3, 5, 6]
    assert thinned(actions, 3)[:, 0].tolist() == [2, 5, 6]


def test_a_recital_goes_on_with_its_last_action() -> None:
    actions = np.arange(12, dtype=np.float32).reshape(2, 6)
    policy = recited(actions)
    said = [policy({}) for _ in range(4)]
    np.testing.assert_array_equal(said, actions[[0, 1, 1, 1]])


@pytest.mark.parametrize("fps, every", [(60, 1), (30, 2)])
def test_a_followed_reference_is_the_recorded_one_to_single_precision(fps: int, every: int) -> None:
    actions = recorded_actions(recorded().log, interface(fps))
    (again,) = reproduce([RecordedActions(scenario=scenario(), actions=actions)], interface(fps))
    assert again.succeeded
    frames = len(again.log.positions)
    np.testing.assert_allclose(again.log.positions[::every], recorded().log.positions[:frames:every], rtol=0, atol=2e-7)


def test_the_actions_of_another_episode_come_to_nothing() -> None:
    episodes = list(run_scenarios([scenario(seed) for seed in (7, 8)], lanes=2))
    assert all(episode.succeeded for episode in episodes)
    recordings = [
        RecordedActions(scenario=each.scenario, actions=recorded_actions(each.log, interface())) for each in episodes
    ]
    assert [each.verdict for each in reproduce(recordings, interface(), lanes=2, shift=1)] == ["out_of_time"] * 2


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("datasets") / "cubes"
    settings = settings_of(scenario().task, PARAMETERS, seed=7, fps=30, units="normalized")
    generate(root, settings, 2, LocalPool(1))
    return root


def test_a_datasets_action_column_is_the_reference_at_the_end_of_each_frame(dataset: Path) -> None:
    opened = Dataset.open(dataset)
    (column,) = (opened.frames(row).column("action").to_pylist() for row in opened.rows if row["seed"] == 7)
    np.testing.assert_array_equal(
        np.array(column, np.float32), recorded_actions(recorded().log, interface(30, units="normalized"))
    )


def test_a_datasets_own_actions_do_the_task_again_and_anothers_do_not(dataset: Path) -> None:
    benchmark: dict[str, Any] = runpy.run_path(str(BENCHMARK))
    lines = list(benchmark["measure"](dataset, [30, 15], 2))
    assert lines[0] == f"{dataset}: 2 successful episodes of lift-cube, 30 fps, normalized"
    shares = [line.partition(" = ")[0].strip() for line in lines[2:]]
    assert shares == [
        "30 fps, its own actions: 2/2",
        "30 fps, another episode's: 0/2",
        "15 fps, its own actions: 2/2",
        "15 fps, another episode's: 0/2",
    ]
    with pytest.raises(InputError, match="has 30 frames a second, which 60 does not divide"):
        list(benchmark["measure"](dataset, [60], 2))
