"""A look at a table or a board: its surface, and what stands on it as solids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np

from graspline.perception.core.beliefs import Belief
from graspline.perception.core.outlines import Array
from graspline.perception.rgbd.above_surface import Ground, ground_of, standing_pixels
from graspline.perception.rgbd.clouds import DepthView, view_of
from graspline.perception.rgbd.clusters import Cluster, find_clusters
from graspline.perception.rgbd.handles import find_handle
from graspline.perception.rgbd.objects import fit_shapes
from graspline.perception.rgbd.planes import NoPlane, SearchBox, find_plane
from graspline.perception.rgbd.recognition import KnownModel, Recognition, recognise
from graspline.perception.rgbd.sightings import Sighting, sighting_of
from graspline.perception.rgbd.surfaces import Surface, surface_of
from graspline.perception.rgbd.upright_shapes import HIGH, WIDE, YAW, X, Y, footprint_m, half_extents_m
from graspline.perception.rgbd.visibility import seen_through
from graspline.rendering.picture import Picture
from graspline.spatial.rotations import quaternion_from_matrix, rotation_z

# Footprints share this much of the smaller at most, or they are of one thing.
_OVERLAP = 0.2
# Two parts of one thing fit together as well as each alone, give or take so much; parts that overlap may fit worse.
_TOGETHER, _OVERLAPPING = 0.5, 2.0
# Parts of one thing, of one colour, that something hides the middle of are no farther apart.
_APART_M, _ALIKE, _HIDDEN_SHARE = 0.12, 0.03, 0.1
_TOUCHING_M, _HANDLE_SLACK_M = 0.02, 0.012
# A part of a thing that does not fit it has this share of its pixels at most.
_LEFTOVER = 0.25
# What fits make of noise is too good by this; and nothing is known better than to so much of the noise of 1 / depth.
_WORSE, _FLOOR_M2, _YAW_FLOOR_RAD_M = 1.5, 0.33, 2.0
# Where more than this of a shape is seen through it is not: of a mug little more than the handle shows, and that is
# taken for all of it. Through known things where they are, this was 0.23 at most, past the neck of a bottle; through
# those that seemed 22 to 100 mm elsewhere, 0.40 at least.
_SEEN_THROUGH = 0.33


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecognisedObject:
    """A thing on a surface: the solid it is taken for, how sure that name is, 0 to 1, and what was seen of it."""

    solid: Belief
    score: float
    # Mean square miss of its shape in sigmas: 1 is as good as noise allows.
    misfit: float
    pixels: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tabletop:
    """A surface and the things on it, the nearest to the camera first; in O."""

    surface: Surface
    things: tuple[RecognisedObject, ...]
    # Tables are level, so what seemed to tilt was the camera: its picture as it is seen when the camera is turned so
    # much.
    view: DepthView
    tilt_rad: float

    @property
    def solids(self) -> tuple[Belief, ...]:
        """The objects as solids."""
        return tuple(each.solid for each in self.things)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Seen:
    cluster: Cluster
    sighting: Sighting
    recognition: Recognition


def see_tabletop(
    picture: Picture,
    position_m: Array,
    rotation: Array,
    within: SearchBox,
    models: Sequence[KnownModel] = (),
    *,
    highest_m: float = 0.45,
    known: Sequence[Belief] = (),
) -> Tabletop | NoPlane:
    """What stands on the largest level surface within these bounds, and lower than `highest_m` above it.

    Walls are seen to be walls where the surface ends at them; what is seen at one of the `known` solids, in O, is that.

    The camera's pose (p_OC, R_OC, MuJoCo's camera frame) is what the robot believes; the picture's own is not used. How
    far the camera is off its place is no part of the error of what it sees.
    """
    believed = view_of(picture, position_m, rotation)
    tilted = find_plane(believed, within)
    if isinstance(tilted, NoPlane):
        return tilted
    view, plane = tilted.levelled(believed)
    surface = surface_of(view, plane, within)
    ground = ground_of(view, plane)
    clusters = find_clusters(ground, standing_pixels(ground, surface, highest_m, known))
    seen = _joined(ground, [_see(ground, each, models) for each in clusters], models)
    things = [_thing(ground, each) for each in seen]
    camera = np.asarray(position_m, float)[:2]
    things.sort(key=lambda thing: float(np.linalg.norm(thing.solid.position_m[:2] - camera)))
    return Tabletop(surface=surface, things=tuple(things), view=view, tilt_rad=tilted.tilt_rad)


def _see(ground: Ground, cluster: Cluster, models: Sequence[KnownModel]) -> _Seen:
    sighting = sighting_of(ground, cluster)
    return _Seen(cluster=cluster, sighting=sighting, recognition=recognise(sighting, fit_shapes(sighting), models))


def _joined(ground: Ground, seen: list[_Seen], models: Sequence[KnownModel]) -> list[_Seen]:
    """The same with parts of one thing put together: things do not stand in each other."""
    found = sorted(seen, key=lambda each: -len(each.cluster.rows))
    small = len(found) - 1
    while small > 0:
        unions = ((large, _union(ground, found[large], found[small], models)) for large in range(small))
        joined = next(((large, union) for large, union in unions if union is not None), None)
        if joined is not None:
            found[joined[0]] = joined[1]
            del found[small]
            found.sort(key=lambda each: -len(each.cluster.rows))
            small = len(found)
        small -= 1
    return found


def _union(ground: Ground, large: _Seen, small: _Seen, models: Sequence[KnownModel]) -> _Seen | None:
    """Both as one thing, if they are; what stands in another and fits nothing is nothing."""
    cluster = Cluster(
        rows=np.concatenate([large.cluster.rows, small.cluster.rows]),
        columns=np.concatenate([large.cluster.columns, small.cluster.columns]),
    )
    if _is_handle(large, small):
        return replace(large, cluster=cluster)
    overlapping = _overlap(large, small) > _OVERLAP or _are_namesakes(large, small)
    if not overlapping and not _may_be_halves(large, small):
        return None
    both = _see(ground, cluster, models)
    counts = len(large.cluster.rows), len(small.cluster.rows)
    misfits = large.recognition.fit.misfit, small.recognition.fit.misfit
    apart = (counts[0] * misfits[0] + counts[1] * misfits[1]) / sum(counts)
    if both.recognition.fit.misfit < apart + (_OVERLAPPING if overlapping else _TOGETHER):
        return both
    return large if overlapping and counts[1] < _LEFTOVER * counts[0] else None


def _is_handle(large: _Seen, small: _Seen) -> bool:
    """Whether a small part is where the handle of something known may be, and has its colour."""
    model, fit = large.recognition.model, large.recognition.fit
    if model is None or not model.handle_m or not _are_alike(large, small):
        return False
    away = np.hypot(*(small.sighting.points_m[:, :2] - fit.upright[[X, Y]]).T)
    return bool(np.percentile(away, 90) < fit.upright[WIDE] + model.handle_m + _HANDLE_SLACK_M)


def _are_alike(one: _Seen, other: _Seen) -> bool:
    return bool(np.abs(one.sighting.colour - other.sighting.colour).max() < _ALIKE)


def _overlap(one: _Seen, other: _Seen) -> float:
    """How much of the smaller footprint is within the other."""
    fits = one.recognition.fit, other.recognition.fit
    first, second = (footprint_m(fit.shape, fit.upright).astype(np.float32) for fit in fits)
    shared, _ = cv2.intersectConvexConvex(first, second)
    return shared / min(cv2.contourArea(first), cv2.contourArea(second))


def _are_namesakes(one: _Seen, other: _Seen) -> bool:
    """Whether two that touch are taken for the same known thing."""
    named = one.recognition.model is not None and one.recognition.name == other.recognition.name
    return named and _apart_m(one, other) < _TOUCHING_M


def _apart_m(one: _Seen, other: _Seen) -> float:
    """How near two come to each other, seen from above."""
    first, second = (each.sighting.points_m[:, :2] for each in (one, other))
    return float(np.hypot(*(first[:, None] - second[None]).transpose(2, 0, 1)).min())


def _may_be_halves(one: _Seen, other: _Seen) -> bool:
    """Whether two have one colour, are near each other, and something hides where each of them ends."""
    hidden = all(_hidden_share(each.sighting) >= _HIDDEN_SHARE for each in (one, other))
    return hidden and _are_alike(one, other) and _apart_m(one, other) < _APART_M


def _hidden_share(sighting: Sighting) -> float:
    """How much of its outline something else may hide."""
    return float(1 - sighting.edges.own.mean()) if len(sighting.edges.own) else 1.0


def _thing(ground: Ground, seen: _Seen) -> RecognisedObject:
    recognition, fit = seen.recognition, seen.recognition.fit
    half, model = half_extents_m(fit.upright), recognition.model
    worse = _WORSE * max(1.0, float(np.sqrt(fit.misfit)))
    variance, sigma = np.diag(fit.covariance) * worse**2, ground.view.sigma
    astray_m = float(half[:2].max()) if seen_through(ground, fit) > _SEEN_THROUGH else 0.0
    yaw, yaw_sigma = float(fit.upright[YAW]), 0.0
    if YAW in fit.chosen:
        # Half a turn changes nothing.
        yaw = (yaw + np.pi / 2) % np.pi - np.pi / 2
        yaw_sigma = float(np.hypot(np.sqrt(variance[fit.chosen.index(YAW)]), _YAW_FLOOR_RAD_M * sigma))
    elif model is not None and model.handle_m > 0:
        hidden = _hidden_share(seen.sighting) > _HIDDEN_SHARE
        handle = find_handle(ground, seen.cluster, fit.upright, model.handle_m, hidden=hidden)
        yaw, yaw_sigma = handle.yaw_rad, handle.sigma_rad
    solid = Belief(
        name=recognition.name,
        shape=fit.shape,
        position_m=ground.position_m + np.array([fit.upright[X], fit.upright[Y], fit.upright[HIGH] / 2]),
        quaternion=quaternion_from_matrix(rotation_z(yaw)),
        half_extents_m=half,
        position_sigma_m=float(np.sqrt(variance[:2].mean() + (_FLOOR_M2 * sigma) ** 2 + astray_m**2)),
        yaw_sigma_rad=yaw_sigma,
    )
    return RecognisedObject(solid=solid, score=recognition.score, misfit=fit.misfit, pixels=len(seen.cluster.rows))
