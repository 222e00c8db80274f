"""What stands behind the page: recording, replaying, changing the task, and the page's own parts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from graspline.datasets.format.store import Dataset
from graspline.scenes.block_table import block_table
from graspline.serve.archive import open_archive
from graspline.serve.hosting import Hosted, ListenAddress, hosted
from graspline.serve.live.commands import Record, RunTask
from graspline.serve.panel.overlay import with_overlay
from graspline.serve.panel.shapes import shapes_of
from graspline.serve.panel.words import status
from graspline.tasks.catalogue import find_task
from graspline.tasks.console import Done, Refused


def test_every_visible_geom_becomes_triangles_of_its_size() -> None:
    shapes = {each.name: each for each in shapes_of(block_table().model)}
    assert "palm" not in shapes  # a collision shape
    np.testing.assert_allclose(np.abs(shapes["blue_2x4"].vertices).max(axis=0), [0.032, 0.016, 0.012])
    np.testing.assert_allclose(np.abs(shapes["white_can"].vertices).max(axis=0), [0.018, 0.018, 0.025], atol=1e-4)
    assert shapes["blue_2x4"].rgb == (26, 76, 204)


def test_the_overlay_is_put_into_a_page_and_needs_one() -> None:
    assert b"graspline-stop" in with_overlay(b"<html><body></body></html>")
    with pytest.raises(ValueError, match="without an end"):
        with_overlay(b"{}")


def test_a_filled_button_keeps_its_own_colour_under_the_pointer() -> None:
    # The page sets the colour by the button's id; a rule of the overlay as specific as that, and later, would win.
    page = with_overlay(b"<html><body></body></html>").decode()
    assert "var(--gl-over, " in page
    assert "--gl-over:" not in page


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Hosted]:
    task = find_task("lift-cube")
    way = ListenAddress(host="127.0.0.1", port=0, addresses=frozenset())
    with (
        open_archive(task, task.parameters(), 0, tmp_path / "live") as archive,
        hosted(task, task.parameters(), 0, archive, way) as running,
    ):
        # As fast as it goes: nobody watches.
        running.house.session._pacer._period_s = 0.0
        yield running


@pytest.mark.slow
def test_episodes_are_recorded_once_for_each_seed_and_replay_to_the_same_bits(
    recording: Hosted, tmp_path: Path
) -> None:
    house, session = recording.house, recording.house.session
    session.submit(Record(True, "live")).result(300)
    for _ in range(2):
        assert isinstance(session.submit(RunTask(0)).result(300), Done)
        session._scribe.submit(lambda: None).result(300)
    session.wait(session.snapshot.number + 2, 300.0)
    assert "already has an episode with seed 0" in session.snapshot.message
    assert "an episode with seed 0" in status(session.snapshot, "", "live")
    assert len(Dataset.open(tmp_path / "live")) == 1
    replayed = session.submit(house.episodes()["live 0, seed 0: success"]()).result(300)
    assert isinstance(replayed, Done)
    assert "the same bits as recorded" in replayed.text


@pytest.mark.slow
def test_another_task_is_another_session_and_whoever_drove_goes_on_to_drive(recording: Hosted) -> None:
    house = recording.house
    assert {"lift-cube", "oranges", "grab"} <= set(house.tasks)
    house.session.lease.take("panel-0")
    assert isinstance(house.change_task("grab"), Done)
    assert house.session.snapshot.task == "grab"
    assert house.session.snapshot.variables
    assert house.session.lease.holder == "panel-0"
    assert isinstance(house.change_task("juggle"), Refused)
    assert isinstance(house.change_task("graspline.tasks.oranges.task:ORANGES"), Refused)
