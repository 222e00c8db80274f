"""What the HSR-class robot looks like: a white round base and body, a dark mast in front, a leaning face with two eyes,
a white arm. Nothing here touches anything.

Each body wears one mesh per colour, because every further geom costs physics time: a mesh gathers turned parts, plates
and lofts, given in millimetres in the frame of their body. Triangles share no corners, so that a rasteriser shades
facets as flat as rays see them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import mujoco
import numpy as np

from graspline.robots.hsr_chain import FINGER_LINK_M, HAND_CAMERA_M, HEAD_CAMERA_M, PALM_M
from graspline.robots.hsr_hand import FACE_AHEAD_M, FACE_INWARDS_M, PAD_SIZE_M, PIVOT_M, SIDES
from graspline.robots.solids import Array, Point, X, Y, Z, add_mesh, arc, belt, box, disc, loft, mirrored, prism

Parts = dict[str, list[Array]]

COLOURS = {
    "white": (0.90, 0.90, 0.89, 1.0),
    "black": (0.09, 0.09, 0.10, 1.0),
    "grey": (0.27, 0.28, 0.30, 1.0),
    "steel": (0.60, 0.61, 0.63, 1.0),
    "screen": (0.13, 0.30, 0.45, 1.0),
    "rubber": (0.20, 0.20, 0.21, 1.0),
}
# Sides of what is round, and of the base, which is large.
_SIDES, _BASE_SIDES = 30, 48


def add_look(spec: mujoco.MjSpec, bodies: dict[str, mujoco.MjsBody]) -> None:
    """Dress the bodies of robot and hand. The pads' inner faces are where they touch."""
    dresses = {
        "base": _base(),
        "torso": _torso(),
        "neck": _neck(),
        "head": _head(),
        "shoulder": _shoulder(),
        "upper_arm": _upper_arm(),
        "forearm": _forearm(),
        "wrist": _wrist(),
        "flange": _flange(),
        "palm": _palm(),
        **{f"{side}_finger": _finger(sign) for side, sign in SIDES.items()},
        **{f"{side}_tip": _tip(sign) for side, sign in SIDES.items()},
    }
    for body, parts in dresses.items():
        for colour, solids in parts.items():
            add_mesh(spec, bodies[body], f"{body}_{colour}", np.concatenate(solids), COLOURS[colour])


def _base() -> Parts:
    """A bumper around the wheels, a deck with the laser's slit around it, and the back of the body."""
    column = [(262, 6.0), (300, 0.0), (645, 0.0), (662, -7.0)]
    wheels = [disc(Y, (-110, 40), 40, 118, 148), disc(Y, (149.5, 30), 30, 42, 68)]
    return {
        "white": [
            _turned(Z, (0, 0), [(52, 211), (58, 215), (128, 215), (138, 211), (144, 204)], _BASE_SIDES),
            _turned(Z, (0, 0), [(150, 190), (155, 193), (166, 193), (170, 190)], _BASE_SIDES),
            _turned(Z, (0, 0), [(194, 186), (198, 189), (226, 184), (250, 170), (264, 148)], _BASE_SIDES),
            loft(np.stack([_rounded(Z, at, (-165 - out, -105 - out), (12, 105 + out), 55) for at, out in column])),
        ],
        "black": [
            _turned(Z, (0, 0), [(18, 196), (26, 206), (52, 208)], _BASE_SIDES),
            _turned(Z, (0, 0), [(140, 180), (200, 180)], _BASE_SIDES),
            box((5, -56, 268), (14, 56, 655)),
            *(mirrored(Y, wheel) for wheel in wheels),
        ],
    }


def _torso() -> Parts:
    """A mast with rails that the shoulder climbs on, and the upper body around its end."""
    chest = [(-140, 0.0), (-60, 0.0), (-40, -4.0), (-26, -22.0)]
    return {
        "white": [
            loft(np.stack([_rounded(Z, at, (-169 - out, -109 - out), (44 + out, 109 + out), 52) for at, out in chest]))
        ],
        "grey": [loft(np.stack([_rounded(Z, at, (-150, -90), (0, 90), 48) for at in (-440, -100)]))],
        "black": [box((-50, -50, -470), (45, 50, -120))],
        "steel": [mirrored(Y, box((44, 30, -470), (47, 38, -140)))],
    }


def _neck() -> Parts:
    return {"grey": [_turned(Z, (0, 0), [(-30, 52), (-22, 52), (-14, 42), (24, 42)])]}


