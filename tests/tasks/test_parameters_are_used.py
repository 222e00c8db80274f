"""Every parameter a task offers is read by something: what is never read can change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.parameters import Parameters, build
from graspline.tasks.catalogue import TASKS, find_task

Read = set[tuple[type[Parameters], str]]


def varied(name: str) -> tuple[str, ...]:
    """Everything that the task can randomise."""
    task = find_task(name)
    return tuple(f"randomize.{aspect}.on=true" for aspect in task.randomization(task.parameters()).aspects)


# Settings, faults and seed of short episodes that together come past everything.
Case = tuple[tuple[str, ...], tuple[str, ...], int]
CASES: dict[str, list[Case]] = {
    "lift-cube": [(varied("lift-cube"), (), 1), ((), ("drop@lift",), 1)],
    "oranges": [
        (("oranges.count=1", *varied("oranges")), ("drop@lift",), 1),
        (
            (
                "oranges.count=1",
                "plate.present=false",
                "carry.strategy=retreat",
                "closing.by=percent",
                "posture.tilt_error_rad=0.0001",
            ),
            (),
            1,
        ),
        (("oranges.count=1", "perception.source=camera"), ("blackout@release",), 1),
    ],
    "grab": [(varied("grab"), (), 7000), (("perception.source=camera",), (), 7001)],
    "sort": [(("belt.blocks=3", *varied("sort")), (), 1), (("belt.blocks=3",), (), 2)],
    "tidy": [(("table.count=[1,1]", *varied("tidy")), (), 7001)],
}
# Only read where something else is asked for than a whole episode plays.
ELSEWHERE = {
    # Read when parameters are built: its bounds take its place.
    # So is a detector's file; how old what it says may be is checked before anything is sampled.
    "grab": {
        *("workspace.bounds_file", "workspace.bounds_of"),
        *("posted.file", "posted.now_s", "posted.max_age_s"),
    },
    "sort": {"rules.unknown", "rules.green", "rules.red", "rules.blue"},
    "tidy": {"handover.wait_s", "alone.grasp_object_bb"},
}


@contextmanager
def reads_noted() -> Iterator[Read]:
    """Notes which field of which model is read."""
    found: Read = set()

    def noting(self: Parameters, name: str) -> object:
        if name[0] != "_" and name in type(self).__pydantic_fields__:
            found.add((type(self), name))
        return object.__getattribute__(self, name)

    Parameters.__getattribute__ = noting  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield found
    finally:
        del Parameters.__getattribute__


def leaves(model: type[Parameters], prefix: str = "") -> Iterator[tuple[str, type[Parameters], str]]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Parameters):
            yield from leaves(kind, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", model, name


def unread(model: type[Parameters], read: Read) -> set[str]:
    """Parameters that nothing has read, neither from the task's model nor from what planners were given of it."""
    return {
        path
        for path, owner, name in leaves(model)
        if not any(name == each and _offered_by_one(name, kind, owner) for kind, each in read)
    }


def _offered_by_one(name: str, kind: type[Parameters], owner: type[Parameters]) -> bool:
    """Whether both have the parameter from one model, of which a task may have changed the default."""
    return any(name in getattr(each, "model_fields", {}) for each in {*kind.__mro__} & {*owner.__mro__})


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_every_parameter_that_a_task_offers_is_read(name: str) -> None:
    task = find_task(name)
    with reads_noted() as read:
        for assignments, faults, seed in CASES.get(name, [(varied(name), (), 1)]):
            parameters = build(task.parameters, assignments=list(assignments))
            parameters = task.fault_hints.equipped(parameters) if faults else parameters
            assert task.problems(parameters) == []
            list(run_scenarios([Scenario(task=task, parameters=parameters, seed=seed, faults=faults)]))
    assert unread(task.parameters, read) <= ELSEWHERE.get(name, set())


@pytest.mark.parametrize(
    ("name", "gone"),
    [
        (
            "lift-cube",
            ("hold.apart_sideways_m", "hold.apart_in_height_m", "hold.variance_m2", "reach.max_ball_lean_rad"),
        ),
        (
            "oranges",
            (
                "reach.lift_m",
                "hold.still_s",
                "close.width_tolerance_m",
                "reach.max_face_error_rad",
                "reach.max_contact_offset_m",
                "jaw.deeper_m",
                "perception.yaw_sigma_rad",
            ),
        ),
        (
            "grab",
            (
                "reach.max_tilt_rad",
                "reach.max_face_error_rad",
                "reach.max_contact_offset_m",
                "reach.max_ball_lean_rad",
                "randomize.distractors.on",
                "hold.variance_m2",
            ),
        ),
        ("sort", ("randomize.distractors.on", "randomize.textures.on")),
        ("tidy", ("randomize.distractors.on",)),
    ],
)
def test_what_a_task_does_not_use_it_does_not_offer(name: str, gone: tuple[str, ...]) -> None:
    assert not {path for path, _, _ in leaves(find_task(name).parameters)} & set(gone)
