"""All measures of a dataset, put together."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graspline.datasets.edit.repack import Progress, silent
from graspline.datasets.format.files import is_there
from graspline.datasets.format.store import OURS, Dataset
from graspline.datasets.teachability.demonstrations import Demonstrations, Grasps
from graspline.datasets.teachability.findings import (
    Comparison,
    JointSpread,
    JointTurn,
    Middle,
    Pairs,
    SceneFindings,
    ScenePoint,
    StateDifference,
    TeachabilityFindings,
    Ties,
)
from graspline.datasets.teachability.foreign import read_foreign
from graspline.datasets.teachability.neighbours import Neighbours, nearest
from graspline.datasets.teachability.pacing import pacing
from graspline.datasets.teachability.reading import read_dataset
from graspline.datasets.teachability.spread import Postures, least_turn_postures, postures
from graspline.datasets.teachability.states import spread_by_state
from graspline.datasets.teachability.turning import Turns, turns_until

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Neighbours among which scenes that chose otherwise are looked for, and how similar pairs are counted together.
_LOOKED_AT = 50
_STEPS_MM = (0.0, 5.0, 10.0, 20.0, 40.0, 80.0)


def measure(
    root: Path, *, neighbours: int, by: Comparison = "scene", still_per_s: float, progress: Progress = silent
) -> TeachabilityFindings:
    """Measure a dataset of graspline, or of another LeRobot v3.0 dataset what needs no scene."""
    if root.is_dir() and not is_there(root / OURS):
        demonstrations = read_foreign(root)
        return _findings(demonstrations, still_per_s, None, f"not written by graspline ({OURS} is missing)")
    dataset = Dataset.open(root)
    done = progress(2 * len(dataset))
    demonstrations, grasps = read_dataset(dataset, done)
    scene, why = scene_findings(demonstrations, grasps, neighbours, by, done)
    return _findings(demonstrations, still_per_s, scene, why)


def _findings(
    demonstrations: Demonstrations, still_per_s: float, scene: SceneFindings | None, why: str
) -> TeachabilityFindings:
    return TeachabilityFindings(
        episodes=len(demonstrations),
        frames=len(demonstrations.actions),
        fps=demonstrations.fps,
        pacing=pacing(demonstrations, still_per_s),
        scene=scene,
        why=why,
    )


def scene_findings(
    demonstrations: Demonstrations,
    grasps: Grasps,
    count: int,
    by: Comparison = "scene",
    done: Callable[[], object] = lambda: None,
) -> tuple[SceneFindings | None, str]:
    """What compares scenes, or why that cannot be done."""
    if not len(grasps):
        return None, "no episode holds an object that lay there at the start"
    pairs = zip(grasps.scenes, grasps.objects, strict=True)
    scenes = grasps.scenes if by == "scene" else [scene.only(thing) for scene, thing in pairs]
    near = nearest(scenes, max(count, _LOOKED_AT), done)
    enough = np.isfinite(near.distance_mm[:, count - 1])
    if not enough.any():
        which = "objects and the same instruction" if by == "scene" else "kind of object"
        return None, f"no scene has {count} others of the same {which}"
    grasped, turns = postures(demonstrations, grasps, near), turns_until(demonstrations, grasps)
    otherwise = grasped.otherwise(demonstrations.turning)
    tied = otherwise[:, :count].any(axis=1) & enough
    *states, whole = _states(demonstrations, grasps, near, count)
    found = SceneFindings(
        scenes=int(enough.sum()),
        without_grasp=len(demonstrations) - len(grasps),
        without_neighbours=int((~enough).sum()),
        neighbours=count,
        by=by,
        distance_mm=Middle.of(near.distance_mm[enough, count - 1]),
        roll=demonstrations.joints[grasps.hand.roll],
        joints=_joint_spreads(demonstrations, grasped, count, enough & ~tied),
        ties=_ties(near, otherwise, tied, _least_turn(demonstrations, grasps, near, turns, count, enough)),
        states=tuple(states),
        whole=whole,
        turns=_joint_turns(demonstrations, grasps, turns),
        points=_points(demonstrations, grasps, turns, tied),
    )
    return found, ""


def _joint_spreads(
    demonstrations: Demonstrations, grasped: Postures, count: int, untied: Flags
) -> tuple[JointSpread, ...]:
    plain, chosen = (grasped.spread(count, carried=carried) for carried in (False, True))
    return tuple(
        JointSpread(
            joint=joint,
            unit=demonstrations.units[at],
            spread=Middle.of(plain[:, at]),
            chosen=Middle.of(chosen[:, at]),
            outside_ties=Middle.of(chosen[untied, at]).median,
        )
        for at, joint in enumerate(demonstrations.joints)
    )


def _ties(near: Neighbours, otherwise: Flags, tied: Flags, least_turn: tuple[int, float] | None) -> Ties:
    scenes, spread = least_turn or (None, None)
    return Ties(
        scenes=int(tied.sum()),
        nearest_mm=Middle.of(_nearest_otherwise(near, otherwise)[tied]),
        by_distance=_by_distance(near, otherwise),
        least_turn_scenes=scenes,
        least_turn_spread=spread,
    )


def _nearest_otherwise(near: Neighbours, otherwise: Flags) -> Array:
    """Distance to the nearest scene that chose otherwise, (n,); infinite if none of those looked at did."""
    return np.where(otherwise, near.distance_mm, np.inf).min(axis=1)


def _by_distance(near: Neighbours, otherwise: Flags) -> tuple[Pairs, ...]:
    found = []
    for low, high in itertools.pairwise(_STEPS_MM):
        inside = (near.distance_mm >= low) & (near.distance_mm < high)
        found.append(Pairs(from_mm=low, to_mm=high, pairs=int(inside.sum()), otherwise=int((inside & otherwise).sum())))
    return tuple(found)


def _least_turn(
    demonstrations: Demonstrations, grasps: Grasps, near: Neighbours, turns: Turns, count: int, enough: Flags
) -> tuple[int, float] | None:
    """What an expert that always takes the least roll shows in the same scenes: those at ties, and spread of the roll.

    None if there is an object that can be taken with any roll: the least is then to leave the wrist where it is.
    """
    if not (grasps.grips_rad > 0).all():
        return None
    ideal = least_turn_postures(demonstrations, grasps, near, turns.turn_rad, turns.roll_deg)
    tied = ideal.otherwise(demonstrations.turning)[:, :count].any(axis=1) & enough
    spread = ideal.spread(count, carried=True)[:, grasps.hand.roll]
    return int(tied.sum()), Middle.of(spread).median


def _states(demonstrations: Demonstrations, grasps: Grasps, near: Neighbours, count: int) -> list[StateDifference]:
    """Every state in the order in which it is first entered, and the whole time last."""
    found = list(spread_by_state(demonstrations, grasps, near, count))
    frames = float(demonstrations.lengths[grasps.episodes].sum())
    summed = sum(np.nan_to_num(each.spread) * each.frames[:, None] for each in found)
    weight = sum(each.frames for each in found)
    with np.errstate(invalid="ignore", divide="ignore"):
        whole = summed / np.reshape(weight, (-1, 1))

    def difference(name: str, spread: Array, share: float) -> StateDifference:
        joints = {joint: Middle.of(spread[:, at]) for at, joint in enumerate(demonstrations.joints)}
        return StateDifference(state=name, share=share, joints=joints)

    return [
        *(difference(each.state, each.spread, float(each.frames.sum()) / frames) for each in found),
        difference("", whole, 1.0),
    ]


def _points(demonstrations: Demonstrations, grasps: Grasps, turns: Turns, tied: Flags) -> tuple[ScenePoint, ...]:
    roll = grasps.hand.roll
    start = demonstrations.measured[demonstrations.first[grasps.episodes], roll]
    end = demonstrations.actions[grasps.frames, roll]
    return tuple(
        ScenePoint(
            x_mm=float(thing.position_mm[0]),
            y_mm=float(thing.position_mm[1]),
            roll=float(end[row] - start[row]),
            least_roll=float(turns.roll_deg[row] - start[row]),
            tied=bool(tied[row]),
        )
        for row, thing in enumerate(grasps.objects)
    )


def _joint_turns(demonstrations: Demonstrations, grasps: Grasps, turns: Turns) -> tuple[JointTurn, ...]:
    """Of all joints but the jaw, which has to open and to close."""
    path, least = turns.path.copy(), turns.least.copy()
    # Where no roll is needed, no way is a multiple of it; where it never is, the ways alone are reported.
    free = grasps.grips_rad == 0
    if not free.all():
        path[free, grasps.hand.roll] = least[free, grasps.hand.roll] = np.nan
    ratio = path / np.maximum(least, 1.0)
    ratio[free, grasps.hand.roll] = np.nan
    return tuple(
        JointTurn(
            joint=joint,
            unit=demonstrations.units[at],
            path=Middle.of(path[:, at]),
            least=Middle.of(least[:, at]),
            ratio=Middle.of(ratio[:, at]),
        )
        for at, joint in enumerate(demonstrations.joints)
        if at != demonstrations.jaw
    )
