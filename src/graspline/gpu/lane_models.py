"""The models of lanes that differ from the scene's, as rows of plain numbers that a device can be sent."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.engine.lane_edits import SET_CONST_INPUTS, LaneEdits
from graspline.errors import WiringError
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Edit

Singles = NDArray[np.float32]

# Model fields in which lanes may differ: those that variations and events edit, and what follows from them.
_EDITED = (
    "actuator_biasprm",
    "actuator_forcerange",
    "actuator_gainprm",
    "body_gravcomp",
    "body_inertia",
    "body_mass",
    "body_pos",
    "body_quat",
    "dof_damping",
    "eq_data",
    "geom_aabb",
    "geom_friction",
    "geom_rbound",
    "geom_size",
    "geom_surfacevel",
)
_DERIVED = ("actuator_acc0", "body_invweight0", "body_subtreemass", "dof_invweight0")
# What only MuJoCo's own collision detection reads.
_UNUSED = frozenset({"bvh_aabb"})


class LaneModels(LaneEdits):
    """The edits in force in each lane, and what they make of its model."""

    def __init__(self, scene: Scene, count: int) -> None:
        super().__init__(scene, count)
        self._host = copy.copy(scene.model)
        self._scratch = mujoco.MjData(self._host)
        self.fields = tuple(name for name in (*_EDITED, *_DERIVED) if getattr(self._host, name).size)
        plain = [getattr(self._host, name).astype(np.float32).ravel() for name in self.fields]
        ends = np.cumsum([row.size for row in plain]).tolist()
        # The columns of each field among all numbers of a lane's model, (N, width).
        self.spans = {name: slice(end - row.size, end) for name, row, end in zip(self.fields, plain, ends, strict=True)}
        self.rows: Singles = np.tile(np.concatenate(plain), (count, 1))
        # The same as each field is shaped, (N, …), and what the host's model has of each element, as flat views.
        self._shaped = {
            name: self.rows[:, span].reshape(count, *getattr(self._host, name).shape)
            for name, span in self.spans.items()
        }
        self._host_numbers: dict[tuple[str, str], NDArray[Any]] = {}

    def set(self, lane: int, edits: Mapping[tuple[str, str], Edit]) -> bool:
        """Put edits in force instead of those before; whether any number of the lane's row is new."""
        changed = stale = False
        for field, row, values in self.change(lane, edits):
            if field in _UNUSED:
                continue
            if field not in self.spans:
                raise WiringError(f"lanes on a GPU cannot differ in {field}; they can in {', '.join(self.fields)}")
            self._shaped[field][lane, row] = values
            changed, stale = True, stale or field in SET_CONST_INPUTS
        if stale:
            self._derive(lane, edits)
        return changed

    def _derive(self, lane: int, edits: Mapping[tuple[str, str], Edit]) -> None:
        """Constants that follow from a lane's edits, as MuJoCo computes them."""
        for key, edit in edits.items():
            self._numbers(key)[:] = edit.values
        mujoco.mj_setConst(self._host, self._scratch)
        for field in _DERIVED:
            if field in self.spans:
                self._shaped[field][lane] = getattr(self._host, field)
        for key in edits:
            self._numbers(key)[:] = self._default(key)[1].reshape(-1)

    def _numbers(self, key: tuple[str, str]) -> NDArray[Any]:
        """Numbers of a field's element in the host's model, flat, as a view; looked up by name once."""
        found = self._host_numbers.get(key)
        if found is None:
            row, _ = self._default(key)
            found = self._host_numbers[key] = getattr(self._host, key[0])[row, ...].reshape(-1)
        return found
