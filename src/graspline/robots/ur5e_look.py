"""What the UR5e and its 2F-85 look like: silver tubes, light blue caps, a black gripper. Nothing here touches anything.

Each body wears one mesh per colour, because every further geom costs physics time: a mesh gathers turned parts and
plates, given in millimetres in the frame of their body. Triangles share no corners, so that a rasteriser shades facets
as flat as rays see them.
"""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from graspline.robots.gripper_2f85 import LINK_M, PAD_AHEAD_M, PAD_INSIDE_M, PAD_SIZE_M, SIDES
from graspline.robots.solids import Array, Point, X, Y, Z, add_mesh, arc, belt, box, disc, loft, mirrored, prism

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

# Sides of what is round.
_SIDES = 40


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
            add_mesh(spec, bodies[body], f"{body}_{colour}", np.concatenate(solids), COLOURS[colour])


def _base() -> Parts:
    """A foot with a flange, and the plug of its cable behind."""
    return {
        "silver": [_turned(Z, (0, 0), [(0, 74.5), (10, 74.5), (13, 72), (22, 64), (88, 63), (92, 60)])],
        "black": [_drum(Z, (0, 0), 58, 92, 98), box((-80, -16, 26), (-58, 16, 54))],
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
            prism(Y, palm, -25, 25),
            _behind_lens((1.5, 14.0), 11, 13),
            prism(Z, [(16, 20), (34, 20), (x - 4, y - 6), (x - 14, y - 2)], z - 9, z + 9),
        ],
        "steel": [
            _turned(X, (0, 0), [(0, 36), (1.5, 37.5), (13, 37.5), (15, 35)]),
            mirrored(Y, prism(Y, cheek, 25, 28.5)),
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
    return prism(Z, corners, z - half_height, z + half_height)


def _link(sign: float) -> Parts:
    """An inner bar between two outer cranks that bow outwards; `sign` is the side of z it is on."""
    end, out = LINK_M * 1e3, 13.0 * sign
    crank = [belt((0, out, 6), (34, out, 5.5)), belt((34, out, 5.5), (end, sign, 6.5))]
    return {
        "black": [mirrored(Y, prism(Y, plate, 7.5, 12)) for plate in crank],
        "steel": [prism(Y, belt((0, 0, 6), (end, 0, 5)), -6, 6), disc(Y, (end, 0), 4.5, -13.5, 13.5)],
    }


def _pad(sign: float) -> Parts:
    """The fingertip and the rubber on its inside; `sign` is the side of z it is on."""
    long, wide, thick = (1e3 * size for size in PAD_SIZE_M)
    middle, face = 1e3 * PAD_AHEAD_M, -sign * 1e3 * PAD_INSIDE_M
    near, far, half = middle - long / 2, middle + long / 2, wide / 2
    back = face + sign * thick
    holder = [(-7, back), (far - 1, back), (far - 1, back + 4 * sign), (22, back + 9 * sign), (-7, back + 9 * sign)]
    return {
        "black": [prism(Y, holder, -half, half)],
        "rubber": [box((near, -half, min(face, back)), (far, half, max(face, back)))],
    }


def _turned(axis: int, centre: Point, profile: Sequence[Point]) -> Array:
    """A part turned about a line along `axis`: at each place along it, its radius there."""
    rings = [
        np.insert(arc(centre, radius, np.linspace(0, 2 * np.pi, _SIDES, endpoint=False)), axis, at, axis=1)
        for at, radius in profile
    ]
    return loft(np.stack(rings))


def _drum(axis: int, centre: Point, radius: float, low: float, high: float) -> Array:
    return _turned(axis, centre, [(low, radius), (high, radius)])


def _cap(axis: int, centre: Point, radius: float, inner: float, outer: float) -> Array:
    """A lid with a round edge that closes a barrel at `inner` and ends at `outer`."""
    deep = outer - inner
    return _turned(axis, centre, [(inner, radius), (inner + 0.55 * deep, radius - 1.5), (outer, radius - 8)])
