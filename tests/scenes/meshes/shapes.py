"""Small solids of our own, and files of them: a bracket, a mug, a bottle and a wedge, in millimetres."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from graspline.scenes.meshes.files import Array, Faces, TriangleMesh

_ROUND = 32


def extruded(outline: Array, kernel: tuple[float, float], height: float) -> TriangleMesh:
    """An outline (n, 2), counter-clockwise, all of which `kernel` sees, from z = 0 to `height`."""
    count = len(outline)
    flat = np.vstack([outline, kernel])
    vertices = np.vstack([np.column_stack([flat, np.full(count + 1, at)]) for at in (0.0, height)])
    faces = []
    for here in range(count):
        there = (here + 1) % count
        faces += [(count, there, here), (2 * count + 1, count + 1 + here, count + 1 + there)]
        faces += [(here, there, count + 1 + there), (here, count + 1 + there, count + 1 + here)]
    return TriangleMesh(vertices=vertices, faces=np.array(faces))


def turned(profile: list[tuple[float, float]], sides: int = _ROUND) -> TriangleMesh:
    """A profile (radius, height), from the bottom up, turned about the z axis."""
    angles = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    rings = [np.column_stack([r * np.cos(angles), r * np.sin(angles), np.full(sides, z)]) for r, z in profile]
    vertices = np.vstack([*rings, [(0, 0, profile[0][1])], [(0, 0, profile[-1][1])]])
    bottom, top, last = len(vertices) - 2, len(vertices) - 1, (len(profile) - 1) * sides
    faces = []
    for here in range(sides):
        there = (here + 1) % sides
        faces += [(bottom, there, here), (top, last + here, last + there)]
        for low in range(0, last, sides):
            faces += [
                (low + here, low + there, low + sides + there),
                (low + here, low + sides + there, low + sides + here),
            ]
    return TriangleMesh(vertices=vertices, faces=np.array(faces))


def bracket() -> TriangleMesh:
    """An L of 15 mm bars."""
    outline = np.array([(0, 0), (60, 0), (60, 15), (15, 15), (15, 40), (0, 40)], float)
    return extruded(outline, (7.0, 7.0), 30.0)


def mug() -> TriangleMesh:
    """A full mug with a fin for a handle."""
    angles = np.linspace(0.25, 2 * np.pi - 0.25, _ROUND)
    body = 18 * np.column_stack([np.cos(angles), np.sin(angles)])
    return extruded(np.vstack([body, [(32, -3.0), (32, 3.0)]]), (0.0, 0.0), 36.0)


def bottle() -> TriangleMesh:
    return turned([(15, 0), (15, 38), (8, 48), (8, 60)])


def wedge() -> TriangleMesh:
    return extruded(np.array([(0, 0), (50, 0), (0, 30)], float), (10.0, 8.0), 26.0)


SOLIDS = {"bracket": bracket, "mug": mug, "bottle": bottle, "wedge": wedge}


def box(x: float, y: float, z: float) -> TriangleMesh:
    return extruded(np.array([(0, 0), (x, 0), (x, y), (0, y)], float), (x / 2, y / 2), z)


def write_obj(surface: TriangleMesh, path: Path) -> Path:
    lines = ["# a comment", "o solid", *(f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in surface.vertices)]
    lines += [f"f {a + 1}//1 {b + 1}//1 {c + 1}//1" for a, b, c in surface.faces]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_stl_text(surface: TriangleMesh, path: Path) -> Path:
    lines = ["solid thing"]
    for triangle in surface.triangles:
        lines += [" facet normal 0 0 0", "  outer loop"]
        lines += [f"   vertex {x:.9g} {y:.9g} {z:.9g}" for x, y, z in triangle]
        lines += ["  endloop", " endfacet"]
    path.write_text("\n".join([*lines, "endsolid thing"]) + "\n")
    return path


def write_stl(surface: TriangleMesh, path: Path) -> Path:
    content = b"solid as some programs begin binary files".ljust(80) + struct.pack("<I", len(surface.faces))
    for triangle in surface.triangles:
        content += struct.pack("<12fH", 0, 0, 0, *triangle.ravel(), 0)
    path.write_bytes(content)
    return path


def without(surface: TriangleMesh, *faces: int) -> TriangleMesh:
    kept: Faces = np.delete(surface.faces, faces, axis=0)
    return TriangleMesh(vertices=surface.vertices, faces=kept)
