"""What the simulator knows of a lane at one instant: for judges, and as plain values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.engine.actors import Account, Actor, LaneView
from graspline.engine.events import Event, Place, Push
from graspline.engine.odometry import in_world, turned_in_world
from graspline.engine.protocol import Engine
from graspline.scenes.scene import Bay, Scene
from graspline.spatial.rotations import quaternion_from_matrix, rotate
from graspline.tasks.task import Draw, ObjectTruth, Snapshot

Array = NDArray[np.float64]


def snapshot_of(
    engine: Engine,
    lane: int,
    sampled: Draw,
    time_s: float,
    actor: Actor | None = None,
    events: Sequence[tuple[int, Event]] = (),
    rows: tuple[Array, Array] | None = None,
) -> Snapshot:
    """What the simulator and its actors know at this instant, and what events have done to objects.

    The `rows` of truth and readings may be those of an earlier instant, where nothing acts and no wheels slip.
    """
    truth, readings = (engine.truth[lane], engine.readings[lane]) if rows is None else rows
    scene, columns = engine.scene, engine.layout.truth

    def thing(name: str, half_extents_m: Array) -> ObjectTruth:
        at = scene.joint_address(name)
        return ObjectTruth(
            position_m=truth[columns[f"{name}.position"]].copy(),
            start_position_m=sampled.start[at : at + 3].copy(),
            quaternion=truth[columns[f"{name}.quaternion"]].copy(),
            speed_m_s=float(np.linalg.norm(truth[columns[f"{name}.velocity"]])),
            half_extents_m=half_extents_m,
        )

    parts = engine.layout.readings
    # A robot on wheels reads where it believes its tool to be.
    rotation = turned_in_world(engine, lane, readings[parts["tool_axes"]].reshape(3, 3).T)
    tool = in_world(engine, lane, readings[parts["tool_position"]].copy())
    joints = readings[parts["joint_position"]].copy()
    gap = float(scene.robot.jaw_law.gap_m(joints[scene.robot.jaw]))
    first, second = np.linalg.norm(readings[parts["pad_force"]].reshape(2, 3), axis=1).tolist()
    return Snapshot(
        objects={name: thing(name, engine.half_extents_m(lane, name)) for name in scene.object_names},
        places={
            place.name: thing(place.name, np.array([place.radius_m, place.radius_m, place.floor_m / 2]))
            for place in scene.places
        }
        | {bay.name: _standing(bay) for bay in scene.bays},
        tool_m=tool + rotate(rotation, scene.robot.jaw_law.middle_m(joints[scene.robot.jaw])),
        tool_quaternion=quaternion_from_matrix(rotation),
        jaw_gap_m=gap,
        pad_forces_n=(first, second),
        joints_rad=joints,
        time_s=time_s,
        accounts=() if actor is None else actor.accounts(LaneView(engine=engine, lane=lane, time_s=time_s)),
        put_m=_put_m(scene, events),
        pushed=frozenset(event.body for _, event in events if isinstance(event, Push)),
    )


def _put_m(scene: Scene, events: Sequence[tuple[int, Event]]) -> dict[str, tuple[Array, ...]]:
    """Where events have put each object, in order."""
    found: dict[str, tuple[Array, ...]] = {}
    for _, event in events:
        if isinstance(event, Place) and event.body in scene.object_names:
            found[event.body] = (*found.get(event.body, ()), np.array(event.position_m))
    return found


def truth_of(snapshot: Snapshot) -> dict[str, Any]:
    """A snapshot as `run --json` prints it."""

    def shared(thing: ObjectTruth) -> dict[str, Any]:
        return {
            "position_m": _floats(thing.position_m),
            "start_position_m": _floats(thing.start_position_m),
            "quaternion": _floats(thing.quaternion),
            "speed_m_s": _float(thing.speed_m_s),
        }

    tool = {
        "position_m": _floats(snapshot.tool_m),
        "quaternion": _floats(snapshot.tool_quaternion),
        "jaw_gap_m": _float(snapshot.jaw_gap_m),
    }
    return {
        "objects": {
            name: {**shared(thing), "size_m": _floats(2 * thing.half_extents_m)}
            for name, thing in snapshot.objects.items()
        },
        "places": {
            name: {
                **shared(thing),
                **(
                    {"radius_m": _float(float(thing.half_extents_m[0]))}
                    if thing.round
                    else {"size_m": _floats(2 * thing.half_extents_m)}
                ),
            }
            for name, thing in snapshot.places.items()
        },
        "tool": tool,
        **({"sent": [_account(each) for each in snapshot.accounts]} if snapshot.accounts else {}),
    }


def _account(account: Account) -> dict[str, Any]:
    return {
        "name": account.name,
        "colour": account.colour,
        "size_m": list(account.size_m),
        "sent_s": account.sent_s,
        "left_s": _float(account.left_s),
        "where": account.where,
    }


def _standing(bay: Bay) -> ObjectTruth:
    position = np.array(bay.position_m)
    return ObjectTruth(
        position_m=position,
        start_position_m=position,
        quaternion=np.array([1.0, 0.0, 0.0, 0.0]),
        speed_m_s=0.0,
        half_extents_m=np.array(bay.half_extents_m),
        round=False,
    )


def _floats(values: Array) -> list[float | None]:
    """Plain numbers; what is not one (after a divergence) is null, which JSON can say."""
    return [_float(value) for value in values.tolist()]


def _float(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
