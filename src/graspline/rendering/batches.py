"""Pictures of many lanes at once: what is rendered, and what renders it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from graspline.rendering.picture import Array, Picture
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PictureJob:
    """One picture: the coordinates (nq,) and the variation it shows, the camera and the size.

    Where it need not be `posed`, its camera's pose and field of view may be nan.
    """

    qpos: Array
    variation: Variation
    camera: str
    width: int
    height: int
    posed: bool = True


class PictureSource(Protocol):
    """Renders pictures of one scene, many at a time."""

    def pictures(self, jobs: Sequence[PictureJob]) -> list[Picture]:
        """One picture for each job, in order.

        Pixels stay as they are until pictures of the same camera are asked for again; copy what is kept longer.
        """
        ...

    def close(self) -> None:
        """Release everything it holds; it cannot be used afterwards."""
        ...


# A source for a number of lanes of a scene; None where each picture is better rendered as it is looked at.
OpenSource = Callable[[Scene, int], PictureSource | None]
