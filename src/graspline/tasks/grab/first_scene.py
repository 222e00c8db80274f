"""Which scenes show the console well: those in which every object can be picked."""

from __future__ import annotations

import copy

import mujoco
import numpy as np

from graspline.grasping.grab import attempt
from graspline.grasping.grab_values import GrabPlan
from graspline.perception.beliefs import Belief
from graspline.scenes.scene import Scene
from graspline.scenes.variation import apply_to_model
from graspline.tasks.grab.layout import query_for, table_of
from graspline.tasks.grab.parameters import Grab
from graspline.tasks.task import Draw

# With fewer objects than this there is nothing to choose from.
_ENOUGH = 2
# Objects that are not on the table are parked farther away than this.
_SIGHT_M = 1.0


def objects_at_start(scene: Scene, draw: Draw) -> tuple[Belief, ...]:
    """Every object on the table, exactly where the sample has put it."""
    model = copy.copy(scene.model)
    apply_to_model(model, draw.variation)
    data = mujoco.MjData(model)
    data.qpos[:] = draw.start
    mujoco.mj_kinematics(model, data)
    return tuple(
        Belief.exact(
            each.name,
            data.body(each.name).xpos.copy(),
            data.body(each.name).xquat.copy(),
            np.array(scene.extents_of(each.name, tuple(model.geom(each.name).size))),
            time_s=0.0,
            shape=each.shape,
            solid=each.solid,
        )
        for each in scene.objects
        if np.linalg.norm(data.body(each.name).xpos) <= _SIGHT_M
    )


def all_can_be_grabbed(parameters: Grab, draw: Draw) -> bool:
    """Whether there is enough to choose from, and the reach check passes for all of it."""
    found = objects_at_start(table_of(parameters), draw)
    return len(found) >= min(_ENOUGH, round(parameters.things.count[1])) and all(
        isinstance(attempt(query_for(parameters, each, parameters.grasp, _others(found, each))), GrabPlan)
        for each in found
    )


def _others(found: tuple[Belief, ...], one: Belief) -> tuple[Belief, ...]:
    return tuple(each for each in found if each is not one)
