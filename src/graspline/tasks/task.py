"""What a task is to the rooms below: parameters, a scene, a sampler, a machine and a goal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from graspline.evidence import Evidence
from graspline.machine.machine import Machine
from graspline.parameters import Parameters
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation

Array = NDArray[np.float64]
P = TypeVar("P", bound=Parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """One random scene: a start state, what differs in it, and how many draws were refused before it."""

    start: Array
    variation: Variation
    refused: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One random place in reach, and whether the planner certifies it; if not, why."""

    x_m: float
    y_m: float
    refusal: str

    @property
    def certified(self) -> bool:
        return not self.refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """One instant of object and hand, by estimate or by truth: what a goal judges."""

    object_m: Array
    speed_m_s: float
    # The midpoint between the pads.
    tool_m: Array
    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Generic[P]):
    """One task. `given` makes the machine's inputs; nothing in it may know the truth."""

    name: str
    summary: str
    parameters: type[P]
    scene: Callable[[P], Scene]
    sample: Callable[[P, np.random.Generator], Draw]
    # Try one random place that the arm reaches, for maps of the certified region.
    probe: Callable[[P, np.random.Generator], Probe]
    machine: Callable[[P], Machine]
    given: Callable[[P, np.random.Generator], Mapping[str, Any]]
    # Judge the end of an episode by truth, with the same goal the machine verifies with estimates.
    judge: Callable[[P, Draw, tuple[Witness, ...]], Evidence]
    uses_truth: Callable[[P], bool]
