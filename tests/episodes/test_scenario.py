from __future__ import annotations

import json

import mujoco

import graspline
from graspline.parameters import load
from graspline.perception.core.beliefs import Perception
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube

from .playing import scenario


def test_a_scenario_is_plain_values_that_json_can_say() -> None:
    plain = scenario(7, "drop@lift+0.3", "shove@close").as_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert (plain["task"], plain["seed"]) == ("lift-cube", 7)
    assert plain["faults"] == ["drop@lift+0.3", "shove@close"]


def test_a_scenario_names_the_versions_its_bits_depend_on() -> None:
    plain = scenario(0).as_dict()
    assert plain["mujoco"] == mujoco.__version__
    assert plain["graspline"] == graspline.__version__
    assert plain["engine"] == "cpu"


def test_the_parameters_of_a_scenario_can_be_built_again() -> None:
    parameters = LiftCube(perception=Perception(position_sigma_m=0.004))
    plain = json.loads(json.dumps(scenario(0, parameters=parameters).as_dict()))
    assert load(LIFT_CUBE.parameters, plain["parameters"]) == parameters


def test_randomness_is_the_same_for_a_seed_and_differs_between_seeds_and_uses() -> None:
    def drawn(seed: int) -> list[float]:
        return [float(random.uniform()) for random in scenario(seed).random()]

    assert drawn(5) == drawn(5)
    assert len({*drawn(5), *drawn(6)}) == 12


def test_one_stream_of_randomness_is_the_same_alone_as_among_the_others() -> None:
    together = scenario(5).random()._asdict()
    alone = {name: scenario(5).stream(name) for name in together}
    assert [each.uniform() for each in alone.values()] == [each.uniform() for each in together.values()]


def test_faults_do_not_change_the_scene() -> None:
    plain, *_ = scenario(5).random()
    faulty, *_ = scenario(5, "drop@lift").random()
    assert plain.uniform() == faulty.uniform()
