"""How far the joints of similar scenes differ over the whole time, state by state."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graspline.datasets.teachability.demonstrations import Demonstrations, Grasps
from graspline.datasets.teachability.neighbours import Neighbours

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Instants of a state at which episodes are compared.
_INSTANTS = 9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StateSpread:
    """How far similar scenes differ in one state, on average over its time, (n, nu); nan where it was not played."""

    state: str
    spread: Array
    # Frames of each episode in the state, (n,).
    frames: Array


def spread_by_state(
    demonstrations: Demonstrations, grasps: Grasps, near: Neighbours, count: int
) -> Iterator[StateSpread]:
    """Of each state, its visits matched by their number and each visit by normalised time."""
    total: dict[int, tuple[Array, Array]] = {}
    shape = (len(grasps), len(demonstrations.joints))
    for (state, _), (begins, ends) in sorted(_visits(demonstrations, grasps).items()):
        frames = np.maximum(ends - begins, 0).astype(float)
        spread = _visit_spread(demonstrations, near, count, begins, ends)
        weights = np.where(np.isnan(spread[:, 0]), 0.0, frames)
        summed, weight = total.setdefault(state, (np.zeros(shape), np.zeros(len(grasps))))
        summed += np.nan_to_num(spread) * weights[:, None]
        weight += weights
    for state, (summed, weight) in total.items():
        with np.errstate(invalid="ignore", divide="ignore"):
            yield StateSpread(state=demonstrations.state_names[state], spread=summed / weight[:, None], frames=weight)


def _visits(demonstrations: Demonstrations, grasps: Grasps) -> dict[tuple[int, int], tuple[Indices, Indices]]:
    """First frame and end of each visit by (state, how often it was entered before); 0 and 0 without one."""
    visits: dict[tuple[int, int], tuple[Indices, Indices]] = {}
    for row, episode in enumerate(grasps.episodes):
        begin, end = demonstrations.first[episode], demonstrations.first[episode + 1]
        states = demonstrations.states[begin:end]
        changes = np.concatenate([[0], np.flatnonzero(np.diff(states)) + 1, [len(states)]])
        entered: dict[int, int] = {}
        for one, other in itertools.pairwise(changes.tolist()):
            state = int(states[one])
            key = state, entered.get(state, 0)
            entered[state] = key[1] + 1
            empty = np.zeros(len(grasps), dtype=np.int64)
            begins, ends = visits.setdefault(key, (empty, empty.copy()))
            begins[row], ends[row] = begin + one, begin + other
    return visits


def _visit_spread(
    demonstrations: Demonstrations, near: Neighbours, count: int, begins: Indices, ends: Indices
) -> Array:
    """Mean over the visit of most minus least among a scene and its neighbours, (n, nu).

    Not a number for scenes without the visit, and where fewer than half of the neighbours have it.
    """
    there = ends > begins
    share = np.linspace(0.0, 1.0, _INSTANTS)
    frames = begins[:, None] + np.round(share * np.maximum(ends - begins - 1, 0)[:, None]).astype(np.int64)
    values = demonstrations.actions[frames]
    values[~there] = np.nan
    index = near.index[:, :count]
    group = np.concatenate([np.arange(len(index))[:, None], index], axis=1)
    present = there[group] & (group >= 0)
    judged = there & (present[:, 1:].sum(axis=1) * 2 >= index.shape[1])
    result = np.full((len(index), values.shape[-1]), np.nan)
    if judged.any():
        chosen = np.where(present[judged][..., None, None], values[group[judged]], np.nan)
        result[judged] = (np.nanmax(chosen, axis=1) - np.nanmin(chosen, axis=1)).mean(axis=1)
    return result
