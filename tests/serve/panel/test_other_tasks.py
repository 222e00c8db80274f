"""The page of a task without a console: what it leaves out, and episodes that are run, recorded and played again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from graspline.datasets.format.store import Dataset
from graspline.serve.hosting import Hosted
from graspline.tasks.catalogue import find_task

from .browsers import Visitor, chromium, serving

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

SEED = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recorded") / "episodes"


@pytest.fixture(scope="module")
def running(folder: Path) -> Iterator[Hosted]:
    with serving("lift-cube", find_task("lift-cube").parameters(), SEED, record=folder) as running:
        yield running


@pytest.fixture(scope="module")
def visitor(running: Hosted) -> Iterator[Visitor]:
    with chromium() as browser:
        visitor = Visitor(browser, running)
        yield visitor
        visitor.leave()


def test_a_task_without_objects_to_choose_has_no_pick(visitor: Visitor) -> None:
    assert not visitor.button("Pick").is_visible()
    visitor.until(lambda: visitor.sections[:1] == ["Progress"], "the first section")
    assert "Grasp" not in visitor.sections


def test_the_tool_goes_where_its_target_says(visitor: Visitor) -> None:
    visitor.unfold("Joints and tool")
    fields = visitor.values()
    visitor.press("Copy pose")
    # The server answers clicks side by side: the second must not overtake the first.
    visitor.until(lambda: visitor.values() != fields, "the pose")
    before = visitor.snapshot.tcp.position_m
    visitor.press("Move there")
    visitor.until(lambda: "there" in visitor.snapshot.message, "the answer")
    visitor.idle()
    np.testing.assert_allclose(visitor.snapshot.tcp.position_m, before, atol=2e-3)


def test_an_episode_is_recorded_and_played_again_to_the_same_bits(visitor: Visitor, folder: Path) -> None:
    visitor.press("Record")
    visitor.until(lambda: visitor.snapshot.recording == folder.name, "recording")
    with visitor.hurrying():
        visitor.press("Run")
        visitor.until(lambda: visitor.snapshot.verdict == "success", "the end of the task")
    visitor.press("Stop recording")
    visitor.until(lambda: visitor.snapshot.recording == "", "the end of recording")
    # The index comes last.
    visitor.until(lambda: (folder / "meta" / "info.json").exists(), "the dataset")
    assert [row["verdict"] for row in Dataset.open(folder).rows] == ["success"]
    visitor.until(lambda: len(visitor._running.house.episodes()) > 0, "the list")
    visitor.unfold("Episodes")
    visitor.press("Refresh list")
    with visitor.hurrying():
        visitor.press("Replay")
        visitor.until(lambda: "the same bits as recorded" in visitor.snapshot.message, "the end of the replay")
    assert visitor.snapshot.mode == "idle"


def test_what_only_a_reset_helps_offers_one(visitor: Visitor) -> None:
    visitor.unfold("Inject a fault")
    button = visitor.button("Reset the scene")
    visitor.until(lambda: not button.is_visible(), "no button without need")
    with visitor.waiting_at(lambda snapshot: snapshot.state == "descend"):
        visitor.press("Run")
        visitor.until(lambda: visitor.snapshot.state == "descend", "the task")
        visitor.press("nan-control")
        visitor.until(lambda: visitor.snapshot.verdict == "physics_diverged", "the verdict")
    button.click()
    visitor.until(lambda: not visitor.snapshot.reset_required and visitor.snapshot.mode == "idle", "a fresh scene")
    button.wait_for(state="hidden")
    assert not visitor.snapshot.reset_required


def test_another_task_comes_with_its_own_sections(visitor: Visitor) -> None:
    visitor.unfold("Scene")
    visitor.choose("Task", "grab")
    visitor.until(lambda: visitor.snapshot.task == "grab", "the other task")
    visitor.until(lambda: "grab, seed" in visitor.shown("status"), "its status")
    visitor.until(lambda: "Grasp" in visitor.sections, "its sections")
    visitor.until(lambda: visitor.button("Pick").is_visible(), "its verbs")
    assert "Drive by hand" in visitor.sections
