"""Which oranges are asked for: by key, by name, the nearest ones, or all."""

from __future__ import annotations

from graspline.errors import nearest
from graspline.scenes.fruit_table import orange_name
from graspline.tasks.oranges.layout import nearest_first
from graspline.tasks.oranges.parameters import Oranges
from graspline.tasks.oranges.sight import Survey


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
        return ["targets.choose: nothing is asked for; expected all, nearest:N, keys or names"]
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
        balls = nearest_first([each for each in survey.things.values() if each.name.startswith("orange")])
        return tuple(each.name for each in balls[: int(text.partition(":")[2] or "1")])
    return named_targets(settings)
