"""Estimators of other distributions: named by a parameter, made for each episode, without the simulator's truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.errors import InputError
from graspline.parameters import build
from graspline.tasks.catalogue import find_task
from graspline.tasks.grab.sight import CameraEye
from graspline.tasks.stages.sight import TruthEye

HERE = __name__


def camera(perception: Any, random: np.random.Generator) -> CameraEye:
    return CameraEye(perception=perception)


def cheat(perception: Any, random: np.random.Generator) -> TruthEye:
    return TruthEye(perception=perception, random=random)


def scenario(task: str, source: str, seed: int = 3) -> Scenario:
    found = find_task(task)
    return Scenario(task=found, parameters=build(found.parameters, None, [f"perception.source={source}"]), seed=seed)


def played(each: Scenario) -> Any:
    (episode,) = run_scenarios([each])
    return episode


@pytest.mark.slow
def test_an_estimator_from_elsewhere_sees_what_our_own_sees() -> None:
    ours, theirs = played(scenario("grab", "camera")), played(scenario("grab", f"{HERE}:camera"))
    assert theirs.succeeded
    assert theirs.state_hash == ours.state_hash


def test_an_estimator_from_elsewhere_gets_no_truth() -> None:
    episode = played(scenario("lift-cube", f"{HERE}:cheat"))
    assert episode.verdict == "crashed"
    assert "truth" in episode.error


@pytest.mark.parametrize("task", ["lift-cube", "grab", "oranges"])
def test_an_estimator_that_there_is_not_is_refused_with_those_of_the_task(task: str) -> None:
    with pytest.raises(InputError, match=r"unknown estimator; known: .*truth.*; or pass your own as MODULE:NAME"):
        scenario(task, "radar")
    with pytest.raises(InputError, match="there is no module 'no_lab'"):
        scenario(task, "no_lab:RADAR")
