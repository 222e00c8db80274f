"""A small task with every kind of parameter, and ways to draw it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, Self

from hypothesis import strategies as st
from pydantic import Field, model_validator

from graspline.errors import InputError
from graspline.parameters import Document, Parameters, Range, build


class Cube(Parameters):
    """The cube to be lifted."""

    edge_m: float = Field(default=0.03, ge=0.005, le=0.1, description="Side of the cube.")
    mass_kg: float = Field(default=0.05, gt=0, le=1)
    colour: Literal["red", "green", "blue"] = Field(default="red", description="What the camera sees")
    friction: Range = Field(default=Range(0.5, 1.5), ge=0, le=3, description="Drawn anew for every episode")
    centre_m: tuple[float, float, float] = Field(default=(0.2, 0, 0.015), description="Where it lies")
    weights: tuple[Annotated[float, Field(ge=0)], ...] = ()


class Scene(Parameters):
    cube: Cube = Cube()
    heavy: Cube = Field(default=Cube(mass_kg=0.5), description="The same cube, heavier")
    spare: Cube | None = None
    labels: tuple[str, ...] = ("cube",)


class Motion(Parameters):
    """How the arm moves."""

    speed_m_s: float = Field(
        default=0.2,
        ge=0.01,
        le=1,
        description="Top speed of the tool on straight lines; the joints may ask for less, and then the path "
        "is slowed until each of them keeps its limit.",
    )
    slow_m_s: float = Field(default=0.05, ge=0.01, le=1)
    timeout_s: float | None = Field(default=None, gt=0)
    settle: bool = True

    @model_validator(mode="after")
    def _slow_is_slower(self) -> Self:
        if self.slow_m_s > self.speed_m_s:
            raise ValueError(f"slow_m_s {self.slow_m_s} is above speed_m_s {self.speed_m_s}")
        return self


class Task(Parameters):
    """Lift one cube off the table."""

    scene: Scene = Scene()
    motion: Motion = Motion()
    retries: int = Field(default=2, ge=0, le=10)
    note: str = ""


def refusals(call: Callable[[], object]) -> tuple[str, ...]:
    """What the call is refused for; any other error goes through."""
    try:
        call()
    except InputError as error:
        return error.problems
    return ()


def problems_of(model: type[Parameters], document: Document | None = None, *assignments: str) -> tuple[str, ...]:
    """What building the model is refused for."""
    return refusals(lambda: build(model, document, assignments))


def numbers(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, exclude_min=low == 0)


cubes = st.builds(
    Cube,
    edge_m=numbers(0.005, 0.1),
    mass_kg=numbers(0, 1),
    colour=st.sampled_from(("red", "green", "blue")),
    friction=st.tuples(numbers(0, 3), numbers(0, 3)).map(lambda ends: Range(*sorted(ends))),
    centre_m=st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 3),
    weights=st.lists(st.floats(0, allow_infinity=False), max_size=4).map(tuple),
)
scenes = st.builds(
    Scene,
    cube=cubes,
    heavy=cubes,
    spare=st.none() | cubes,
    labels=st.lists(st.text(max_size=8), max_size=4).map(tuple),
)
motions = st.builds(
    Motion,
    speed_m_s=numbers(0.5, 1),
    slow_m_s=numbers(0.01, 0.5),
    timeout_s=st.none() | st.floats(0, exclude_min=True, allow_infinity=False),
    settle=st.booleans(),
)
# Words that YAML would read as something else, or not at all, if they were not quoted.
awkward = st.sampled_from(("null", "true", "1e-3", ".nan", "~", "- a", "a: b", "#", "'", '"', "*a", "a\x85b", "\ufeff"))
tasks = st.builds(Task, scene=scenes, motion=motions, retries=st.integers(0, 10), note=awkward | st.text(max_size=40))
