"""What is checked against what in a collision world: contact bits and margins of a model's geoms."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.robots.robot import Robot

Flags = NDArray[np.bool_]

# Contact bits beyond those that robots use among themselves: what asks, and what solids and floor answer to.
ARM, HAND, HELD, FLOOR = (1 << bit for bit in (20, 21, 22, 23))
ANYTHING = ARM | HAND | HELD


def wire(
    model: mujoco.MjModel, robot: Robot, others: Flags, held: int | None, clearance_m: float, seen: Sequence[int]
) -> None:
    """Check the robot against itself as it is built, and against all `others`, (ngeom,), by this clearance.

    Geoms that are only `seen` are left out. Where something may be held, as the geom `held`, it is checked against all
    but the hand.
    """
    own = ~others
    if held is not None:
        own[held] = False
        model.geom_conaffinity[held] = 0
    hand = own & np.isin(model.geom_bodyid, _carried(model, int(model.site("tool").bodyid[0])))
    touching = own & (model.geom_conaffinity != 0)
    floor = 0 if held is None else FLOOR
    model.geom_contype[touching & hand] |= HAND | floor
    model.geom_contype[touching & ~hand] |= ARM | floor
    model.geom_conaffinity[touching & ~hand] |= HELD
    # Only the robot's own contacts are asked for: what else touches what costs nothing this way.
    model.geom_contype[others] = 0
    model.geom_conaffinity[others] = ANYTHING
    model.geom_conaffinity[list(seen)] = 0
    # Margins of both sides add up; the robot keeps no distance from itself or from what it holds.
    model.geom_margin[others] = clearance_m
    model.body_margin[model.geom_bodyid[others]] = clearance_m
    for name, further_m in robot.keeps_m.items() if clearance_m else ():
        model.geom_margin[model.geom(name).id] = further_m
    gather_bits(model)


def gather_bits(model: mujoco.MjModel) -> None:
    """Bodies have the bits of all their geoms; a body with stale ones is left out before its geoms are looked at."""
    for field, of_body in ((model.geom_contype, model.body_contype), (model.geom_conaffinity, model.body_conaffinity)):
        of_body[:] = 0
        np.bitwise_or.at(of_body, model.geom_bodyid, field)


def _carried(model: mujoco.MjModel, body: int) -> list[int]:
    """A body and everything that hangs on it."""
    found = [body]
    for index in range(body + 1, model.nbody):
        if model.body_parentid[index] in found:
            found.append(index)
    return found
