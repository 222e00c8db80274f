"""Random scenes in which every orange can be fetched and put on the plate, one after the other."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graspline.errors import InputError
from graspline.grasping.candidates import ball_grasps
from graspline.kinematics.arms import arm_of
from graspline.motion.path import at_rest
from graspline.parameters import Range
from graspline.perception.core.beliefs import Belief
from graspline.placement.packing import capacity
from graspline.placement.plate import Plate, Resting
from graspline.planning.batched_planning import Planning, together
from graspline.planning.collision import CLEARANCE_M, CollisionWorld
from graspline.refusal import Refusal
from graspline.robots.robot import Robot
from graspline.scenes.distractors import DISTRACTOR_KG, distractor_name
from graspline.scenes.fruit_table import (
    PLATE,
    fruit_start,
    fruit_table,
    fruit_variation,
    orange_name,
)
from graspline.scenes.scene import Scene
from graspline.tasks.oranges.parameters import Oranges
from graspline.tasks.oranges.pick_state import (
    Errand,
    Where,
    at_spot,
    plan_pick,
    plan_pick_and_place,
    with_room,
)
from graspline.tasks.oranges.sight import empty_plate, plate_shape, virtual_plate
from graspline.tasks.sampling import RefusalCounter
from graspline.tasks.scatter import (
    MAX_PLACES,
    as_lying,
    lies_free,
    lying_at,
    place_in_ring,
    reached_ring_m,
    sample_block,
)
from graspline.tasks.stages.ready import collision_world as world_of
from graspline.tasks.task import Draw, Probe

Array = NDArray[np.float64]

# Places and scenes that may be refused before the parameters are called impossible.
MAX_TRIES = 1000
# As many tries as a whole scene counts for that the planner refuses, which takes a quarter of a second if it tries
# everything there is.
_SCENE_TRIES = 10
# What decides each check.
_DECIDED_BY = {
    "shape": "oranges.diameter_m",
    "jaw_width": "oranges.diameter_m and jaw.moving_clearance_m",
    "reach": "oranges.radius_m, reach.max_tilt_rad, jaw.standoff_m and carry.clear_height_m",
    "jaw_alignment": "reach.max_ball_lean_rad and reach.max_tilt_rad",
    "limits": "the speeds in reach.* and carry.*",
    "collision": "jaw.fixed_clearance_m, jaw.ground_clearance_m and jaw.standoff_m",
    "no_room": "oranges.apart_m, oranges.radius_m, oranges.azimuth_rad and plate.radius_m",
    "no_room_for_blocks": "oranges.distractors and oranges.apart_m",
    "unreachable": "oranges.apart_m, oranges.count and jaw.moving_clearance_m",
    "plate_full": "oranges.count, plate.outer_radius_m and spots.*",
    "plate_unreachable": "plate.radius_m, plate.azimuth_rad, carry.clearance_m, carry.rise_m and carry.max_tilt_rad",
}
# A hair more room than the states ask for: things settle by micrometres before they are looked at.
SETTLING_M = 2e-4
SETTLING_RAD = 2e-3
# How far a fruit may come to rest from its spot, or roll when another is fetched, without spoiling what follows.
STRAYING_M = 0.006
# What the camera estimator mostly states as its error.
CAMERA_SIGMA_M = 0.0015


def scene_of(settings: Oranges) -> Scene:
    """The scene with as many oranges and distractors as the parameters ask for."""
    radius = settings.plate.outer_radius_m if settings.plate.present else None
    oranges = settings.oranges
    blocks = oranges.distractors + settings.randomize.distractors.pool
    robot = settings.the_robot
    return fruit_table(oranges.count, radius, blocks, oranges.off_round > 0, oranges.strangers, robot)


def collision_world(settings: Oranges, clearance_m: float = CLEARANCE_M) -> CollisionWorld:
    """The collision checker for this scene."""
    return world_of(scene_of(settings), clearance_m)


@dataclass(slots=True)
class _Sketch:
    """A scene being sampled: what is in it so far, as planning sees it."""

    plate: Belief
    things: dict[str, Belief]

    def around(self, *names: str) -> tuple[Belief, ...]:
        found = tuple(each for name, each in self.things.items() if name not in names)
        return (*found, self.plate) if self.plate.name == PLATE else found


@together
def sample(settings: Oranges, random: np.random.Generator) -> Planning[Draw]:
    """A random scene that the planner certifies from the first orange to the last; tries are bounded."""
    tally = RefusalCounter("scene", MAX_TRIES, _DECIDED_BY)
    distractors = settings.randomize.distractors
    more = distractors.count(random)
    while True:
        sketch = yield from _sample(settings, random, settings.oranges.distractors + more, tally)
        if sketch is None:
            continue
        problem = yield from _certify(settings, sketch)
        if problem:
            tally.refuse(problem, _SCENE_TRIES)
            continue
        sampled = _as_sampled(settings, sketch, random, tally.refused)
        return replace(sampled, variation=sampled.variation + distractors.described(more))


def _sample(
    settings: Oranges, random: np.random.Generator, blocks: int, tally: RefusalCounter
) -> Planning[_Sketch | None]:
    """Plate, oranges and blocks beside each other, each orange within reach of a grasp."""
    sketch = _Sketch(_sample_plate(settings, random), {})
    oranges = settings.oranges
    places: list[Belief] = []
    balls = [_sample_ball(settings, random) for _ in range(oranges.count)]
    if capacity(empty_plate(settings), [float(ball.max()) for ball in balls], settings.spots) < oranges.count:
        tally.refuse("plate_full")
        return None
    if any(_too_wide(settings, ball) for ball in balls):
        tally.refuse("jaw_width")
        return None
    for index, ball in enumerate(balls):
        found = yield from _sample_orange(settings, random, ball, sketch, places, tally)
        if found is None:
            return None
        places.append(replace(found, name=orange_name(index)))
    # Named from left to right as the robot looks, so that a camera can tell them apart.
    left_to_right = sorted(places, key=lambda each: -azimuth_of(settings.the_robot, each))
    sketch.things = {
        orange_name(index): replace(each, name=orange_name(index)) for index, each in enumerate(left_to_right)
    }
    for index in range(blocks):
        block = _sample_block(settings, random, sketch, distractor_name(index))
        if block is None:
            tally.refuse("no_room_for_blocks")
            return None
        sketch.things[block.name] = block
    return sketch


def _sample_plate(settings: Oranges, random: np.random.Generator) -> Belief:
    plate = virtual_plate(settings.plate, 0.0)
    if not settings.plate.present:
        return plate
    x, y = place_in_ring(settings.plate.radius_m, settings.plate.azimuth_rad, random, settings.the_robot)
    return replace(plate, name=PLATE, position_m=np.array([x, y, 0.0]))


def _sample_ball(settings: Oranges, random: np.random.Generator) -> Array:
    """Half extents of one orange."""
    oranges = settings.oranges
    return random.uniform(*oranges.diameter_m) / 2 * (1 + oranges.off_round * random.uniform(-1, 1, 3))


def _too_wide(settings: Oranges, ball: Array) -> bool:
    """Whether the hand does not open around an orange of these half extents, wherever it lies."""
    robot, orange = settings.the_robot, _with_error(settings, lying_at("orange_1", 0.0, 0.0, ball, "ball"))
    return isinstance(ball_grasps(robot, orange, settings.jaw.whole(), robot.home), Refusal)


def _in_reach(settings: Oranges) -> Range:
    """Distances asked for at which the hand can be around a fruit at all: what the certified share is a share of."""
    nearest, farthest = fruit_ring_m(settings.the_robot, settings.reach.max_tilt_rad)
    radius = settings.oranges.radius_m
    if radius.high < nearest or radius.low > farthest:
        raise InputError(f"oranges.radius_m is outside the arm's reach, {nearest:.3f} to {farthest:.3f} m")
    return Range(max(radius.low, nearest), min(radius.high, farthest))


@functools.cache
def fruit_ring_m(robot: Robot, max_tilt_rad: float) -> tuple[float, float]:
    """Nearest and farthest distance from the first axis at which the hand can be around a fruit on the table."""
    pitches, hand = np.pi / 2 - np.arange(0.0, max_tilt_rad + 1e-9, np.radians(2)), robot.hand
    # The jaws across the arm, where they turn freely.
    tool_m = np.array([hand.tip_m - 0.0063, 0.0, hand.across_m(0.0, 0.03)])
    ring_m = reached_ring_m(robot, pitches, np.pi / 2, tool_m, 0.03, 0.002)
    if ring_m is None:
        raise InputError(
            f"robot: {robot.name} cannot bring its hand around an orange on the table from above; check tool.along, "
            "tool.position_m and base_height_m of its description"
        )
    return ring_m


def _sample_orange(
    settings: Oranges,
    random: np.random.Generator,
    ball: Array,
    sketch: _Sketch,
    places: list[Belief],
    tally: RefusalCounter,
) -> Planning[Belief | None]:
    """One orange that lies free and can be grasped if it lies there alone."""
    oranges = settings.oranges
    for _ in range(MAX_PLACES):
        x, y = place_in_ring(_in_reach(settings), oranges.azimuth_rad, random, settings.the_robot)
        orange = lying_at("orange_1", x, y, ball, "ball")
        if not lies_free(orange, [*places, sketch.plate], oranges.apart_m, settings.the_robot):
            continue
        reason = yield from certify_place.steps(settings, orange, sketch.around())
        if not reason:
            return orange
        tally.refuse(reason)
    tally.refuse("no_room")
    return None


def _sample_block(settings: Oranges, random: np.random.Generator, sketch: _Sketch, name: str) -> Belief | None:
    """A block anywhere among the oranges, but not so that they cannot be reached; that is certified later."""
    oranges, others, robot = settings.oranges, [*sketch.things.values(), sketch.plate], settings.the_robot

    def welcome(block: Belief) -> bool:
        return lies_free(block, others, oranges.apart_m, robot)

    return sample_block(name, oranges.azimuth_rad, random, welcome, robot)


@together
def certify_place(settings: Oranges, orange: Belief, around: tuple[Belief, ...]) -> Planning[str]:
    """Why an orange cannot be grasped where it lies, by the name of the check; empty if it can."""
    world = collision_world(settings, CLEARANCE_M + SETTLING_M)
    where = Where(target=_with_error(settings, orange), around=around, plate=_NO_PLATE, resting=(), still_to_come_m=())
    roomy = with_room(settings, SETTLING_RAD)
    found = yield from plan_pick.steps(world, where, at_rest(world.robot.home), roomy)
    return found.check if isinstance(found, Refusal) else ""


_NO_PLATE = Plate(x_m=0.0, y_m=0.0, radius_m=0.1)


def _with_error(settings: Oranges, thing: Belief) -> Belief:
    """As uncertain as the scenario's eyes will find it."""
    return replace(thing, position_sigma_m=sighting_sigma_m(settings))


