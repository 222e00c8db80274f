"""What guards look at, as live views of an engine's readings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graspline.engine.protocol import Engine
from graspline.execution.object_watch import Sights
from graspline.motion.guards import Rows

Array = NDArray[np.float64]


def guard_rows(engine: Engine, sights: Sights, places: Sights) -> Rows:
    """One row per lane; its `command` is for the executor to write."""
    readings, columns, robot = engine.readings, engine.layout.readings, engine.scene.robot
    return Rows(
        joint_position=readings[:, columns["joint_position"]],
        tool_position=readings[:, columns["tool_position"]],
        tool_axes=_vectors(readings[:, columns["tool_axes"]]),
        pad_force=_vectors(readings[:, columns["pad_force"]]),
        command=np.zeros((engine.count, len(robot.joints))),
        watched=sights.watched,
        spread=sights.spread,
        place=places.watched,
        jaw=robot.jaw,
        wrist_force=_sensed(engine, "wrist_force"),
        wrist_acceleration=_sensed(engine, "wrist_acceleration"),
    )


def _sensed(engine: Engine, name: str) -> Array:
    """A reading of three numbers; nan from a robot that has none."""
    columns = engine.layout.readings.get(name)
    return np.full((engine.count, 3), np.nan) if columns is None else engine.readings[:, columns]


def _vectors(columns: Array) -> Array:
    """A live (N, k, 3) view of (N, 3 k) columns."""
    rows, stride = columns.strides
    shape = (len(columns), columns.shape[1] // 3, 3)
    return np.lib.stride_tricks.as_strided(columns, shape, (rows, 3 * stride, stride), writeable=False)
