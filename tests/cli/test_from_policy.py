"""`graspline generate --from-policy` through its front door: takeovers, resumed, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from graspline.datasets.check.doctor import examine
from graspline.datasets.format.store import Dataset

from .doors import call, spawn

BARE = ("--cameras", "none", "--fps", "10", "--workers", "1")
POLICIES = """
class Stays:
    def __call__(self, observation):
        return observation["agent_pos"]


class Looks(Stays):
    def __call__(self, observation):
        assert {name: image.shape for name, image in observation["pixels"].items()} == {"wrist": (24, 32, 3)}
        return super().__call__(observation)


def broken(observation):
    raise ValueError("no idea")
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "toys.py").write_text(POLICIES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def words(*more: str, task: str = "lift-cube", episodes: int = 1) -> tuple[str, ...]:
    return ("generate", task, "--episodes", str(episodes), "--out", "set", *BARE, *more)


def test_takeovers_become_a_dataset_that_only_the_same_policy_goes_on_with(here: Path) -> None:
    source = ("--from-policy", "toys:Stays", "--keep", "takeover", "--take-over", "still_s=0.5")
    assert spawn(*words(*source)).code == 0
    assert spawn(*words(*source, episodes=2)).code == 0
    dataset = Dataset.open(here / "set")
    assert len(dataset) == 2
    assert examine(here / "set").problems == ()
    assert dataset.settings.from_policy["takeover"]["still_s"] == 0.5
    (here / "toys.py").write_text(POLICIES + "\n# Something else.\n")
    refused = spawn(*words(*source, episodes=3))
    assert refused.code == 2
    assert "from_policy.sha256: the dataset has" in refused.err


def test_a_policy_may_see_through_cameras_that_the_dataset_does_not_hold(here: Path) -> None:
    source = ("--from-policy", "toys:Looks", "--keep", "takeover", "--take-over", "still_s=0.5")
    answer = spawn(*words(*source, "--policy-cameras", "wrist:32x24"))
    assert answer.code == 0, answer.err
    dataset = Dataset.open(here / "set")
    assert dataset.settings.views == ()
    assert dataset.settings.from_policy["cameras"] == "wrist:32x24"
    assert examine(here / "set").problems == ()
    refused = spawn(*words(*source, "--policy-cameras", "front:32x24", episodes=2))
    assert refused.code == 2
    assert "from_policy.cameras" in refused.err


def test_a_policy_that_fails_is_told_and_commits_nothing(here: Path) -> None:
    answer = spawn(*words("--from-policy", "toys:broken"))
    assert answer.code == 2
    assert "--from-policy toys:broken: seed 0: ValueError: no idea" in answer.err
    assert "Traceback" not in answer.err
    assert not (here / "set/meta/info.json").exists()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--from-policy", "toys:Nope"), "--from-policy toys:Nope: the module has no such name"),
        (("--from-policy", "toys"), "--from-policy toys: expected MODULE:NAME"),
        (("--from-policy", "toys:Stays", "--policy-cameras", "wrst:32x24"), "--policy-cameras: no camera 'wrst'"),
        (("--policy-cameras", "wrist:32x24"), "--policy-cameras: needs a policy; add --from-policy"),
        (("--policy-renderer", "gpu"), "--policy-renderer: needs a policy; add --from-policy"),
        (("--keep", "takeover"), "--keep takeover: needs a policy; add --from-policy"),
        (("--take-over", "still_s=1"), "--take-over: needs a policy; add --from-policy"),
        (("--from-policy", "toys:Stays", "--take-over", "stil=1"), "--take-over stil=1: unknown key"),
        (("--from-policy", "toys:Stays", "--record", "intervention"), "add --keep takeover"),
        (("--from-policy", "toys:Stays", "--record", "some"), "--record"),
        (("--from-policy", "toys:Stays", "--cluster", "local"), "leave out --engine and --cluster"),
        (("--from-policy", "toys:Stays", "--fault", "drop@nowhere"), "unknown state 'nowhere'"),
    ],
)
def test_what_does_not_go_together_is_refused(more: tuple[str, ...], said: str) -> None:
    answer = call(*words(*more))
    assert answer.code == 2
    assert said in answer.err
    assert "Traceback" not in answer.err


def test_a_task_whose_expert_cannot_take_over_is_refused() -> None:
    answer = call(*words("--from-policy", "toys:Stays", task="sort"))
    assert answer.code == 2
    assert "cannot take over; choose grab, lift-cube, oranges" in answer.err