def sighting_sigma_m(settings: Oranges) -> float:
    """The error that the scenario's eyes mostly state."""
    perception = settings.perception
    return CAMERA_SIGMA_M if perception.source == "camera" else perception.position_sigma_m


def nearest_first(robot: Robot, things: list[Belief]) -> list[Belief]:
    """Those nearest to the robot's first axis first."""
    x_m, y_m = arm_of(robot).axis_m
    return sorted(
        things, key=lambda each: (float(np.hypot(each.position_m[0] - x_m, each.position_m[1] - y_m)), each.name)
    )


def azimuth_of(robot: Robot, thing: Belief) -> float:
    """In which direction from the first axis a thing lies."""
    x_m, y_m = arm_of(robot).axis_m
    return float(np.arctan2(thing.position_m[1] - y_m, thing.position_m[0] - x_m))


def _certify(settings: Oranges, sketch: _Sketch) -> Planning[str]:
    """Plan every pick and place in the order of execution, each with the world as the one before leaves it."""
    world = collision_world(settings, CLEARANCE_M + SETTLING_M)
    roomy = with_room(settings, SETTLING_RAD)
    plate = plate_shape(sketch.plate)
    things = dict(sketch.things)
    robot = settings.the_robot
    waiting = nearest_first(robot, [each for each in things.values() if each.shape == "ball"])
    resting: list[Resting] = []
    start = at_rest(robot.home)
    while waiting:
        target = waiting.pop(0)
        where = Where(
            target=_with_error(settings, target),
            around=(*(_strayed(each) for name, each in things.items() if name != target.name), *sketch.around(*things)),
            plate=plate,
            resting=tuple(resting),
            still_to_come_m=tuple(each.radius_m for each in waiting),
        )
        found = yield from plan_pick_and_place.steps(world, where, start, roomy)
        if not isinstance(found, Errand):
            return found.check
        things[target.name] = at_spot(target, found.carry.spot_m, plate)
        x, y = found.carry.spot_m
        resting.append(Resting(name=target.name, x_m=x, y_m=y, radius_m=target.radius_m))
        start = at_rest(found.carry.withdraw.end)
    return ""


