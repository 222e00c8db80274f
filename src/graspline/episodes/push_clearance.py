"""What an arm that is pushed must not be driven into, by truth: pushes are the world's doing and no task sees this."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graspline.engine.protocol import Engine
from graspline.execution.disturbance import Clear
from graspline.kinematics.differential import ToolKinematics
from graspline.perception.core.beliefs import Belief
from graspline.planning.collision import CollisionWorld
from graspline.spatial.rotations import matrix_from_quaternion

Array = NDArray[np.float64]

# What touches the robot no farther from its tool than this is in the hand.
_IN_HAND_M = 0.06
# How far something in the hand keeps from everything else.
_APART_M = 0.006
# No rim of a place is higher above its underside.
_RIM_M = 0.015


class TrueSurroundings:
    """The lanes of one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._world, self.tool = CollisionWorld(engine.scene), ToolKinematics(engine.scene)

    def clear_from(self, lane: int, start: Array) -> Clear:
        """Whether joint positions touch anything in a lane as it is now, that is not touched at `start` (nu,)."""
        things, touched = self._things(lane), list[Belief]()
        places = self._engine.scene.place_names
        for each in things:
            self._world.place((each,))
            if self._world.first_collision(start[None]) is not None:
                touched.append(each)
        others = tuple(each for each in things if each not in touched)
        (tool_m,), (rotation,) = self.tool.poses(start[None])
        held = [
            (rotation.T @ (each.position_m - tool_m), _extents_m(each))
            for each in touched
            if each.name not in places and np.linalg.norm(each.position_m - tool_m) <= _IN_HAND_M
        ]

        def clear(rows: Array) -> bool:
            samples = self._world.samples(rows)
            self._world.place(others)
            if self._world.first_collision(samples) is not None:
                return False
            if not held:
                return True
            points, rotations = self.tool.poses(samples)
            return all(_held_clear(points + rotations @ in_hand_m, extents_m, others) for in_hand_m, extents_m in held)

        return clear

    def _things(self, lane: int) -> tuple[Belief, ...]:
        scene, columns, truth = self._engine.scene, self._engine.layout.truth, self._engine.truth[lane]
        shapes, solids = scene.shapes, scene.solids
        sizes_m = {each.name: np.array(each.half_extents_m) for each in scene.places}
        return tuple(
            Belief.exact(
                name,
                truth[columns[f"{name}.position"]].copy(),
                truth[columns[f"{name}.quaternion"]].copy(),
                sizes_m[name] if name in sizes_m else self._engine.half_extents_m(lane, name).copy(),
                time_s=0.0,
                shape=shapes[name],
                solid=solids.get(name),
            )
            for name in (*scene.object_names, *scene.place_names)
        )


def _extents_m(thing: Belief) -> tuple[float, float]:
    """How far a thing reaches sideways at the most, however it is turned, and down."""
    x, y, z = thing.half_extents_m.tolist()
    if thing.shape == "ball":
        return x, x
    down = np.abs(matrix_from_quaternion(thing.quaternion)[2]) @ thing.half_extents_m
    return float(np.linalg.norm((x, y, z))), float(down)


def _held_clear(centres_m: Array, extents_m: tuple[float, float], others: tuple[Belief, ...]) -> bool:
    """Whether something with its centre at these points, (n, 3), is above the table and away from all other things."""
    sideways_m, down_m = extents_m
    low_m = centres_m[:, 2] - down_m
    if low_m.min() < _APART_M:
        return False
    for each in others:
        apart_m = each.distance_m(centres_m)
        if apart_m is None:
            # Over a place, higher than its rim.
            over = np.hypot(*(centres_m - each.position_m)[:, :2].T) < each.radius_m + sideways_m
            if (low_m[over] < each.position_m[2] + _RIM_M + _APART_M).any():
                return False
        elif apart_m.min() < sideways_m + _APART_M:
            return False
    return True
