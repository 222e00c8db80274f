"""Solids by the content of their files: made once, kept on disk, and the same ones in every process and replay."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from graspline.errors import InputError
from graspline.scenes.meshes.checks import checked
from graspline.scenes.meshes.files import TriangleMesh, read_bytes, read_surface
from graspline.scenes.meshes.parts import convex_parts, decomposer
from graspline.scenes.meshes.solid import Solid

_FORM = "1"


def content_of(path: str | os.PathLike[str]) -> str:
    """The hash of a mesh file, by which scenarios know it."""
    return hashlib.sha256(read_bytes(path)).hexdigest()


def solid_of(path: str | os.PathLike[str], scale: float) -> Solid:
    """The solid in a mesh file; refused if it is not one that can be taken."""
    content = read_bytes(path)
    key = _key(hashlib.sha256(content).hexdigest(), Path(path).suffix.lower(), scale)
    return _kept(key) or _made(content, Path(path), scale, key)


def known_solid(content: str, suffix: str, scale: float) -> Solid | None:
    """The solid of a file whose content has this hash, if it was ever made here."""
    return _kept(_key(content, suffix, scale))


def folder() -> Path:
    """Where solids are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "graspline" / "meshes"


def _key(content: str, suffix: str, scale: float) -> str:
    content_key = f"{_FORM} {content} {suffix} {scale!r} {decomposer()}"
    return hashlib.sha256(content_key.encode()).hexdigest()


_IN_MEMORY: dict[str, Solid] = {}


def _made(content: bytes, path: Path, scale: float, key: str) -> Solid:
    surface = checked(read_surface(content, path), str(path), scale)
    middle = (surface.vertices.min(axis=0) + surface.vertices.max(axis=0)) / 2
    centred = TriangleMesh(vertices=surface.vertices - middle, faces=surface.faces)
    x, y, z = (-float(each) for each in middle)
    solid = Solid(surface=centred, parts=convex_parts(centred), file_origin_m=(x, y, z))
    if not solid.rests:
        raise InputError(f"{path}: it rests on no face: it would roll on a table; expected at least one flat side")
    _keep(solid, key)
    _IN_MEMORY[key] = solid
    return solid


def _keep(solid: Solid, key: str) -> None:
    """On disk, whole or not at all; a disk that is full or read-only costs time only."""
    arrays = {"origin": np.array(solid.file_origin_m)}
    for name, each in _named(solid):
        arrays[f"{name}.vertices"], arrays[f"{name}.faces"] = each.vertices, each.faces
    with contextlib.suppress(OSError):
        folder().mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder(), suffix=".part", delete=False) as file:
            np.savez(file, allow_pickle=False, **arrays)
        os.replace(file.name, folder() / f"{key}.npz")


def _named(solid: Solid) -> list[tuple[str, TriangleMesh]]:
    return [("surface", solid.surface), *((f"part_{index}", each) for index, each in enumerate(solid.parts))]


def _kept(key: str) -> Solid | None:
    if key not in _IN_MEMORY:
        solid = _read(folder() / f"{key}.npz")
        if solid is None:
            return None
        _IN_MEMORY[key] = solid
    return _IN_MEMORY[key]


def _read(path: Path) -> Solid | None:
    try:
        with np.load(path, allow_pickle=False) as file:
            count = sum(name.endswith(".vertices") for name in file) - 1
            surfaces = [
                TriangleMesh(vertices=file[f"{name}.vertices"], faces=file[f"{name}.faces"])
                for name in ("surface", *(f"part_{index}" for index in range(count)))
            ]
            x, y, z = (float(each) for each in file["origin"])
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile):
        return None
    return Solid(surface=surfaces[0], parts=tuple(surfaces[1:]), file_origin_m=(x, y, z))
