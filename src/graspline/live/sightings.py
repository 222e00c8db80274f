"""What a person's moves keep clear of: objects as the scenario's estimator last saw them."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, cast

import numpy as np

from graspline.execution.requests import Look, ObjectSeen, Reply
from graspline.perception.beliefs import Belief
from graspline.scenes.scene import Scene

# What is further away than this has left the table, or was taken away, and is not seen.
_SIGHT_M = 1.0


def see_by_truth(scene: Scene) -> Generator[Any, Reply, tuple[Belief, ...]]:
    """Look at everything with the `truth` estimator."""
    shapes, solids = scene.shapes, scene.solids
    reply = yield Look(None)
    seen = cast(dict[str, ObjectSeen], reply.value)
    return tuple(
        Belief(
            name=name,
            position_m=each.position_m,
            quaternion=each.quaternion,
            half_extents_m=each.half_extents_m,
            position_sigma_m=0.0,
            yaw_sigma_rad=0.0,
            time_s=reply.time_s,
            shape=shapes[name],
            solid=solids.get(name),
        )
        for name, each in seen.items()
        if np.linalg.norm(each.position_m) <= _SIGHT_M
    )
