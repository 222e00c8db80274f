"""Packing: fewer files, the same episodes, and a folder that is the old one or the new one whenever we are killed."""

from __future__ import annotations

import functools
import json
import multiprocessing
import shutil
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import graspline.datasets.edit.repack
import graspline.datasets.format.atomic_replace
from graspline.datasets.edit.compact import compact
from graspline.datasets.edit.delete import delete
from graspline.datasets.format.files import beside, locked
from graspline.datasets.format.rows import Slot, data_file, row_file
from graspline.datasets.format.store import Dataset
from graspline.datasets.format.video_packets import clip_in
from graspline.datasets.write.generate import generate
from graspline.errors import DatasetProblem, EnvironmentProblem, InputError

from ..conftest import InlinePool, filmed_settings
from ..damage import edit_table
from ..whole import check_whole, counts, episodes_in, tree

_KILLS = 8
_PATIENCE_S = 120.0


def test_episodes_are_the_same_in_fewer_files(filmed: Path) -> None:
    before, stats = episodes_in(filmed), (filmed / "meta/stats.json").read_bytes()
    assert counts(filmed) == {"data": 4, "rows": 4, "videos": 8}
    compact(filmed)
    check_whole(filmed)
    assert counts(filmed) == {"data": 1, "rows": 1, "videos": 2}
    assert episodes_in(filmed) == before
    assert (filmed / "meta/stats.json").read_bytes() == stats
    assert not beside(filmed).exists()


def test_what_else_is_in_the_folder_stays(filmed: Path) -> None:
    (filmed / "notes").mkdir()
    (filmed / "notes/mine.txt").write_text("keep me")
    (filmed / "graspline/deleted").mkdir()
    (filmed / "graspline/deleted/episode-000009.json").write_text('{"episode_id": 9, "seed": 12}')
    built = ("data", "videos", "meta/episodes", "meta/info.json")
    rest = {name: data for name, data in tree(filmed).items() if not name.startswith(built)}
    assert len(rest) > 8
    compact(filmed)
    assert {name: data for name, data in tree(filmed).items() if not name.startswith(built)} == rest


def test_columns_that_somebody_added_keep_their_values_and_types(filmed: Path) -> None:
    for number, path in enumerate(sorted(filmed.glob("meta/episodes/*/*.parquet"))):
        table = pq.read_table(path).append_column("operator", pa.array([f"somebody {number}"]))
        pq.write_table(table.append_column("rating", pa.array([number / 2], pa.float32())), path)
    compact(filmed)
    table = pq.read_table(filmed / "meta/episodes/chunk-000/file-000.parquet")
    assert table.column("operator").to_pylist() == [f"somebody {number}" for number in range(4)]
    assert table.schema.field("rating").type == pa.float32()


