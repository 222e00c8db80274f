"""Names of a package that are imported when they are first used, so that importing the package is quick."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping

from graspline.errors import suggestion


def imported_when_used(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names are in other modules: `homes` says in which.

    A home `module:NAME` is a name in a module; a home without a colon is the module itself.
    """

    def find(name: str) -> object:
        if name not in homes:
            hint = suggestion(name, homes).rstrip()
            raise AttributeError(f"module {package!r} has no attribute {name!r}" + (f"; {hint}" if hint else ""))
        module, _, attribute = homes[name].partition(":")
        found = importlib.import_module(module)
        return getattr(found, attribute) if attribute else found

    def names() -> list[str]:
        return sorted({*homes, "__all__", "__doc__", "__file__", "__name__", "__path__", "__version__"})

    return find, names
