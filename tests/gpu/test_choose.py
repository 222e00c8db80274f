from __future__ import annotations

from pathlib import Path

import pytest

from graspline.errors import InputError
from graspline.gpu.choose import open_engine
from graspline.scenes.block_table import Kind, block_table
from graspline.scenes.meshes.store import solid_of
from scenes.meshes import shapes


def test_a_gpu_refuses_objects_that_are_meshes(tmp_path: Path) -> None:
    solid = solid_of(shapes.write_obj(shapes.wedge(), tmp_path / "wedge.obj"), 0.001)
    kind = Kind(name="wedge", shape="mesh", size_m=(0.05, 0.03, 0.026), density_kg_m3=900, rgb=(1, 0, 0), solid=solid)
    with pytest.raises(
        InputError, match="plays no objects that are meshes, and this scene has wedge; use --engine cpu"
    ):
        open_engine("gpu", block_table(kinds=(kind,)), 4)
