"""The sentences of a dataset, `meta/tasks.parquet`: one row for each, in the order in which episodes first use them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from graspline.datasets.format.files import parquet_bytes

TASKS = "meta/tasks.parquet"


def sentences_of(rows: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The instructions of the episodes of these rows, each sentence once."""
    return tuple(dict.fromkeys(sentence for row in rows for sentence in row["tasks"]))


def tasks_bytes(sentences: Sequence[str]) -> bytes:
    """`meta/tasks.parquet` for these sentences."""
    return parquet_bytes(tasks_table(sentences))


def tasks_table(sentences: Sequence[str]) -> pa.Table:
    """Sentences as LeRobot reads them: a frame of pandas whose index they are."""
    table = pa.table({"task_index": pa.array(range(len(sentences)), pa.int64()), "task": pa.array(list(sentences))})
    columns = [
        {"name": name, "field_name": name, "pandas_type": kind, "numpy_type": plain, "metadata": None}
        for name, kind, plain in (("task_index", "int64", "int64"), ("task", "unicode", "object"))
    ]
    pandas = {
        "index_columns": ["task"],
        "column_indexes": [
            {
                "name": None,
                "field_name": None,
                "pandas_type": "unicode",
                "numpy_type": "object",
                "metadata": {"encoding": "UTF-8"},
            }
        ],
        "columns": columns,
        "creator": {"library": "pyarrow", "version": pa.__version__},
        "pandas_version": "2.2.0",
    }
    return table.replace_schema_metadata({"pandas": json.dumps(pandas)})
