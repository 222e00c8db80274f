"""What the UR5e and its 2F-85 look like: silver tubes, light blue caps, a black gripper. Nothing here touches anything.

Each body wears one mesh per colour, because every further geom costs physics time: a mesh gathers turned parts and
plates, given in millimetres in the frame of their body. Triangles share no corners, so that a rasteriser shades facets
as flat as rays see them.
"""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.robots.gripper_2f85 import LINK_M, PAD_AHEAD_M, PAD_INSIDE_M, PAD_SIZE_M, SIDES
from graspline.robots.robot import VISUAL_CONTYPE

Array = NDArray[np.float64]
Point = tuple[float, float]
Parts = dict[str, list[Array]]

COLOURS = {
    "silver": (0.71, 0.72, 0.74, 1.0),
    "cap": (0.47, 0.68, 0.82, 1.0),
    "black": (0.13, 0.13, 0.14, 1.0),
    "steel": (0.36, 0.37, 0.39, 1.0),
    "rubber": (0.24, 0.24, 0.25, 1.0),
}
# The wrist camera's lens in the hand's frame: beside the palm, where no finger swings, and turned by this much from the
# approach axis towards the fingertips.
CAMERA_MM = (30.0, 68.0, 0.0)
CAMERA_TILT_RAD = 0.17

X, Y, Z = 0, 1, 2
# Sides of what is round.
_ROUND = 40


def add_look(spec: mujoco.MjSpec, bodies: dict[str, mujoco.MjsBody]) -> None:
    """Dress the bodies of arm and gripper. The pads' inner faces are where they touch."""
    dresses = {
        "base": _base(),
        "shoulder": _shoulder(),
        "upper_arm": _upper_arm(),
        "forearm": _forearm(),
        "wrist_1_link": _wrist_1(),
        "wrist_2_link": _wrist_2(),
        "wrist_3_link": _wrist_3(),
        "hand": _hand(),
        **{f"{side}_link": _link(sign) for side, sign in SIDES.items()},
        **{f"{side}_pad": _pad(sign) for side, sign in SIDES.items()},
    }
    for body, parts in dresses.items():
        for colour, solids in parts.items():
            _add_mesh(spec, bodies[body], f"{body}_{colour}", np.concatenate(solids), COLOURS[colour])


def _add_mesh(
    spec: mujoco.MjSpec, body: mujoco.MjsBody, name: str, triangles_mm: Array, rgba: tuple[float, ...]
) -> None:
    spec.add_mesh(
        name=name,
        uservert=(triangles_mm * 1e-3).ravel(),
        userface=np.arange(3 * len(triangles_mm)),
        # Parts overlap, so a mesh encloses no proper volume.
        inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
    )
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_MESH,
        meshname=name,
        rgba=rgba,
        group=2,
        mass=0,
        contype=VISUAL_CONTYPE,
        conaffinity=0,
    )


def _base() -> Parts:
    """A foot with a flange, and the plug of its cable behind."""
    return {
        "silver": [_turned(Z, (0, 0), [(0, 74.5), (10, 74.5), (13, 72), (22, 64), (88, 63), (92, 60)])],
        "black": [_drum(Z, (0, 0), 58, 92, 98), _box((-80, -16, 26), (-58, 16, 54))],
    }


def _shoulder() -> Parts:
    """A post that turns on the foot, and a barrel across it on the lift axis, capped behind."""
    return {
        "silver": [
            _turned(Z, (0, 0), [(-65, 60), (-62, 63), (-20, 63), (10, 60)]),
            _turned(Y, (0, 0), [(-65, 56), (-62, 60), (48, 60), (58, 55)]),
        ],
        "cap": [_cap(Y, (0, 0), 55, 58, 67)],
        "black": [_drum(Y, (0, 0), 55, -70, -65)],
    }


def _upper_arm() -> Parts:
    """Two barrels beside the arm's middle plane, and the wide tube between them."""
    return {
        "silver": [
            _turned(Z, (0, 0), [(70, 57), (73, 60), (184, 60), (194, 55)]),
            _turned(X, (0, 138), [(-385, 51), (-372, 54), (-362, 50.5), (-66, 50.5), (-56, 54), (-40, 54)]),
            _turned(Z, (-425, 0), [(72, 54), (75, 57), (184, 57), (193, 52)]),
        ],
        "cap": [_cap(Z, (0, 0), 55, 194, 203), _cap(Z, (-425, 0), 52, 193, 202)],
        "black": [_drum(Z, (-425, 0), 52, 66, 72)],
    }


