"""The scene a server starts with when no seed is given."""

from __future__ import annotations

import pytest

from graspline.episodes.scenario import Scenario
from graspline.grasping.commanded_grasp import attempt
from graspline.grasping.commanded_grasp_values import GrabPlan
from graspline.parameters import build
from graspline.serve.live.server_context import first_seed
from graspline.tasks.catalogue import find_task
from graspline.tasks.grab.layout import objects_at_start, query_for
from graspline.tasks.grab.parameters import Grab


def test_every_object_of_the_first_scene_can_be_picked_and_no_earlier_seed_would_do() -> None:
    grab, parameters = find_task("grab"), Grab()
    found = first_seed(grab, parameters)
    reachable = []
    for seed in range(found + 1):
        draw = Scenario(task=grab, parameters=parameters, seed=seed).sample()
        objects = objects_at_start(grab.scene(parameters), draw)
        plans = [
            attempt(query_for(parameters, each, parameters.grasp, tuple(o for o in objects if o is not each)))
            for each in objects
        ]
        reachable.append(len(objects) >= 2 and all(isinstance(each, GrabPlan) for each in plans))
    assert reachable == [False] * found + [True]


def test_parameters_decide_how_many_objects_are_enough() -> None:
    grab = find_task("grab")
    parameters = build(Grab, None, ["things.count=[1,1]"])
    seed = first_seed(grab, parameters)
    draw = Scenario(task=grab, parameters=parameters, seed=seed).sample()
    assert len(objects_at_start(grab.scene(parameters), draw)) == 1


@pytest.mark.parametrize("task", ["lift-cube", "sort"])
def test_a_task_that_samples_what_it_can_do_starts_with_seed_0(task: str) -> None:
    found = find_task(task)
    assert first_seed(found, found.parameters()) == 0
