"""Merging: all episodes of datasets that go together, and every reason why some do not."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

import graspline.datasets.edit.repack
from graspline.datasets.edit.merge import merge
from graspline.datasets.format.files import beside, locked
from graspline.datasets.format.store import Dataset, origin_in
from graspline.datasets.format.video_packets import Clip
from graspline.datasets.write.generate import generate
from graspline.errors import EnvironmentProblem, InputError
from graspline.parameters import dump
from graspline.tasks.lift_cube import LiftCube, StillHold
from graspline.version import VERSION

from ..conftest import InlinePool, filmed_settings
from ..damage import edit_json
from ..whole import check_whole, counts, episodes_in, tree


def test_all_episodes_are_in_it_in_the_order_given(filmed_once: Path, filmed_elsewhere: Path, tmp_path: Path) -> None:
    out, sources = tmp_path / "new/merged", (filmed_elsewhere, filmed_once)
    before = [tree(root) for root in sources]
    assert merge(sources, out) == 6
    merged = check_whole(out)
    assert counts(out) == {"data": 1, "rows": 1, "videos": 2}
    assert episodes_in(out) == [*episodes_in(filmed_elsewhere), *episodes_in(filmed_once)]
    assert [row["episode_id"] for row in merged.rows] == list(range(6))
    assert [row["seed"] for row in merged.rows][2:] == [0, 1, 2, 3]
    assert [tree(root) for root in sources] == before
    assert not beside(out).exists()


def test_it_says_what_it_was_merged_from(filmed_once: Path, filmed_elsewhere: Path, tmp_path: Path) -> None:
    merge([filmed_once, filmed_elsewhere], tmp_path / "merged")
    ours = json.loads((tmp_path / "merged/meta/graspline.json").read_bytes())
    assert [(each["name"], each["episodes"]) for each in ours["merged_from"]] == [("filmed", 4), ("elsewhere", 2)]
    assert ours["settings"] == ours["merged_from"][0]["settings"]
    assert ours["merged_from"][1]["settings"]["seed"] == 100
    assert "- elsewhere: 2 episodes" in (tmp_path / "merged/README.md").read_text()


def test_generate_does_not_go_on_with_it(filmed_once: Path, filmed_elsewhere: Path, tmp_path: Path) -> None:
    merge([filmed_once, filmed_elsewhere], tmp_path / "merged")
    with pytest.raises(InputError, match="merged: is a merged dataset; generate into another folder"):
        generate(tmp_path / "merged", filmed_settings(), 7, InlinePool())
    check_whole(tmp_path / "merged")


def test_what_is_in_two_of_them_is_named(filmed_once: Path, filmed: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        merge([filmed_once, filmed], tmp_path / "merged")
    assert refused.value.problems == tuple(
        f"episode {index} of {filmed} is the same as episode {index} of {filmed_once} (seed {index})"
        for index in range(4)
    )
    assert not (tmp_path / "merged").exists()


def test_every_difference_is_named(filmed: Path, made: Path, tmp_path: Path) -> None:
    ours, info = (json.loads((filmed / f"meta/{name}.json").read_bytes()) for name in ("graspline", "info"))
    ours["settings"] |= {"units": "normalized", "fps": 30}
    ours["states"] = ours["states"][1:]
    (filmed / "meta/graspline.json").write_text(json.dumps(ours))
    (filmed / "meta/info.json").write_text(json.dumps({**info, "fps": 30}))
    with pytest.raises(InputError) as refused:
        merge([made, filmed], tmp_path / "merged")
    told = [each for each in refused.value.problems if "the same as" not in each]
    start = f"{filmed}: "
    assert all(each.startswith(start) for each in told)
    told = [each.removeprefix(start) for each in told]
    assert f"units is normalized, in {made} it is degrees" in told
    assert f"fps is 30, in {made} it is 10" in told
    assert f"feature observation.images.front shape is [32, 32, 3], in {made} it is [48, 64, 3]" in told
    assert f"feature observation.images.wrist dtype is video, in {made} it is missing" in told
    assert any(each.startswith("states is ") for each in told)


def test_a_target_that_holds_something_is_refused(filmed_once: Path, filmed_elsewhere: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine.txt").write_text("keep me")
    for out in (tmp_path / "full", tmp_path / "full/mine.txt", filmed_once):
        with pytest.raises(InputError, match="exists already"):
            merge([filmed_once, filmed_elsewhere], out)
    assert tree(tmp_path) == {"full/mine.txt": b"keep me"}
    (tmp_path / "empty").mkdir()
    assert merge([filmed_once, filmed_elsewhere], tmp_path / "empty") == 6


def test_every_folder_that_is_no_dataset_is_named(filmed_once: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        merge([tmp_path / "one", filmed_once, tmp_path], tmp_path / "merged")
    assert [each.partition(": ")[0] for each in refused.value.problems] == [str(tmp_path / "one"), str(tmp_path)]
    assert list(tmp_path.iterdir()) == []


def test_one_dataset_is_not_enough(filmed_once: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least two"):
        merge([filmed_once], tmp_path / "merged")


def test_a_source_that_is_being_written_to_is_not_read(filmed: Path, filmed_elsewhere: Path, tmp_path: Path) -> None:
    with locked(filmed), pytest.raises(EnvironmentProblem, match="another process is writing"):
        merge([filmed_elsewhere, filmed], tmp_path / "merged")


def test_a_merge_that_fails_leaves_nothing_behind(
    filmed_once: Path, filmed_elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, clips: list[Clip], done: object) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(graspline.datasets.edit.repack, "join", full)
    with pytest.raises(EnvironmentProblem, match="No space left on device"):
        merge([filmed_once, filmed_elsewhere], tmp_path / "merged")
    assert list(tmp_path.iterdir()) == []


def test_files_are_not_shared_with_the_sources(
    filmed_once: Path, filmed_elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Files that hold one episode each are taken over as they are.
    monkeypatch.setattr(graspline.datasets.edit.repack, "_MB", 0)
    merge([filmed_once, filmed_elsewhere], tmp_path / "merged")
    check_whole(tmp_path / "merged")
    assert counts(tmp_path / "merged") == {"data": 6, "rows": 1, "videos": 12}
    assert {path.stat().st_nlink for path in (tmp_path / "merged").rglob("*") if path.suffix in (".mp4", ".npz")} == {1}


def test_a_merged_dataset_can_be_merged_again(filmed_once: Path, filmed_elsewhere: Path, tmp_path: Path) -> None:
    third = tmp_path / "third"
    shutil.copytree(filmed_elsewhere, third)
    rows = Dataset.open(third).rows
    merge([filmed_once, filmed_elsewhere], tmp_path / "merged")
    with pytest.raises(InputError, match=f"episode 0 of {third} is the same as episode 4 of"):
        merge([tmp_path / "merged", third], tmp_path / "again")
    generate(tmp_path / "fourth", filmed_settings(seed=rows[-1]["seed"] + 1), 1, InlinePool())
    assert merge([tmp_path / "merged", tmp_path / "fourth"], tmp_path / "again") == 7
    check_whole(tmp_path / "again")
    sources = json.loads((tmp_path / "again/meta/graspline.json").read_bytes())["merged_from"]
    assert [each["name"] for each in sources[0]["merged_from"]] == ["filmed", "elsewhere"]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("first_keeps", ["success", "all"])
def test_what_is_so_of_one_only_is_not_said_of_all(filmed_once: Path, tmp_path: Path, first_keeps: str) -> None:
    parameters = LiftCube(hold=StillHold(still_s=0.9))
    plain = filmed_settings(seed=200, keep="all")
    other = dataclasses.replace(plain, parameters=dict(dump(parameters)))
    generate(tmp_path / "other", other, 1, InlinePool())
    edit_json(tmp_path / "other", "meta/graspline.json", lambda ours: ours["settings"].update(graspline="99.0"))
    sources = [filmed_once, tmp_path / "other"][:: 1 if first_keeps == "success" else -1]
    merge(sources, tmp_path / "merged")
    settings = Dataset.open(tmp_path / "merged").settings
    assert settings.keep == "all"
    card = (tmp_path / "merged/README.md").read_text()
    assert "| kept | successes and failures, labelled by next.success |" in card
    assert "graspline 99.0 on MuJoCo" in card
    assert f"graspline {VERSION} on MuJoCo" in card
    assert card.count("Merged from:") == 1
    assert card.endswith("episodes\n")
    merge([tmp_path / "merged", _made_elsewhere(tmp_path)], tmp_path / "again")
    assert Dataset.open(tmp_path / "again").settings.keep == "all"
    assert {each.parameters["hold"]["still_s"] for each in origin_in(tmp_path / "again").made_with} == {
        0.9,
        StillHold().still_s,
    }


def _made_elsewhere(folder: Path) -> Path:
    generate(folder / "more", filmed_settings(seed=300), 1, InlinePool())
    return folder / "more"
