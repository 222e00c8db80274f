"""A file is there whole or not at all; a folder has one writer."""

from __future__ import annotations

from pathlib import Path

import pytest

from graspline.datasets.format.files import SCRATCH, half_file, locked, remove, write, write_all
from graspline.errors import EnvironmentProblem

from ..whole import tree


def test_a_file_is_written_with_the_folders_it_needs(tmp_path: Path) -> None:
    write(tmp_path, "a/b/c.txt", b"one")
    write(tmp_path, "a/b/c.txt", b"two")
    assert tree(tmp_path) == {"a/b/c.txt": b"two"}


def test_files_that_belong_together_appear_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    appeared: list[str] = []
    replace = Path.replace

    def told(half: Path, target: Path) -> Path:
        assert all(half_file(tmp_path, name).is_file() for name in {"x", "y/z", "index"} - set(appeared))
        appeared.append(str(target.relative_to(tmp_path)))
        return replace(half, target)

    monkeypatch.setattr(Path, "replace", told)
    write_all(tmp_path, {"x": b"1", "y/z": b"2", "index": b"3"})
    assert appeared == ["x", "y/z", "index"]


def test_what_cannot_be_written_leaves_no_trace(tmp_path: Path) -> None:
    write(tmp_path, "a", b"a file where a folder is needed")
    with pytest.raises(EnvironmentProblem, match=r"cannot be written to: (Not a directory|File exists)"):
        write_all(tmp_path, {"b": b"never seen", "a/c": b"impossible"})
    assert tree(tmp_path) == {"a": b"a file where a folder is needed"}


def test_a_folder_has_one_writer_at_a_time(tmp_path: Path) -> None:
    with locked(tmp_path):
        with pytest.raises(EnvironmentProblem, match="another process is writing to this dataset"), locked(tmp_path):
            pass
        write(tmp_path, "still", b"ours")
    with locked(tmp_path):
        pass


def test_a_writer_sweeps_what_another_left_half_written(tmp_path: Path) -> None:
    half_file(tmp_path, "x").parent.mkdir()
    half_file(tmp_path, "x").write_bytes(b"hal")
    with locked(tmp_path):
        assert not (tmp_path / SCRATCH).exists()
        write(tmp_path, "x", b"whole")
    assert not (tmp_path / SCRATCH).exists()


def test_removing_what_is_not_there_is_nothing(tmp_path: Path) -> None:
    write(tmp_path, "x", b"1")
    remove(tmp_path, "x")
    remove(tmp_path, "x")
    remove(tmp_path, "no/such/folder")
    assert tree(tmp_path) == {}