def _head() -> Parts:
    """A shell whose front leans back and is all black glass, with a camera at either side and a screen between, and the
    depth camera on a crest behind."""
    corners = [(40, -34), (46, 20), (38, 40), (-46, 176), (-60, 194), (-126, 194), (-142, 160), (-142, 0), (-124, -34)]
    outline = _softened(np.array(corners, float))
    middle = outline.mean(axis=0)
    half = [(108, 0.74), (106.5, 0.82), (101, 0.91), (90, 0.975), (72, 1.0)]
    sides = [(-at, share) for at, share in half] + half[::-1]
    shell = loft(np.stack([np.insert(middle + share * (outline - middle), Y, at, axis=1) for at, share in sides]))
    x, y, z = 1e3 * HEAD_CAMERA_M
    front = x - 1.0
    crest = [(front - 14, 185), (front - 14, 246), (front - 20, 252), (front - 38, 252), (front - 46, 240)]
    crest += [(front - 46, 185)]
    return {
        "white": [shell, prism(Y, crest, -62, 62), *_on_face(_EYES, (21.0, 18.0), (0.0, 7.0))],
        "black": [
            *_face_plate((-100, 2), (100, 152), 26, (-4.0, 3.0)),
            loft(np.stack([_rounded(X, at, (-91, z - 17), (91, z + 17), 15) for at in (front - 26, front)])),
            *_on_face(_EYES, (15.0, 15.0), (0.0, 8.0)),
        ],
        "screen": [*_face_plate((-66, 56), (66, 142), 8, (0.0, 3.8))],
        "steel": [
            *_on_face(_EYES, (6.0, 5.0), (0.0, 8.8)),
            *(disc(X, (at, z), 8, front - 3, front + 0.6) for at in (y, y - 44, y + 38)),
        ],
    }


def _softened(outline: Array) -> Array:
    """A convex outline with its corners cut twice, each time by a fifth of the edges that meet there."""
    for _ in range(2):
        following = np.roll(outline, -1, axis=0)
        outline = np.stack([0.8 * outline + 0.2 * following, 0.2 * outline + 0.8 * following], axis=1).reshape(-1, 2)
    return outline


# The face's plane: its lower edge in the head, the way up along it, and out of it. Then where the eyes are: across, up.
_FACE_FOOT, _FACE_UP = np.array([41.0, 0.0, 35.0]), np.array([-0.5255, 0.0, 0.8508])
_FACE_OUT = np.array([0.8508, 0.0, 0.5255])
_EYES = ((-70.0, 26.0), (70.0, 26.0))


def _face_point(across_up: Array, out: float) -> Array:
    """Points given across and up the face, (n, 2), this far in front of it."""
    across, up = across_up[:, :1], across_up[:, 1:]
    return _FACE_FOOT + across * np.array([0.0, 1.0, 0.0]) + up * _FACE_UP + out * _FACE_OUT


def _face_plate(low: Point, high: Point, radius: float, outs: Point) -> list[Array]:
    """A plate with round corners on the face."""
    outline = _rounded(X, 0.0, low, high, radius)[:, 1:]
    return [loft(np.stack([_face_point(outline, out) for out in outs]))]


def _on_face(centres: Sequence[Point], radii: Point, outs: Point) -> list[Array]:
    """Round things on the face: the radii at either end."""
    turn = np.linspace(0, 2 * np.pi, 20, endpoint=False)
    return [
        loft(np.stack([_face_point(arc(centre, r, turn), out) for r, out in zip(radii, outs, strict=True)]))
        for centre in centres
    ]


def _shoulder() -> Parts:
    """A carriage on the mast, and the barrel the arm swings on, to the left of it."""
    carriage = [(48, -6.0), (54, 0.0), (92, 0.0), (100, -6.0)]
    return {
        "grey": [loft(np.stack([_rounded(X, at, (-46 - o, -90 - o), (52 + o, 15 + o), 14) for at, o in carriage]))],
        "white": [
            prism(Y, belt((80, -30, 44), (141, 0, 49)), 10, 40),
            _turned(Y, (141, 0), [(8, 46), (12, 50), (42, 50), (45, 47)]),
        ],
        "black": [_turned(Y, (141, 0), [(44, 44), (50, 44)])],
    }


def _upper_arm() -> Parts:
    """A hub with a cap on its outside, and a tube that grows out of it."""
    tube = [(-10, 44, 30), (40, 44, 33), (80, 40, 36), (210, 40, 40), (218, 38, 38)]
    turn = np.linspace(0, 2 * np.pi, _SIDES, endpoint=False)
    rings = [np.stack([4 + a * np.cos(turn), b * np.sin(turn), np.full(_SIDES, z)], axis=1) for z, a, b in tube]
    return {
        "white": [loft(np.stack(rings)), _turned(Y, (0, 0), [(-28, 47), (-25, 50), (26, 50), (30, 47)])],
        "grey": [_turned(Y, (0, 0), [(30, 40), (34, 38), (36, 30)]), _turned(Z, (5, 0), [(218, 36), (224, 36)])],
    }


