"""Bare MuJoCo: the same controls through `mj_step` and nothing else, to measure what everything else costs."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation, apply_to_model

Array = NDArray[np.float64]


def raw_ticks(scene: Scene, start: Array, variation: Variation, controls: Array) -> Iterator[Array]:
    """Play controls (T, nu) from a start; after every tick the live qpos."""
    model = copy.copy(scene.model)
    apply_to_model(model, variation)
    data = mujoco.MjData(model)
    data.qpos[:] = start
    at = np.array([start[scene.joint_address(joint)] for joint in scene.robot.joints])
    data.ctrl[:] = data.act[:] = at
    late = min(variation.latency_ticks, len(controls))
    qpos = data.qpos
    for control in (*[at] * late, *controls[: len(controls) - late]):
        data.ctrl[:] = control
        mujoco.mj_step(model, data, nstep=scene.robot.substeps)
        yield qpos
