"""`stack`: an SO-101 puts the red cube on the blue one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graspline import Box, Claims, Draw, Evidence, Machine, Scene, Snapshot, Task, stages, table_with

RED = Box(name="red_cube", rgb=(0.82, 0.20, 0.16))
BLUE = Box(name="blue_cube", rgb=(0.15, 0.35, 0.80))
ON_BLUE = stages.OnObject(name=BLUE.name)


class Stack(stages.CubeParameters):
    """Everything that decides a `stack` episode besides its seed."""

    goal: stages.RestGoal = stages.RestGoal(off_spot_m=0.01)


def scene(parameters: Stack) -> Scene:
    return table_with(RED, BLUE, robot=parameters.the_robot)


# Random tables on which the planner of the machine can put one cube on the other.
sample = stages.cube_sampler(scene, RED.name, ON_BLUE)


def machine(parameters: Stack) -> Machine:
    return stages.pick_and_place("stack", parameters)


def inputs(parameters: Stack, sampled: Draw, random: np.random.Generator) -> Mapping[str, Any]:
    return stages.pick_and_place_inputs(parameters, scene(parameters), RED.name, ON_BLUE, random)


def goal(parameters: Stack, sampled: Draw, truth: Snapshot) -> Evidence:
    """The red cube rests on the blue one, upright and still, and the arm is home."""
    return stages.rests_by_truth(truth, RED.name, ON_BLUE, scene(parameters).robot, parameters.goal)


def check_claim(parameters: Stack, claim: str, about: str, truth: Snapshot) -> Evidence:
    return stages.in_hand(truth, about)


STACK = Task(
    name="stack",
    summary="SO-101 puts a red cube on a blue one",
    sentence="Put the red cube on the blue cube.",
    parameters=Stack,
    scene=scene,
    sample=sample,
    machine=machine,
    inputs=inputs,
    goal=goal,
    claims=Claims(outcomes=stages.PICK_AND_PLACE_CLAIMS, check=check_claim),
    uses_truth=lambda parameters: parameters.perception.source == "truth",
    target=RED.name,
    randomization=lambda parameters: parameters.randomize,
)
