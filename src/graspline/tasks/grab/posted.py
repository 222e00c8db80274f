"""A table as an outside detector has seen it: checked, laid in simulation, and believed at the first look."""

from __future__ import annotations

import copy
from dataclasses import replace

import mujoco
import numpy as np

from graspline.grasping.grips import MAX_LEAN_RAD
from graspline.perception.core.beliefs import Belief
from graspline.scenes.block_table import block_table, blocks_start, blocks_variation
from graspline.scenes.scene import Array, Scene
from graspline.scenes.variation import Variation, apply_to_model
from graspline.spatial.rotations import matrix_from_vector, multiply, quaternion_from_matrix
from graspline.tasks.console import Refused
from graspline.tasks.grab.parameters import Grab
from graspline.tasks.posted_objects import Posted
from graspline.tasks.scatter import as_lying

# How far above or in the table the foot of an object may be seen, and how deep two may be seen in each other.
_OFF_TABLE_M, _OVERLAP_M = 0.01, 0.002
_PAD_FRICTION = 1.0


def posted_store(parameters: Grab) -> Posted:
    """An empty store for what is posted to this table: of what is no mesh, as many as there are bodies for."""
    return Posted(len(parameters.kinds), parameters.posted.max_age_s, parameters.things.solids)


def posted_problems(parameters: Grab) -> list[str]:
    """Everything that is wrong with the objects that parameters say a detector has seen."""
    if not parameters.posted.objects:
        return []
    found, store = list[str](), posted_store(parameters)
    store.now_s = parameters.posted.time_s
    names = [each.name for each in parameters.posted.objects]
    for number, each in enumerate(parameters.posted.objects):
        where = f"posted.objects[{number}], {each.name}"
        if each.name in names[:number]:
            found.append(f"{where}: posted twice; expected one pose of each object")
            continue
        result = store.post(each.posted())
        if isinstance(result, Refused):
            found.append(f"{where}: {result.reason}")
    found += [f"posted.objects, {each.name}: {problem}" for each in store.objects for problem in _standing(each)]
    order = parameters.order.target
    if order in [each.name for each in parameters.things.meshes] and order not in names:
        found.append(f"order.target: {order!r} is not posted; posted: {', '.join(names)}")
    return found or _overlaps(parameters)


def believed_as_posted(parameters: Grab) -> tuple[Belief, ...]:
    """What the robot believes at its first look, each object upright on the table."""
    store = posted_store(parameters)
    store.now_s = parameters.posted.time_s
    for each in parameters.posted.objects:
        store.post(each.posted())
    return tuple(replace(_upright(each), time_s=0.0) for each in store.objects)


def laid_as_posted(parameters: Grab, random: np.random.Generator) -> list[Belief]:
    """Where the objects are, the target first: as they were seen, but for the error that the detector admits."""
    believed = believed_as_posted(parameters)
    wanted = parameters.order.target or believed[int(random.integers(len(believed)))].name
    placed = []
    for each in sorted(believed, key=lambda each: each.name != wanted):
        position = each.position_m.copy()
        if each.position_sigma_m:
            position[:2] += random.normal(0.0, each.position_sigma_m, 2)
        placed.append(replace(each, position_m=position, position_sigma_m=0.0))
    return placed


def _up(thing: Belief) -> Array:
    """(3,): which of its directions should point up, in W."""
    if thing.rest is not None:
        return -thing.rotation @ np.array(thing.rest.down)
    axis = 2 if thing.shape == "cylinder" else thing.up_axis
    way = thing.rotation[:, axis]
    return way if way[2] >= 0 else -way


def _standing(thing: Belief) -> list[str]:
    """Why it does not stand on the table as it was seen."""
    lean = 0.0 if thing.shape == "ball" else float(np.arccos(np.clip(_up(thing)[2], -1, 1)))
    if lean > MAX_LEAN_RAD:
        return [f"quaternion: it leans by {lean:.2f} rad; expected a face on the table, within {MAX_LEAN_RAD:g} rad"]
    off_m = float(thing.position_m[2]) - thing.half_height_m
    if abs(off_m) > _OFF_TABLE_M:
        return [
            f"position_m: its foot is {off_m:.3f} m above the table; expected 0, within {_OFF_TABLE_M:g} m: z is "
            f"{thing.half_height_m:.4f} m for something of its size"
        ]
    return []


def _upright(thing: Belief) -> Belief:
    """The same on the table, turned by as little as it leaned."""
    up = _up(thing)
    axis = np.cross(up, [0.0, 0.0, 1.0])
    length = float(np.linalg.norm(axis))
    if length > 1e-9 and thing.shape != "ball":
        turn = matrix_from_vector(axis / length * float(np.arctan2(length, up[2])))
        thing = replace(thing, quaternion=quaternion_from_matrix(multiply(turn, thing.rotation)))
    position = thing.position_m.copy()
    position[2] = thing.half_height_m
    return replace(thing, position_m=position)


def _overlaps(parameters: Grab) -> list[str]:
    """Pairs of objects that were seen in one place, or in the robot."""
    robot, kinds = parameters.the_robot, parameters.kinds
    scene = block_table(robot, kinds)
    lying = {each.name: as_lying(each, 0.1) for each in believed_as_posted(parameters)}
    model, data = posed(
        scene, blocks_start(lying, robot, kinds), blocks_variation(lying, _PAD_FRICTION, {}, robot, kinds)
    )
    mujoco.mj_collision(model, data)
    deepest: dict[tuple[str, str], float] = {}
    for contact in data.contact:
        bodies = sorted(model.body(model.geom_bodyid[geom]).name for geom in contact.geom)
        loose = [name for name in bodies if name in lying]
        if not loose or "world" in bodies or -contact.dist <= _OVERLAP_M:
            continue
        other = next((each for each in bodies if each not in lying), "")
        pair = loose[0], loose[1] if len(loose) > 1 else f"the robot's {other}"
        deepest[pair] = max(deepest.get(pair, 0.0), -float(contact.dist))
    return [
        f"posted.objects: {one} and {other} overlap by {1000 * depth:.1f} mm; expected objects beside each other"
        for (one, other), depth in deepest.items()
    ]


def posed(scene: Scene, start: Array, variation: Variation) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """A scene of its own as it is at a start, everything where it then is."""
    model = copy.copy(scene.model)
    apply_to_model(model, variation)
    data = mujoco.MjData(model)
    data.qpos[:] = start
    mujoco.mj_kinematics(model, data)
    return model, data
