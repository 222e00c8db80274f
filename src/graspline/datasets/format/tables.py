"""Parquet files of a dataset, read as they were written or not at all."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from graspline.datasets.format.files import file_at
from graspline.datasets.format.frames import schema_problems
from graspline.errors import DatasetProblem
from graspline.scenes.scene import Scene


def table_in(root: Path, name: str) -> pa.Table:
    """A Parquet file of a dataset, read with its checksums verified."""
    return _read(root, name, lambda path: pq.ParquetFile(path, page_checksum_verification=True).read())


def frames_in(root: Path, name: str, row: Mapping[str, Any], scene: Scene) -> pa.Table:
    """The frames of one episode out of a data file; of a file that holds many episodes, only its own are read.

    They have all columns of the scene, each of its type; others may be beside them.
    """
    first, last = row["dataset_from_index"], row["dataset_to_index"]
    table = _read(root, name, lambda path: _read_between(path, first, last))
    problems = schema_problems(table, scene)
    if problems:
        raise DatasetProblem("\n".join(f"{root / name}: {each}" for each in problems))
    index = numbers_in(table, "index")
    chosen = np.flatnonzero((index >= first) & (index < last))
    if len(chosen) != row["length"]:
        raise DatasetProblem(f"{root / name}: {len(chosen)} rows of an episode of {row['length']}")
    if not np.array_equal(index[chosen[0] : chosen[0] + len(chosen)], np.arange(first, last)):
        raise DatasetProblem(f"{root / name}: column index does not count from {first} to {last - 1}")
    return table.slice(int(chosen[0]), len(chosen))


def numbers_in(table: pa.Table, name: str) -> NDArray[Any]:
    """A column as a numpy array, one row per entry."""
    column = table.column(name).combine_chunks()
    if pa.types.is_fixed_size_list(column.type):
        return column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1)
    return column.to_numpy(zero_copy_only=False)


def footer_problems(root: Path, name: str, table: pa.Table) -> list[str]:
    """What a file says of itself that is not so of its table. Only pages have checksums, and readers that filter rows
    go by the footer alone."""
    metadata = pq.ParquetFile(file_at(root / name)).metadata
    problems = []
    if b"ARROW:schema" not in (metadata.metadata or {}):
        problems.append("its footer does not tell the types of its columns (ARROW:schema is missing)")
    if metadata.num_columns != len(table.column_names):
        # A user added a column of several parts; which part is whose is unknown.
        return problems
    begin = 0
    for group in (metadata.row_group(number) for number in range(metadata.num_row_groups)):
        rows = table.slice(begin, group.num_rows)
        begin += group.num_rows
        for at, column in enumerate(table.column_names):
            said = group.column(at)
            if said.path_in_schema != metadata.schema.column(at).path:
                problems.append(f"its footer has {said.path_in_schema!r} for column {column}")
            elif said.statistics is not None and said.statistics.has_min_max:
                least = pc.call_function("min_max", [_leaves(rows.column(at))]).as_py()
                if (said.statistics.min, said.statistics.max) != (least["min"], least["max"]):
                    problems.append(f"its footer has another range for column {column} than its rows")
    return problems


def _leaves(column: pa.ChunkedArray) -> Any:
    """Without the lists that values are in."""
    values: Any = column.combine_chunks()
    while pa.types.is_list(values.type) or pa.types.is_fixed_size_list(values.type):
        values = values.flatten()
    return values


def _read_between(path: Path, first: int, last: int) -> pa.Table:
    """The row groups that may hold rows from `first` up to `last`."""
    stamp = path.stat()
    metadata, ranges = _footer(path, (stamp.st_ino, stamp.st_mtime_ns, stamp.st_size))
    groups = [number for number, (low, high) in enumerate(ranges) if low < last and high >= first]
    return pq.ParquetFile(path, metadata=metadata, page_checksum_verification=True).read_row_groups(groups)


@lru_cache(maxsize=4)
def _footer(path: Path, stamp: tuple[int, int, int]) -> tuple[pq.FileMetaData, list[tuple[float, float]]]:
    """What a file says of itself, and from where to where each of its row groups goes, as far as it says.

    That of 3,000 episodes takes a tenth of a second to read, too long to do it for each of them.
    """
    metadata = pq.ParquetFile(path).metadata
    index = next((at for at in range(metadata.num_columns) if metadata.schema.column(at).path == "index"), None)
    ranges = []
    for number in range(metadata.num_row_groups):
        says = None if index is None else metadata.row_group(number).column(index).statistics
        if says is not None and says.has_min_max and isinstance(says.min, int):
            ranges.append((says.min, says.max))
        else:
            ranges.append((-math.inf, math.inf))
    return metadata, ranges


def _read(root: Path, name: str, read: Callable[[Path], pa.Table]) -> pa.Table:
    try:
        table = read(file_at(root / name))
        table.validate(full=True)
        return table
    # Types in a footer that cannot be raise ValueError.
    except (OSError, ValueError, pa.ArrowException) as error:
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DatasetProblem(f"{root / name}: cannot be read: {what}") from None
