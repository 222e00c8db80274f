"""Known things on a table, each found by its colour and fitted as the box, can or ball that it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graspline.perception.colour.colour_edges import ColourEdges, find_blobs, find_edges
from graspline.perception.core.colours import hue_picture
from graspline.perception.core.gauss_newton import Flags, Settled, Settling, settle
from graspline.perception.core.outlines import Array, Lens, on_table
from graspline.perception.core.silhouettes import beyond_px, length_px, silhouette_px
from graspline.rendering.picture import Picture, Pixels
from graspline.scenes.block_table import Kind

# Fewer edge points than this are not worth a fit.
_LEAST_EDGES = 8
# Number of blobs of one colour that are tried.
_MOST_BLOBS = 3
# How far a scale may be from one before looking.
_SCALE_SIGMA = 0.06
# Rounds of a fit from each heading tried and, for the best of them, further ones; edges farther off than that do not
# count.
_FIRST_PX, _THEN_PX = (np.inf, np.inf, 6.0), (4.0, 2.5, 1.5, 1.5)
# Headings compared before, and how many of the starts are tried.
_HEADINGS, _LIKELY = 12, 6
# Of something hidden this share of the outline at the most is its own.
_MOSTLY = 0.9
# Edges next to one another are off alike, so each says less than its scatter, 0.1 px, would have it. Measured on 200
# pictures of 640 × 480 by OpenGL, half of them in other light, colours and cameras, all 784 things found: off 0.05 mm
# and 1.6 mrad (1σ), at most by 0.4 mm and 9 mrad; errors are 0.35 and 0.37 times the stated sigma, at most 1.9 times.
# With things 4 mm apart and the arm before them, on 200 pictures 1205 of 1210: 0.07 mm, at most 1.1 mm; 0.39 times, at
# most 4.1 times, and that of a white can a few pixels from robot and block. Rendered by rays, whose edges are jagged
# and whose balls have no facets, 122 things: 0.16 mm, 0.80 times, at most 2.0 times; the sigma is to hold for these,
# too.
_EDGE_SIGMA_PX, _USUAL_MISFIT_PX = 0.25, 0.12
_SIGMA_FLOOR_M = 0.0001
_YAW_FLOOR_RAD = 0.0005
# A fit worse than this, or one that leaves out more of the edges that are surely its own, is of something else: what
# lies on its side or leans. What stands fits to 0.1 px, to 0.3 px where edges are rendered jagged.
_MOST_MISFIT_PX, _MOST_LEFT_OUT = 0.35, 0.05
# Less of an outline, or one less certain than that, does not say where a thing is.
_LEAST_SHARE = 0.2
_MOST_SIGMA_M = 0.006


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedObject:
    """A known thing as seen, standing on the table."""

    name: str
    # (3,), its middle, in W.
    position_m: Array
    yaw_rad: float
    half_extents_m: Array
    # One standard deviation of a horizontal coordinate, of the heading and of the size.
    position_sigma_m: float
    yaw_sigma_rad: float
    scale_sigma: float
    # How much of its outline was seen and is surely its own, 0 to 1.
    share_seen: float


def see_things(picture: Picture, kinds: Sequence[Kind]) -> list[FittedObject]:
    """Those of the known things that stand on the table and can be seen well enough to say where."""
    lens, hues = Lens.of(picture), hue_picture(picture.rgb)
    found = (_see_thing(lens, picture.rgb, hues, kind) for kind in kinds)
    return [each for each in found if each is not None]


def _see_thing(lens: Lens, rgb: Pixels, hues: Pixels, kind: Kind) -> FittedObject | None:
    """All of its colour together, for a finger may divide it; or one blob, where the others are no part of it."""
    labels, areas = find_blobs(hues, kind.rgb)
    for chosen in _choices(areas):
        thing = _seen_in(find_edges(lens, rgb, hues, np.isin(labels, chosen)), kind)
        if thing is not None:
            return thing
    return None


def _choices(areas: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Blobs, numbered from 1, that may make up a thing: all, and each by itself, the largest first."""
    by_size = 1 + np.argsort(-areas, kind="stable")
    singles = [by_size[[index]] for index in range(min(len(by_size), _MOST_BLOBS))]
    return [by_size, *singles] if len(by_size) > 1 else singles


def _seen_in(edges: ColourEdges, kind: Kind) -> FittedObject | None:
    """The thing that has these edges, if they are those of one that stands on the table."""
    if edges.own.sum() < _LEAST_EDGES:
        return None
    fit = _fit(edges, kind)
    clear = int((edges.own & (np.abs(fit.misses_px) <= _THEN_PX[-1])).sum())
    if clear < (1 - _MOST_LEFT_OUT) * edges.own.sum() or fit.misfit_px > _MOST_MISFIT_PX:
        return None
    return _as_thing(edges, kind, fit, clear)


