from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graspline.errors import InputError
from graspline.scenes.meshes.checks import volume_m3
from graspline.scenes.meshes.files import MOST_TRIANGLES, TriangleMesh, read_bytes, read_surface

from . import shapes


def read(path: Path) -> TriangleMesh:
    return read_surface(read_bytes(path), path)


def problem(path: Path) -> str:
    with pytest.raises(InputError) as raised:
        read(path)
    (found,) = raised.value.problems
    return found


@pytest.mark.parametrize(
    ("write", "name"),
    [(shapes.write_obj, "a.obj"), (shapes.write_stl_text, "a.stl"), (shapes.write_stl, "b.STL")],
)
def test_all_kinds_of_files_hold_the_same_solid(write, name: str, tmp_path: Path) -> None:
    made = shapes.bracket()
    found = read(write(made, tmp_path / name))
    assert len(found.vertices) == len(made.vertices)
    assert len(found.faces) == len(made.faces)
    assert volume_m3(found) == pytest.approx(volume_m3(made), rel=1e-6)
    np.testing.assert_allclose(found.size, made.size, rtol=1e-6)


def test_polygons_and_corners_counted_from_the_end_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf -4 -3 -2 -1\n")
    assert len(read(path).faces) == 2


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.obj", b"", "no triangles in it; expected the closed surface of an object"),
        ("a.obj", b"v 1 2\n", "a.obj:1: 'v 1 2' cannot be read: a corner has 3 coordinates"),
        ("a.obj", b"v 1 2 3\nf 1 2 3\n", "corner 2 is not among the 1 above it"),
        ("a.obj", b"v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "a coordinate is not a finite number"),
        ("a.stl", b"\x00" * 84 + b"12345", "not an STL file: 89 bytes; expected 84 for its 0 triangles"),
        ("a.stl", b"solid\nfacet\nvertex 0 0 0\nvertex 1 x 0\n", "2 corners, 1 of them readable"),
        ("a.ply", b"ply", "expected .obj or .stl"),
    ],
)
def test_what_is_no_mesh_is_refused_with_what_is_expected(
    name: str, content: bytes, expected: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert expected in problem(path)


def test_a_file_that_was_cut_off_is_told_from_a_text(tmp_path: Path) -> None:
    path = shapes.write_stl(shapes.bracket(), tmp_path / "a.stl")
    path.write_bytes(path.read_bytes()[:-30])
    assert "1254 bytes; expected 1284 for its 24 triangles" in problem(path)


def test_too_many_triangles_are_refused(tmp_path: Path) -> None:
    path = shapes.write_obj(shapes.turned([(10, 0), (10, 20)], MOST_TRIANGLES), tmp_path / "a.obj")
    assert f"expected at most {MOST_TRIANGLES} triangles: decimate it" in problem(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "No such file" in problem(tmp_path / "a.obj")
