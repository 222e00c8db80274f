"""Triangles of an OBJ or STL file, text or binary, as the file has them: no scale, no repair."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graspline.errors import InputError, either

Array = NDArray[np.float64]
Faces = NDArray[np.int64]

KINDS = (".obj", ".stl")
MOST_BYTES = 20_000_000
# An object of a scene needs no more, and physics and pictures get slower with each; a scan has millions.
MOST_TRIANGLES = 5000
_STL_HEAD, _STL_FACET = 84, np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?nan|[-+]?inf(?:inity)?"
_VERTEX = re.compile(rf"vertex\s+({_NUMBER})\s+({_NUMBER})\s+({_NUMBER})\s", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TriangleMesh:
    """Corners (n, 3) and triangles (m, 3) of them, counter-clockwise seen from outside."""

    vertices: Array
    faces: Faces

    @property
    def triangles(self) -> Array:
        """(m, 3 corners, 3)."""
        return self.vertices[self.faces]

    @property
    def size(self) -> Array:
        """(3,): sides of the box around it."""
        return np.ptp(self.vertices, axis=0)


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """A mesh file's content; refused if it cannot be one."""
    name = Path(path)
    if name.suffix.lower() not in KINDS:
        raise InputError(f"{name}: not a mesh file that can be read; expected {either(KINDS)}")
    try:
        with name.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from None
    if len(content) > MOST_BYTES:
        raise InputError(f"{name}: larger than {MOST_BYTES // 10**6} MB; expected at most {_most()}")
    return content


def read_surface(content: bytes, path: str | os.PathLike[str]) -> TriangleMesh:
    """The triangles of a file's content; corners that are written several times are one."""
    name = Path(path)
    surface = _obj(content, name) if name.suffix.lower() == ".obj" else _stl(content, name)
    if not len(surface.faces):
        raise InputError(f"{name}: no triangles in it; expected the closed surface of an object")
    if len(surface.faces) > MOST_TRIANGLES:
        raise InputError(
            f"{name}: {len(surface.faces)} triangles; expected at most {_most()}: decimate it, for example with "
            "MeshLab or Blender"
        )
    if not np.isfinite(surface.vertices).all():
        raise InputError(f"{name}: a coordinate is not a finite number; expected numbers only")
    return surface


def _most() -> str:
    return f"{MOST_TRIANGLES} triangles"


def _merged(corners: Array) -> TriangleMesh:
    """A surface of loose triangles (m, 3, 3), whose equal corners are one."""
    vertices, which = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    return TriangleMesh(vertices=vertices, faces=which.reshape(-1, 3).astype(np.int64))


def _stl(content: bytes, name: Path) -> TriangleMesh:
    count = int.from_bytes(content[80:84], "little") if len(content) >= _STL_HEAD else -1
    # Binary files may begin with `solid`, too; only their length says for certain what they are.
    if len(content) == _STL_HEAD + count * _STL_FACET.itemsize:
        facets = np.frombuffer(content, _STL_FACET, offset=_STL_HEAD)
        return _merged(facets["corners"].astype(float))
    # A binary file that was cut off has bytes in it that no text has.
    if content.lstrip()[:5].lower() != b"solid" or b"\0" in content:
        whole = f"{_STL_HEAD + count * _STL_FACET.itemsize} for its {count} triangles" if count >= 0 else "more"
        raise InputError(f"{name}: not an STL file: {len(content)} bytes; expected {whole}, or text that begins solid")
    found = _VERTEX.findall(content.decode("ascii", "replace") + "\n")
    written = len(re.findall(rb"\bvertex\b", content))
    if len(found) != written or written % 3:
        raise InputError(
            f"{name}: not whole: {written} corners, {len(found)} of them readable; expected 3 for each triangle"
        )
    return _merged(np.array(found, float).reshape(-1, 3, 3))


def _obj(content: bytes, name: Path) -> TriangleMesh:
    vertices: list[list[float]] = []
    corners: list[tuple[int, int, int]] = []
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), start=1):
        words = line.split("#")[0].split()
        if not words or words[0] not in ("v", "f"):
            continue
        try:
            if words[0] == "v":
                vertices.append([float(each) for each in words[1:4]])
                if len(words) < 4:
                    raise ValueError("a corner has 3 coordinates")
            else:
                corners += _fan([_index(each, len(vertices)) for each in words[1:]])
        except ValueError as error:
            raise InputError(f"{name}:{number}: {' '.join(words)[:40]!r} cannot be read: {error}") from None
    used = np.array(corners, np.int64).reshape(-1, 3)
    points = np.array(vertices, float).reshape(-1, 3)
    return _merged(points[used])


def _index(word: str, count: int) -> int:
    """Of a corner `7`, `7/1`, `7//3` or `-1`, counted from 0."""
    index = int(word.split("/")[0])
    index = index - 1 if index > 0 else count + index
    if not 0 <= index < count:
        raise ValueError(f"corner {word} is not among the {count} above it")
    return index


def _fan(polygon: list[int]) -> list[tuple[int, int, int]]:
    if len(polygon) < 3:
        raise ValueError("a face has at least 3 corners")
    return [(polygon[0], polygon[at], polygon[at + 1]) for at in range(1, len(polygon) - 1)]
