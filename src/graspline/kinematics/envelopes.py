"""The bounds that a grasp is checked against first, read from what `graspline workspace` measured."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib import resources

import yaml

from graspline.errors import InputError, one_of

Range = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """No tool point outside is reached straight down; inside, inverse kinematics has the last word."""

    # Where the first axis stands; radii are measured from it.
    axis_m: tuple[float, float]
    radius_m: Range
    height_m: Range


def envelope_in(document: str) -> Envelope:
    """The envelope of a `workspace_bounds.yaml`: what was reached, and one step of the grid more on every side."""
    found = yaml.safe_load(document)
    try:
        grasp = found["grasp"]
        step, raw = float(grasp["step_m"]), grasp["raw"]
        near, far = (float(each) for each in raw["radius_m"])
        low, high = (float(each) for each in raw["height_m"])
        x, y = (float(each) for each in found["axis_m"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"not a workspace_bounds.yaml as `graspline workspace` writes it: {error!r}") from error
    return Envelope(axis_m=(x, y), radius_m=(max(near - step, 0.0), far + step), height_m=(low - step, high + step))


@functools.cache
def grasp_envelope(robot: str) -> Envelope:
    """The measured envelope that comes with the package."""
    folder = resources.files("graspline.kinematics") / "bounds"
    known = {each.name.removesuffix(".yaml"): each for each in folder.iterdir() if each.name.endswith(".yaml")}
    return envelope_in(known[one_of(robot, sorted(known), "robot with measured bounds")].read_text())
