"""Episodes that several processes play on one engine; on Warp's CPU device, with a lane for each."""

from __future__ import annotations

import itertools
import multiprocessing
import pickle
import re
from pathlib import Path

import pytest

from graspline.campaigns.audit import Claimed, see_claim
from graspline.episodes.scenario import Scenario
from graspline.evidence import passes
from graspline.gpu.engine_server import Spent
from graspline.gpu.workers import play_together
from graspline.tasks.catalogue import find_task


@pytest.mark.slow
def test_processes_share_one_engine_and_play_what_one_would() -> None:
    task, spent = find_task("lift-cube"), Spent()
    # Fewer ticks than usual: this device takes as long for one as a GPU for thousands of lanes.
    brisk = {"hold": {"still_s": 0.2}, "reach": {"travel_speed": 1.0, "descend_speed_m_s": 0.3, "lift_speed_m_s": 0.25}}
    parameters = task.parameters.model_validate(brisk)
    scenarios = [Scenario(task=task, parameters=parameters, seed=seed) for seed in (1, 5)]
    clock = itertools.count().__next__
    played = list(
        play_together(
            scenarios,
            lanes=2,
            processes=2,
            teams=2,
            device="cpu",
            keep_logs=False,
            witness=see_claim,
            spent=spent,
            clock=lambda: float(clock()),
        )
    )
    assert {each.scenario.seed: each.verdict for each in played} == {1: "success", 5: "success"}
    assert not any(each.false_success for each in played)
    assert all(each.engine == "gpu" and each.log.ticks == 0 for each in played)
    assert spent.lane_ticks > 120
    assert spent.device_s > 0
    for each in played:
        # Who looks scenarios up by what they are finds them again.
        assert any(each.scenario is given for given in scenarios)
        assert [(note.kind, note.seed, note.about) for note in each.notes] == [("held", each.scenario.seed, "cube")] * 4
        assert all(isinstance(note, Claimed) and passes(note.evidence) for note in each.notes)


@pytest.mark.slow
def test_told_to_stop_from_the_start_every_episode_is_interrupted() -> None:
    task, shared = find_task("lift-cube"), set[str]()

    def stop() -> bool:
        shared.update(re.findall(r"/dev/shm/psm_\w+", Path("/proc/self/maps").read_text()))
        return True

    scenarios = [Scenario(task=task, parameters=task.parameters(), seed=seed) for seed in (1, 5)]
    played = list(play_together(scenarios, lanes=2, processes=2, device="cpu", witness=see_claim, stop=stop))
    assert {each.scenario.seed: each.verdict for each in played} == {1: "interrupted", 5: "interrupted"}
    # The arms brake and hold; that takes some ticks.
    assert all(not each.succeeded and not each.notes and each.sim_time_s < 1.0 for each in played)
    assert {id(each.scenario) for each in played} == {id(each) for each in scenarios}
    assert multiprocessing.active_children() == []
    assert len(shared) == 2
    assert not any(Path(each).exists() for each in shared)


def test_nothing_to_play_needs_no_gpu() -> None:
    assert list(play_together([], lanes=4, processes=2)) == []


def test_a_scenario_goes_to_another_process_by_its_tasks_name() -> None:
    task = find_task("oranges")
    scenario = Scenario(task=task, parameters=task.parameters(), seed=3, faults=("drop@lift",))
    there = pickle.loads(pickle.dumps(scenario))
    assert there.task is task
    assert (there.seed, there.faults, there.parameters) == (3, ("drop@lift",), scenario.parameters)
