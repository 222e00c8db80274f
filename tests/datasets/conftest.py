"""A tiny dataset for many tests, and a pool that starts no process."""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from graspline.datasets.format.recording import Recording
from graspline.datasets.format.settings import DatasetSettings, settings_of
from graspline.datasets.write.generate import generate
from graspline.datasets.write.jobs import Attempts, Drawing, Drawn, attempt, do, render
from graspline.datasets.write.pool import Order, block_for_each
from graspline.episodes.camera_views import View
from graspline.episodes.workers import Filled
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube

EPISODES = 3


class InlinePool:
    """Fills orders in this process, when results are asked for."""

    def __init__(self, size: int = 1) -> None:
        self.size = size
        self._waiting: deque[tuple[int, Order]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._waiting.clear()

    @property
    def free(self) -> int:
        return self.size - len(self._waiting)

    def block(self, missing: int, waiting: int) -> int:
        return block_for_each(self, missing, waiting)

    def submit(self, ticket: int, job: Order) -> None:
        self._waiting.append((ticket, job))

    def results(self, *, hungry: bool = True) -> Sequence[Filled]:
        ticket, job = self._waiting.popleft()
        return [Filled(ticket, do(job))]


def cube_settings(**other: Any) -> DatasetSettings:
    """Lift-cube at 10 Hz, pictures of 64 by 48 by rays, which any machine can render; `other` goes to `settings_of`."""
    chosen: dict[str, Any] = {"fps": 10, "views": (View("front", 64, 48),), "renderer": "rays"}
    return settings_of(LIFT_CUBE, LiftCube(), **{**chosen, **other})


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset that was generated once; nobody may change it."""
    root = tmp_path_factory.mktemp("datasets") / "made"
    generate(root, cube_settings(), EPISODES, InlinePool())
    return root


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Build on what no doctor would pass: one rendered episode committed several times, or settings changed by hand."""
    for module in ("edit.repack", "edit.merge", "write.writer"):
        monkeypatch.setattr(f"graspline.datasets.{module}.check_sound", lambda root, on_step=None: None)


@pytest.fixture
def dataset(made: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged or changed."""
    root = tmp_path / "dataset"
    shutil.copytree(made, root)
    return root


def filmed_settings(**other: Any) -> DatasetSettings:
    """Two cameras, whose pictures carry their numbers."""
    views = (View("front", 32, 32), View("wrist", 32, 34))
    return cube_settings(**{"views": views, "numbered": True, **other})


@pytest.fixture(scope="session")
def filmed_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four episodes with numbered pictures; nobody may change them."""
    root = tmp_path_factory.mktemp("datasets") / "filmed"
    generate(root, filmed_settings(), 4, InlinePool())
    return root


@pytest.fixture
def filmed(filmed_once: Path, tmp_path: Path) -> Path:
    """A copy of them, to be packed, cut and put together."""
    root = tmp_path / "filmed"
    shutil.copytree(filmed_once, root)
    return root


@pytest.fixture(scope="session")
def filmed_elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two more that were made alike from other seeds; nobody may change them either."""
    root = tmp_path_factory.mktemp("datasets") / "elsewhere"
    generate(root, filmed_settings(seed=100), 2, InlinePool())
    return root


def play(settings: DatasetSettings, seed: int) -> Recording:
    """One attempt, which must be one that is kept."""
    (recording,) = attempt(Attempts(settings=settings, seeds=(seed,)))
    assert isinstance(recording, Recording)
    return recording


@pytest.fixture(scope="session")
def played() -> Recording:
    """A success without trouble."""
    return play(cube_settings(), 3)


@pytest.fixture(scope="session")
def recovered() -> Recording:
    """A success after the cube was knocked out of the hand once."""
    return play(cube_settings(faults=("drop@lift+0.3",)), 3)


@pytest.fixture(scope="session")
def drawn(played: Recording) -> Drawn:
    return render(Drawing(settings=cube_settings(), recording=played))
