"""What is seen of one thing: depths of its faces, where its outline is, and its colour."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graspline.perception.core.outlines import Array, Lens
from graspline.perception.rgbd.above_surface import Ground
from graspline.perception.rgbd.clouds import rays_of
from graspline.perception.rgbd.clusters import Cluster
from graspline.perception.rgbd.edges import ObjectEdges, find_object_edges

# Number of depths of a cluster that count.
_DEPTHS = 180
# Of what is darker than this, red, green and blue together, the colour is uncertain.
_DARK = 30.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sighting:
    """What is seen of one thing, in a frame with the surface at z = 0."""

    lens: Lens
    edges: ObjectEdges
    # (K, 3): rays of unit depth and the points on them; (K,) 1 / depth, and one standard deviation of it.
    rays: Array
    points_m: Array
    inverse: Array
    sigma: float
    # (3,): shares of red, green and blue of what most of it is painted with.
    colour: Array

    @property
    def top_m(self) -> float:
        """The height of the top."""
        return float(np.percentile(self.points_m[:, 2], 98.5))


def sighting_of(ground: Ground, cluster: Cluster) -> Sighting:
    """The sighting that a cluster of depths makes."""
    every = max(1, len(cluster.rows) // _DEPTHS)
    rows, columns = cluster.rows[::every], cluster.columns[::every]
    return Sighting(
        lens=ground.lens,
        edges=find_object_edges(ground, cluster),
        rays=rays_of(ground.lens, rows, columns),
        points_m=ground.points(rows, columns),
        inverse=ground.view.inverse[rows, columns].astype(float),
        sigma=ground.view.sigma,
        colour=_colour(ground.view.rgb[rows, columns].astype(float)),
    )


def _colour(pixels: Array) -> Array:
    sums = pixels.sum(axis=1)
    bright = sums >= min(_DARK, float(np.median(sums)))
    shares = np.median((pixels[bright] + 0.1) / (sums[bright, None] + 0.3), axis=0)
    return shares / shares.sum()
