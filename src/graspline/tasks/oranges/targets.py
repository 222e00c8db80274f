"""Which oranges are asked for: by key, by name, the nearest ones, or all."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graspline.errors import nearest
from graspline.kinematics.arms import arm_of
from graspline.scenes.fruit_table import orange_name
from graspline.tasks.oranges.layout import nearest_first, scene_of
from graspline.tasks.oranges.parameters import Oranges
from graspline.tasks.oranges.sight import Survey
from graspline.tasks.task import Draw, Instruction

_NUMBERS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_RANKS = ("", "", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


def target_problems(settings: Oranges) -> list[str]:
    """What is wrong with `targets.choose`, one line each."""
    count, text = settings.oranges.count, settings.targets.choose.strip()
    names = [orange_name(index) for index in range(count)]
    if text == "all":
        return []
    if text.startswith("nearest"):
        number = text.partition(":")[2] or "1"
        if number.isdigit() and 1 <= int(number) <= count:
            return []
        return [f"targets.choose: {text!r} asks for {number} of {count} oranges"]
    parts = [part.strip() for part in text.split(",")]
    if not any(parts):
        return ["targets.choose: empty; expected all, nearest:N, keys or names"]
    problems = []
    for part in parts:
        if part.isdigit():
            if not 1 <= int(part) <= min(count, 9):
                problems.append(f"targets.choose: there is no orange with key {part}; keys are 1 to {count}")
        elif part not in names:
            problems.append(f"targets.choose: unknown orange {part!r}; {nearest(part, names)}")
    if len(set(_names(settings))) < len(parts) and not problems:
        problems.append(f"targets.choose: {text!r} names an orange twice")
    return problems


def _names(settings: Oranges) -> tuple[str, ...]:
    parts = [part.strip() for part in settings.targets.choose.split(",")]
    return tuple(orange_name(int(part) - 1) if part.isdigit() else part for part in parts)


def named_targets(settings: Oranges) -> tuple[str, ...]:
    """The names asked for as far as the parameters alone decide them: not which are the nearest."""
    text = settings.targets.choose.strip()
    if text == "all":
        return tuple(orange_name(index) for index in range(settings.oranges.count))
    return () if text.startswith("nearest") else _names(settings)


def chosen(settings: Oranges, survey: Survey) -> tuple[str, ...]:
    """The names asked for; which are the nearest is decided by what is seen first."""
    text = settings.targets.choose.strip()
    if text.startswith("nearest"):
        balls = nearest_first(
            settings.the_robot, [each for each in survey.things.values() if each.name.startswith("orange")]
        )
        return tuple(each.name for each in balls[: int(text.partition(":")[2] or "1")])
    return named_targets(settings)


def targets_in(settings: Oranges, sampled: Draw) -> tuple[str, ...]:
    """The names asked for in one scene, of which the nearest are those that lie so at the start."""
    return named_targets(settings) or _nearest(settings, sampled)


def _nearest(settings: Oranges, sampled: Draw) -> tuple[str, ...]:
    scene, apart_m = scene_of(settings), dict[str, float]()
    x_m, y_m = arm_of(scene.robot).axis_m
    for index in range(settings.oranges.count):
        at = scene.joint_address(orange_name(index))
        apart_m[orange_name(index)] = float(np.hypot(sampled.start[at] - x_m, sampled.start[at + 1] - y_m))
    order = sorted(apart_m, key=lambda name: (apart_m[name], name))
    return tuple(order[: int(settings.targets.choose.partition(":")[2] or "1")])


def instruction(settings: Oranges, sampled: Draw, outcomes: Mapping[str, str]) -> Instruction:
    """Which oranges, in words that a picture explains, and where to."""
    names, count = targets_in(settings, sampled), settings.oranges.count
    place = "on the plate" if settings.plate.present else "where the plate would be"
    if len(names) == count:
        which = "the orange" if count == 1 else "every orange"
    elif settings.targets.choose.strip().startswith("nearest"):
        which = "the nearest orange" if len(names) == 1 else f"the {_NUMBERS[len(names)]} nearest oranges"
    else:
        # They are named from left to right, but may be asked for in any order.
        places = sorted(int(name.rpartition("_")[2]) for name in names)
        *most, last = (f"the {_from_left(each, count)}" for each in places)
        which = f"{', '.join(most)} and {last}" if most else last
    return Instruction(sentence=f"Put {which} {place}.", objects=names)


def _from_left(place: int, count: int) -> str:
    """What a person calls one of several oranges in a row, counted from 1."""
    if place == 1:
        return "leftmost orange"
    if place == count:
        return "rightmost orange"
    return "middle orange" if count == 3 else f"{_RANKS[place]} orange from the left"
