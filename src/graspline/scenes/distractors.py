"""Blocks that are no targets, and where a scene keeps what an episode does not use."""

from __future__ import annotations

import mujoco

from graspline.scenes.furniture import SURFACE_SOLREF
from graspline.scenes.scene import SceneObject

DISTRACTOR_RGBS = ((0.20, 0.62, 0.26), (0.52, 0.22, 0.60), (0.20, 0.62, 0.26))
DISTRACTOR_KG = 0.05
# Half extents that one may have.
DISTRACTOR_HALF_M = (0.012, 0.02)
_BLOCK_M = 0.0175
# Pools are parked behind the robot, one behind the other: to the right of the front camera's picture, and so far
# round that the wrist camera does not look there even from a leaning hand.
_PARKED_M = (-8.0, -1.5)


def distractor_name(index: int) -> str:
    """The name of a distractor by its index."""
    return f"block_{index + 1}"


def add_distractors(spec: mujoco.MjSpec, count: int) -> tuple[SceneObject, ...]:
    """`count` blocks; lanes give them their sizes and places."""
    blocks = tuple(
        SceneObject(name=distractor_name(index), half_extents_m=(_BLOCK_M, _BLOCK_M, _BLOCK_M))
        for index in range(count)
    )
    for index, block in enumerate(blocks):
        body = spec.worldbody.add_body(name=block.name, pos=(0.25, 0, _BLOCK_M))
        body.add_freejoint(name=block.name)
        body.add_geom(
            name=block.name,
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=block.half_extents_m,
            mass=DISTRACTOR_KG,
            rgba=(*DISTRACTOR_RGBS[index % len(DISTRACTOR_RGBS)], 1),
            friction=(0.8, 0.005, 0.0002),
            condim=4,
            solref=SURFACE_SOLREF,
        )
    return blocks


def parked_m(number: int) -> tuple[float, float]:
    """Where on the floor the object of this number waits, out of sight."""
    x, y = _PARKED_M
    return x - 0.3 * number, y
