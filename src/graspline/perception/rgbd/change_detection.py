"""Whether things are still where they were: two looks at one surface, from about the same side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graspline.perception.core.beliefs import Belief
from graspline.perception.core.outlines import Array
from graspline.perception.rgbd.clouds import DepthView, Flags

# Two sights of one thing agree in size to this, and are no farther apart.
_ALIKE_M, _SAME_M = 0.012, 0.06
# What is seen nearer or farther than a thing was, by more than this and this many sigmas of depth, is something else.
_OTHER_M, _OTHER_SIGMAS = 0.015, 4.0
# Of what shows of a thing's place, this much may show something farther away; with fewer pixels nothing is known.
_GONE_SHARE, _LEAST_PX = 0.25, 40
# What moved less than this was not moved; of what was pushed this much shows something farther away.
_UNMOVED_M, _PUSHED_SHARE = 0.005, 0.08
# What is this near to a thing, and this far above the surface, is the thing.
_NEAR_M, _ABOVE_M = 0.01, 0.01
# Points of a thing that are looked at: so far across and so far up of half its size.
_ACROSS, _UP = np.linspace(-0.8, 0.8, 7), np.linspace(-0.8, 0.8, 7)
# The same within a ball of that size, and how many of them must show for a place to be known.
_WITHIN, _SHOWN_SHARE = np.linspace(-0.6, 0.6, 7), 0.5
# Of what is new, this much stands where nothing was; less of it may have been hidden.
_NEW_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sight:
    """One look at a surface: the picture, what stood there, and the surface's place and heading in O."""

    # Without one, all there is was seen.
    view: DepthView | None
    things: Sequence[Belief]
    # (3,), any point of the surface, the same in every look.
    at_m: Array
    # (3, 3).
    rotation: Array

    def from_other(self, other: Sight, points_m: Array) -> Array:
        """Points (N, 3) on the surface of another look where they are in this one: wheels slip in between."""
        return (points_m - other.at_m) @ other.rotation @ self.rotation.T + self.at_m


def moved_m(thing: Belief, was: Sight, now: Sight) -> float:
    """How far a thing has moved at least; infinitely if it is gone, and not at all if something hides it."""
    place = now.from_other(was, thing.position_m[None])[0]
    alike = [each for each in now.things if is_alike(thing, each)]
    away = [float(np.linalg.norm((each.position_m - place)[:2])) for each in alike]
    apart = float("inf")
    if away and min(away) <= _SAME_M:
        found = alike[int(np.argmin(away))]
        apart = max(min(away) - 2 * (thing.position_sigma_m + found.position_sigma_m), 0.0)
    if was.view is None or now.view is None or apart <= _UNMOVED_M:
        return apart
    # Whatever it is taken for now: if what was seen of it is seen again, it is there.
    nearer, farther = _compared(now.view, now.from_other(was, _points_of(thing, was.view)))
    shown = ~nearer
    gone = float(farther[shown].mean()) if shown.sum() >= _LEAST_PX else 0.0
    return apart if gone > (_GONE_SHARE if np.isinf(apart) else _PUSHED_SHARE) else 0.0


def is_new(thing: Belief, was: Sight, now: Sight) -> bool:
    """Whether a thing stands where the surface or what is behind it was seen before."""
    if was.view is None or now.view is None:
        place = was.from_other(now, thing.position_m[None])[0]
        return all(float(np.linalg.norm((each.position_m - place)[:2])) > _SAME_M for each in was.things)
    points = was.from_other(now, _points_of(thing, now.view))
    nearer, farther = _compared(was.view, points)
    return bool(len(points) >= _LEAST_PX and (farther & ~nearer).mean() > _NEW_SHARE)


def hidden_share(thing: Belief, view: DepthView) -> float:
    """How much of a thing something else hides, by points around its middle: 0 to 1."""
    reach = float(np.hypot(*thing.half_extents_m[:2]))
    aside = view.lens.rotation[:, 0]
    across, up = np.meshgrid(_ACROSS * reach, _UP * float(thing.half_extents_m[2]))
    points = thing.position_m + across.reshape(-1, 1) * aside + up.reshape(-1, 1) * np.array([0.0, 0.0, 1.0])
    # What is nearer than its near side is not the thing.
    toward = (view.lens.position_m - thing.position_m) / np.linalg.norm(view.lens.position_m - thing.position_m)
    nearer, _ = _compared(view, points + reach * toward)
    return float(nearer.mean())


def empty_share(thing: Belief, view: DepthView) -> float:
    """Of what nothing nearer hides of a thing's place, the share in which something behind it is seen; else 0.

    Points are within any shape of this size, half way through: where it stands, none of them is seen through.
    """
    across, up = np.meshgrid(_WITHIN * float(thing.half_extents_m[:2].min()), _WITHIN * float(thing.half_extents_m[2]))
    aside = view.lens.rotation[:, 0]
    points = thing.position_m + across.reshape(-1, 1) * aside + up.reshape(-1, 1) * np.array([0.0, 0.0, 1.0])
    nearer, farther = _compared(view, points)
    return float(farther[~nearer].mean()) if (~nearer).mean() >= _SHOWN_SHARE else 0.0


def is_alike(one: Belief, other: Belief) -> bool:
    """Whether two sights may be of one thing: the same name and shape, and about the same size."""
    same = one.name == other.name and one.shape == other.shape
    return same and float(np.abs(one.half_extents_m - other.half_extents_m).max()) <= _ALIKE_M


def _points_of(thing: Belief, view: DepthView) -> Array:
    """(N, 3): what was seen of a thing."""
    points = view.points_m[:, view.measured].T.astype(float)
    own = np.abs((points - thing.position_m) @ thing.rotation)
    inside = (own <= thing.half_extents_m + _NEAR_M).all(axis=1)
    return points[inside & (points[:, 2] > thing.bottom_m + _ABOVE_M)]


def _compared(view: DepthView, points_m: Array) -> tuple[Flags, Flags]:
    """Of points (N, 3): whether something nearer is seen there, or something farther away; of holes neither."""
    lens = view.lens
    depth = -(points_m - lens.position_m) @ lens.rotation[:, 2]
    pixels = np.rint(lens.pixels(points_m)).astype(int)
    inside = (pixels >= 0).all(axis=1) & (pixels[:, 0] < lens.width) & (pixels[:, 1] < lens.height) & (depth > 0)
    seen = np.zeros(len(points_m))
    seen[inside] = view.inverse[pixels[inside, 1], pixels[inside, 0]]
    # What is outside of the picture, or was not measured, might as well be hidden.
    unknown = seen <= 0
    off = np.divide(1.0, seen, out=depth.copy(), where=~unknown) - depth
    slack = _OTHER_M + _OTHER_SIGMAS * view.sigma * depth**2
    return unknown | (off < -slack), ~unknown & (off > slack)
