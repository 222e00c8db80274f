"""Random orders: what lies where, which thing is meant, how it is to be taken and where it is put."""

from __future__ import annotations

import functools
import itertools

import numpy as np

from graspline.errors import one_of
from graspline.grasping.commanded_grasp import attempt
from graspline.grasping.commanded_grasp_values import GrabPlan, GrabQuery, GrabRefusal, GrabVariables
from graspline.kinematics.arms import arm_of
from graspline.motion.path import Command, at_rest
from graspline.perception.core.beliefs import Belief
from graspline.placement.query import Support
from graspline.planning.batched_planning import Planning, together
from graspline.planning.collision import CollisionWorld
from graspline.robots.robot import Robot
from graspline.scenes.block_table import Kind, block_table, blocks_start, blocks_variation, kind_of, marked_at
from graspline.scenes.scene import Array, Scene
from graspline.scenes.variation import Variation
from graspline.tasks.grab.parameters import Grab
from graspline.tasks.grab.pick import PickPlan, plan_pick
from graspline.tasks.grab.posted import laid_as_posted, posed
from graspline.tasks.sampling import RefusalCounter, StopPoint
from graspline.tasks.scatter import as_lying, lies_free, lying_at, place_in_ring, resting_at
from graspline.tasks.task import Draw, Probe

# Orders that no plan carries out are sampled again up to this often; one that is given as it is may be impossible
# everywhere.
MAX_ORDERS = 20
# Places that may be refused before the parameters are called impossible.
MAX_TRIES = 4000
# Places tried for one thing before another table is begun.
_PLACES = 60
# What decides each check.
_DECIDED_BY = {
    "ground": "things.scale",
    "workspace": "things.radius_m and things.scale",
    "jaw_width": "things.scale and order.target",
    "ik": "things.radius_m, things.azimuth_rad and reach.joint_margin_rad",
    "pad_overlap": "things.scale",
    "open_clearance": "things.scale",
    "limits": "the speeds in reach.*",
    "collision": "things.radius_m and things.azimuth_rad",
    "no_room": "things.count, things.apart_m, things.radius_m and things.azimuth_rad",
    "no_spot": "things.apart_m, things.radius_m, things.azimuth_rad and order.place",
}
# Fingers keep this far from everything but the thing they take.
CLEARANCE_M = 0.0005
# A scene with fewer objects than this offers nothing to choose from.
_ENOUGH = 2
# Objects that are not on the table are parked farther away than this.
_SIGHT_M = 1.0
# Shares of the orders sampled at random.
_CROSS, _ONE_STAGE, _OTHER_HEIGHT, _NO_OFFSET = 0.25, 0.05, 0.25, 0.02


@functools.lru_cache(maxsize=16)
def _collision_world(robot: Robot, kinds: tuple[Kind, ...]) -> CollisionWorld:
    return CollisionWorld(block_table(robot, kinds), CLEARANCE_M, stand_ins=True)


def collision_world(parameters: Grab) -> CollisionWorld:
    """Where plans are checked; made once for a robot and the objects that there may be."""
    return _collision_world(parameters.the_robot, parameters.kinds)


def table_of(parameters: Grab) -> Scene:
    """The compiled scene."""
    return block_table(parameters.the_robot, parameters.kinds)


def query_for(
    parameters: Grab,
    estimate: Belief,
    variables: GrabVariables,
    others: tuple[Belief, ...] = (),
    start: Command | None = None,
) -> GrabQuery:
    """The question whether a thing can be grabbed from there, or from home, among these others."""
    return GrabQuery(
        world=collision_world(parameters),
        estimate=estimate,
        start=start or at_rest(parameters.the_robot.home),
        variables=variables,
        others=others,
        reach=parameters.reach.whole(),
        workspace=parameters.workspace,
    )


def refusal(parameters: Grab, estimate: Belief) -> str:
    """Why a thing cannot be grabbed with everything at its default, by the name of the check; empty if it can."""
    found = attempt(query_for(parameters, estimate, GrabVariables()))
    return found.check if isinstance(found, GrabRefusal) else ""


def feasible(parameters: Grab, placed: list[Belief], spot_m: tuple[float, float], variables: GrabVariables) -> bool:
    """Whether a plan carries the order out, where everything is exactly where it was sampled."""
    query = query_for(parameters, placed[0], variables, tuple(placed[1:]))
    return isinstance(plan_pick(query, Support(x_m=spot_m[0], y_m=spot_m[1]), parameters.put, attempt), PickPlan)


