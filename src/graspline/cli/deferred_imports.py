"""Imports of a command's module that wait until the command runs: its help needs typer and nothing else.

Python 3.15 has `lazy from … import …` for this (PEP 810). Until then, while a command's module is imported by the
command line, `from graspline.… import name` binds a placeholder, and `load` puts the real objects in their places just
before the command's function is called. What a signature needs, such as the names of faults, is in `NEEDED`.
"""

from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

_OURS, _COMMANDS = "graspline.", "graspline.cli."
# Modules that signatures and help texts use. They import nothing heavy; a test of every command's help checks it.
NEEDED = frozenset(
    {
        "graspline.choices",
        "graspline.cli.options",
        "graspline.errors",
        "graspline.faults.catalogue",
        "graspline.robots.catalogue",
        "graspline.tasks.catalogue",
    }
)


class _Later:
    """Stands for `name` of `module` until it is loaded. Used before that, it says what to do."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def load(self) -> object:
        module = importlib.import_module(self._module)
        if not hasattr(module, self._name):
            return importlib.import_module(f"{self._module}.{self._name}")
        return getattr(module, self._name)

    def _refuse(self, *_: object) -> NoReturn:
        raise ImportError(
            f"{self._module}.{self._name} is needed by a command's signature: move it to a module that imports "
            "nothing heavy, and name that in graspline.cli.deferred_imports.NEEDED"
        )

    __call__ = __iter__ = __str__ = __repr__ = __format__ = __getitem__ = __mro_entries__ = _refuse


class _Names:
    """What `from module import …` takes its names from."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> _Later:
        return _Later(self._module, name)


@contextmanager
def lazily() -> Iterator[None]:
    """Let modules of this folder that are imported now wait for what they import from graspline."""
    real = builtins.__import__

    def import_or_wait(
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> Any:
        importer = str((globals or {}).get("__name__"))
        if importer.startswith(_COMMANDS) and name.startswith(_OURS) and fromlist and name not in NEEDED:
            return _Names(name)
        return real(name, globals, locals, fromlist, level)

    builtins.__import__ = import_or_wait
    try:
        yield
    finally:
        builtins.__import__ = real


def load() -> None:
    """Import what the modules of this folder still wait for."""
    for module in _waiting():
        for name, later in list(vars(module).items()):
            if isinstance(later, _Later):
                setattr(module, name, later.load())


def forget() -> None:
    """Drop modules that still wait, such as those whose help was printed; another import makes them anew."""
    for module in _waiting():
        del sys.modules[module.__name__]
        folder, _, name = module.__name__.rpartition(".")
        delattr(sys.modules[folder], name)


def _waiting() -> list[Any]:
    ours = [module for name, module in sys.modules.items() if name.startswith(_COMMANDS)]
    return [module for module in ours if any(isinstance(each, _Later) for each in vars(module).values())]
