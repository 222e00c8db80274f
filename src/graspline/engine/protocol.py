"""The interface of an engine; there is one on the CPU and one on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from graspline.engine.events import Event
from graspline.engine.layout import SensorLayout
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Edit, Variation

Array = NDArray[np.float64]
EngineKind = Literal["cpu", "gpu"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """Everything that decides a lane's future: its integration state, its model edits and controls still to arrive."""

    state: Array
    edits: dict[tuple[str, str], Edit]
    # Actuators whose next control is spoilt.
    corrupt: tuple[int, ...] = ()
    # Controls (nu,) given and not yet in force, the next to arrive first.
    on_the_way: tuple[Array, ...] = ()


class Engine(Protocol):
    """N worlds of one scene. Arrays are live views, (N, …); `lanes` arguments are sorted index arrays."""

    @property
    def kind(self) -> EngineKind:
        """Which engine it is."""
        ...

    @property
    def scene(self) -> Scene:
        """The scene."""
        ...

    @property
    def count(self) -> int:
        """The number of lanes."""
        ...

    @property
    def layout(self) -> SensorLayout:
        """Where each reading and each true value is in a row."""
        ...

    @property
    def readings(self) -> Array:
        """What the robot senses, a row for each lane."""
        ...

    @property
    def truth(self) -> Array:
        """What only the simulator knows, a row for each lane."""
        ...

    @property
    def qpos(self) -> Array:
        """The coordinates of the state, a row for each lane."""
        ...

    @property
    def diverged(self) -> NDArray[np.bool_]:
        """Which lanes have NaN or a physics warning."""
        ...

    def reset(self, lane: int, start: Array, variation: Variation) -> None:
        """Start a lane from a state and a variation."""
        ...

    def apply(self, lane: int, event: Event) -> None:
        """Apply an event to a lane."""
        ...

    def step(self, controls: Array, lanes: NDArray[np.intp]) -> bool:
        """Advance these lanes by one control step; whether any of them diverged."""
        ...

    def half_extents_m(self, lane: int, name: str) -> Array:
        """Half the sizes along the object's own axes."""
        ...

    def number(self, lane: int, field: str, element: str) -> Array:
        """A number of the model as this lane has it."""
        ...

    def state(self, lane: int) -> Array:
        """A copy of its integration state, time first."""
        ...

    def save(self, lane: int) -> Saved:
        """The state of a lane, to be restored later."""
        ...

    def restore(self, lane: int, saved: Saved) -> None:
        """Put a lane back to a saved state."""
        ...


@runtime_checkable
class Elsewhere(Protocol):
    """An engine whose ticks happen in another process: while they do, there is time for something else here."""

    # Called in every tick, with a function that says whether it has not ended yet.
    meanwhile: Callable[[Callable[[], bool]], object]
