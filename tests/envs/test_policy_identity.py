"""A digest changes with whatever decides what a policy does."""

from __future__ import annotations

from pathlib import Path

import pytest

from graspline.envs.policy_identity import digest_of_policy


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_module_is_its_file_and_not_what_lies_beside_it(here: Path) -> None:
    (here / "mine.py").write_text("a = 1")
    before = digest_of_policy("mine:act")
    assert len(before) == 64
    (here / "other.py").write_text("b = 1")
    assert digest_of_policy("mine:act") == before
    (here / "mine.py").write_text("a = 2")
    assert digest_of_policy("mine:act") != before


def test_a_module_of_a_package_is_all_of_it_weights_included(here: Path) -> None:
    folder = here / "rounds/round_0"
    folder.mkdir(parents=True)
    (folder / "policy.py").write_text("")
    (folder / "weights.bin").write_bytes(b"1")
    before = digest_of_policy("rounds.round_0.policy:act")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__/policy.pyc").write_bytes(b"x")
    assert digest_of_policy("rounds.round_0.policy:act") == before
    (folder / "weights.bin").write_bytes(b"2")
    assert digest_of_policy("rounds.round_0.policy:act") != before


def test_a_checkpoint_is_its_folder(here: Path) -> None:
    (here / "checkpoint").mkdir()
    (here / "checkpoint/model.safetensors").write_bytes(b"1")
    before = digest_of_policy("lerobot:checkpoint")
    (here / "checkpoint/config.json").write_text("{}")
    assert digest_of_policy("lerobot:checkpoint") != before


def test_what_is_not_found_has_none() -> None:
    assert digest_of_policy("nowhere:act") == ""