def test_generate_goes_on_behind_every_file_there_is(filmed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Videos reach their limit and data do not: the last video has a higher number than the last data file.
    monkeypatch.setattr(graspline.datasets.edit.repack, "_MB", 1)
    info = json.loads((filmed / "meta/info.json").read_bytes())
    (filmed / "meta/info.json").write_text(json.dumps({**info, "data_files_size_in_mb": 1_000_000}))
    before = episodes_in(filmed)
    compact(filmed)
    assert counts(filmed) == {"data": 1, "rows": 1, "videos": 8}
    generate(filmed, filmed_settings(), 5, InlinePool())
    rows = check_whole(filmed).rows
    assert counts(filmed) == {"data": 2, "rows": 2, "videos": 10}
    assert [(row["episode_id"], row["seed"]) for row in rows] == [(number, number) for number in range(5)]
    assert episodes_in(filmed)[:4] == before


def test_packing_again_changes_nothing(filmed: Path) -> None:
    compact(filmed)
    before = tree(filmed)
    videos = {path: path.stat().st_ino for path in filmed.glob("videos/*/*/*")}
    assert compact(filmed) == (len(before), len(before))
    assert tree(filmed) == before
    assert {path: path.stat().st_ino for path in filmed.glob("videos/*/*/*")} == videos


def test_pictures_that_were_encoded_in_another_way_get_a_file_of_their_own(filmed: Path) -> None:
    path = filmed / "videos/observation.images.front/chunk-000/file-002.mp4"
    pictures = list(clip_in(path, Dataset.open(filmed).rows[2], "observation.images.front", 10).pictures())
    with av.open(path, "w") as file:
        stream = file.add_stream("libx264", rate=10, options={"preset": "ultrafast", "g": "2", "bf": "0"})
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        for number, rgb in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(rgb, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 10)
            file.mux(stream.encode(frame))
        file.mux(stream.encode())
    compact(filmed)
    check_whole(filmed)
    assert [path.name for path in sorted(filmed.glob("videos/*front/*/*"))] == [f"file-00{n}.mp4" for n in range(3)]
    assert len(list(filmed.glob("videos/*wrist/*/*"))) == 1


def test_a_video_that_lacks_frames_is_refused_and_nothing_changes(filmed: Path) -> None:
    one, other = (filmed / f"videos/observation.images.wrist/chunk-000/file-00{n}.mp4" for n in (1, 2))
    lengths = [row["length"] for row in Dataset.open(filmed).rows]
    short, long = (one, other) if lengths[1] < lengths[2] else (other, one)
    shutil.copy(short, long)
    before = tree(filmed)
    with pytest.raises(DatasetProblem, match=f"{long.name}: episode .: its number of frames is {min(lengths[1:3])}"):
        compact(filmed)
    assert tree(filmed) == before
    long.write_bytes(long.read_bytes()[:200])
    with pytest.raises(DatasetProblem, match=f"{long.name}: episode .: cannot be decoded: "):
        compact(filmed)
    assert not beside(filmed).exists()


def test_a_missing_log_is_refused(filmed: Path) -> None:
    (filmed / "graspline/logs/episode-000002.npz").unlink()
    with pytest.raises(DatasetProblem, match=r"episode-000002\.npz: episode 2: is missing"):
        compact(filmed)
    assert counts(filmed)["data"] == 4


def test_an_index_that_lacks_something_is_refused(filmed: Path) -> None:
    info = json.loads((filmed / "meta/info.json").read_bytes())
    del info["splits"], info["fps"]
    (filmed / "meta/info.json").write_text(json.dumps(info))
    with pytest.raises(DatasetProblem, match=r"info\.json: fps is missing\n.*info\.json: splits is missing"):
        compact(filmed)


def test_a_row_without_statistics_is_refused(filmed: Path) -> None:
    edit_table(filmed, row_file(Slot(0, 1)), lambda table: table.drop_columns(["stats/action/mean"]))
    before = tree(filmed)
    with pytest.raises(DatasetProblem, match=r"row 1 of meta/episodes: statistics of action \(mean\) are missing"):
        compact(filmed)
    assert tree(filmed) == before


def test_frames_without_their_numbers_are_refused(filmed: Path) -> None:
    edit_table(filmed, data_file(Slot(0, 1)), lambda table: table.drop_columns(["episode_index"]))
    with pytest.raises(DatasetProblem, match=r"file-001\.parquet: episode 1: column episode_index is missing"):
        compact(filmed)


def test_a_dataset_that_is_being_written_to_is_left_alone(filmed: Path) -> None:
    with locked(filmed), pytest.raises(EnvironmentProblem, match="another process is writing"):
        compact(filmed)


def test_a_file_system_that_cannot_exchange_folders_is_told_before_the_work(
    filmed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graspline.datasets.format.atomic_replace, "_RENAME_EXCHANGE", 1 << 20)
    before = tree(filmed)
    begun: list[int] = []
    with pytest.raises(EnvironmentProblem, match=r"cannot exchange two folders .*Invalid argument"):
        compact(filmed, lambda steps: lambda: begun.append(steps))
    assert tree(filmed) == before
    assert begun == []


def test_a_folder_that_is_no_dataset_is_not_touched(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a graspline dataset"):
        compact(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("change", [compact, functools.partial(delete, episodes=[1, 2])], ids=["compact", "delete"])
def test_a_kill_at_any_moment_leaves_the_old_or_the_new_dataset(
    change: Callable[[Path], object], filmed: Path, tmp_path: Path
) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["graspline.datasets.edit.compact", "graspline.datasets.edit.delete"])

    def changed(name: str, after_s: float) -> Path:
        """A copy of the dataset whose change was killed after some time."""
        root = tmp_path / name
        shutil.copytree(filmed, root)
        process = context.Process(target=change, args=(root,))
        process.start()
        process.join(after_s)
        process.kill()
        process.join()
        return root

    # The first one waits for the server to start.
    changed("first", _PATIENCE_S)
    began = time.monotonic()
    finished = changed("finished", _PATIENCE_S)
    needed_s = time.monotonic() - began
    whole = {counts(root)["data"]: episodes_in(root) for root in (filmed, finished)}
    assert len(whole) == 2
    for number in range(_KILLS):
        root = changed(f"killed-{number}", needed_s * number / _KILLS)
        assert episodes_in(root) == whole[counts(root)["data"]]
        with locked(root):
            pass
        assert not beside(root).exists()