def _strayed(thing: Belief) -> Belief:
    """As large as the room it may need: it may lie anywhere in there by the time it matters."""
    if thing.shape != "ball":
        return thing
    return replace(thing, half_extents_m=thing.half_extents_m + STRAYING_M)


def _as_sampled(settings: Oranges, sketch: _Sketch, random: np.random.Generator, refused: int) -> Draw:
    oranges = settings.oranges
    things = {}
    for name, each in sketch.things.items():
        mass = random.uniform(*oranges.mass_kg) if each.shape == "ball" else DISTRACTOR_KG
        things[name] = as_lying(each, float(mass))
    plate = (float(sketch.plate.position_m[0]), float(sketch.plate.position_m[1]))
    scene = scene_of(settings)
    return Draw(
        start=fruit_start(scene, things, plate if settings.plate.present else None),
        variation=fruit_variation(things, float(random.uniform(*oranges.pad_friction)), settings.the_robot),
        refused=refused,
    )


def probe(settings: Oranges, random: np.random.Generator) -> Probe:
    """One random place for an orange, planned for exactly as the sampler does."""
    oranges = settings.oranges
    half = np.full(3, random.uniform(*oranges.diameter_m) / 2)
    for _ in range(MAX_PLACES):
        x, y = place_in_ring(_in_reach(settings), oranges.azimuth_rad, random, settings.the_robot)
        orange = lying_at("orange_1", x, y, half, "ball")
        if lies_free(orange, [], oranges.apart_m, settings.the_robot):
            return Probe(x_m=x, y_m=y, refusal=certify_place(settings, orange, ()))
    raise InputError("oranges.radius_m and oranges.azimuth_rad allow only positions inside the robot's base")
