"""Boxes, cylinders and balls that stand at z = 0, as six numbers, and what a camera sees of them.

The numbers are x, y, yaw, half the width along x and along y, and the height. Of a cylinder both widths are its radius,
and of a ball its height is twice that.
"""

from __future__ import annotations

import numpy as np

from graspline.perception.core.beliefs import Shape
from graspline.perception.core.outlines import Array, Lens
from graspline.perception.rgbd.clouds import Flags

X, Y, YAW, WIDE, DEEP, HIGH = range(6)
# Which of the numbers say where a shape is, and which how large it is.
POSE: dict[Shape, tuple[int, ...]] = {"box": (X, Y, YAW), "cylinder": (X, Y), "ball": (X, Y)}
SIZE: dict[Shape, tuple[int, ...]] = {"box": (WIDE, DEEP, HIGH), "cylinder": (WIDE, HIGH), "ball": (WIDE,)}


# A circle is rendered with 28 corners and a ball with 16 rows of them: so much narrower they look, on the mean.
_RENDERED: dict[Shape, float] = {"cylinder": 0.998, "ball": 0.997}
_TURNS = np.arange(28) * (2 * np.pi / 28)
_SWEEP = np.linspace(-1, 1, 14)
_CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
# Edges of a box by the corners they join, and the two faces at each, by axis and side.
_EDGES = np.array([[a, b] for a in range(8) for b in range(a + 1, 8) if (_CORNERS[a] != _CORNERS[b]).sum() == 1])
_FACES = np.array(
    [
        [[axis, int(_CORNERS[a, axis] > 0)] for axis in range(3) if _CORNERS[a, axis] == _CORNERS[b, axis]]
        for a, b in _EDGES
    ]
)


def with_numbers(shape: Shape, upright: Array, chosen: tuple[int, ...], values: Array) -> Array:
    """(B, 6): an upright with the chosen numbers set to values (B, P)."""
    found = np.tile(upright, (len(values), 1))
    found[:, chosen] = values
    if shape != "box":
        found[:, DEEP] = found[:, WIDE]
    if shape == "ball":
        found[:, HIGH] = 2 * found[:, WIDE]
    return found


def half_extents_m(upright: Array) -> Array:
    """Half the width, depth and height of an upright."""
    return np.array([upright[WIDE], upright[DEEP], upright[HIGH] / 2])


def footprint_m(shape: Shape, upright: Array) -> Array:
    """(V, 2): the outline of what it stands above, in order."""
    if shape == "box":
        return _in_place(upright[None], _CORNERS[[0, 4, 6, 2]])[0, :, :2]
    return upright[[X, Y]] + upright[WIDE] * np.stack([np.cos(_TURNS), np.sin(_TURNS)], axis=1)


def reaches_px(lens: Lens, shape: Shape, uprights: Array, points_px: Array) -> Array:
    """(B, M): how far uprights (B, 6) reach in the picture beyond points (M, 2); less than 0 for points outside.

    What `silhouettes.beyond_px` tells for one outline, for many at once.
    """
    starts, ends, counted, inside = _box_rims(lens, uprights) if shape == "box" else _round_rims(lens, shape, uprights)
    along = ends - starts
    normals = np.stack([along[..., 1], -along[..., 0]], axis=-1)
    normals /= np.maximum(np.hypot(normals[..., 0], normals[..., 1]), 1e-9)[..., None]
    offsets = np.einsum("bei,bei->be", normals, starts)
    # Outward, whichever way round the edges were given.
    outward = np.where(offsets > np.einsum("bei,bi->be", normals, inside), 1.0, -1.0)
    off = (outward * offsets)[..., None] - np.einsum("bei,mi->bem", outward[..., None] * normals, points_px)
    return np.where(counted[..., None], off, np.inf).min(axis=1)


