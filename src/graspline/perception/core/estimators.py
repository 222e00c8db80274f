"""Estimators of other distributions: what turns pictures into poses of objects, by name or by `module:NAME`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graspline.errors import GrasplineError, nearest
from graspline.parameters import Parameters
from graspline.registry import Registry

# Functions from a task's `perception` parameters and a random generator to the eye that its states ask.
ESTIMATORS: Registry[Callable[[Any, np.random.Generator], Any]] = Registry(
    "graspline.estimators", "estimator", "collections.abc:Callable"
)


def one_of_estimators(*own: str) -> Callable[[str], str]:
    """A check of a parameter that names an estimator: one of the task's own, or any that can be imported."""

    def check(source: str) -> str:
        if source in own:
            return source
        if ":" not in source and source not in ESTIMATORS:
            known = nearest(source, (*own, *ESTIMATORS))
            raise ValueError(f"unknown estimator; {known}; or pass your own as MODULE:NAME")
        try:
            ESTIMATORS.find(source)
        except GrasplineError as error:
            raise ValueError(str(error)) from None
        return source

    return check


def made_by(source: str, perception: Parameters, random: np.random.Generator) -> Any:
    """The eye that an estimator of another distribution makes for one episode. It never sees the simulator's truth."""
    return ESTIMATORS.find(source)(perception, random)