def _forearm() -> Parts:
    """A drum that rolls, and two cheeks that hold the wrist."""
    return {
        "white": [
            _turned(Z, (0, 0), [(-120, 39), (-116, 42), (-62, 42), (-50, 38)]),
            mirrored(Y, prism(Y, belt((0, -70, 34), (0, 0, 33)), 32, 42)),
        ],
        "grey": [mirrored(Y, _turned(Y, (0, 0), [(42, 22), (44, 20)]))],
    }


def _wrist() -> Parts:
    return {
        "grey": [_turned(Y, (0, 0), [(-31, 32), (-28, 35), (28, 35), (31, 32)])],
        "white": [_turned(Z, (0, 0), [(20, 29), (34, 31), (38, 29)])],
    }


def _flange() -> Parts:
    """The last joint, and the ring of the force sensor."""
    return {
        "white": [_turned(Z, (0, 0), [(39, 32), (43, 36), (60, 36), (62, 35)])],
        "steel": [_turned(Z, (0, 0), [(62, 33), (73, 33)])],
    }


def _palm() -> Parts:
    """The hand's body on the sensor's ring, and between the fingers' roots a dark face with the camera in it."""
    inner = -1e3 * PALM_M[0]
    ring = [
        _rounded(Z, -67, (inner - 34, -34), (inner + 34, 34), 33.9),
        _rounded(Z, -56, (-46, -38), (30, 38), 22),
        _rounded(Z, -36, (-46, -41), (32, 41), 18),
        _rounded(Z, -31, (-43, -38), (29, 38), 16),
    ]
    x, y, z = 1e3 * (HAND_CAMERA_M - np.array(PALM_M))
    _, pivot, height = (1e3 * each for each in PIVOT_M)
    lugs = [mirrored(X, disc(X, (sign * pivot, height), 9, 15, 19)) for sign in SIDES.values()]
    return {
        "white": [loft(np.stack(ring)), *lugs],
        "black": [loft(np.stack([_rounded(Z, at, (-47, -15), (31, 15), 8) for at in (-40, -8)]))],
        "grey": [mirrored(X, box((15, -33, -40), (19, 33, -18)))],
        "steel": [_turned(Z, (x, y), [(-9, 8), (z - 1, 7)])],
    }


def _finger(sign: float) -> Parts:
    """A link that bows outwards; `sign` is the side of y it is on."""
    end, out = 1e3 * FINGER_LINK_M, 6.0 * sign
    bow = [belt((0, 0, 8), (out, end / 2, 6.5)), belt((out, end / 2, 6.5), (0, end, 8))]
    return {
        "grey": [prism(X, plate, -14, 14) for plate in bow],
        "steel": [disc(X, (0, 0), 4.5, -20, 20), disc(X, (0, end), 4.5, -16, 16)],
    }


def _tip(sign: float) -> Parts:
    """The fingertip, curved inwards, and the rubber on its inside; `sign` is the side of y it is on."""
    wide, thick, long = (1e3 * size for size in PAD_SIZE_M)
    face, middle, half = -1e3 * FACE_INWARDS_M, 1e3 * FACE_AHEAD_M, wide / 2
    near, far, back = middle - long / 2, middle + long / 2, face + thick
    curve = [(0.0, 0.0, 8.0), (-9.0, 16.0, 6.5), (back + 3.5, near + 12, 4.0), (back + 2.2, far - 3, 2.2)]
    plates = [belt(*((sign * y, z, r) for y, z, r in pair)) for pair in pairwise(curve)]
    rim = [(face, near + 3), (face, far - 3), (face + 2.5, far), (back, far), (back, near), (face + 2.5, near)]
    return {
        "black": [prism(X, plate, -half + 0.5, half - 0.5) for plate in plates],
        "rubber": [prism(X, [(sign * y, z) for y, z in rim], -half, half)],
    }


def _turned(axis: int, centre: Point, profile: Sequence[Point], sides: int = _SIDES) -> Array:
    """A part turned about a line along `axis`: at each place along it, its radius there."""
    turn = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    return loft(np.stack([np.insert(arc(centre, radius, turn), axis, at, axis=1) for at, radius in profile]))


def _rounded(axis: int, at: float, low: Point, high: Point, radius: float) -> Array:
    """The ring (n, 3) of a rectangle with round corners across `axis`."""
    turns = [np.linspace(start, start + np.pi / 2, 7) for start in np.arange(4) * np.pi / 2]
    corners = [(high[0], high[1]), (low[0], high[1]), (low[0], low[1]), (high[0], low[1])]
    inwards = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    arcs = [
        arc((corner[0] + radius * side[0], corner[1] + radius * side[1]), radius, turn)
        for corner, side, turn in zip(corners, inwards, turns, strict=True)
    ]
    return np.insert(np.concatenate(arcs), axis, at, axis=1)