def _forearm() -> Parts:
    """The elbow's other half, a slimmer tube, and the barrel of the first wrist joint."""
    return {
        "silver": [
            _turned(Z, (0, 0), [(-46, 52), (-37, 57), (63, 57), (66, 54)]),
            _turned(X, (0, 7), [(-365, 41), (-352, 42), (-342, 38.5), (-80, 42), (-64, 48), (-40, 50)]),
            _turned(Z, (-392.2, 0), [(-42, 39), (-34, 44), (53, 44), (55, 42)]),
        ],
        "cap": [_cap(Z, (0, 0), 52, -46, -55), _cap(Z, (-392.2, 0), 39, -42, -50)],
        "black": [_drum(Z, (-392.2, 0), 40, 55, 60)],
    }


def _wrist_1() -> Parts:
    return {
        "silver": [
            _turned(Z, (0, 0), [(-73.5, 42), (-71, 45), (38, 45), (46, 40)]),
            _turned(Y, (0, 0), [(-52, 42), (-49, 44), (0, 44)]),
        ],
        "cap": [_cap(Z, (0, 0), 40, 46, 54)],
        "black": [_drum(Y, (0, 0), 40, -57, -52)],
    }


def _wrist_2() -> Parts:
    return {
        "silver": [
            _turned(Z, (0, 0), [(-43, 42), (-40, 45), (38, 45), (46, 40)]),
            _turned(Y, (0, 0), [(0, 44), (50, 44), (54, 42)]),
        ],
        "cap": [_cap(Z, (0, 0), 40, 46, 54)],
        "black": [_drum(Y, (0, 0), 36, 54, 60)],
    }


def _wrist_3() -> Parts:
    """The last joint and the flange that tools are bolted to."""
    return {
        "silver": [_turned(Z, (0, 0), [(-40, 35), (-38, 37.5), (-11, 37.5), (-9, 36)])],
        "steel": [_drum(Z, (0, 0), 31.5, -9, 0)],
    }


def _hand() -> Parts:
    """A coupling, the palm that the fingers swing on, and the camera at its side on an arm of its own."""
    palm = [(12, -34), (44, -38), (62, -37), (72, -28), (76, -16), (76, 16), (72, 28), (62, 37), (44, 38), (12, 34)]
    cheek = [(18, -26), (56, -30), (66, -24), (66, 24), (56, 30), (18, 26)]
    x, y, z = CAMERA_MM
    return {
        "black": [
            _prism(Y, palm, -25, 25),
            _behind_lens((1.5, 14.0), 11, 13),
            _prism(Z, [(16, 20), (34, 20), (x - 4, y - 6), (x - 14, y - 2)], z - 9, z + 9),
        ],
        "steel": [
            _turned(X, (0, 0), [(0, 36), (1.5, 37.5), (13, 37.5), (15, 35)]),
            _mirrored(Y, _prism(Y, cheek, 25, 28.5)),
        ],
    }


def _behind_lens(depths: Point, half_width: float, half_height: float) -> Array:
    """A slab square to the camera's view, this far behind its lens, so that the camera cannot see itself."""
    x, y, z = CAMERA_MM
    lens = np.array([x, y])
    ahead = np.array([np.cos(CAMERA_TILT_RAD), -np.sin(CAMERA_TILT_RAD)])
    aside = np.array([-ahead[1], ahead[0]])
    near, far = (lens - depth * ahead for depth in depths)
    across = half_width * aside
    corners = np.array([near - across, near + across, far + across, far - across])
    return _prism(Z, corners, z - half_height, z + half_height)


def _link(sign: float) -> Parts:
    """An inner bar between two outer cranks that bow outwards; `sign` is the side of z it is on."""
    end, out = LINK_M * 1e3, 13.0 * sign
    crank = [_belt((0, out, 6), (34, out, 5.5)), _belt((34, out, 5.5), (end, sign, 6.5))]
    return {
        "black": [_mirrored(Y, _prism(Y, plate, 7.5, 12)) for plate in crank],
        "steel": [_prism(Y, _belt((0, 0, 6), (end, 0, 5)), -6, 6), _disc(Y, (end, 0), 4.5, -13.5, 13.5)],
    }


