"""Ways to change a dataset's files behind its back."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from av.video.stream import VideoStream

from graspline.datasets.format.rows import Slot, data_file, log_file, row_file, video_file

FRONT = "observation.images.front"


def edit_json(root: Path, name: str, change: Callable[[dict[str, Any]], object]) -> None:
    plain = json.loads((root / name).read_text())
    change(plain)
    (root / name).write_text(json.dumps(plain))


def edit_table(root: Path, name: str, change: Callable[[pa.Table], pa.Table]) -> None:
    pq.write_table(change(pq.ParquetFile(root / name).read()), root / name)


def with_column(table: pa.Table, column: str, values: Sequence[Any]) -> pa.Table:
    at = table.column_names.index(column)
    return table.set_column(at, table.schema.field(at), pa.array(list(values), table.schema.field(at).type))


def edit_row(root: Path, episode: int, **values: Any) -> None:
    """Columns by their names, with two underscores for a slash."""

    def change(table: pa.Table) -> pa.Table:
        for name, value in values.items():
            table = with_column(table, name.replace("__", "/"), [value])
        return table

    edit_table(root, row_file(Slot(0, episode)), change)


def edit_frames(root: Path, episode: int, column: str, change: Callable[[list[Any]], list[Any]]) -> None:
    def changed(table: pa.Table) -> pa.Table:
        return with_column(table, column, change(table.column(column).to_pylist()))

    edit_table(root, data_file(Slot(0, episode)), changed)


def edit_log(root: Path, episode: int, change: Callable[[dict[str, Any], dict[str, Any]], object]) -> None:
    """`change` is given the arrays and the facts."""
    path = root / log_file(episode)
    with np.load(io.BytesIO(path.read_bytes())) as file:
        arrays = {name: file[name] for name in file.files}
    facts = json.loads(arrays.pop("facts").tobytes())
    change(arrays, facts)
    np.savez(path, allow_pickle=False, facts=np.frombuffer(json.dumps(facts).encode(), np.uint8), **arrays)


def film(
    root: Path,
    episode: int,
    times: Sequence[int],
    *,
    fps: int = 10,
    size: tuple[int, int] = (64, 48),
    codec: str = "libx264",
    pix_fmt: str = "yuv420p",
    level: int = 0,
) -> None:
    """Another video in the place of an episode's: a grey picture at each of these times, in frames."""
    with av.open(root / video_file(FRONT, Slot(0, episode)), "w", format="mp4") as file:
        stream = file.add_stream(codec, rate=fps)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = *size, pix_fmt
        for time in times:
            frame = av.VideoFrame.from_ndarray(np.full((size[1], size[0], 3), level, np.uint8), format="rgb24")
            frame.pts, frame.time_base = time, Fraction(1, fps)
            file.mux(stream.encode(frame))
        file.mux(stream.encode())
