"""Policies: any callable from an observation to an action, found by name."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import Any, cast

from graspline.envs.interface import Observation
from graspline.errors import InputError, nearest
from graspline.parameters.notation import printable, shortened

Policy = Callable[[Observation], Any]


def load_policy(named: str, where: str = "--policy") -> Callable[[], Policy]:
    """What `module:name` names, as something that makes the policy of one episode.

    A class is made anew for every episode, so that it may remember; a function serves all of them. Modules are looked
    for in the current directory, too. Raises an InputError that says what was not found.
    """
    module_name, colon, name = named.partition(":")
    where = f"{where} {printable(shortened(named))}"
    if not colon or not module_name or not name:
        raise InputError(f"{where}: expected MODULE:NAME, such as my_policy:act for act in my_policy.py")
    module = _imported(module_name, where)
    if not hasattr(module, name):
        known = [each for each, value in vars(module).items() if callable(value) and not each.startswith("_")]
        raise InputError(f"{where}: the module has no such name; {nearest(name, known)}")
    found = getattr(module, name)
    if not callable(found):
        raise InputError(f"{where}: {name} is of type {type(found).__name__}; expected a function or a class")
    if not inspect.isclass(found):
        _check_takes(found, 1, f"{where}: expected a function of one observation")
        return lambda: found
    _check_takes(found, 0, f"{where}: expected a class that is made without arguments")
    if not any("__call__" in vars(each) for each in found.__mro__):
        raise InputError(f"{where}: its objects cannot be called; expected a method __call__(self, observation)")
    return cast(Callable[[], Policy], found)


def _check_takes(called: Callable[..., object], count: int, expected: str) -> None:
    """Refuse what cannot be called with so many arguments; what does not say what it takes may be tried."""
    try:
        signature = inspect.signature(called)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*[None] * count)
    except TypeError:
        raise InputError(f"{expected}; it takes {printable(shortened(str(signature)))}") from None


def _imported(name: str, where: str) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            hint = "; leave .py out" if name.endswith(".py") else ""
            raise InputError(f"{where}: no such module in {here} nor among what is installed{hint}") from None
        raise InputError(f"{where}: {_told(error)}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InputError(f"{where}: {_told(error)}") from None


def _told(error: BaseException) -> str:
    """What importing a module raised, and where."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    what = printable(" ".join(f"{type(error).__name__}: {error}".split()))
    return f"cannot be imported: {what} ({at.filename}:{at.lineno})"