@together
def sample(parameters: Grab, random: np.random.Generator) -> Planning[Draw]:
    """A table on which the target and the point it is put to lie in the certified region, and an order for it.

    An order may be impossible: too wide an axis, too high an approach, a neighbour in the way. Unless any is wanted,
    such an order is sampled again with its table; after `MAX_ORDERS` of them the next one is taken as it is.
    """
    things, order = parameters.things, parameters.order
    names = _names(parameters, random)
    tally, impossible = RefusalCounter("scene", MAX_TRIES, _DECIDED_BY), 0
    while True:
        if parameters.posted.objects:
            placed = laid_as_posted(parameters, random)
        else:
            placed = yield from _scatter(parameters, names, random, tally)
        if placed is None:
            continue
        target = placed[0]
        spot = yield from _spot(parameters, placed, random, tally)
        if spot is None:
            continue
        variables = sample_variables(random, target) if order.variables == "random" else parameters.grasp
        if not order.any and impossible < MAX_ORDERS and not feasible(parameters, placed, spot, variables):
            impossible += 1
            yield StopPoint()
            continue
        lying = {each.name: as_lying(each, _mass(parameters, each)) for each in placed}
        described = {
            "target": float([each.name for each in parameters.kinds].index(target.name)),
            "spot_x_m": spot[0],
            "spot_y_m": spot[1],
            **as_numbers(variables),
        }
        robot, kinds = parameters.the_robot, parameters.kinds
        variation = blocks_variation(lying, float(random.uniform(*things.pad_friction)), described, robot, kinds)
        if not is_back(target.position_m, spot):
            variation += Variation(edits=marked_at(*spot))
        return Draw(start=blocks_start(lying, robot, kinds), variation=variation, refused=tally.refused)


def _names(parameters: Grab, random: np.random.Generator) -> list[str]:
    """The target first, then what else lies there."""
    low, high = (round(each) for each in parameters.things.count)
    count = int(random.integers(low, high + 1))
    pool = [each.name for each in parameters.kinds]
    names = [str(each) for each in random.permutation(pool)]
    wanted = parameters.order.target
    if wanted:
        one_of(wanted, pool, "order.target")
        names = [wanted, *(each for each in names if each != wanted)]
    return names[:count]


def _scatter(
    parameters: Grab, names: list[str], random: np.random.Generator, tally: RefusalCounter
) -> Planning[list[Belief] | None]:
    """The target in the certified region and the others beside it; None if there is no room for one of them."""
    placed: list[Belief] = []
    for name in names:
        for _ in range(_PLACES):
            thing = _sample_thing(parameters, kind_of(name, parameters.kinds), random)
            if not lies_free(thing, placed, parameters.things.apart_m, parameters.the_robot):
                continue
            reason = "" if placed else refusal(parameters, thing)
            if not reason:
                placed.append(thing)
                break
            tally.refuse(reason)
            yield StopPoint()
        else:
            tally.refuse("no_room")
            yield StopPoint()
            return None
    return placed


def _sample_thing(parameters: Grab, kind: Kind, random: np.random.Generator) -> Belief:
    x, y = place_in_ring(parameters.things.radius_m, parameters.things.azimuth_rad, random, parameters.the_robot)
    if kind.solid is not None:
        shares = [each.share for each in kind.solid.rests]
        rest = kind.solid.rests[int(random.choice(len(shares), p=shares))]
        return resting_at(kind.name, x, y, kind.solid, rest, random.uniform(-np.pi, np.pi))
    half = np.array(kind.half_extents_m) * random.uniform(*parameters.things.scale)
    return lying_at(kind.name, x, y, half, kind.shape, random.uniform(-np.pi, np.pi))


def _mass(parameters: Grab, thing: Belief) -> float:
    kind = kind_of(thing.name, parameters.kinds)
    return kind.mass_kg(float(thing.half_extents_m[0]) / kind.half_extents_m[0])


def _spot(
    parameters: Grab, placed: list[Belief], random: np.random.Generator, tally: RefusalCounter
) -> Planning[tuple[float, float] | None]:
    """Where the target is put: back, or at another point of the certified region that is free."""
    target, place = placed[0], parameters.order.place
    back = float(target.position_m[0]), float(target.position_m[1])
    if place == "back" or (place == "either" and random.random() < 0.5):
        return back
    for _ in range(_PLACES):
        x, y = place_in_ring(parameters.things.radius_m, parameters.things.azimuth_rad, random, parameters.the_robot)
        there = _elsewhere(target, x, y, random.uniform(-np.pi, np.pi))
        if not lies_free(there, placed[1:], parameters.things.apart_m, parameters.the_robot):
            continue
        reason = refusal(parameters, there)
        if not reason:
            return x, y
        tally.refuse(reason)
        yield StopPoint()
    tally.refuse("no_spot")
    return None


def _elsewhere(target: Belief, x_m: float, y_m: float, yaw_rad: float) -> Belief:
    """The same thing there, resting as it does."""
    if target.solid is not None:
        assert target.rest is not None
        return resting_at(target.name, x_m, y_m, target.solid, target.rest, yaw_rad)
    assert target.shape != "plate"
    return lying_at(target.name, x_m, y_m, target.half_extents_m, target.shape, yaw_rad)


