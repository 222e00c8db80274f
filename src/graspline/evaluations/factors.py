"""What varied in an episode, as plain numbers by name: where things lay, their sizes, what was randomised."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from graspline.episodes.episode import Episode
from graspline.scenes.scene import Scene

Array = NDArray[np.float64]

# Objects that an episode does not use are parked farther from the robot than this.
_PARKED_M = 4.0


def factors_of(episode: Episode, scene: Scene) -> dict[str, float]:
    """Numbers that may differ between episodes, with units in their names; what is absent in an episode is left out."""
    found = dict[str, float](_poses(episode.sampled.start, scene))
    for name in scene.object_names:
        if f"{name}.x_m" in found:
            found[f"{name}.size_m"] = max(float(each or 0.0) for each in episode.truth["objects"][name]["size_m"])
    for name in scene.robot.joints:
        found[f"start.{name}_rad"] = float(episode.sampled.start[scene.joint_address(name)])
    found |= {name: float(value) for name, value in episode.sampled.variation.described.items()}
    for fault in dict.fromkeys(episode.scenario.faults):
        struck = [each for each in episode.strikes if each.fault == fault and not each.missed]
        found[f"fault.{fault}.struck"] = float(bool(struck))
        if struck:
            found[f"fault.{fault}.t_s"] = struck[0].t_s
    return {name: round(value, 9) for name, value in found.items() if math.isfinite(value)}


def _poses(start: Array, scene: Scene) -> Iterator[tuple[str, float]]:
    """Where everything that can be moved begins, around the robot's base."""
    for name in (*scene.object_names, *scene.place_names):
        at = scene.joint_address(name)
        x_m, y_m = (float(each) for each in start[at : at + 2])
        if math.hypot(x_m, y_m) > _PARKED_M:
            continue
        w, x, y, z = (float(each) for each in start[at + 3 : at + 7])
        yield f"{name}.x_m", x_m
        yield f"{name}.y_m", y_m
        yield f"{name}.radius_m", math.hypot(x_m, y_m)
        yield f"{name}.azimuth_rad", math.atan2(y_m, x_m)
        yield f"{name}.yaw_rad", math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
