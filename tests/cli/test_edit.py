"""`graspline compact`, `merge`, `delete` and `export`, as one would use them after another."""

from __future__ import annotations

import shutil
import signal
import sys
from pathlib import Path

import pytest

import graspline.cli.edit
from graspline.cli.progress import Progress
from graspline.datasets.edit.compact import compact
from graspline.datasets.format.files import locked
from graspline.datasets.format.store import Dataset

from .doors import call, refused, spawn


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three episodes without pictures; nobody may change them."""
    root = tmp_path_factory.mktemp("datasets") / "made"
    words = ("--episodes", "3", "--cameras", "none", "--fps", "10", "--workers", "1")
    assert call("generate", "lift-cube", *words, "--out", root).code == 0
    return root


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "made"))


def test_each_says_what_it_did(root: Path, tmp_path: Path) -> None:
    packed = call("compact", root)
    assert (packed.code, packed.out, packed.err) == (0, "", f"packed 14 files into 10\nsaved: {root}\n")
    gone = call("delete", root, "--episode", "1")
    assert (gone.code, gone.out) == (0, "")
    assert gone.err.splitlines() == [
        "deleted: episode 1 (ID 1, seed 1); restore it with",
        f"  graspline delete {root} --restore 1",
    ]
    assert len(Dataset.open(root)) == 2
    back = call("delete", root, "--restore", "1")
    assert (back.code, back.err) == (0, "restored: ID 1, seed 1\n")
    exported = call("export", root, "--to", "hdf5", "--out", tmp_path / "new/out.hdf5")
    assert exported.code == 0
    assert exported.err.startswith("3 episodes, ")
    assert exported.err.endswith(f"saved: {tmp_path / 'new/out.hdf5'}\n")
    exported = call("export", root, "--to", "rosbag2", "--out", tmp_path / "new/bags")
    assert (exported.code, exported.out) == (0, "")
    assert exported.err.startswith("3 bags, ")
    assert exported.err.endswith(f"saved: {tmp_path / 'new/bags'}\n")
    again = refused("export", root, "--to", "rosbag2", "--out", tmp_path / "new/bags")
    assert again == [f"--out {tmp_path / 'new/bags'}: exists already; choose a new or empty folder"]


def test_the_real_command_merges_what_it_generated(made: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    words = ("--episodes", "1", "--seed", "50", "--cameras", "none", "--fps", "10", "--workers", "1")
    assert call("generate", "lift-cube", *words, "--out", other).code == 0
    merged = spawn("merge", "made", other, "--out", tmp_path / "all", cwd=made.parent)
    assert (merged.code, merged.out) == (0, "")
    assert merged.err == f"merged 2 datasets: 4 episodes\nsaved: {tmp_path / 'all'}\n"
    assert refused("merge", made, made, "--out", tmp_path / "twice") == [
        f"episode {index} of {made} is the same as episode {index} of {made} (seed {index})" for index in range(3)
    ]
    more = refused("generate", "lift-cube", *words[:2], *words[4:], "--out", tmp_path / "all")
    assert more == [f"{tmp_path / 'all'}: is a merged dataset; generate into another folder and merge that too"]


def test_somebody_in_the_folder_is_told_that_it_was_replaced(root: Path) -> None:
    answer = spawn("compact", ".", cwd=root)
    assert answer.code == 0
    assert "`cd .` enters the new one" in answer.err
    assert len(Dataset.open(root)) == 3


def test_what_to_delete_must_be_named(root: Path) -> None:
    (problem,) = refused("delete", root)
    assert problem == "choose what to delete with --episode, or what to restore with --restore (deleted: none)"
    assert refused("delete", root, "--episode", "0", "--restore", "0")
    assert refused("delete", root, "--episode", "7") == ["--episode 7: the dataset has episodes 0 to 2"]
    assert "is not a whole number" in refused("delete", root, "--episode", "first")[0]


def test_formats_and_names_of_files_are_checked(root: Path, tmp_path: Path) -> None:
    assert refused("export", root, "--to", "hdf", "--out", tmp_path / "out.hdf5") == [
        "--to: 'hdf' is unknown; did you mean 'hdf5'? known: hdf5, rosbag2"
    ]
    assert "ends in .hdf5" in refused("export", root, "--to", "hdf5", "--out", tmp_path / "out.h5")[0]
    assert "no such folder" in refused("export", tmp_path / "no", "--to", "hdf5", "--out", "out.hdf5")[0]
    assert "no such folder" in refused("export", tmp_path / "no", "--to", "rosbag2", "--out", "bags")[0]
    assert refused("export", root, "--to", "rosbag2", "--jpeg", "--out", tmp_path / "bags") == [
        "--jpeg: only for hdf5; images in bags are always JPEG"
    ]


def test_without_h5py_the_way_to_get_it_is_told(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "graspline.datasets.export.hdf5", raising=False)
    monkeypatch.setitem(sys.modules, "h5py", None)
    answer = call("export", root, "--to", "hdf5", "--out", tmp_path / "out.hdf5")
    assert (answer.code, answer.out) == (3, "")
    assert answer.err == "graspline: HDF5 files need h5py: pip install 'graspline[hdf5]'\n"


def test_without_rosbags_the_way_to_get_it_is_told(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("bags", "rosbag2"):
        monkeypatch.delitem(sys.modules, f"graspline.datasets.export.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "rosbags.rosbag2", None)
    answer = call("export", root, "--to", "rosbag2", "--out", tmp_path / "bags")
    assert (answer.code, answer.out) == (3, "")
    assert answer.err == "graspline: ROS 2 bags need rosbags: pip install 'graspline[ros]'\n"
    assert not (tmp_path / "bags").exists()


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "words, left",
    [
        (["compact", "made"], "made is unchanged"),
        (["delete", "made", "--episode", "1"], "made is unchanged"),
        (["merge", "made", "other", "--out", "all"], "all was not written"),
        (["export", "made", "--to", "hdf5", "--out", "made.hdf5"], "made.hdf5 was not written"),
        (["export", "made", "--to", "rosbag2", "--out", "bags"], "bags was not written"),
    ],
)
def test_stopped_midway_each_says_what_is_left_and_leaves_nothing_else(
    words: list[str], left: str, stop: signal.Signals, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped_at_the_second(progress: Progress, said: str = "") -> None:
        progress.done += 1
        if progress.done == 2:
            signal.raise_signal(stop)

    other = ("--episodes", "1", "--seed", "50", "--cameras", "none", "--fps", "10", "--workers", "1")
    if "other" in words:
        assert call("generate", "lift-cube", *other, "--out", root.parent / "other").code == 0
    monkeypatch.chdir(root.parent)
    monkeypatch.setattr(Progress, "advance", stopped_at_the_second)
    before = sorted(root.parent.rglob("*"))
    answer = call(*words)
    assert (answer.code, answer.out, answer.err) == (130, "", f"graspline: interrupted; {left}\n")
    assert sorted(root.parent.rglob("*")) == before
    assert len(Dataset.open(root)) == 3


def test_stopped_when_all_is_done_each_says_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def done_and_stopped(root: Path, progress: object) -> None:
        compact(root)
        for _ in range(2):
            signal.raise_signal(signal.SIGTERM)

    # The first one asks, and nobody looks any more.
    monkeypatch.setattr(graspline.cli.edit, "compact_dataset", done_and_stopped)
    answer = call("compact", root)
    assert (answer.code, answer.err) == (130, f"graspline: interrupted; {root} was already finished\n")


@pytest.mark.parametrize("words", [["compact"], ["delete", "--episode", "1"]])
def test_a_dataset_that_is_being_written_to_or_is_broken_is_left_alone(root: Path, words: list[str]) -> None:
    with locked(root):
        answer = call(words[0], root, *words[1:])
    assert (answer.code, answer.err) == (3, f"graspline: {root}: another process is writing to this dataset\n")
    (root / "graspline/logs/episode-000002.npz").unlink()
    answer = call(words[0], root, *words[1:])
    assert answer.code == 4
    assert "episode-000002.npz: episode 2: is missing" in answer.err
    assert len(Dataset.open(root)) == 3
