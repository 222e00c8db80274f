"""Convex parts of a surface, which is what physics and collision checks know of an object."""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import importlib.util
import os
from collections.abc import Iterator

import mujoco
import numpy as np

from graspline.scenes.meshes.files import Array, Faces, TriangleMesh

# Parts of one object at most, and corners of one part: contacts of more cost more than they tell.
MOST_PARTS, MOST_CORNERS = 16, 100
# How far parts may be from the surface, as a share of the object's size; CoACD calls it concavity.
_CLOSE = 0.03
_SEED = 0


def decomposer() -> str:
    """What makes parts here, with its version and settings: with another one the same file gives other parts."""
    settings = f"parts {MOST_PARTS}, corners {MOST_CORNERS}"
    if importlib.util.find_spec("coacd") is None:
        return f"one hull of MuJoCo {mujoco.__version__}, {settings}"
    return f"coacd {importlib.metadata.version('coacd')}, threshold {_CLOSE}, seed {_SEED}, {settings}"


def is_whole_hull() -> bool:
    """Whether an object is its convex hull here: what would fill a mug."""
    return importlib.util.find_spec("coacd") is None


def convex_parts(surface: TriangleMesh) -> tuple[TriangleMesh, ...]:
    """At most `MOST_PARTS` hulls that together are about the solid; the same ones each time."""
    if is_whole_hull():
        return (hull(surface.vertices),)
    coacd = importlib.import_module("coacd")
    coacd.set_log_level("error")
    # Its measures are of an object of about unit size.
    scale = float(surface.size.max())
    with _silenced():
        found = coacd.run_coacd(
            coacd.Mesh(surface.vertices / scale, surface.faces),
            threshold=_CLOSE,
            max_convex_hull=MOST_PARTS,
            decimate=True,
            max_ch_vertex=MOST_CORNERS,
            seed=_SEED,
        )
    return tuple(hull(np.asarray(vertices, float) * scale) for vertices, _ in found)


def hull(points: Array, most_corners: int = MOST_CORNERS) -> TriangleMesh:
    """The convex hull of points (n, 3), by MuJoCo's own qhull: with its corners as they are."""
    points = np.unique(points.astype(np.float32), axis=0).astype(float)
    spec = mujoco.MjSpec()
    # Far from a unit size, corners that lie together would be one.
    scale = float(np.ptp(points, axis=0).max())
    spec.add_mesh(name="hull", uservert=(points / scale).ravel(), maxhullvert=most_corners)
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="hull")
    model = spec.compile()
    graph = model.mesh_graph[model.mesh_graphadr[0] :]
    count, faces = int(graph[0]), int(graph[1])
    # Numbers of corners and of triangles; of each corner where its edges begin, and which it is; edges; triangles.
    used = graph[2 + count : 2 + 2 * count]
    at = 2 + 2 * count + count + 3 * faces
    triangles = graph[at : at + 3 * faces].reshape(-1, 3)
    rotation = np.empty(9)
    mujoco.mju_quat2Mat(rotation, model.mesh_quat[0])
    placed = model.mesh_vert.astype(float) @ rotation.reshape(3, 3).T + model.mesh_pos[0]
    number = {int(vertex): index for index, vertex in enumerate(used)}
    mapped = np.vectorize(number.__getitem__, otypes=[np.int64])(triangles)
    return _outward(placed[used] * scale, mapped)


def _outward(vertices: Array, faces: Faces) -> TriangleMesh:
    a, b, c = vertices[faces].transpose(1, 0, 2)
    inward = np.vecdot(np.cross(b - a, c - a), a - vertices.mean(axis=0)) < 0
    turned = np.where(inward[:, None], faces[:, ::-1], faces)
    return TriangleMesh(vertices=vertices, faces=turned)


@contextlib.contextmanager
def _silenced() -> Iterator[None]:
    """Without what a library in C++ writes to standard output, where only results belong."""
    kept = os.dup(1)
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 1)
        try:
            yield
        finally:
            os.dup2(kept, 1)
            os.close(kept)
