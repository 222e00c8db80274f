"""What the SO-101 looks like: black servos, printed links, a two-part gripper. Nothing here touches anything.

Each body wears one mesh per colour, because every further geom costs physics time: a mesh gathers boxes,
discs and plates, given in millimetres in the frame of their body. Triangles share no corners, so that a
rasteriser shades facets as flat as rays see them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from graspline.robots.solids import Array, Point, X, Y, Z, add_mesh, belt, box, disc, loft, mirrored, prism

if TYPE_CHECKING:
    from graspline.robots.so101 import FingerStep


COLOURS = {
    "printed": (0.93, 0.92, 0.88, 1.0),
    "servo": (0.13, 0.13, 0.14, 1.0),
    "board": (0.10, 0.30, 0.52, 1.0),
}
# The wrist camera's lens in the gripper frame: beside the palm, as the public camera mount holds it, but over
# the middle of an open jaw; turned by this much from the approach axis towards the fingertips.
CAMERA_MM = (45.0, 55.0, 14.0)
CAMERA_TILT_RAD = 0.66
# Its housing behind the lens plane, square to the view: depth, and the width of the 32 mm UVC module that the public
# mounts hold.
HOUSING_MM = (12.0, 32.0)

# The STS3215's case along its tail, along its shaft and across, and the shaft's distance from its middle.
_CASE_MM = (45.2, 35.0, 24.7)
_SHAFT_MM = 12.5
# Forks clasp a servo from both sides with 7 mm plates: between these distances from the arm's plane.
_FORK_MM = (20.0, 27.0)


def add_look(
    spec: mujoco.MjSpec,
    bodies: dict[str, mujoco.MjsBody],
    *,
    fixed_finger: Sequence[FingerStep],
    moving_finger: Sequence[FingerStep],
) -> None:
    """Dress the arm's bodies. The fingers' inner faces follow the steps: what is seen is what touches."""
    parts = {
        "base": _base(),
        "shoulder": _shoulder(),
        "upper_arm": _upper_arm(),
        "lower_arm": _lower_arm(),
        "wrist": _wrist(),
        "gripper": _gripper(fixed_finger),
        "moving_jaw": _moving_jaw(moving_finger),
    }
    for body, colours in parts.items():
        for colour, solids in colours.items():
            add_mesh(spec, bodies[body], f"{body}_{colour}", np.concatenate(solids), COLOURS[colour])


def _base() -> dict[str, list[Array]]:
    """A foot plate, wide at the back, the pan servo between two flanks and the controller board behind."""
    foot = [(-50, -46), (-12, -46), (34, -19), (34, 19), (-12, 46), (-50, 46)]
    flank = [(-32, 12), (18, 12), (18, 26), (8, 46), (-6, 60), (-32, 60)]
    return {
        "printed": [
            prism(Z, foot, 0, 12),
            prism(Z, belt((30, 0, 18), (47, 0, 18)), 0, 11.5),
            mirrored(Y, prism(Y, flank, 13.5, 32)),
            box((-32, -14, 12), (3, 14, 26)),
            box((-32, -14, 26), (-20, 14, 59)),
            box((-36, -26, 12), (-32, 26, 58)),
        ],
        "servo": [
            _servo((38.8, 0, 43.7), shaft=Z, tail=X, sign=-1),
            disc(Z, (38.8, 0), 9, 24, 62.6),
            box((-42, -15, 18), (-38.6, 15, 26)),
            box((-44, -14, 44), (-38.6, -4, 54)),
        ],
        "board": [box((-38.6, -21, 16), (-36, 21, 55))],
    }


def _shoulder() -> dict[str, list[Array]]:
    """A clasp around the pan servo, from above and below, that carries the lift servo upright in front."""
    return {
        "printed": [
            prism(Z, belt((0, 0, 17), (20, 0, 17)), 0.8, 7),
            prism(Z, belt((0, 0, 15), (14, 0, 17)), -45.5, -39),
            prism(X, _cut_corners((-17, -45.4), (17, 12), 3), 14, 22),
            prism(Y, [(-10, 7), (14, 7), (14, 40), (10, 40)], -17, 17),
            prism(Z, _cut_corners((6, -19), (52, 19), 4), 7, 18.6),
            prism(X, _cut_corners((-17.5, 10), (17.5, 58), 4), 10, 17.6),
            prism(X, _cut_corners((-17.5, 10), (17.5, 46), 4), 43.2, 50),
        ],
        "servo": [_servo((30.4, 0, 54.2), shaft=Y, tail=Z, sign=-1), _horns((30.4, 54.2), _FORK_MM[1])],
    }


def _upper_arm() -> dict[str, list[Array]]:
    """A fork from the lift axis up to a box that holds the elbow servo, which reaches 28 mm forward."""
    return {
        "printed": [
            mirrored(Y, prism(Y, belt((0, 0, 14), (-1, 114, 13.5)), *_FORK_MM)),
            box((-14, -20, 30), (-7, 20, 124)),
            box((-10, -20, 28), (8, 20, 34)),
            prism(Z, _cut_corners((-14.5, -21), (27, 21), 3), 94.5, 100),
            prism(Z, _cut_corners((-14.5, -21), (27, 21), 3), 125.2, 130.5),
        ],
        "servo": [_servo((28, 0, 112.57), shaft=Y, tail=X, sign=-1), _horns((28, 112.57), _FORK_MM[1])],
    }


def _lower_arm() -> dict[str, list[Array]]:
    return {
        "printed": [
            mirrored(Y, prism(Y, belt((0, 0, 13.5), (104, 5, 14)), *_FORK_MM)),
            box((26, -20, -13.5), (112, 20, -7.4)),
            box((26, -20, -8), (32, 20, 8)),
            box((94, -20, -8), (99.6, 20, 20)),
            prism(Z, _cut_corners((94, -21), (124, 21), 3), 17.8, 22.5),
        ],
        "servo": [_servo((134.9, 0, 5.2), shaft=Y, tail=X, sign=-1), _horns((134.9, 5.2), _FORK_MM[1])],
    }


def _wrist() -> dict[str, list[Array]]:
    """The roll servo lies across, its shaft on the arm's axis and its tail out to the left."""
    lid = [(20, 12.6), (58, 12.6), (54, 16.5), (20, 16.5)]
    return {
        "printed": [
            mirrored(Y, prism(Y, belt((0, 0, 12.5), (26, 0, 16)), _FORK_MM[0], 26)),
            prism(X, _cut_corners((-25, -17), (25, 17), 3), 18, 24.6),
            mirrored(Z, prism(Y, lid, -19, 24)),
            box((20, -18, -15), (57, -10.4, 15)),
        ],
        "servo": [_servo((42.4, 0, 0), shaft=X, tail=Y, sign=1), disc(X, (0, 0), 9, 55, 61.4)],
    }


