"""A search for a scene is told on standard error, and ends at the first signal."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from .doors import PATIENCE_S


@pytest.mark.slow
@pytest.mark.parametrize(
    "words, stop",
    [
        (("oranges", "--set", "carry.rise_m=0.1"), signal.SIGINT),
        (("grab", "--set", "things.azimuth_rad=[3.2, 3.2]"), signal.SIGTERM),
    ],
)
def test_a_search_for_a_scene_ends_at_the_first_signal(words: tuple[str, ...], stop: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "graspline", "run", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline().startswith("graspline: sampling the scene: 20")
    process.send_signal(stop)
    assert process.wait(PATIENCE_S) == 130
    process.stderr.close()
