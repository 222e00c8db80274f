"""Level planes in a view: found by trying triples of points, then fitted to every pixel that agrees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graspline.evidence import Evidence, at_least
from graspline.perception.rgbd.clouds import DepthView, Flags, Image, ray_parts, rays_of
from graspline.rendering.picture import Array
from graspline.spatial.rotations import matrix_from_vector

# One pixel in this many is tried, this many triples, the same ones for the same picture; one in this many decides.
_STRIDE_PX, _TRIPLES, _SEED, _SCOUTS = 4, 300, 7, 3
# Where fewer than this share of them agree on the best plane, as on one that is seen very flat, more triples are tried.
_FEW, _MORE_TRIPLES = 0.3, 3000
# In the end a plane is fitted to every other pixel.
_LAST_STRIDE_PX = 2
# A plane is level if its normal is no farther from the vertical than this; cameras are off by a degree or two.
_MOST_TILT_RAD = np.radians(4.0)
# Pixels agree with a plane within this many sigmas.
_AGREE_SIGMAS = 3.0
_ROUNDS = 4
# Fewer pixels than this, of those tried, are no plane.
_LEAST_TRIED = 60


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plane:
    """All points with normal · p = offset_m; the normal points up."""

    normal: Array
    offset_m: float

    def height_m(self, x_m: float, y_m: float) -> float:
        """z of the plane above a place."""
        return float((self.offset_m - self.normal[0] * x_m - self.normal[1] * y_m) / self.normal[2])

    def above_m(self, points_m: Image) -> Image:
        """(H, W): how far points (3, H, W) are above it."""
        x, y, z = points_m
        a, b, c = self.normal.astype(np.float32)
        height = a * x
        height += b * y
        height += c * z
        height -= np.float32(self.offset_m)
        return height

    @property
    def tilt_rad(self) -> float:
        """How far its normal is from the vertical."""
        return float(np.arctan2(np.hypot(self.normal[0], self.normal[1]), self.normal[2]))

    def levelled(self, view: DepthView) -> tuple[DepthView, Plane]:
        """A view by a camera turned, in place, so that this plane is level; and the plane as it is then."""
        x, y, _ = self.normal
        # The shortest turn that brings the normal up.
        turn = matrix_from_vector(np.array([y, -x, 0.0]) * (self.tilt_rad / max(float(np.hypot(x, y)), 1e-12)))
        height = float(self.normal @ view.lens.position_m) - self.offset_m
        up = np.array([0.0, 0.0, 1.0])
        return view.turned(turn), Plane(normal=up, offset_m=float(view.lens.position_m[2]) - height)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPlane:
    """No level plane was seen: how many of the pixels tried agreed on one, and how many would have to."""

    agreed: int
    least: int = _LEAST_TRIED

    @property
    def as_evidence(self) -> Evidence:
        """The measurements, each beside its limit."""
        return (at_least("pixels_on_a_level_plane", self.agreed, self.least),)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchBox:
    """Where something is looked for: between two corners, in O."""

    low_m: tuple[float, float, float]
    high_m: tuple[float, float, float]

    def holds(self, points_m: Image) -> Flags:
        """(...,): whether points (3, ...) are there."""
        inside = np.ones(points_m.shape[1:], bool)
        for along, low, high in zip(points_m, self.low_m, self.high_m, strict=True):
            inside &= (along >= low) & (along <= high)
        return inside


def find_plane(view: DepthView, within: SearchBox) -> Plane | NoPlane:
    """The level plane that most pixels agree on among those whose points are within these bounds."""
    rays, inverse = _tried(view, within, _STRIDE_PX)
    if len(rays) < _LEAST_TRIED:
        return NoPlane(agreed=len(rays))
    far = _AGREE_SIGMAS * view.sigma
    best = _try_triples(rays, inverse, far, _TRIPLES)
    if (np.abs(rays @ best - inverse) < far).mean() < _FEW:
        best = _try_triples(rays, inverse, far, _MORE_TRIPLES)
    for again in range(_ROUNDS):
        if again == _ROUNDS - 1:
            rays, inverse = _tried(view, within, _LAST_STRIDE_PX)
        agree = np.abs(rays @ best - inverse) < far
        if agree.sum() < _LEAST_TRIED:
            return NoPlane(agreed=int(agree.sum()))
        best = np.linalg.solve(rays[agree].T @ rays[agree], rays[agree].T @ inverse[agree])
    size = float(np.linalg.norm(best))
    normal = np.asarray(-best / size, float)
    if normal[2] < np.cos(_MOST_TILT_RAD):
        return NoPlane(agreed=0)
    return Plane(normal=normal, offset_m=float(normal @ view.lens.position_m) - 1 / size)


def _tried(view: DepthView, within: SearchBox, stride_px: int) -> tuple[Array, Array]:
    """Rays (N, 3) and 1 / depth (N,) of pixels, one in `stride_px` rows and columns, whose points are within bounds."""
    tried = slice(stride_px // 2, None, stride_px)
    inside = view.measured[tried, tried] & within.holds(view.points_m[:, tried, tried])
    rows, columns = (stride_px // 2 + stride_px * each for each in np.nonzero(inside))
    return rays_of(view.lens, rows, columns), view.inverse[rows, columns].astype(float)


def _try_triples(rays: Array, inverse: Array, far: float, count: int) -> Array:
    """(3,): m of the best level plane, where m · ray is 1 / depth and m · (p - camera) is 1; zeros if there is none."""
    triples = np.random.default_rng(_SEED).integers(len(rays), size=(count, 3))
    corners, values = rays[triples], inverse[triples]
    sound = np.abs(np.linalg.det(corners)) > 1e-6
    planes = np.linalg.solve(corners[sound], values[sound][..., None])[..., 0]
    level = -planes[:, 2] > np.cos(_MOST_TILT_RAD) * np.linalg.norm(planes, axis=1)
    planes = np.concatenate([np.zeros((1, 3)), planes[level]])
    off = np.abs(planes @ rays[::_SCOUTS].T - inverse[::_SCOUTS])
    return planes[np.argmax((off < far).sum(axis=1))]


def expected_inverse(view: DepthView, plane: Plane) -> Image:
    """(H, W): 1 / depth of the plane in each pixel, negative where it is behind the camera."""
    depth = float(plane.offset_m - plane.normal @ view.lens.position_m)
    down, across = ray_parts(view.lens, plane.normal / depth)
    return down.astype(np.float32) + across.astype(np.float32)