def _box_rims(lens: Lens, uprights: Array) -> tuple[Array, Array, Flags, Array]:
    """Both ends of a box's edges (B, 12, 2) each, which of them are its outline, and its middle (B, 2)."""
    corners = _in_place(uprights, _CORNERS)
    seen = lens.pixels(corners)
    off = lens.position_m - np.stack([uprights[:, X], uprights[:, Y], uprights[:, HIGH] / 2], axis=1)
    cosine, sine = np.cos(uprights[:, YAW]), np.sin(uprights[:, YAW])
    own = np.stack([cosine * off[:, 0] + sine * off[:, 1], cosine * off[:, 1] - sine * off[:, 0], off[:, 2]], axis=1)
    half = np.stack([uprights[:, WIDE], uprights[:, DEEP], uprights[:, HIGH] / 2], axis=1)
    # (B, 3, 2): whether the faces on the low and on the high side of each axis face the camera.
    facing = np.stack([own < -half, own > half], axis=-1)
    one, other = facing[:, _FACES[:, 0, 0], _FACES[:, 0, 1]], facing[:, _FACES[:, 1, 0], _FACES[:, 1, 1]]
    return seen[:, _EDGES[:, 0]], seen[:, _EDGES[:, 1]], one != other, seen.mean(axis=1)


def _round_rims(lens: Lens, shape: Shape, uprights: Array) -> tuple[Array, Array, Flags, Array]:
    """The same for an outline of many short edges."""
    rim = _ball_rim(lens, uprights) if shape == "ball" else _cylinder_rim(lens, uprights)
    seen = lens.pixels(rim)
    return seen, np.roll(seen, -1, axis=1), np.ones(seen.shape[:2], bool), seen.mean(axis=1)


def _cylinder_rim(lens: Lens, uprights: Array) -> Array:
    """(B, V, 3): the rim of its foot where that faces the camera, that of its top where it does not.

    Of a top that is seen from below as well where it does.
    """
    off = lens.position_m[:2] - uprights[:, [X, Y]]
    radius, high = _RENDERED["cylinder"] * uprights[:, WIDE], uprights[:, HIGH]
    towards = np.arctan2(off[:, 1], off[:, 0])[:, None]
    half = np.arccos(np.clip(radius / np.hypot(off[:, 0], off[:, 1]), 0, 1))[:, None]
    front = towards + half * _SWEEP
    back = towards + half + (2 * np.pi - 2 * half) * (_SWEEP + 1) / 2
    top = np.where((lens.position_m[2] > high)[:, None], back, front[:, ::-1])
    turn = np.concatenate([front, top], axis=1)
    x = uprights[:, X, None] + radius[:, None] * np.cos(turn)
    y = uprights[:, Y, None] + radius[:, None] * np.sin(turn)
    z = np.concatenate([np.zeros_like(front), np.broadcast_to(high[:, None], top.shape)], axis=1)
    return np.stack([x, y, z], axis=-1)


def _ball_rim(lens: Lens, uprights: Array) -> Array:
    """(B, V, 3): the circle in which lines of sight touch it, which is nearer and smaller than its equator."""
    radius = _RENDERED["ball"] * uprights[:, WIDE]
    middle = np.stack([uprights[:, X], uprights[:, Y], uprights[:, WIDE]], axis=1)
    sight = middle - lens.position_m
    distance = np.linalg.norm(sight, axis=1)
    ahead, sine = sight / distance[:, None], radius / distance
    first = np.cross(ahead, lens.rotation[:, 1])
    first /= np.linalg.norm(first, axis=1)[:, None]
    second = np.cross(ahead, first)
    ring = np.cos(_TURNS)[:, None] * first[:, None] + np.sin(_TURNS)[:, None] * second[:, None]
    at = middle - ahead * (radius * sine)[:, None]
    return at[:, None] + ring * (radius * np.sqrt(1 - sine * sine))[:, None, None]


def _in_place(uprights: Array, points: Array) -> Array:
    """(B, V, 3): points (V, 3) of a cube from -1 to 1 stretched, turned and moved to uprights."""
    half = np.stack([uprights[:, WIDE], uprights[:, DEEP], uprights[:, HIGH] / 2], axis=1)
    own = points * half[:, None]
    cosine, sine = np.cos(uprights[:, YAW])[:, None], np.sin(uprights[:, YAW])[:, None]
    x = uprights[:, X, None] + cosine * own[..., 0] - sine * own[..., 1]
    y = uprights[:, Y, None] + sine * own[..., 0] + cosine * own[..., 1]
    return np.stack([x, y, own[..., 2] + half[:, None, 2]], axis=-1)


