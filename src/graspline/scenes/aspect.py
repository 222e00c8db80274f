"""What settings of everything that can vary have in common."""

from __future__ import annotations

from pydantic import Field

from graspline.parameters import Parameters


class Aspect(Parameters):
    """Something in which episodes may differ; each range is sampled evenly."""

    on: bool = Field(default=False, description="whether it varies from episode to episode")
