from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import graspline.cli.run
from graspline.episodes.episode import Episode


@pytest.fixture
def nothing_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """`run` goes as far as its episodes, and plays none."""

    def none(*scenarios: Any, **options: Any) -> Iterator[Episode]:
        return iter(())

    monkeypatch.setattr(graspline.cli.run, "run_scenarios", none)
    monkeypatch.setattr(graspline.cli.run, "play_scenarios", none)