def _pad(sign: float) -> Parts:
    """The fingertip and the rubber on its inside; `sign` is the side of z it is on."""
    long, wide, thick = (1e3 * size for size in PAD_SIZE_M)
    middle, face = 1e3 * PAD_AHEAD_M, -sign * 1e3 * PAD_INSIDE_M
    near, far, half = middle - long / 2, middle + long / 2, wide / 2
    back = face + sign * thick
    holder = [(-7, back), (far - 1, back), (far - 1, back + 4 * sign), (22, back + 9 * sign), (-7, back + 9 * sign)]
    return {
        "black": [_prism(Y, holder, -half, half)],
        "rubber": [_box((near, -half, min(face, back)), (far, half, max(face, back)))],
    }


def _turned(axis: int, centre: Point, profile: Sequence[Point]) -> Array:
    """A part turned about a line along `axis`: at each place along it, its radius there."""
    rings = [
        np.insert(_arc(centre, radius, np.linspace(0, 2 * np.pi, _ROUND, endpoint=False)), axis, at, axis=1)
        for at, radius in profile
    ]
    return _loft(np.stack(rings))


def _drum(axis: int, centre: Point, radius: float, low: float, high: float) -> Array:
    return _turned(axis, centre, [(low, radius), (high, radius)])


def _cap(axis: int, centre: Point, radius: float, inner: float, outer: float) -> Array:
    """A lid with a round edge that closes a barrel at `inner` and ends at `outer`."""
    deep = outer - inner
    return _turned(axis, centre, [(inner, radius), (inner + 0.55 * deep, radius - 1.5), (outer, radius - 8)])


def _loft(rings: Array) -> Array:
    """Outward triangles (n, 3 corners, 3) of the solid through `rings` (k, m, 3) of convex polygons."""
    following = np.roll(rings, -1, axis=1)
    sides = np.concatenate(
        [
            np.stack([rings[:-1], following[:-1], following[1:]], axis=2),
            np.stack([rings[:-1], following[1:], rings[1:]], axis=2),
        ]
    ).reshape(-1, 3, 3)
    caps = [
        np.stack([np.broadcast_to(ring[0], ring[2:].shape), ring[1:-1], ring[2:]], axis=1)
        for ring in (rings[0, ::-1], rings[-1])
    ]
    triangles = np.concatenate([sides, *caps])
    volume = np.linalg.det(triangles - rings.mean(axis=(0, 1))).sum()
    return triangles if volume > 0 else triangles[:, ::-1]


def _prism(axis: int, outline: Sequence[Point] | Array, low: float, high: float) -> Array:
    """A convex outline in the two other axes, in their order, extruded along `axis`."""
    flat = np.asarray(outline, float)
    return _loft(np.stack([np.insert(flat, axis, at, axis=1) for at in (low, high)]))


def _box(low: tuple[float, float, float], high: tuple[float, float, float]) -> Array:
    corners = [(low[X], low[Y]), (high[X], low[Y]), (high[X], high[Y]), (low[X], high[Y])]
    return _prism(Z, corners, low[Z], high[Z])


def _disc(axis: int, centre: Point, radius: float, low: float, high: float) -> Array:
    return _prism(axis, _arc(centre, radius, np.linspace(0, 2 * np.pi, 16, endpoint=False)), low, high)


def _arc(centre: Point, radius: float, angles: Array) -> Array:
    return np.array(centre) + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _belt(first: tuple[float, float, float], second: tuple[float, float, float]) -> Array:
    """The outline of a belt around two circles (u, v, radius): a plate with round ends."""
    (a, b, r), (c, d, s) = first, second
    heading = np.arctan2(d - b, c - a)
    leaves = np.arccos((r - s) / np.hypot(c - a, d - b))
    near = np.linspace(leaves, 2 * np.pi - leaves, 9) + heading
    far = np.linspace(-leaves, leaves, 9) + heading
    return np.concatenate([_arc((a, b), r, near), _arc((c, d), s, far)])


def _mirrored(axis: int, solid: Array) -> Array:
    """The solid and its mirror image across the plane through the origin."""
    flip = np.ones(3)
    flip[axis] = -1
    return np.concatenate([solid, (solid * flip)[:, ::-1]])
