"""Domain randomisation: what differs from episode to episode besides what a task samples for itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from pydantic import Field, model_validator

from graspline.parameters import Parameters
from graspline.scenes.appearance import (
    CameraPlacement,
    Colours,
    Lighting,
    Textures,
    vary_camera,
    vary_colours,
    vary_lighting,
    vary_textures,
)
from graspline.scenes.aspect import Aspect
from graspline.scenes.dynamics import (
    Friction,
    Gains,
    Latency,
    Masses,
    vary_friction,
    vary_gains,
    vary_latency,
    vary_masses,
)
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation


class Distractors(Aspect):
    """Blocks on the table that are not targets, sampled with the scene."""

    fewest: int = Field(default=0, ge=0, le=4, description="smallest number of blocks")
    most: int = Field(default=2, ge=0, le=4, description="largest number of blocks")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.fewest > self.most:
            raise ValueError(f"fewest is {self.fewest}, above most, which is {self.most}")
        return self

    @property
    def pool(self) -> int:
        """How many a scene must hold."""
        return self.most if self.on else 0

    def count(self, random: np.random.Generator) -> int:
        """How many there are this time; nothing is sampled where they do not vary."""
        return int(random.integers(self.fewest, self.most + 1)) if self.on else 0

    def described(self, count: int) -> Variation:
        """The record of how many were sampled."""
        return Variation(described={"distractors.count": float(count)} if self.on else {})


class Randomization(Parameters):
    """What varies from episode to episode in any task; every sampled value is recorded."""

    lighting: Lighting = Lighting()
    camera: CameraPlacement = CameraPlacement()
    colours: Colours = Colours()
    friction: Friction = Friction()
    masses: Masses = Masses()
    gains: Gains = Gains()
    latency: Latency = Latency()

    @property
    def aspects(self) -> tuple[str, ...]:
        """The aspects that there are to turn on."""
        return tuple(type(self).model_fields)

    @property
    def any_on(self) -> bool:
        """Whether any aspect varies."""
        return any(getattr(self, aspect).on for aspect in self.aspects)


class TexturedRandomization(Randomization):
    """What varies from episode to episode, textures included; all off by default."""

    textures: Textures = Textures()


class TableRandomization(TexturedRandomization):
    """What varies from episode to episode, blocks that are not targets included; all off by default."""

    distractors: Distractors = Distractors()


# Each samples from a stream of its own, by its place here: append, or all that follow sample differently.
_VARY: dict[str, Callable[[Scene, Variation, Any, np.random.Generator], Variation]] = {
    "lighting": vary_lighting,
    "camera": vary_camera,
    "colours": vary_colours,
    "textures": vary_textures,
    "friction": vary_friction,
    "masses": vary_masses,
    "gains": vary_gains,
    "latency": vary_latency,
}


def randomized(scene: Scene, sampled: Variation, settings: Randomization, random: np.random.Generator) -> Variation:
    """What a task has sampled, and on top of it what the settings let vary; one aspect does not change another."""
    varied = sampled
    on = {aspect for aspect in settings.aspects if getattr(settings, aspect).on}
    if not on & _VARY.keys():
        return varied
    for (aspect, vary), stream in zip(_VARY.items(), random.spawn(len(_VARY)), strict=True):
        if aspect in on:
            varied += vary(scene, sampled, getattr(settings, aspect), stream)
    return varied
