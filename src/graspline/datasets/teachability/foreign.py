"""Demonstrations of a LeRobot v3.0 dataset that graspline did not write: their actions alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from graspline.datasets.format.files import file_at, is_there, json_in
from graspline.datasets.format.index import INFO
from graspline.datasets.teachability.demonstrations import Demonstrations
from graspline.errors import DatasetProblem, InputError

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

_VERSION = "v3.0"
_ACTION, _EPISODE = "action", "episode_index"


def read_foreign(root: Path) -> Demonstrations:
    """All frames in order; joints are in the dataset's own units."""
    if not is_there(root / INFO):
        raise InputError(f"{root}: not a LeRobot dataset ({INFO} is missing)")
    info = json_in(root, INFO)
    if info.get("codebase_version") != _VERSION:
        raise InputError(f"{root}: codebase_version is {info.get('codebase_version')!r}, expected {_VERSION}")
    fps = info.get("fps")
    if not isinstance(fps, int | float) or isinstance(fps, bool) or not fps > 0:
        raise DatasetProblem(f"{root / INFO}: fps is {fps!r}, expected a number above 0")
    paths = sorted(root.glob("data/*/*.parquet"))
    if not paths:
        raise DatasetProblem(f"{root}: no data files (data/*/*.parquet)")
    parts = [_columns(path) for path in paths]
    actions = np.concatenate([part[0] for part in parts])
    episodes = np.concatenate([part[1] for part in parts])
    if not len(actions) or (np.diff(episodes) < 0).any():
        raise DatasetProblem(f"{root}: frames are not in the order of their episodes")
    edges = np.flatnonzero(np.diff(episodes)) + 1
    return Demonstrations(
        joints=_names(info, actions.shape[1]),
        units=("",) * actions.shape[1],
        jaw=None,
        fps=float(fps),
        first=np.concatenate([[0], edges, [len(actions)]]).astype(np.int64),
        actions=actions,
        # Nothing that is measured without a scene reads them.
        measured=actions,
        states=np.zeros(len(actions), dtype=np.int64),
        state_names=(),
        tool_mm=np.zeros((0, 3)),
    )


def _columns(path: Path) -> tuple[Array, Indices]:
    """Actions (n, nu) and episode numbers (n,) of one data file."""
    try:
        table = pq.ParquetFile(file_at(path)).read(columns=[_ACTION, _EPISODE])
        missing = [name for name in (_ACTION, _EPISODE) if name not in table.column_names]
        if missing:
            raise ValueError(f"column {' and '.join(missing)} is missing")
        column = table.column(_ACTION).combine_chunks()
        kind = column.type
        nested = pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind)
        values = np.asarray(column.flatten() if nested else column, dtype=np.float64)
        actions = values.reshape(len(column), -1) if len(column) else values.reshape(0, 0)
        episodes = np.asarray(table.column(_EPISODE).combine_chunks(), dtype=np.int64)
        if not np.isfinite(actions).all():
            raise ValueError("an action is not a number")
    except (OSError, ValueError, TypeError, pa.ArrowException) as error:
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DatasetProblem(f"{path}: cannot be read: {what}") from None
    return actions, episodes


def _names(info: Mapping[str, Any], count: int) -> tuple[str, ...]:
    """As the index names the action's entries, or numbers."""
    features = info.get("features")
    feature = features.get(_ACTION) if isinstance(features, dict) else None
    names = feature.get("names") if isinstance(feature, dict) else None
    if isinstance(names, dict):
        # Some writers put the list under the name of the axis.
        names = next(iter(names.values()), None)
    if isinstance(names, list) and len(names) == count and all(isinstance(each, str) for each in names):
        return tuple(str(each).removesuffix(".pos") for each in names)
    return tuple(f"joint {at + 1}" for at in range(count))
