"""One certified plan that the states' tests share."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.grasping.candidates import JawParameters
from graspline.grasping.cartesian_lines import ReachParameters
from graspline.grasping.topdown import GraspPlan, plan_grasp
from graspline.motion.path import at_rest
from graspline.perception.core.beliefs import Belief
from graspline.planning.collision import CollisionWorld
from graspline.robots.so101 import HOME, SO101
from graspline.scenes.cube_table import CUBE, cube_table


@pytest.fixture(scope="session")
def world() -> CollisionWorld:
    return CollisionWorld(cube_table())


@pytest.fixture(scope="session")
def estimate() -> Belief:
    return Belief(
        name=CUBE,
        position_m=np.array([0.24, 0.05, 0.015]),
        quaternion=np.array([1.0, 0.0, 0.0, 0.0]),
        half_extents_m=np.full(3, 0.015),
        position_sigma_m=0.0,
        yaw_sigma_rad=0.0,
        time_s=0.0,
    )


@pytest.fixture(scope="session")
def grasp_plan(world: CollisionWorld, estimate: Belief) -> GraspPlan:
    found = plan_grasp(SO101, world, estimate, at_rest(HOME), JawParameters(), ReachParameters())
    assert isinstance(found, GraspPlan)
    return found
