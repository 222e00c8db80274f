"""Which policy it is: its name, and a digest of the files that decide what it does."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

_PIECE_BYTES = 2**20
# Written by interpreters and editors, and no part of a policy.
_LEFT_OUT = ("__pycache__", ".git")


def digest_of_policy(named: str) -> str:
    """SHA-256 of a policy's files, empty where none are found.

    Of `KIND:PATH`, such as a checkpoint, it is the file or the folder; of `MODULE:NAME` the module's file, together
    with the rest of the package that the module lies in, where weights may lie, too.
    """
    files = list(_files_of(named))
    if not files:
        return ""
    digest = hashlib.sha256()
    for name, path in files:
        digest.update(f"{name}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            while piece := file.read(_PIECE_BYTES):
                digest.update(piece)
    return digest.hexdigest()


def _files_of(named: str) -> Iterator[tuple[str, Path]]:
    module_name, _, name = named.partition(":")
    if name and Path(name).exists():
        yield from _under(Path(name))
        return
    relative = Path(*module_name.split("."))
    for folder in dict.fromkeys([os.getcwd(), *sys.path]):
        alone, package = Path(folder, relative).with_suffix(".py"), Path(folder, relative)
        if (package / "__init__.py").is_file():
            yield from _under(package)
            return
        if alone.is_file():
            yield from _under(alone.parent if "." in module_name else alone)
            return


def _under(path: Path) -> Iterator[tuple[str, Path]]:
    """A file, or all files of a folder, in the order of their names."""
    if path.is_file():
        yield path.name, path
        return
    for each in sorted(path.rglob("*")):
        if each.is_file() and not any(part in _LEFT_OUT for part in each.parts):
            yield each.relative_to(path).as_posix(), each