def _fit(edges: ColourEdges, kind: Kind) -> Settled:
    """Place, scale and, of a box, heading: x, y, scale, yaw."""
    count = 4 if kind.shape == "box" else 3
    starts = _starts(edges, kind)[:, :count]
    settling = Settling(
        believed=starts[0],
        doubt=np.array([0.2, 0.2, _SCALE_SIGMA, 1.0])[:count],
        steps=np.array([1e-4, 1e-4, 2e-3, 5e-3])[:count],
        low=np.array([-np.inf, -np.inf, 0.7, -np.inf])[:count],
        high=np.array([np.inf, np.inf, 1.3, np.inf])[:count],
        edge_sigma_px=_EDGE_SIGMA_PX,
    )

    def reaches(parameters: Array) -> Array:
        return np.stack([beyond_px(_standing_px(edges.lens, kind, each), edges.points_px) for each in parameters])

    level = np.zeros(len(edges.own))
    likely = np.argsort(_off_px(reaches(starts), edges.own), kind="stable")[:_LIKELY]
    beliefs = [replace(settling, believed=starts[each]) for each in likely]
    tries = [settle(reaches, level, edges.own, belief, belief.believed, _FIRST_PX) for belief in beliefs]
    best = int(np.argmin([_off_px(each.misses_px[None], edges.own)[0] for each in tries]))
    return settle(reaches, level, edges.own, beliefs[best], tries[best].parameters, _THEN_PX)


def _starts(edges: ColourEdges, kind: Kind) -> Array:
    """(S, 4): every heading in the middle of what is seen and, where something hides the thing, at that something."""
    middles = [edges.points_px.mean(axis=0)]
    if edges.own.mean() < _MOSTLY:
        middles.append(edges.points_px[~edges.own].mean(axis=0))
    places = edges.lens.on_level(edges.lens.rays(np.stack(middles)), kind.half_extents_m[2])
    turns = np.arange(_HEADINGS if kind.shape == "box" else 1) * (np.pi / _HEADINGS)
    return np.array([[x, y, 1.0, turn] for x, y, _ in places for turn in turns])


def _off_px(misses_px: Array, own: Flags) -> Array:
    """(B,): how far off outlines (B, M) are, each compared on the same edges, of which none says very much."""
    off = np.where(own, np.abs(misses_px), np.maximum(-misses_px, 0.0))
    return np.minimum(off, _FIRST_PX[-1]).sum(axis=1)


def _standing_px(lens: Lens, kind: Kind, parameters: Array) -> Array:
    """(V, 2): the silhouette of a thing of this kind that stands on the table."""
    x, y, scale, *turn = (float(each) for each in parameters)
    half = scale * np.array(kind.half_extents_m)
    cosine, sine = (np.cos(turn[0]), np.sin(turn[0])) if turn else (1.0, 0.0)
    rotation = np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])
    return silhouette_px(lens, kind.shape, half, np.array([x, y, half[2]]), rotation)


def _as_thing(edges: ColourEdges, kind: Kind, fit: Settled, clear: int) -> FittedObject | None:
    x, y, scale, *turn = (float(each) for each in fit.parameters)
    # What fits badly is as much less certain.
    worse = max(1.0, fit.misfit_px / _USUAL_MISFIT_PX)
    variance = np.diag(np.linalg.inv(fit.normal)) * (_EDGE_SIGMA_PX * worse) ** 2
    sigma = float(np.sqrt(variance[:2].mean() + _SIGMA_FLOOR_M**2))
    # There are fewer edge points than pixels along an outline, for some are diagonal.
    share = min(1.0, clear / (0.9 * length_px(_standing_px(edges.lens, kind, fit.parameters))))
    position = np.array([x, y, scale * kind.half_extents_m[2]])
    if share < _LEAST_SHARE or sigma > _MOST_SIGMA_M or not on_table(position):
        return None
    return FittedObject(
        name=kind.name,
        position_m=position,
        # Half a turn changes nothing.
        yaw_rad=float((turn[0] + np.pi / 2) % np.pi - np.pi / 2) if turn else 0.0,
        half_extents_m=scale * np.array(kind.half_extents_m),
        position_sigma_m=sigma,
        yaw_sigma_rad=float(np.sqrt(variance[3] + _YAW_FLOOR_RAD**2)) if turn else 0.0,
        scale_sigma=float(np.sqrt(variance[2])),
        share_seen=share,
    )
