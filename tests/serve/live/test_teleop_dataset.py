"""Episodes that a person drove, in a dataset: healthy, replayed to the same bits, and marked as such."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graspline.datasets.check.doctor import examine
from graspline.datasets.check.replay import rerun
from graspline.datasets.format.store import Dataset
from graspline.serve.archive import open_archive
from graspline.serve.live.commands import BeginTeleop, EndTeleop, Record, RunTask
from graspline.tasks.lift_cube import LIFT_CUBE

from .benches import PARAMETERS, Bench
from .hands import Hand

pytestmark = pytest.mark.slow
SEED = 5


def test_episodes_driven_by_hand_become_a_healthy_dataset_beside_those_of_the_task(tmp_path: Path) -> None:
    root = tmp_path / "live"
    with open_archive(LIFT_CUBE, PARAMETERS, SEED, root) as archive:
        told: list[str] = []
        place = archive.place_for("lift-cube")
        bench = Bench(seed=SEED, hand_over=lambda each: told.append(archive.keep(each)), place=place)
        hand = Hand(bench)
        # One that lifts the cube, one that does not, one that the task plays.
        bench.done(BeginTeleop())
        hand.grasp(bench.tick(2).snapshot.objects[0])
        hand.lift(0.075)
        assert bench.done(EndTeleop()).data["seed"] == SEED
        bench.done(BeginTeleop())
        hand.drive(60, linear_m_s=(0.0, 0.05, -0.05))
        assert bench.done(EndTeleop()).data["seed"] == SEED + 1
        bench.done(BeginTeleop())
        bench.done(EndTeleop(keep=False))
        bench.done(Record(True, archive.place))
        bench.done(RunTask(SEED + 2))
        assert archive.place_for("oranges").problem == "live holds lift-cube, not oranges"
        assert [each.partition(" frames")[0].rsplit(",", 1)[0] for each in told] == [
            f"episode {index} written into live" for index in range(3)
        ]
        assert any("by hand: success" in name for name in archive.known("lift-cube"))
    dataset = Dataset.open(root)
    assert [row["ended_by"] for row in dataset.rows] == ["person", "person", "expert"]
    assert [row["verdict"] for row in dataset.rows] == ["success", "not_done", "success"]
    assert [row["success"] for row in dataset.rows] == [True, False, True]
    assert dataset.rows[0]["target_objects"] == ["cube"]
    frames = dataset.frames(dataset.rows[0])
    assert set(frames.column("graspline.state").to_pylist()) == {"teleop"}
    assert not any(frames.column("intervention").to_pylist())
    # An action is where the joints were commanded to be at the end of a frame; the arm follows it closely.
    action = np.stack(frames.column("action").to_numpy(zero_copy_only=False))
    state = np.stack(frames.column("observation.state").to_numpy(zero_copy_only=False))
    assert np.abs(action[:-1, :5] - state[1:, :5]).max() < 2.0
    assert not examine(root).problems
    assert [each.differences for each in rerun(dataset, dataset.rows)] == [()] * 3
    # It goes on where it ended: seeds that are in it are passed over.
    with open_archive(LIFT_CUBE, PARAMETERS, SEED, root) as archive:
        place = archive.place_for("lift-cube")
        assert [place.has(seed) for seed in range(SEED, SEED + 4)] == [True, True, True, False]
