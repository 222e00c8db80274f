"""Episodes that several processes play on one engine; on Warp's CPU device, with a lane for each."""

from __future__ import annotations

import itertools
import pickle

import pytest

from graspline.engine.shards import Spent
from graspline.episodes.crew import play_together
from graspline.episodes.scenario import Scenario
from graspline.tasks.catalogue import find_task


@pytest.mark.slow
def test_processes_share_one_engine_and_play_what_one_would() -> None:
    task, spent = find_task("lift-cube"), Spent()
    scenarios = [Scenario(task=task, parameters=task.parameters(), seed=seed) for seed in (1, 5)]
    clock = itertools.count().__next__
    played = list(
        play_together(
            scenarios,
            lanes=2,
            processes=1,
            teams=2,
            device="cpu",
            keep_logs=False,
            spent=spent,
            clock=lambda: float(clock()),
        )
    )
    assert {each.scenario.seed: each.verdict for each in played} == {1: "success", 5: "success"}
    assert not any(each.false_success for each in played)
    assert all(each.engine == "gpu" and each.log.ticks == 0 for each in played)
    assert spent.lane_ticks > 120
    assert spent.device_s > 0


def test_nothing_to_play_needs_no_gpu() -> None:
    assert list(play_together([], lanes=4, processes=2)) == []


def test_a_scenario_goes_to_another_process_by_its_tasks_name() -> None:
    task = find_task("oranges")
    scenario = Scenario(task=task, parameters=task.parameters(), seed=3, faults=("drop@lift",))
    there = pickle.loads(pickle.dumps(scenario))
    assert there.task is task
    assert (there.seed, there.faults, there.parameters) == (3, ("drop@lift",), scenario.parameters)
