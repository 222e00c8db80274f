"""The book: what was put where, and whether it stayed."""

from __future__ import annotations

import numpy as np

from graspline.placement.book import PlacementBook, PlacementRecord


def record(name: str, succeeded: bool, time_s: float) -> PlacementRecord:
    return PlacementRecord(name=name, position_m=np.array([0.2, 0.0, 0.034]), succeeded=succeeded, time_s=time_s)


def test_a_book_grows_and_leaves_the_old_one_as_it_was() -> None:
    empty = PlacementBook()
    book = empty.with_(record("orange_2", True, 4.0)).with_(record("orange_1", False, 9.0))
    assert empty.records == ()
    assert [each.name for each in book.records] == ["orange_2", "orange_1"]
    assert book.placed() == ("orange_2",)


def test_only_the_latest_attempt_with_a_fruit_counts() -> None:
    book = PlacementBook()
    for number, succeeded in enumerate((False, True)):
        book = book.with_(record("orange_1", succeeded, number))
    assert book.placed() == ("orange_1",)
    assert book.latest()["orange_1"].time_s == 1
    assert book.with_(record("orange_1", False, 3.0)).placed() == ()
