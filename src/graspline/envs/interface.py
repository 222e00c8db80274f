"""What passes between a policy and its robot: which pictures, joints in which units, how often.

The same as in a dataset: `agent_pos` is its `observation.state`, `pixels` are its pictures, an action is its `action`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.engine.protocol import Engine
from graspline.envs.policy_server import NoAction, action_of
from graspline.episodes.camera_views import View, ticks_per_frame, views_of
from graspline.episodes.units import CONVENTIONS, Units, joint_names, units_of
from graspline.errors import InputError, one_of, together
from graspline.rendering.picture import Pixels
from graspline.robots.robot import Robot
from graspline.scenes.scene import Scene

Array = NDArray[np.float64]
# {"pixels": {camera: (H, W, 3) uint8}, "agent_pos": (nu,) float32}; no `pixels` where there are no cameras. A policy of
# `graspline eval` also gets "task", its instruction.
Observation = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Interface:
    """How a policy sees through cameras and moves a robot."""

    robot: Robot
    views: tuple[View, ...]
    units: Units
    ticks_per_frame: int

    @property
    def fps(self) -> int:
        """Frames per second."""
        return self.robot.control_hz // self.ticks_per_frame

    def observation(self, joints_rad: Array, pictures: Mapping[str, Pixels]) -> Observation:
        """Joints (nu,) and what each camera saw, as a policy gets them."""
        agent_pos = self.units.outward(joints_rad).astype(np.float32)
        return {"pixels": dict(pictures), "agent_pos": agent_pos} if self.views else {"agent_pos": agent_pos}

    def target_rad(self, action: object) -> Array:
        """The joint target (nu,) that an action means; what is no action is refused in words."""
        try:
            values = action_of(action, joint_names(self.robot))
        except NoAction as error:
            raise InputError(str(error)) from None
        return self.units.inward(values)


def interface_of(
    scene: Scene,
    *,
    fps: int,
    cameras: str | Mapping[str, object],
    units: str,
    named: Callable[[str], str] = lambda name: name,
) -> Interface:
    """The interface to a scene, or all that is wrong with it at once; `named` is how messages name an argument."""
    ticks, views, convention = together(
        lambda: ticks_per_frame(fps, scene.robot.control_hz, named("fps")),
        lambda: _views(scene, cameras, named("cameras")),
        lambda: one_of(units, CONVENTIONS, named("units")),
    )
    return Interface(robot=scene.robot, views=views, units=units_of(scene.robot, convention), ticks_per_frame=ticks)


def _views(scene: Scene, given: object, where: str) -> tuple[View, ...]:
    if not isinstance(given, str | Mapping):
        expected = "a text such as front:640x480, a mapping from names to (width, height), or none as a word"
        raise InputError(f"{where}: expected {expected}; got {given!r}")
    return views_of(scene, given, where)


def joints_rad(engine: Engine, lane: int) -> Array:
    """Where the robot's joints are, (nu,)."""
    return engine.qpos[lane].take(_addresses(engine.scene))


@functools.cache
def _addresses(scene: Scene) -> NDArray[np.intp]:
    return np.array([scene.joint_address(name) for name in scene.robot.joints], np.intp)
