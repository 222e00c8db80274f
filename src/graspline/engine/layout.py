"""Where each named signal lies in `sensordata`: readings first, then truth.

Sensors are named `reading/NAME` or `truth/NAME`, with `/ELEMENT` behind for signals made of one sensor per joint.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.errors import WiringError

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorLayout:
    """Named columns of the two parts; slices are relative to their part."""

    readings: dict[str, slice]
    truth: dict[str, slice]
    readings_size: int
    truth_size: int


def layout_of(model: mujoco.MjModel) -> SensorLayout:
    """Where each sensor stands in a model's sensor data."""
    parts: dict[str, dict[str, slice]] = {"reading": {}, "truth": {}}
    sizes = {"reading": 0, "truth": 0}
    for index in range(model.nsensor):
        kind, name, *_ = (*model.sensor(index).name.split("/"), "")
        if kind not in parts or (kind == "reading" and sizes["truth"]):
            raise WiringError(f"sensor {model.sensor(index).name!r}: expected reading/… before truth/…")
        at, size = sizes[kind], int(model.sensor_dim[index])
        known = parts[kind].get(name)
        if known is not None and known.stop != at:
            raise WiringError(f"sensors of signal {name!r} are not next to each other")
        parts[kind][name] = slice(known.start if known else at, at + size)
        sizes[kind] = at + size
    return SensorLayout(
        readings=parts["reading"],
        truth=parts["truth"],
        readings_size=sizes["reading"],
        truth_size=sizes["truth"],
    )


@dataclass(frozen=True, slots=True)
class Readings:
    """What a robot senses at one tick; a copy, safe to keep."""

    row: Array
    layout: SensorLayout

    def __getitem__(self, name: str) -> Array:
        return self.row[self.layout.readings[name]]

    @property
    def joints(self) -> Array:
        """The positions of the joints."""
        return self["joint_position"]

    @property
    def tool_position_m(self) -> Array:
        """The tool by the robot's own joints: an SO-101's fixed-jaw tip, else the point between closed fingertips."""
        return self["tool_position"]

    @property
    def tool_rotation(self) -> Array:
        """The tool's axes as columns: x approaches, z opens."""
        return self["tool_axes"].reshape(3, 3).T

    def pad_forces_n(self) -> tuple[float, float]:
        """Force on each pad: of an SO-101 on the fixed and on the moving one."""
        first, second = np.linalg.norm(self["pad_force"].reshape(2, 3), axis=1)
        return float(first), float(second)
