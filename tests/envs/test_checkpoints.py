"""Checkpoints of LeRobot: found, read without lerobot, and refused where they do not fit."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from graspline.envs.checkpoints import check_fits, defaults_of, find_checkpoint, policy_settings, policy_source
from graspline.errors import InputError

from .playing import interface, save_checkpoint

FRONT = {"front": (64, 48)}


def find(folder: Path) -> Any:
    return find_checkpoint(f"lerobot:{folder}")


def test_the_last_checkpoint_of_a_training_run_is_found_from_its_folders(tmp_path: Path) -> None:
    run = tmp_path / "run"
    for step in ("000010", "000100"):
        save_checkpoint(run / "checkpoints" / step / "pretrained_model", sizes=FRONT)
    newest = run / "checkpoints" / "000100" / "pretrained_model"
    assert find(run).folder == find(run / "checkpoints").folder == newest
    (run / "checkpoints" / "last").symlink_to("000010")
    older = run / "checkpoints" / "000010"
    assert find(run).folder == find(older).folder == find(older / "pretrained_model").folder


def test_cameras_sizes_rate_and_units_come_from_the_checkpoint_and_its_dataset(tmp_path: Path) -> None:
    meta = tmp_path / "set" / "meta"
    meta.mkdir(parents=True)
    (meta / "info.json").write_text(json.dumps({"fps": 15, "features": {"action": {"names": ["a"]}}}))
    (meta / "graspline.json").write_text(json.dumps({"settings": {"units": "normalized", "smooth": True}}))
    folder = save_checkpoint(
        tmp_path / "one", sizes=FRONT | {"wrist": (32, 24)}, dataset={"root": str(tmp_path / "set")}
    )
    defaults = defaults_of(f"lerobot:{folder}")
    assert (defaults.cameras, defaults.fps, defaults.units) == ("front:64x48,wrist:32x24", 15, "normalized")
    assert defaults.smooth
    shutil.rmtree(tmp_path / "set")
    assert defaults_of(f"lerobot:{folder}").fps == 30


def test_what_the_training_wrote_about_its_data_is_enough_without_the_dataset(tmp_path: Path) -> None:
    folder = save_checkpoint(tmp_path / "one", sizes=FRONT, dataset={"fps": 20, "units": "normalized"})
    assert (find(folder).fps, find(folder).units) == (20, "normalized")


def test_renamed_cameras_go_by_the_names_of_the_dataset(tmp_path: Path) -> None:
    folder = save_checkpoint(
        tmp_path / "one",
        sizes={"camera1": (64, 48), "empty_camera_0": (640, 480)},
        renames={"observation.images.front": "observation.images.camera1"},
    )
    assert [str(each) for each in find(folder).views] == ["front:64x48"]


def test_a_policy_that_fits_is_not_refused(tmp_path: Path) -> None:
    check_fits(find(save_checkpoint(tmp_path / "one", sizes=FRONT)), interface(cameras="front:64x48,wrist:32x24"))


def test_a_policy_that_resizes_pictures_takes_any_size(tmp_path: Path) -> None:
    folder = save_checkpoint(tmp_path / "one", sizes=FRONT, resize_imgs_with_padding=[512, 512])
    check_fits(find(folder), interface(cameras="front:32x24"))


@pytest.mark.parametrize(
    "written, words",
    [
        ({"sizes": {"top": (64, 48)}}, r"wants pictures top:64x48, and the cameras here are front:64x48"),
        ({"sizes": {"front": (640, 480)}}, r"wants pictures front:640x480, and --cameras gives front:64x48"),
        ({"sizes": FRONT, "joints": 14}, r"a state of 14 numbers, and the robot has 6: shoulder_pan.pos, .*gripper"),
        ({"sizes": FRONT, "joints": 7}, r"an action of 7 numbers"),
        ({"sizes": FRONT, "dataset": {"joints": list("abcdef")}}, r"it moves a, b, c, d, e, f, and the robot has"),
    ],
)
def test_a_policy_of_another_robot_or_other_cameras_is_refused(
    tmp_path: Path, written: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        check_fits(find(save_checkpoint(tmp_path / "one", **written)), interface(cameras="front:64x48"))


def test_inputs_that_no_task_gives_are_named(tmp_path: Path) -> None:
    folder = save_checkpoint(tmp_path / "one", sizes=FRONT)
    config = json.loads((folder / "config.json").read_text())
    config["input_features"]["observation.environment_state"] = {"type": "ENV", "shape": [3]}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match=r"it wants observation.environment_state \(3,\), which no task gives"):
        check_fits(find(folder), interface(cameras="front:64x48"))


@pytest.mark.parametrize("missing", ["model.safetensors", "policy_preprocessor.json", "before.safetensors"])
def test_a_missing_file_is_named_with_those_that_are_there(tmp_path: Path, missing: str) -> None:
    folder = save_checkpoint(tmp_path / "one", sizes=FRONT)
    os.remove(folder / missing)
    with pytest.raises(InputError, match=rf"lacks {missing}; there: .*config.json"):
        find(folder)


@pytest.mark.parametrize("content", ["{", "[]", '{"type": "act"}', '{"input_features": 3}'])
def test_a_configuration_that_is_none_is_refused_in_one_line(tmp_path: Path, content: str) -> None:
    folder = save_checkpoint(tmp_path / "one", sizes=FRONT)
    (folder / "config.json").write_text(content)
    with pytest.raises(InputError, match="not a checkpoint as lerobot-train writes it") as refused:
        find(folder)
    assert len(str(refused.value).splitlines()) == 1
    assert "config.json" in str(refused.value) or content.startswith('{"input')


@pytest.mark.parametrize("content, wrong", [("{}", "has no 'steps'"), ("{", "is not valid JSON")])
def test_an_error_names_the_file_of_a_checkpoint_that_is_wrong(tmp_path: Path, content: str, wrong: str) -> None:
    folder = save_checkpoint(tmp_path / "one", sizes=FRONT)
    (folder / "policy_preprocessor.json").write_text(content)
    with pytest.raises(InputError, match=f"policy_preprocessor.json {wrong}"):
        find(folder)


def test_a_folder_without_a_checkpoint_says_where_was_looked(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no config.json in it, nor in pretrained_model"):
        find(tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        find(tmp_path / "nowhere")


def test_ensembling_asks_on_every_frame(tmp_path: Path) -> None:
    found = find(save_checkpoint(tmp_path / "one", sizes=FRONT))
    assert policy_settings(["n_action_steps=25"], found) == {"n_action_steps": "25"}
    assert policy_settings(["temporal_ensemble_coeff=0.01"], found) == {
        "temporal_ensemble_coeff": "0.01",
        "n_action_steps": "1",
    }


def test_everything_that_is_wrong_with_a_source_is_told_at_once(tmp_path: Path) -> None:
    folder = save_checkpoint(tmp_path / "one", sizes=FRONT)
    with pytest.raises(InputError) as refused:
        policy_source(f"lerobot:{folder}", tmp_path / "python", ["a=1"], "gpu")
    assert [each.split()[0] for each in refused.value.problems] == [
        "--policy-python",
        "--policy-set",
        "--policy-device",
    ]
