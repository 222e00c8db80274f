"""A sampler that is ready: cubes on a table, anywhere that the ready pick-and-place machine can do its work."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from pydantic import Field

from graspline.parameters import Parameters, Range
from graspline.perception.core.beliefs import Belief
from graspline.planning.batched_planning import Planning, Together
from graspline.refusal import Refusal
from graspline.robots.robot import Robot
from graspline.scenes.scene import Scene
from graspline.scenes.table import table_start, table_variation
from graspline.tasks.sampling import RefusalCounter
from graspline.tasks.scatter import as_lying, lies_free, lying_at, place_in_ring
from graspline.tasks.stages.parameters import PickAndPlaceParameters
from graspline.tasks.stages.place import Destination
from graspline.tasks.stages.ready import certify_pick_and_place
from graspline.tasks.task import Draw

# Scenes that may be rejected before the parameters are called impossible.
_MAX_TRIES = 1000
_DECIDED_BY = {
    "no_room": "cubes.apart_m, cubes.radius_m and cubes.azimuth_rad",
    "reach": "cubes.radius_m and cubes.edge_m",
    "jaw_width": "cubes.edge_m and jaw.moving_clearance_m",
    "collision": "cubes.apart_m and cubes.radius_m",
}


class Cubes(Parameters):
    """The cubes and where they may lie.

    >>> from graspline import Range, stages
    >>> stages.Cubes(edge_m=Range(0.02, 0.03)).apart_m
    0.03
    """

    edge_m: Range = Field(default=Range(0.022, 0.036), ge=0.015, le=0.045, description="edge of each cube")
    density_kg_m3: Range = Field(default=Range(600, 1200), ge=100, le=3000, description="density of each cube")
    pad_friction: Range = Field(default=Range(0.9, 1.2), ge=0.3, le=2.0, description="sliding friction of the jaw pads")
    radius_m: Range = Field(default=Range(0.10, 0.30), ge=0, le=1.2, description="distance from the pan axis")
    azimuth_rad: Range = Field(default=Range(-1.6, 1.6), ge=-3.2, le=3.2, description="direction from the pan axis")
    apart_m: float = Field(default=0.03, ge=0.01, le=0.2, description="how far the cubes lie apart at least")


class CubeParameters(PickAndPlaceParameters):
    """`PickAndPlaceParameters` of a task with cubes on a table: `cube_sampler` reads `cubes`."""

    scaled = ("cubes.radius_m", "put.transport_speed_m_s")

    cubes: Cubes = Cubes()


P = TypeVar("P", bound=CubeParameters)


def cube_sampler(
    scene: Callable[[P], Scene], target: str, destination: Destination
) -> Together[[P, np.random.Generator], Draw]:
    """The `sample` of a task whose scene is a table with cubes, of which `target` is put at the destination.

    Every cube of the scene gets a size and a place of its own. A scene is kept if the planner of the ready machine can
    do the task in it, so that what is certified is what is played. If 1000 scenes are rejected, the `InputError` says
    by which checks, and which parameters decide them.

    >>> import numpy as np
    >>> from graspline import Box, stages, table_with
    >>> red, blue = Box(name="red", rgb=(0.8, 0.2, 0.2)), Box(name="blue", rgb=(0.1, 0.3, 0.8))
    >>> sample = stages.cube_sampler(lambda parameters: table_with(red, blue), "red", stages.OnObject(name="blue"))
    >>> sampled = sample(stages.CubeParameters(), np.random.default_rng(0))
    >>> sorted(sampled.variation.described)
    ['blue_edge_m', 'pad_friction', 'red_edge_m']
    """

    def steps(parameters: P, random: np.random.Generator) -> Planning[Draw]:
        compiled, cubes, tally = scene(parameters), parameters.cubes, RefusalCounter("scene", _MAX_TRIES, _DECIDED_BY)
        while True:
            robot = compiled.robot
            placed = {name: _placed(robot, cubes, name, random) for name in compiled.object_names}
            if not _apart(robot, list(placed.values()), cubes.apart_m):
                tally.refuse("no_room")
                continue
            others = tuple(each for name, each in placed.items() if name != target)
            found = yield from certify_pick_and_place.steps(parameters, compiled, placed[target], others, destination)
            if isinstance(found, Refusal):
                tally.refuse(found.check)
                continue
            return _as_sampled(compiled, cubes, placed, tally.refused, random)

    return Together(steps)


def _placed(robot: Robot, cubes: Cubes, name: str, random: np.random.Generator) -> Belief:
    x, y = place_in_ring(cubes.radius_m, cubes.azimuth_rad, random, robot)
    half_m = np.full(3, random.uniform(*cubes.edge_m) / 2)
    return lying_at(name, x, y, half_m, "box", random.uniform(-np.pi, np.pi))


def _apart(robot: Robot, placed: list[Belief], apart_m: float) -> bool:
    return all(lies_free(each, placed[:index], apart_m, robot) for index, each in enumerate(placed))


def _as_sampled(
    scene: Scene, cubes: Cubes, placed: dict[str, Belief], refused: int, random: np.random.Generator
) -> Draw:
    density = random.uniform(*cubes.density_kg_m3)
    lying = {name: as_lying(each, density * float(np.prod(2 * each.half_extents_m))) for name, each in placed.items()}
    edges = {f"{name}_edge_m": 2 * float(each.half_extents_m[0]) for name, each in placed.items()}
    variation = table_variation(lying, random.uniform(*cubes.pad_friction), edges, robot=scene.robot)
    return Draw(start=table_start(scene, lying), variation=variation, refused=refused)
