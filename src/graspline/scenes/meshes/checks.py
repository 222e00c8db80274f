"""Whether a surface is that of an object that a robot can take: closed, one piece, of a size for a table."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from graspline.errors import InputError
from graspline.scenes.meshes.files import Array, TriangleMesh

SMALLEST_M, LARGEST_M = 0.003, 0.5
# Units that meshes are made in besides metres, by what one of them is.
_UNITS = {"millimetres": 0.001, "centimetres": 0.01, "inches": 0.0254, "micrometres": 1e-6}
# Less of its box than this is filled by a sheet, not by a solid.
_LEAST_FILLED = 1e-3
# A triangle that is this thin, of the object's size, is a line.
_THIN = 1e-9


def checked(surface: TriangleMesh, name: str, scale: float) -> TriangleMesh:
    """The same in metres, faces turned outwards; or everything that is wrong with it, in one error."""
    scaled = TriangleMesh(vertices=surface.vertices * scale, faces=surface.faces)
    problems = _size_problems(surface.size, scale) or _shape_problems(scaled)
    if problems:
        raise InputError(f"{name}: {'; '.join(problems)}")
    if volume_m3(scaled) < 0:
        scaled = TriangleMesh(vertices=scaled.vertices, faces=scaled.faces[:, ::-1].copy())
    return scaled


def volume_m3(surface: TriangleMesh) -> float:
    """The volume that a closed surface encloses."""
    a, b, c = surface.triangles.transpose(1, 0, 2)
    return float(np.vecdot(a, np.cross(b, c)).sum() / 6)


def _size_problems(modelled: Array, scale: float) -> list[str]:
    size = modelled * scale
    longest, shortest = float(size.max()), float(size.min())
    if shortest >= SMALLEST_M and longest <= LARGEST_M:
        return []
    sides = " x ".join(f"{each:.4g}" for each in size)
    hint = "" if scale == 1.0 else f" at scale {scale:g}"
    found = f"it is {sides} m{hint}; expected {1000 * SMALLEST_M:g} to {1000 * LARGEST_M:g} mm along each axis"
    for unit, metres in _UNITS.items():
        if shortest / scale * metres >= SMALLEST_M and longest / scale * metres <= LARGEST_M:
            return [f"{found}; modelled in {unit}? then set scale: {metres:g}"]
    return [found]


def _shape_problems(surface: TriangleMesh) -> list[str]:
    edges = np.concatenate([surface.faces[:, [0, 1]], surface.faces[:, [1, 2]], surface.faces[:, [2, 0]]])
    a, b, c = surface.triangles.transpose(1, 0, 2)
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    thin = int(np.count_nonzero(areas <= _THIN * float(surface.size.max()) ** 2))
    if thin:
        return [f"{thin} triangles have no area; expected none: merge corners that lie together, and remove them"]
    sides = Counter(map(tuple, np.sort(edges, axis=1).tolist()))
    open_edges = sum(1 for count in sides.values() if count == 1)
    crowded = sum(1 for count in sides.values() if count > 2)
    problems: list[str] = []
    if open_edges:
        problems.append(f"not closed: {open_edges} edges have one triangle; expected two at each: fill its holes")
    if crowded:
        problems.append(f"{crowded} edges have more than two triangles; expected two at each: the surface of one solid")
    if not problems and max(Counter(map(tuple, edges.tolist())).values()) > 1:
        problems.append("its triangles are not all turned the same way; expected outwards: recalculate the normals")
    if problems:
        return problems
    solids = [each for each in _pieces(surface) if _turned(surface, each) == np.sign(volume_m3(surface))]
    if len(solids) != 1:
        return [f"{len(solids)} separate pieces; expected one closed surface: join them (boolean union)"]
    filled = abs(volume_m3(surface)) / float(surface.size.prod())
    if filled < _LEAST_FILLED:
        return [f"it encloses {100 * filled:.2g} % of its box; expected a solid, with at least {100 * _LEAST_FILLED} %"]
    return []


def _turned(surface: TriangleMesh, rows: NDArray[np.bool_]) -> float:
    return float(np.sign(volume_m3(TriangleMesh(vertices=surface.vertices, faces=surface.faces[rows]))))


def _pieces(surface: TriangleMesh) -> list[NDArray[np.bool_]]:
    """Which triangles each connected piece has; a hollow inside is a piece that is turned inwards."""
    piece = np.arange(len(surface.vertices))
    while True:
        lowest = piece[surface.faces].min(axis=1)
        following = piece.copy()
        np.minimum.at(following, surface.faces.ravel(), np.repeat(lowest, 3))
        if np.array_equal(following, piece):
            break
        piece = following
    of_face = piece[surface.faces[:, 0]]
    return [of_face == each for each in np.unique(of_face)]
