"""Whether a robot of a description file is still the one with which something was recorded."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from graspline.robots.catalogue import is_description
from graspline.robots.description import model_of, read_description
from graspline.robots.model_reading import read_spec


def digest_of(named: str) -> str:
    """SHA-256 of what a description and its model say, meshes included; comments and places of files do not count.

    Empty for robots that are found by name: they belong to an installed version. Raises InputError where a file is
    missing or wrong.
    """
    if not is_description(named):
        return ""
    description = read_description(named)
    _, model, _ = read_spec(model_of(Path(named), description))
    digest = hashlib.sha256(description.model_copy(update={"model": ""}).model_dump_json().encode())
    for name in sorted(dir(model)):
        value = None if name.startswith("_") else getattr(model, name)
        # Paths are where the files happen to be.
        if isinstance(value, np.ndarray) and name != "paths":
            digest.update(name.encode() + np.ascontiguousarray(value).tobytes())
    digest.update(model.names)
    return digest.hexdigest()
