"""Which tasks offer more than running, and how their desk is made. Tasks know nothing of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from graspline.live.desk import Desk
from graspline.live.grab_desk import GrabDesk
from graspline.parameters import Parameters

_DESKS: Mapping[str, Callable[[Any, np.random.Generator], Desk]] = MappingProxyType({"grab": GrabDesk})


def desk_for(task: str, parameters: Parameters, seed: int) -> Desk | None:
    """The desk of a task, by its name; None where it offers nothing but running."""
    make = _DESKS.get(task)
    return None if make is None else make(parameters, np.random.default_rng(seed))
