"""Random orders: what lies where, which thing is meant, how it is to be taken and where it is put."""

from __future__ import annotations

import functools

import numpy as np

from graspline.errors import InputError, one_of
from graspline.grasping.grab import GrabPlan, GrabQuery, GrabVariables, attempt
from graspline.motion.path import at_rest
from graspline.perception.estimates import Estimate
from graspline.planning.collision import CollisionWorld
from graspline.robots.so101 import SO101
from graspline.scenes.block_table import KINDS, Kind, block_table, blocks_start, blocks_variation, kind_of, marked_at
from graspline.scenes.scene import Array
from graspline.scenes.variation import Variation
from graspline.tasks.grab.parameters import Grab
from graspline.tasks.grab.pick import PickPlan, plan_pick
from graspline.tasks.scatter import as_lying, lies_free, lying_at, place_in_ring
from graspline.tasks.task import Draw, Probe

MAX_DRAWS = 400
# Orders that no plan carries out are drawn again so often; one that is given as it is may be impossible everywhere.
MAX_ORDERS = 20
# Fingers keep this far from everything but the thing they take.
CLEARANCE_M = 0.0005
_NAMES = tuple(each.name for each in KINDS)
# Shares of the orders drawn at random.
_CROSS, _ONE_STAGE, _OTHER_HEIGHT, _NO_OFFSET = 0.25, 0.05, 0.25, 0.02


@functools.cache
def collision_world() -> CollisionWorld:
    return CollisionWorld(block_table(), CLEARANCE_M, stand_ins=True)


def query_for(
    parameters: Grab, estimate: Estimate, variables: GrabVariables, others: tuple[Estimate, ...] = ()
) -> GrabQuery:
    """The question whether a thing can be grabbed from home, among these others."""
    return GrabQuery(
        robot=SO101,
        world=collision_world(),
        estimate=estimate,
        start=at_rest(SO101.home),
        variables=variables,
        others=others,
        reach=parameters.reach.whole(),
        workspace=parameters.workspace,
    )


def certified(parameters: Grab, estimate: Estimate) -> bool:
    """Whether a thing lies in the region in which it can be grabbed with everything at its default."""
    return isinstance(attempt(query_for(parameters, estimate, GrabVariables())), GrabPlan)


def feasible(parameters: Grab, placed: list[Estimate], spot_m: tuple[float, float], variables: GrabVariables) -> bool:
    """Whether a plan carries the order out, where everything is exactly where it was drawn."""
    query = query_for(parameters, placed[0], variables, tuple(placed[1:]))
    return isinstance(plan_pick(query, spot_m, parameters.put, attempt), PickPlan)


def sample(parameters: Grab, random: np.random.Generator) -> Draw:
    """A table on which the target and the point it is put to lie in the certified region, and an order for it.

    An order may be impossible: too wide an axis, too high an approach, a neighbour in the way. Unless any is wanted,
    such an order is drawn again with its table; after `MAX_ORDERS` of them the next one is taken as it is.
    """
    things, order = parameters.things, parameters.order
    names = _names(parameters, random)
    refused, impossible = 0, 0
    for _ in range(MAX_DRAWS):
        placed, outside = _scatter(parameters, names, random)
        refused += outside
        if placed is None:
            continue
        target = placed[0]
        spot = _spot(parameters, placed, random)
        if spot is None:
            continue
        variables = drawn(random, target) if order.variables == "random" else parameters.grasp
        if not order.any and impossible < MAX_ORDERS and not feasible(parameters, placed, spot, variables):
            impossible += 1
            continue
        lying = {each.name: as_lying(each, _mass(each)) for each in placed}
        described = {
            "target": float(_NAMES.index(target.name)),
            "spot_x_m": spot[0],
            "spot_y_m": spot[1],
            **as_numbers(variables),
        }
        variation = blocks_variation(lying, float(random.uniform(*things.pad_friction)), described)
        if not is_back(target.position_m, spot):
            variation += Variation(edits=marked_at(*spot))
        return Draw(start=blocks_start(lying), variation=variation, refused=refused)
    raise InputError(
        f"no table could be laid in {MAX_DRAWS} draws within things.radius_m and things.azimuth_rad; fewer or smaller "
        "things, or more room, would help"
    )


