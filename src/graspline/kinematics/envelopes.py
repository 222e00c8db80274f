"""The bounds that a grasp is checked against first, read from what `graspline workspace` measured."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from importlib import resources

import yaml

from graspline.errors import InputError, one_of

Range = tuple[float, float]
_AS_WRITTEN = "not a workspace_bounds.yaml as `graspline workspace` writes it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """No tool point outside is reached straight down; inside, inverse kinematics has the last word."""

    robot: str
    # Where the first axis stands; radii are measured from it.
    axis_m: tuple[float, float]
    radius_m: Range
    height_m: Range


def envelope_in(document: str) -> Envelope:
    """The envelope of a `workspace_bounds.yaml`: what was reached, and one step of the grid more on every side."""
    try:
        found = yaml.safe_load(document)
        if not isinstance(found, dict):
            raise ValueError("it has no keys")
        grasp = found["grasp"]
        step, raw = float(grasp["step_m"]), grasp["raw"]
        near, far = (float(each) for each in raw["radius_m"])
        low, high = (float(each) for each in raw["height_m"])
        x, y = (float(each) for each in found["axis_m"])
        robot = str(found["robot"])
    except KeyError as error:
        raise InputError(f"{_AS_WRITTEN}: {error} is missing") from error
    except (yaml.YAMLError, TypeError, ValueError) as error:
        raise InputError(f"{_AS_WRITTEN}: {' '.join(str(error).split())}") from error
    problems = [
        f"{name} {value} is not finite"
        for name, value in (("step_m", step), ("radius_m", near + far), ("height_m", low + high), ("axis_m", x + y))
        if not math.isfinite(value)
    ]
    if step <= 0:
        problems.append(f"step_m {step} is not above 0")
    problems += [
        f"{name} [{first}, {last}] does not grow"
        for name, first, last in (("radius_m", near, far), ("height_m", low, high))
        if first >= last
    ]
    if near < 0:
        problems.append(f"radius_m begins at {near}, below 0")
    if problems:
        raise InputError(f"{_AS_WRITTEN}: {'; '.join(problems)}")
    return Envelope(
        robot=robot, axis_m=(x, y), radius_m=(max(near - step, 0.0), far + step), height_m=(low - step, high + step)
    )


def has_envelope(robot: str) -> bool:
    """Whether an envelope of this robot comes with the package."""
    return (resources.files("graspline.kinematics") / "bounds" / f"{robot}.yaml").is_file()


@functools.cache
def grasp_envelope(robot: str) -> Envelope:
    """The measured envelope that comes with the package."""
    folder = resources.files("graspline.kinematics") / "bounds"
    known = {each.name.removesuffix(".yaml"): each for each in folder.iterdir() if each.name.endswith(".yaml")}
    return envelope_in(known[one_of(robot, sorted(known), "robot with measured bounds")].read_text())
