"""Whole-body inverse kinematics of the HSR: what share of reachable poses is solved, how exactly and how fast.

    python benchmarks/hsr_ik.py
    python benchmarks/hsr_ik.py --poses 2000 --step-deg 30

*Reachable* poses come from joints: any within limits, and with half of all joints at one of theirs. The *grid* has
every height from 0 to 1.4 m, pitch from straight down to 30° up, roll and heading; what is refused there is searched
again with headings every degree and 120 leans. One JSON object tells the figures.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.kinematics.hsr import forward, solve
from graspline.robots.hsr_chain import LOWER, ROOM_M, UPPER
from graspline.spatial.rotations import multiply, rotation_x, rotation_y, rotation_z

Array = NDArray[np.float64]

FINE_TURNS_RAD = np.radians(np.arange(-180.0, 180.0))
FINE_LEANS = np.arange(120) / 119
ARM = slice(0, 8)
BATCH = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--poses", type=int, default=20000)
    parser.add_argument("--step-deg", type=int, default=15, help="of pitch, roll and heading in the grid")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    joints = random.uniform(LOWER, UPPER, (options.poses, len(LOWER)))[:, ARM]
    figures = {
        "reachable": of_joints(joints),
        "at limits": of_joints(pushed(joints, random)),
        "grid": of_grid(options.step_deg),
        "each alone": times_ms(joints[:1000]),
    }
    print(json.dumps(figures, indent=2))


def pushed(joints: Array, random: np.random.Generator) -> Array:
    """The same with half of all arm joints at one of their limits."""
    draw = random.random(joints.shape)
    ends = np.where(draw < 0.25, LOWER[ARM], np.where(draw > 0.75, UPPER[ARM], joints))
    # The room's end is not the robot's: a metre is left to it.
    ends[:, :2] = joints[:, :2] * (1 - 1 / ROOM_M)
    return ends


def of_joints(joints: Array) -> dict[str, Any]:
    """How many of these joints' poses are solved, how many solutions they have, and the worst error of any."""
    position, rotation = forward(joints)
    counts, worst = [], 0.0
    for rows in batches(np.arange(len(joints))):
        found = solve(position[rows], rotation[rows])
        there, turned = forward(found.joints)
        worst = max(worst, np.abs(there - position[rows, None]).max(), np.abs(turned - rotation[rows, None]).max())
        counts.append(found.within.sum(axis=1))
    solutions = np.concatenate(counts)
    return {
        "poses": len(joints),
        "solved": int((solutions > 0).sum()),
        "solutions, 1st percentile and median": np.percentile(solutions, [1, 50]).tolist(),
        "worst error": float(worst),
    }


def of_grid(step_deg: int) -> dict[str, int]:
    """How many poses of the grid are solved, and how many more a far finer search solves."""
    axes = (
        np.arange(0.0, 1.401, 0.05),
        np.radians(np.arange(-90, 31, step_deg)),
        np.radians(np.arange(-180, 180, step_deg)),
        np.radians(np.arange(-180, 180, step_deg)),
    )
    height, pitch, roll, yaw = (axis.ravel() for axis in np.meshgrid(*axes, indexing="ij"))
    position = np.stack([0 * height, 0 * height, height], axis=-1)
    rotation = multiply(multiply(rotation_z(yaw), rotation_y(-pitch)), rotation_x(roll))
    solved = np.concatenate([solve(position[rows], rotation[rows]).reached for rows in batches(np.arange(len(height)))])
    # Headings differ by how they fall on the grid of headings alone.
    refused = np.flatnonzero(~solved & (yaw == yaw[0]))
    missed = sum(
        int(solve(position[rows], rotation[rows], turns_rad=FINE_TURNS_RAD, leans=FINE_LEANS).reached.sum())
        for rows in batches(refused, 10)
    )
    return {"poses": len(height), "solved": int(solved.sum()), "missed at each heading": missed}


def times_ms(joints: Array) -> dict[str, float]:
    """What one target takes alone."""
    position, rotation = forward(joints)
    taken = []
    for row in range(len(joints)):
        begun = time.perf_counter()
        solve(position[row : row + 1], rotation[row : row + 1])
        taken.append(1e3 * (time.perf_counter() - begun))
    return {"median ms": float(np.median(taken)), "99th percentile ms": float(np.percentile(taken, 99))}


def batches(rows: NDArray[np.intp], size: int = BATCH) -> list[NDArray[np.intp]]:
    return [rows[first : first + size] for first in range(0, len(rows), size)]


if __name__ == "__main__":
    main()
