"""A person's right hand and forearm, which can be seen and not be touched; the actor that plays the person places it.

Its frame P lies in the middle of the palm: x along the fingers, z out of the palm, y towards the little finger. As
compiled the open hand is held out flat, palm up, parked below the floor.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from graspline.scenes.scene import VISUAL_CONTYPE

PERSON = "person"
PERSON_PARKED_M = (2.0, 0.0, -3.0)
_SKIN = (0.80, 0.60, 0.48, 1)
_SLEEVE = (0.30, 0.38, 0.47, 1)
_CUFF = (0.24, 0.31, 0.39, 1)
# Of each finger: y of its knuckle, length of its two visible links, radius; mm.
_FINGERS = {
    "index": (-30, 44, 34, 8.5),
    "middle": (-10, 49, 38, 8.8),
    "ring": (10, 45, 36, 8.5),
    "little": (28, 35, 28, 7.5),
}
_KNUCKLES_MM, _WRIST_MM = 46, -58
# The palm is this far below the middle of its bones.
_DEEP_MM = 13


def add_person(spec: mujoco.MjSpec) -> None:
    """The hand with its forearm, weightless: it stays where it is put."""
    body = spec.worldbody.add_body(name=PERSON, pos=PERSON_PARKED_M, gravcomp=1.0)
    body.add_freejoint(name=PERSON)
    body.explicitinertial = True
    body.mass, body.inertia = 1.5, (0.01, 0.01, 0.01)
    for name, (y, first, second, radius) in _FINGERS.items():
        knuckle = np.array([_KNUCKLES_MM - 0.15 * abs(y + 8), y, -_DEEP_MM])
        # Open, as a hand that waits for something: each link bent a little further.
        middle = knuckle + first * _heading(0.18)
        tip = middle + second * _heading(0.5)
        _limb(body, f"{name}_palm", np.array([_WRIST_MM, 0.55 * y, -_DEEP_MM]), knuckle, _DEEP_MM)
        _limb(body, f"{name}_first", knuckle, middle, radius + 1)
        _limb(body, f"{name}_second", middle, tip, radius)
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, pos=(-0.006, 0, -0.014), size=(0.044, 0.028, 0.011), **_looks("palm", _SKIN)
    )
    root, bend, tip = np.array([[-42, -22, -10], [-8, -54, -2], [24, -66, 8]])
    _limb(body, "thumb_palm", root, bend, 13)
    _limb(body, "thumb", bend, tip, 9.5)
    below, to_elbow = np.array([0, 0, -_DEEP_MM]), np.array([-1.0, 0.0, -0.12])
    for name, near, far, radius, rgba in (
        ("wrist", 50, 170, 25, _SKIN),
        ("cuff", 140, 165, 38, _CUFF),
        ("sleeve", 150, 420, 41, _SLEEVE),
    ):
        _limb(body, name, below + near * to_elbow, below + far * to_elbow, radius, rgba)


def _heading(up_rad: float) -> np.ndarray:
    return np.array([np.cos(up_rad), 0.0, np.sin(up_rad)])


def _limb(
    body: mujoco.MjsBody, name: str, start_mm: np.ndarray, end_mm: np.ndarray, radius_mm: float, rgba: tuple = _SKIN
) -> None:
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CAPSULE,
        fromto=1e-3 * np.concatenate([start_mm, end_mm]),
        size=(1e-3 * radius_mm, 0, 0),
        **_looks(name, rgba),
    )


def _looks(name: str, rgba: tuple) -> dict[str, Any]:
    """What every geom of it has: it is seen and not touched."""
    return {
        "name": f"{PERSON}_{name}",
        "rgba": rgba,
        "mass": 0.0,
        "contype": VISUAL_CONTYPE,
        "conaffinity": 0,
    }
