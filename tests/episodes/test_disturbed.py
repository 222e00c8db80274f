"""Episodes whose arm is pushed off its paths."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from graspline.engine.cpu import CpuEngine
from graspline.episodes.episode import Episode
from graspline.episodes.log import replay_log
from graspline.episodes.push_clearance import TrueSurroundings
from graspline.episodes.scenario import Scenario
from graspline.execution.disturbance import Disturbance
from graspline.kinematics.differential import ToolKinematics
from graspline.parameters import load
from graspline.robots.so101 import SO101
from graspline.scenes.cube_table import cube_start, cube_table, cube_variation
from graspline.tasks.catalogue import find_task
from graspline.tasks.lift_cube import LIFT_CUBE

from .playing import PARAMETERS, assert_within_limits, run, run_seeds

SEEDS = range(8)


def pushed(seed: int, *faults: str, strength: float = 1.0) -> Scenario:
    return Scenario(
        task=LIFT_CUBE, parameters=PARAMETERS, seed=seed, faults=faults, disturb=Disturbance(strength=strength)
    )


@pytest.fixture(scope="module")
def alone() -> dict[int, Episode]:
    return run((pushed(seed) for seed in SEEDS), lanes=1)


def test_one_lane_and_eight_lanes_give_the_same_bits(alone: dict[int, Episode]) -> None:
    together = run((pushed(seed) for seed in SEEDS), lanes=8)
    assert {seed: each.state_hash for seed, each in alone.items()} == {
        seed: each.state_hash for seed, each in together.items()
    }
    for seed, each in alone.items():
        np.testing.assert_array_equal(each.log.intended, together[seed].log.intended)
        np.testing.assert_array_equal(each.log.off, together[seed].log.off)


def test_arms_that_are_pushed_succeed_within_limits_by_truth(alone: dict[int, Episode]) -> None:
    for each in alone.values():
        assert each.succeeded
        assert not each.false_success
        assert_within_limits(each.log.positions, each.log.velocities)


def test_a_log_of_a_pushed_arm_replays_to_the_same_bits(alone: dict[int, Episode]) -> None:
    engine = CpuEngine(cube_table(), 1, 1)
    for each in list(alone.values())[:3]:
        assert replay_log(engine, each.log) == each.state_hash


def test_pushes_go_centimetres_off_and_never_while_the_hand_closes(alone: dict[int, Episode]) -> None:
    tool, farthest, free = ToolKinematics(cube_table()), [], {"approach", "descend", "lift"}
    calm = run_seeds(SEEDS, lanes=8)
    for seed, each in alone.items():
        began = np.array([t_s for t_s, _ in each.entries])
        rows = np.flatnonzero(each.log.off)
        states = {each.entries[int(np.searchsorted(began, row / 60 - 1e-9, side="right")) - 1][1] for row in rows}
        assert states <= free
        nominal = tool.poses(calm[seed].log.positions)[0]
        points = tool.poses(each.log.positions[rows])[0]
        farthest.append(max(float(np.linalg.norm(nominal - point, axis=1).min()) for point in points))
    assert np.median(farthest) > 0.01
    assert max(farthest) < 0.06


def test_without_pushes_nothing_is_kept_of_intentions() -> None:
    (calm,) = run_seeds([0]).values()
    assert not len(calm.log.intended)
    np.testing.assert_array_equal(calm.log.intention, calm.log.positions)
    assert "disturb" not in calm.scenario.as_dict()


def test_a_pushed_scenario_says_how_and_goes_to_other_processes() -> None:
    scenario = pushed(3, strength=0.5)
    plain = json.loads(json.dumps(scenario.as_dict()))
    assert load(Disturbance, plain["disturb"]) == scenario.disturb
    assert pickle.loads(pickle.dumps(scenario)).disturb == scenario.disturb


def test_the_scene_and_the_plan_are_those_of_the_same_seed_without_pushes(alone: dict[int, Episode]) -> None:
    for seed, calm in run_seeds([0, 1], lanes=2).items():
        np.testing.assert_array_equal(calm.log.start, alone[seed].log.start)


def test_a_motion_that_a_guard_ends_while_the_arm_is_pushed_is_gone_on_from(alone: dict[int, Episode]) -> None:
    faulty = run((pushed(seed, "shove@approach+0.3") for seed in SEEDS), lanes=8)
    assert not [each.error for each in faulty.values() if each.verdict == "crashed"]


class TestSurroundings:
    @pytest.fixture
    def engine(self) -> CpuEngine:
        engine = CpuEngine(cube_table(), 1, 1)
        variation = cube_variation(edge_m=0.03, mass_kg=0.03, pad_friction=1.0)
        engine.reset(0, cube_start(x_m=0.25, y_m=0.0, yaw_rad=0.0, edge_m=0.03), variation)
        engine.step(SO101.home[None], np.array([0]))
        return engine

    def test_an_arm_in_the_air_is_clear_and_one_in_the_table_is_not(self, engine: CpuEngine) -> None:
        clear = TrueSurroundings(engine).clear_from(0, SO101.home)
        down = SO101.home.copy()
        down[1] = 1.5
        assert clear(np.stack([SO101.home, SO101.home]))
        assert not clear(np.stack([SO101.home, down]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["oranges", "grab"])
def test_other_tasks_of_this_arm_are_pushed_too(name: str) -> None:
    task = find_task(name)
    seeds = [Scenario(task=task, parameters=task.parameters(), seed=seed, disturb=Disturbance()) for seed in range(2)]
    for each in run(seeds, lanes=2).values():
        assert each.succeeded
        assert each.log.off.any()