def _gripper(finger: Sequence[FingerStep]) -> dict[str, list[Array]]:
    palm = [(0, -22), (6, -28), (38, -35), (44, -34.6), (44, -13.3), (0, -15.2)]
    cheek = [(2, -26), (36, -26), (36, 0), (26, 4), (2, 4)]
    bracket = [
        [(11, 19, -14), (27, 19, -14), (27, 19, 4), (11, 19, 4)],
        [(30, 53, 4), (36.5, 47, 4), (36.5, 47, 23), (30, 53, 23)],
    ]
    return {
        "printed": [
            disc(X, (0, 0), 17, 0.4, 6),
            prism(X, _cut_corners((-19, -26), (19, 30), 4), 2, 10.8),
            prism(Y, palm, -16, 16),
            mirrored(Y, prism(Y, cheek, 17.6, 21)),
            loft(np.array(bracket, float)),
            _behind_lens((7.4, HOUSING_MM[0]), HOUSING_MM[1] / 2, HOUSING_MM[1] / 2),
            *_finger(finger),
        ],
        "servo": [
            _servo((23.4, 0, 20.2), shaft=Y, tail=Z, sign=-1),
            _horns((23.4, 20.2), 24),
            _behind_lens((1.5, 7.5), 10, 12),
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


def _moving_jaw(finger: Sequence[FingerStep]) -> dict[str, list[Array]]:
    """Two cheeks on the jaw servo's horns that join into the finger."""
    inner = finger[-1].inner
    root = [
        _section(x, half_width, inner, outer)
        for x, half_width, outer in ((16.5, 24, 7.8), (24, 22, 7.6), (32, 10, 7.0))
    ]
    cheek = prism(Y, belt((0, 0, 11), (18, 0, 8)), 20, 24)
    return {"printed": [mirrored(Y, cheek), loft(np.array(root)), *_finger(finger)]}


def _finger(steps: Sequence[FingerStep]) -> list[Array]:
    """One block a step: the inner face as given, outer face and width tapering through the steps' middles."""
    outer = _at_borders([step.outer for step in steps])
    width = _at_borders([step.half_width for step in steps])
    return [
        loft(
            np.array(
                [
                    _section(step.far, width[index], step.inner, outer[index]),
                    _section(step.near, width[index + 1], step.inner, outer[index + 1]),
                ]
            )
        )
        for index, step in enumerate(steps)
    ]


def _section(x: float, half_width: float, inner: float, outer: float) -> list[tuple[float, float, float]]:
    return [(x, -half_width, inner), (x, half_width, inner), (x, half_width, outer), (x, -half_width, outer)]


def _at_borders(values: Sequence[float]) -> Array:
    """Values at the n + 1 borders of n steps such that lines between them pass near each step's own."""
    middles = np.asarray(values)
    between = (middles[1:] + middles[:-1]) / 2
    return np.concatenate([[2 * middles[0] - between[0]], between, [2 * middles[-1] - between[-1]]])


def _servo(at: tuple[float, float, float], *, shaft: int, tail: int, sign: int) -> Array:
    """A servo case with the middle of its shaft `at`; the case extends along `sign` of the `tail` axis."""
    across = ({X, Y, Z} - {shaft, tail}).pop()
    half = np.zeros(3)
    half[[tail, shaft, across]] = np.array(_CASE_MM) / 2
    middle = np.array(at, float)
    middle[tail] += sign * _SHAFT_MM
    low, high = middle - half, middle + half
    u, v = (axis for axis in (X, Y, Z) if axis != tail)
    return prism(tail, _cut_corners((low[u], low[v]), (high[u], high[v]), 1.5), low[tail], high[tail])


def _horns(at: Point, plate_mm: float) -> Array:
    """Both horns of a servo whose shaft runs along y, seen through plates whose outside is at `plate_mm`.

    Being round, they may stay with the servo while the plates turn.
    """
    return disc(Y, at, 8.5, -plate_mm - 0.6, plate_mm + 0.6)


def _cut_corners(low: Point, high: Point, cut: float) -> list[Point]:
    """A rectangle without its corners."""
    (a, b), (c, d) = low, high
    e = cut
    return [(a + e, b), (c - e, b), (c, b + e), (c, d - e), (c - e, d), (a + e, d), (a, d - e), (a, b + e)]
