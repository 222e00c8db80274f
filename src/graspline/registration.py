"""Environments of all installed tasks, known to Gymnasium as soon as both packages are imported, in either order.

Gymnasium has no entry points by which an installed package could register itself, and takes ten times as long to import
as graspline does. So it is not imported for this; its import is awaited.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from graspline.registry import installed_names

_GYMNASIUM = "gymnasium"


def environment_name(task: str) -> str:
    """What Gymnasium calls the environment of a task: `graspline/LiftCube-v0` for `lift-cube`."""
    camel = "".join(word[:1].upper() + word[1:] for word in re.split(r"[-_]", task))
    return f"graspline/{camel}-v0"


def register_environments() -> None:
    """Register them now if Gymnasium is imported, or else once it is."""
    gymnasium = sys.modules.get(_GYMNASIUM)
    if gymnasium is not None:
        _register(gymnasium)
    elif not any(isinstance(each, _Awaited) for each in sys.meta_path):
        sys.meta_path.insert(0, _Awaited())


def _register(gymnasium: ModuleType) -> None:
    for task in installed_names("graspline.tasks"):
        name = environment_name(task)
        if name not in gymnasium.registry:
            gymnasium.register(id=name, entry_point="graspline.envs.environment:TaskEnv", kwargs={"task": task})


class _Awaited:
    """Finds Gymnasium as Python does, once, and registers when its import is complete."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != _GYMNASIUM:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_register(module: ModuleType) -> None:
            execute(module)
            _register(module)

        spec.loader.exec_module = execute_and_register  # pyright: ignore[reportAttributeAccessIssue]
        return spec
