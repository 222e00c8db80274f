"""Anything in the place of any file of a dataset: every command ends soon, and says what is wrong."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from .doors import call

Damage = Callable[[Path], object]
# Every damage to every kind of file for every command: GRASPLINE_ALL_DAMAGE=1.
EVERYTHING = "GRASPLINE_ALL_DAMAGE" in os.environ
# On a machine with far more to do than it can; a pipe that is opened would be waited for without end.
PATIENCE_S = 300
KINDS = {
    "settings": "meta/graspline.json",
    "index": "meta/info.json",
    "statistics": "meta/stats.json",
    "tasks": "meta/tasks.parquet",
    "card": "README.md",
    "lock": ".lock",
    "rows": "meta/episodes/chunk-000/file-000.parquet",
    "data": "data/chunk-000/file-000.parquet",
    "log": "graspline/logs/episode-000002.npz",
    "video": "videos/observation.images.front/chunk-000/file-001.mp4",
    "note": "graspline/deleted/episode-000001.json",
    "deleted row": "graspline/deleted/episode-000001/row.parquet",
    "deleted data": "graspline/deleted/episode-000001/data.parquet",
    "deleted log": "graspline/deleted/episode-000001/log.npz",
    "deleted video": "graspline/deleted/episode-000001/observation.images.front.mp4",
}
_DELETED = ("note", "deleted row", "deleted data", "deleted log", "deleted video")
# The card is for people, and the lock is empty: whatever bytes are in them, nobody reads them.
_UNREAD = ("card", "lock")


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def nothing_in_it(path: Path) -> None:
    path.write_bytes(b"")


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def noise(path: Path) -> None:
    path.write_bytes(np.random.default_rng(1).bytes(3000))


NO_FILES = (a_pipe, a_folder, a_loop)
DAMAGE: tuple[Damage, ...] = (*NO_FILES, nothing_in_it, cut_short, noise)
MAKE = ("lift-cube", "--cameras", "front:32x32", "--fps", "10", "--workers", "1")


class Hung(BaseException):
    """Not an Exception: nothing that is tried may catch it."""


@contextmanager
def limited() -> Iterator[None]:
    def give_up(signum: int, frame: FrameType | None) -> None:
        raise Hung

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Episodes 0 and 2 of three; number 1 was taken out."""
    root = tmp_path_factory.mktemp("damage") / "whole"
    assert call("generate", *MAKE, "--episodes", "3", "--out", root).code == 0
    assert call("delete", root, "--episode", "1").code == 0
    return root


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("damage") / "other"
    assert call("generate", *MAKE, "--episodes", "1", "--seed", "900", "--out", root).code == 0
    return root


# What each is called with, and what it does not read and so need not complain of.
COMMANDS: dict[str, tuple[Callable[[Path, Path, Path], list[Any]], tuple[str, ...]]] = {
    "doctor": (lambda root, other, out: ["doctor", root], ()),
    "fast": (lambda root, other, out: ["doctor", root, "--fast"], ()),
    "replay": (lambda root, other, out: ["replay", root], ("statistics", "tasks", "card", "lock", "video", *_DELETED)),
    "report": (
        lambda root, other, out: ["report", root, "--out", out / "page.html"],
        ("statistics", "tasks", "card", "lock", "data", *_DELETED[1:]),
    ),
    "teachability": (
        lambda root, other, out: ["teachability", root, "--neighbours", "1", "--out", out / "page.html"],
        ("statistics", "tasks", "card", "lock", "video", *_DELETED),
    ),
    "hdf5": (
        lambda root, other, out: ["export", root, "--to", "hdf5", "--out", out / "it.hdf5"],
        ("statistics", "tasks", "card", "log", *_DELETED[1:]),
    ),
    "rosbag2": (
        lambda root, other, out: ["export", root, "--to", "rosbag2", "--out", out / "bags"],
        ("statistics", "tasks", "card", *_DELETED[1:]),
    ),
    "compact": (lambda root, other, out: ["compact", root], ()),
    "delete": (lambda root, other, out: ["delete", root, "--episode", "0"], ()),
    "restore": (lambda root, other, out: ["delete", root, "--restore", "1"], ()),
    "merge": (lambda root, other, out: ["merge", root, other, "--out", out / "merged"], ()),
    "generate": (lambda root, other, out: ["generate", *MAKE, "--episodes", "2", "--out", root], ()),
}
# These count the statistics of all anew, from rows that they have checked.
_COUNTED_ANEW = ("compact", "delete", "restore", "merge", "generate")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_told_and_never_hangs_a_command_or_goes_on_into_what_it_makes(
    kind: str, whole: Path, other: Path, tmp_path: Path
) -> None:
    possible = NO_FILES if kind in _UNREAD else DAMAGE
    for damage in possible:
        for command, (words, unread) in COMMANDS.items():
            if not EVERYTHING and damage is not chosen(kind, command, possible):
                continue
            here = tmp_path / f"{damage.__name__}-{command}"
            root = Path(shutil.copytree(whole, here / "dataset"))
            damage(root / KINDS[kind])
            before = names(root)
            with limited():
                answer = call(*words(root, other, here))
            what = f"{damage.__name__} for {kind}: {command} gives {answer}"
            rebuilt = kind == "statistics" and damage not in NO_FILES and command in _COUNTED_ANEW
            assert answer.code in ((0,) if rebuilt else (0, 2, 4) if kind in unread else (2, 4)), what
            assert "Traceback" not in answer.err, what
            if answer.code:
                assert names(root) == before, f"and changes the dataset: {what}"
            elif command in _COUNTED_ANEW:
                made = here / "merged" if command == "merge" else root
                assert call("doctor", made, "--fast").code == 0, f"and what it makes is no better: {what}"
            shutil.rmtree(here)


def chosen(kind: str, command: str, possible: Sequence[Damage]) -> Damage:
    """All of it takes minutes: every command meets every kind of file, and all damage in turn."""
    return possible[(list(KINDS).index(kind) + list(COMMANDS).index(command)) % len(possible)]


def names(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*"))
