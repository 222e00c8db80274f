"""A known thing in the hand, or hidden: seen near where it is expected, or not refuted there."""

from __future__ import annotations

import numpy as np

from graspline.perception.colour.colour_edges import find_blobs, find_edges
from graspline.perception.core.colours import hue_picture, shows_scenery
from graspline.perception.core.gauss_newton import Settling, settle
from graspline.perception.core.outlines import Array, Lens
from graspline.perception.core.silhouettes import beyond_px, length_px, pixels_inside, silhouette_px
from graspline.rendering.picture import Picture
from graspline.scenes.block_table import Kind
from graspline.spatial.poses import Pose

# How far from its place a thing may be; edges farther off than that, round by round, do not count. In the hand it may
# be tilted a little.
_ASTRAY_M, _FARTHEST_PX = 0.1, (np.inf, np.inf, 6.0, 6.0, 4.0, 3.0, 3.0)
_EDGE_SIGMA_PX = 1.0
# Less of an outline than this does not say where it is.
_LEAST_SHARE = 0.2
# Scenery may shine through this share of a silhouette, for pixels are mixed at edges.
_MOST_SCENERY = 0.08


def see_near(picture: Picture, kind: Kind, half_extents_m: Array, expected: Pose) -> Array | None:
    """(3,): where a thing is seen, as far away from the camera as is expected; None if too little of it is seen.

    How far away it is follows from its apparent size, too roughly to tell a slip: only what is seen across the line of
    sight counts.
    """
    lens, hues = Lens.of(picture), hue_picture(picture.rgb)
    labels, areas = find_blobs(hues, kind.rgb)
    if not len(areas):
        return None
    edges = find_edges(lens, picture.rgb, hues, labels > 0)
    aside = lens.rotation[:, :2]

    def moved(shift: Array) -> Array:
        at = expected.position_m + aside @ shift
        return silhouette_px(lens, kind.shape, half_extents_m, at, expected.rotation)

    settling = Settling(
        believed=np.zeros(2),
        doubt=np.full(2, _ASTRAY_M),
        steps=np.full(2, 1e-4),
        low=np.full(2, -np.inf),
        high=np.full(2, np.inf),
        edge_sigma_px=_EDGE_SIGMA_PX,
    )
    fit = settle(
        lambda shifts: np.stack([beyond_px(moved(each), edges.points_px) for each in shifts]),
        np.zeros(len(edges.own)),
        edges.own,
        settling,
        np.zeros(2),
        _FARTHEST_PX,
    )
    if (fit.counted & edges.own).sum() < _LEAST_SHARE * length_px(moved(fit.parameters)):
        return None
    return expected.position_m + aside @ fit.parameters


def is_hidden(picture: Picture, kind: Kind, half_extents_m: Array, pose: Pose) -> bool:
    """Whether a thing may be there and something else hides it: no table shines through where it would be seen."""
    lens = Lens.of(picture)
    silhouette = silhouette_px(lens, kind.shape, half_extents_m, pose.position_m, pose.rotation)
    inside = pixels_inside(silhouette, lens.width, lens.height)
    if not len(inside):
        return True
    return bool(shows_scenery(hue_picture(picture.rgb), inside, plate_counts=False).mean() <= _MOST_SCENERY)
