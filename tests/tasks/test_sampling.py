"""How a search for a scene is counted, told and ended."""

from __future__ import annotations

import logging

import pytest

from graspline.errors import InputError
from graspline.tasks.sampling import REPORT_EVERY, RefusalCounter


def test_a_search_tells_how_it_goes_and_which_check_refuses_most(caplog: pytest.LogCaptureFixture) -> None:
    tally = RefusalCounter("scene", 1000, {})
    with caplog.at_level(logging.WARNING):
        for number in range(2 * REPORT_EVERY):
            tally.refuse("reach" if number % 4 else "collision")
    assert [each.getMessage() for each in caplog.records] == [
        "sampling the scene: 200 of 1000 samples rejected, most by reach (150)",
        "sampling the scene: 400 of 1000 samples rejected, most by reach (300)",
    ]
    assert tally.refused == 400


def test_a_search_ends_after_a_counted_number_of_tries_and_names_what_to_change() -> None:
    tally = RefusalCounter("scene", 10, {"reach": "reach.max_tilt_rad"})
    tally.refuse("plate_unreachable", 5)
    for _ in range(4):
        tally.refuse("reach")
    with pytest.raises(InputError, match=r"in 10 samples; rejected by reach 5, plate_unreachable 1; reach depends on"):
        tally.refuse("reach")
