"""What `tidy` is judged by, from truth alone: what became of each object that stood on the table."""

from __future__ import annotations

import numpy as np

from graspline.evidence import Evidence, Measurement, at_least, at_most
from graspline.perception.core.beliefs import UNKNOWN
from graspline.scenes.fittings import SHELF, TABLE, Fitting, Level
from graspline.scenes.household import KNOWN
from graspline.spatial.rotations import matrix_from_quaternion
from graspline.tasks.task import Draw, ObjectTruth, Snapshot
from graspline.tasks.tidy.areas import area_of
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.person import is_with_person

_KNOWN = {item.name: item for item in KNOWN}
_BALLS = {item.name for item in KNOWN if item.shape == "ball"}
# A thing on a board has its bottom this near to it, leans no more than this, and is this slow.
_ON_M, _TILT_RAD, _SPEED_M_S = 0.012, 0.15, 0.02
_BESIDE_M = 0.01
# An object in a person's hand is not faster than this.
_FALLING_M_S = 1.0


def on_table_at_first(truth: Snapshot, sampled: Draw) -> tuple[str, ...]:
    """Names of everything that stood on the table at the start, or was put there since."""
    table = TABLE.in_variation(sampled.variation)
    return tuple(name for name in truth.objects if _over(table, table.levels[0], _stood_m(truth, name)))


def _stood_m(truth: Snapshot, name: str) -> np.ndarray:
    """Where a thing was before the robot did anything with it: at the start, or where it was put since."""
    put = [at for at in truth.put_m.get(name, ()) if not is_with_person(at)]
    return put[-1] if put else truth.objects[name].start_position_m


def judge(parameters: Tidy, sampled: Draw, truth: Snapshot) -> Evidence:
    """The goal of each program by truth."""
    laid = on_table_at_first(truth, sampled)
    match parameters.program:
        case "clear_table":
            gone = [name for name in laid if _delivered(parameters, sampled, truth, name)]
            return (at_least("delivered", len(gone), len(laid)), _undisturbed(truth, set(truth.objects) - set(laid)))
        case "placement" | "handover" | "single_grasp":
            named = parameters.object_to_grasp if parameters.program == "single_grasp" else parameters.alone.object
            wanted = [named] if named in truth.objects else list(laid)
            gone = [name for name in wanted if _delivered(parameters, sampled, truth, name)]
            others = set(truth.objects) - set(gone[:1])
            return (at_least("delivered", len(gone), 1), _undisturbed(truth, others))
        case "execute_grasp":
            held = [name for name in laid if is_held(truth, name)]
            return (at_least("held", len(held), 1), _undisturbed(truth, set(truth.objects) - set(held[:1])))
        case _:
            return (_undisturbed(truth, set(truth.objects)),)


def _delivered(parameters: Tidy, sampled: Draw, truth: Snapshot, name: str) -> bool:
    """In a person's hands, or upright in the area it belongs in."""
    thing = truth.objects[name]
    return _given(truth, name) or stands_on(
        SHELF.in_variation(sampled.variation), thing, name, level_of(parameters, name)
    )


def _given(truth: Snapshot, name: str) -> bool:
    """With a person, and out of the robot's hand: what is held out, or just falls from it, has not been taken."""
    thing = truth.objects[name]
    return is_with_person(thing.position_m) and not is_held(truth, name) and thing.speed_m_s < _FALLING_M_S


def level_of(parameters: Tidy, name: str) -> Level:
    """The board of the shelf that a thing belongs on, or the part of it."""
    return area_of(parameters.placing, name if name in _KNOWN else UNKNOWN).level


def stands_on(shelf: Fitting, thing: ObjectTruth, name: str, level: Level) -> bool:
    """Whether a thing rests upright on a board of the shelf, its middle within a part of it."""
    half = _KNOWN[name].half_extents_m[2] if name in _KNOWN else float(thing.half_extents_m[2])
    height = float(thing.position_m[2]) - half - float(shelf.in_world(level.position_m)[2])
    upright = name in _BALLS or float(matrix_from_quaternion(thing.quaternion)[2, 2]) > np.cos(_TILT_RAD)
    resting = abs(height) <= _ON_M and thing.speed_m_s <= _SPEED_M_S
    return bool(upright and resting and _over(shelf, level, thing.position_m))


def _over(fitting: Fitting, level: Level, point_m: np.ndarray) -> bool:
    """Whether a point is above a level, and no farther than things are high."""
    apart = fitting.above(level, point_m)
    return bool((np.abs(apart[:2]) <= level.half_extents_m).all() and 0 < apart[2] < 0.3)


def _undisturbed(truth: Snapshot, names: set[str]) -> Measurement:
    """How far things have moved that only the robot can have pushed."""
    moved = (
        float(np.linalg.norm(truth.objects[each].position_m - _stood_m(truth, each))) for each in names - truth.pushed
    )
    return at_most("others_moved", max(moved, default=0.0), _BESIDE_M, "m")


def is_held(truth: Snapshot, name: str) -> bool:
    """Between the pads, both of which press."""
    thing = truth.objects[name]
    half = np.array(_KNOWN[name].half_extents_m) if name in _KNOWN else thing.half_extents_m
    inside = np.abs(matrix_from_quaternion(thing.quaternion).T @ (truth.tool_m - thing.position_m)) - half
    return bool(inside.max() <= 0.02 and min(truth.pad_forces_n) > 0.05)
