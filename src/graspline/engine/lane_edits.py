"""What each lane of an engine has different from the scene's model, as plain edits of named elements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from graspline.scenes.scene import Scene
from graspline.scenes.variation import Edit, numbers_of, row_of

Array = NDArray[np.float64]
Edits = dict[tuple[str, str], Edit]

# Fields that constants of the model are derived from.
SET_CONST_INPUTS = frozenset(mujoco.MjModel._setconst_inputs)


class LaneEdits:
    """The edits in force in each lane."""

    def __init__(self, scene: Scene, count: int) -> None:
        self._scene = scene
        self._edits: list[Edits] = [{} for _ in range(count)]
        # Of everything that was ever edited: its row in the model's field, and what the scene's model has there.
        self._defaults: dict[tuple[str, str], tuple[int, NDArray[Any]]] = {}

    def of(self, lane: int) -> Edits:
        """A copy of a lane's edits."""
        return dict(self._edits[lane])

    def change(self, lane: int, edits: Mapping[tuple[str, str], Edit]) -> Iterator[tuple[str, int, NDArray[Any]]]:
        """Put these edits in force instead of those before; yields what has to be written: field, row and values."""
        before = self._edits[lane]
        for key in before.keys() | edits.keys():
            old, new = before.get(key), edits.get(key)
            if old == new:
                continue
            row, default = self._default(key)
            yield key[0], row, default if new is None else np.array(new.values).reshape(default.shape)
        self._edits[lane] = dict(edits)

    def _default(self, key: tuple[str, str]) -> tuple[int, NDArray[Any]]:
        """Row and numbers of a field's element in the scene's model, which is never edited; looked up by name once."""
        found = self._defaults.get(key)
        if found is None:
            field, element = key
            row = row_of(self._scene.model, Edit(field=field, element=element, values=()))
            found = self._defaults[key] = row, getattr(self._scene.model, field)[row, ...]
        return found

    def half_extents_m(self, lane: int, name: str) -> Array:
        """Size of an object or place in this lane."""
        edit, scene = self._edits[lane].get(("geom_size", name)), self._scene
        return np.array(scene.half_extents_m(name) if edit is None else scene.extents_of(name, edit.values))

    def number(self, lane: int, field: str, element: str) -> Array:
        """What a model field of one element, flattened, is in this lane."""
        edit = self._edits[lane].get((field, element))
        found = numbers_of(self._scene.model, field, element).flatten() if edit is None else np.array(edit.values)
        return np.asarray(found, float)


def felt(edits: Iterable[Edit]) -> Edits:
    """The edits that physics notices, the last of each number; what is only seen would be carried along for nothing."""
    return {(edit.field, edit.element): edit for edit in edits if not edit.only_seen}
