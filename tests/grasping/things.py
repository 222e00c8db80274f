"""Things on a table to grab, for tests."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from graspline.grasping.cartesian_lines import ReachParameters
from graspline.grasping.commanded_grasp_values import GrabQuery, GrabVariables
from graspline.grasping.workspace import WorkspaceParameters
from graspline.motion.path import at_rest
from graspline.perception.core.beliefs import Belief
from graspline.planning.collision import CollisionWorld
from graspline.robots.so101 import HOME
from graspline.scenes.block_table import block_table, kind_of


@functools.cache
def world() -> CollisionWorld:
    return CollisionWorld(block_table(), 0.0005)


def thing(name: str = "red_2x2", x: float = 0.24, y: float = 0.0, yaw: float = 0.0, scale: float = 1.0) -> Belief:
    kind = kind_of(name)
    half = np.array(kind.half_extents_m) * scale
    return Belief(
        name=name,
        position_m=np.array([x, y, half[2]]),
        quaternion=np.array([np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2)]),
        half_extents_m=half,
        position_sigma_m=0.0,
        yaw_sigma_rad=0.0,
        time_s=0.0,
        shape=kind.shape,
    )


def asked(estimate: Belief, *others: Belief, **variables: Any) -> GrabQuery:
    return GrabQuery(
        world=world(),
        estimate=estimate,
        start=at_rest(HOME),
        variables=GrabVariables(**variables),
        others=others,
        reach=ReachParameters(),
        workspace=WorkspaceParameters(),
    )