def _names(parameters: Grab, random: np.random.Generator) -> list[str]:
    """The target first, then what else lies there."""
    low, high = (round(each) for each in parameters.things.count)
    count = int(random.integers(low, high + 1))
    names = [str(each) for each in random.permutation(_NAMES)]
    wanted = parameters.order.target
    if wanted:
        one_of(wanted, _NAMES, "order.target")
        names = [wanted, *(each for each in names if each != wanted)]
    return names[:count]


def _scatter(parameters: Grab, names: list[str], random: np.random.Generator) -> tuple[list[Estimate] | None, int]:
    """The target in the certified region and the others beside it; and how often the target lay outside."""
    placed: list[Estimate] = []
    outside = 0
    for name in names:
        for _ in range(60):
            thing = _draw_thing(parameters, kind_of(name), random)
            if not lies_free(thing, placed, parameters.things.apart_m):
                continue
            if placed or certified(parameters, thing):
                placed.append(thing)
                break
            outside += 1
        else:
            return None, outside
    return placed, outside


def _draw_thing(parameters: Grab, kind: Kind, random: np.random.Generator) -> Estimate:
    x, y = place_in_ring(parameters.things.radius_m, parameters.things.azimuth_rad, random)
    half = np.array(kind.half_extents_m) * random.uniform(*parameters.things.scale)
    return lying_at(kind.name, x, y, half, kind.shape, random.uniform(-np.pi, np.pi))


def _mass(thing: Estimate) -> float:
    kind = kind_of(thing.name)
    return kind.mass_kg(float(thing.half_extents_m[0]) / kind.half_extents_m[0])


def _spot(parameters: Grab, placed: list[Estimate], random: np.random.Generator) -> tuple[float, float] | None:
    """Where the target is put: back, or at another point of the certified region that is free."""
    target, place = placed[0], parameters.order.place
    back = float(target.position_m[0]), float(target.position_m[1])
    if place == "back" or (place == "either" and random.random() < 0.5):
        return back
    for _ in range(60):
        x, y = place_in_ring(parameters.things.radius_m, parameters.things.azimuth_rad, random)
        there = lying_at(
            target.name, x, y, target.half_extents_m, kind_of(target.name).shape, random.uniform(-np.pi, np.pi)
        )
        if lies_free(there, placed[1:], parameters.things.apart_m) and certified(parameters, there):
            return x, y
    return None


def is_back(lay_m: Array, spot_m: tuple[float, float]) -> bool:
    """Whether a thing that lay there is put back, rather than onto a mark."""
    return bool(lay_m[0] == spot_m[0] and lay_m[1] == spot_m[1])


def drawn(random: np.random.Generator, target: Estimate) -> GrabVariables:
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
    """Variables as a draw keeps them."""
    return {key: float(value) for key, value in variables.model_dump().items() if not isinstance(value, str)}


def ordered(parameters: Grab, draw: Draw) -> tuple[str, tuple[float, float], GrabVariables]:
    """What a draw orders: which thing, where to, and how."""
    told = draw.variation.described
    numbers = {key: told[key] for key in as_numbers(GrabVariables())}
    flags = {key: bool(numbers[key]) for key in ("cross_axis", "tcp_offset")}
    variables = GrabVariables.model_validate({**numbers, **flags, "tcp": parameters.grasp.tcp})
    return _NAMES[round(told["target"])], (told["spot_x_m"], told["spot_y_m"]), variables


def probe(parameters: Grab, random: np.random.Generator) -> Probe:
    """One random thing somewhere around the arm, judged as the sampler does."""
    kind = KINDS[int(random.integers(len(KINDS)))]
    thing = _draw_thing(parameters, kind, random)
    found = attempt(query_for(parameters, thing, GrabVariables()))
    x, y = (float(each) for each in thing.position_m[:2])
    return Probe(x_m=x, y_m=y, refusal="" if isinstance(found, GrabPlan) else found.check)
