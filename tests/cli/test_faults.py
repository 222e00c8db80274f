"""The list of faults."""

from __future__ import annotations

from graspline.faults.catalogue import fault_kinds

from .doors import call, refused


def test_every_fault_is_listed_with_what_happens_and_what_it_needs() -> None:
    answer = call("faults")
    assert (answer.code, answer.err) == (0, "")
    words = " ".join(answer.out.split())
    assert all(f"{name}: {kind.description}" in words for name, kind in fault_kinds().items())
    assert "drop: The pads lose their grip for a moment, and something tugs at the object. Needs an object in" in words


def test_with_a_task_those_that_do_not_apply_are_listed_by_reason() -> None:
    answer = call("faults", "oranges")
    assert answer.code == 0
    assert "plate-full: Extra fruit takes every free spot on the plate." in answer.out
    words = " ".join(answer.out.split())
    assert "Not for oranges, because the scene has no belt: belt-jam, belt-reverse, belt-step" in words
    assert "belt-jam: " not in words


def test_an_unknown_task_is_refused() -> None:
    (problem,) = refused("faults", "orange")
    assert problem.startswith("unknown task 'orange'; did you mean 'oranges'?")