def is_back(lay_m: Array, spot_m: tuple[float, float]) -> bool:
    """Whether a thing that lay there is put back, rather than onto a mark."""
    return bool(lay_m[0] == spot_m[0] and lay_m[1] == spot_m[1])


def sample_variables(random: np.random.Generator, target: Belief) -> GrabVariables:
    """Variables as a person might set them, sensible or not."""
    height = float(target.position_m[2])
    return GrabVariables(
        cross_axis=bool(random.random() < _CROSS),
        tcp_offset=bool(random.random() >= _NO_OFFSET),
        tcp_clearance_m=float(random.uniform(0.0005, 0.003)),
        open_clearance_m=float(random.uniform(0.003, 0.015)),
        close_clearance_m=float(random.uniform(-0.003, 0.003)),
        object_z_m=max(height + float(random.uniform(-0.006, 0.006)), 0.001)
        if random.random() < _OTHER_HEIGHT
        else 0.0,
        approach_height_m=0.0 if random.random() < _ONE_STAGE else float(random.uniform(0.02, 0.07)),
    )


def as_numbers(variables: GrabVariables) -> dict[str, float]:
    """Variables as a sampled scene keeps them."""
    return {key: float(value) for key, value in variables.model_dump().items() if not isinstance(value, str)}


def ordered(parameters: Grab, sampled: Draw) -> tuple[str, tuple[float, float], GrabVariables]:
    """What a sampled scene orders: which thing, where to, and how."""
    described = sampled.variation.described
    numbers = {key: described[key] for key in as_numbers(GrabVariables())}
    flags = {key: bool(numbers[key]) for key in ("cross_axis", "tcp_offset")}
    variables = GrabVariables.model_validate({**numbers, **flags, "tcp": parameters.grasp.tcp})
    return parameters.kinds[round(described["target"])].name, (described["spot_x_m"], described["spot_y_m"]), variables


def probe(parameters: Grab, random: np.random.Generator) -> Probe:
    """One random thing somewhere around the arm, judged as the sampler does."""
    kind = parameters.kinds[int(random.integers(len(parameters.kinds)))]
    thing = _sample_thing(parameters, kind, random)
    x, y = (float(each) for each in thing.position_m[:2])
    return Probe(x_m=x, y_m=y, refusal=refusal(parameters, thing))


def object_problems(parameters: Grab) -> list[str]:
    """Names that two objects have, objects that a camera does not know, and meshes that this hand cannot take."""
    names = [each.name for each in parameters.kinds]
    found = [
        f"things.meshes: two objects are called {name!r}; set the name of one"
        for name in dict.fromkeys(each.name for each in parameters.things.meshes)
        if names.count(name) > 1
    ]
    own = [each.name for each in parameters.things.meshes] + [each.name for each in parameters.posted.objects]
    if own and parameters.perception.source == "camera":
        found.append(f"perception.source: camera knows the seven blocks, cans and fruit, not {own[0]}; set truth")
    return found or [
        f"things.meshes: {parameters.robot} cannot take {mesh.name}: {why}"
        for mesh in parameters.things.meshes
        if (why := _not_takeable(parameters, mesh.name))
    ]


def _not_takeable(parameters: Grab, name: str) -> str:
    """Why a mesh cannot be taken however it rests, at the best of a few places with everything at its default."""
    solid, why = parameters.things.solids[name], ""
    low, high = parameters.things.radius_m
    axis_x_m, axis_y_m = arm_of(parameters.the_robot).axis_m
    for rest, share in itertools.product(solid.rests, (0.6, 0.4, 0.8)):
        azimuth = float(np.mean(parameters.things.azimuth_rad))
        radius = low + share * (high - low)
        x, y = axis_x_m + radius * np.cos(azimuth), axis_y_m + radius * np.sin(azimuth)
        for yaw in (0.0, np.pi / 4, np.pi / 2):
            found = attempt(query_for(parameters, resting_at(name, x, y, solid, rest, yaw), GrabVariables()))
            if not isinstance(found, GrabRefusal):
                return ""
            why = why or str(found)
    return f"{why}; expected two opposite upright sides that fit between its fingers"


def objects_at_start(scene: Scene, sampled: Draw) -> tuple[Belief, ...]:
    """Every object on the table, exactly where the sample has put it."""
    model, data = posed(scene, sampled.start, sampled.variation)
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


def all_can_be_grabbed(parameters: Grab, sampled: Draw) -> bool:
    """Whether a scene shows the console well: there is enough to choose from, and all of it passes the reach check."""
    found = objects_at_start(table_of(parameters), sampled)
    return len(found) >= min(_ENOUGH, round(parameters.things.count[1])) and all(
        isinstance(attempt(query_for(parameters, one, parameters.grasp, others)), GrabPlan)
        for one in found
        for others in [tuple(each for each in found if each is not one)]
    )
