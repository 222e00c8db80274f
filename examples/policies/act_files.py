"""What the programs here read of a LeRobot dataset (v3) besides its videos, without torch and without graspline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow.dataset import dataset

IMAGES, STATE, ACTION = "observation.images.", "observation.state", "action"
# Where `render_frames.py` puts images: an array for each camera, and which frames of the dataset they show.
RENDERED = "pictures"


def frames_of(folder: Path, only: str = "") -> pa.Table:
    """State and action of every frame, in order, and the column `only` if there is one."""
    found = dataset(sorted((folder / "data").rglob("*.parquet")), format="parquet")
    names = [name for name in (STATE, ACTION, "index", only) if name in found.schema.names]
    return found.to_table(columns=names).sort_by("index")


def episodes_of(folder: Path) -> list[dict[str, Any]]:
    """Where each episode's frames and videos are, in order."""
    found = dataset(sorted((folder / "meta" / "episodes").rglob("*.parquet")), format="parquet")
    plain = ("episode_index", "episode_id", "length")
    names = [name for name in found.schema.names if name.startswith(("videos/", "dataset_")) or name in plain]
    return found.to_table(columns=names).sort_by("episode_index").to_pylist()
