"""Whether a shape can be where it was fitted: how much of it something farther away is seen through."""

from __future__ import annotations

import numpy as np

from graspline.perception.rgbd.above_surface import Ground
from graspline.perception.rgbd.clouds import rays_of
from graspline.perception.rgbd.objects import Fit
from graspline.perception.rgbd.upright_shapes import HIGH, footprint_m, inverse_depths

# One pixel in this many is looked at, along rows and columns.
_EVERY_PX = 2
# What is seen farther away than a shape by more than this and this many sigmas of depth is behind it, what is nearer by
# as much before it.
_OFF_M, _OFF_SIGMAS = 0.015, 4.0
# With fewer pixels of which anything is known, nothing is.
_LEAST_PX = 10


def seen_through(ground: Ground, fit: Fit) -> float:
    """Of a shape's pixels that nothing nearer hides, the share in which something behind it is seen: 0 to 1."""
    lens, view = ground.lens, ground.view
    outline = footprint_m(fit.shape, fit.upright)
    corners = np.concatenate([np.insert(outline, 2, height, axis=1) for height in (0.0, fit.upright[HIGH])])
    pixels = lens.pixels(corners)
    ends = np.stack([np.floor(pixels.min(axis=0)), np.ceil(pixels.max(axis=0)) + 1]).astype(int)
    (left, top), (right, bottom) = np.clip(ends, 0, (lens.width, lens.height)).tolist()
    rows, columns = (each.ravel() for each in np.mgrid[top:bottom:_EVERY_PX, left:right:_EVERY_PX])
    ((inverse,), (hit,)) = inverse_depths(fit.shape, fit.upright[None], lens.position_m, rays_of(lens, rows, columns))
    seen = view.inverse[rows, columns].astype(float)
    known = hit & (seen > 0)
    depth = 1 / inverse[known]
    off = 1 / seen[known] - depth
    slack = _OFF_M + _OFF_SIGMAS * view.sigma * depth**2
    shown = off > -slack
    return float((off[shown] > slack[shown]).mean()) if shown.sum() >= _LEAST_PX else 0.0