def inverse_depths(shape: Shape, uprights: Array, camera_m: Array, rays: Array) -> tuple[Array, Flags]:
    """(B, N): 1 / depth at which rays (N, 3) of unit depth from the camera meet uprights (B, 6), and whether they do.

    What it is of rays that pass by means nothing.
    """
    if shape == "box":
        return _into_boxes(uprights, camera_m, rays)
    if shape == "ball":
        return _into_balls(uprights, camera_m, rays)
    return _into_cylinders(uprights, camera_m, rays)


def _into_boxes(uprights: Array, camera_m: Array, rays: Array) -> tuple[Array, Flags]:
    cosine, sine = np.cos(uprights[:, YAW])[:, None], np.sin(uprights[:, YAW])[:, None]
    off_x, off_y = camera_m[0] - uprights[:, X, None], camera_m[1] - uprights[:, Y, None]
    axes = (
        (cosine * off_x + sine * off_y, cosine * rays[:, 0] + sine * rays[:, 1], uprights[:, WIDE, None]),
        (cosine * off_y - sine * off_x, cosine * rays[:, 1] - sine * rays[:, 0], uprights[:, DEEP, None]),
        (camera_m[2] - uprights[:, HIGH, None] / 2, np.broadcast_to(rays[:, 2], (len(uprights), len(rays))),
         uprights[:, HIGH, None] / 2),
    )  # fmt: skip
    enters, leaves = np.full((len(uprights), len(rays)), -np.inf), np.full((len(uprights), len(rays)), np.inf)
    for start, way, half in axes:
        way = np.where(np.abs(way) < 1e-9, 1e-9, way)
        one, other = (-half - start) / way, (half - start) / way
        enters = np.maximum(enters, np.minimum(one, other))
        leaves = np.minimum(leaves, np.maximum(one, other))
    hit = (enters < leaves) & (enters > 1e-3)
    return 1 / np.where(hit, enters, 1.0), hit


def _into_balls(uprights: Array, camera_m: Array, rays: Array) -> tuple[Array, Flags]:
    radius = uprights[:, WIDE]
    middles = np.stack([uprights[:, X], uprights[:, Y], radius], axis=1)
    return _nearest_root(camera_m - middles, rays, radius)


def _into_cylinders(uprights: Array, camera_m: Array, rays: Array) -> tuple[Array, Flags]:
    off = np.stack([camera_m[0] - uprights[:, X], camera_m[1] - uprights[:, Y]], axis=1)
    radius, high = uprights[:, WIDE], uprights[:, HIGH, None]
    side, meets = _nearest_root(off, rays[:, :2], radius)
    at_m = camera_m[2] + rays[:, 2] / side
    on_side = meets & (at_m >= 0) & (at_m <= high)
    down = np.where(np.abs(rays[:, 2]) < 1e-9, 1e-9, rays[:, 2])
    to_top = (high - camera_m[2]) / down
    across = np.hypot(off[:, 0, None] + to_top * rays[:, 0], off[:, 1, None] + to_top * rays[:, 1])
    on_top = (to_top > 1e-3) & (across <= radius[:, None])
    return np.where(on_top, 1 / np.where(on_top, to_top, 1.0), side), on_top | on_side


def _nearest_root(off: Array, rays: Array, radius: Array) -> tuple[Array, Flags]:
    """(B, N): 1 / length at which rays (N, D) from `off` (B, D) first come as near to the origin as a radius (B,)."""
    a = np.einsum("nd,nd->n", rays, rays)
    b = np.einsum("bd,nd->bn", off, rays)
    c = (np.einsum("bd,bd->b", off, off) - radius**2)[:, None]
    inside = b * b - a * c
    hit = (inside > 0) & (b < 0) & (c > 0)
    # The product of both roots is c / a: this form needs no difference of near numbers.
    return np.where(hit, (-b + np.sqrt(np.maximum(inside, 0))) / np.where(c > 0, c, 1.0), 1.0), hit
