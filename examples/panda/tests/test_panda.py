"""`panda`: its model has the published chain, and tasks are done on it."""

from __future__ import annotations

import pickle

import mujoco
import numpy as np
import pytest
from graspline_panda import PANDA

from graspline import ROBOTS, Scenario, find_task, run_scenarios


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ROBOTS, "panda", PANDA)


def test_the_hand_is_where_the_published_parameters_have_it() -> None:
    model = PANDA.model()
    data = mujoco.MjData(model)
    for joint in PANDA.joints:
        data.joint(joint).qpos[0] = 0.0
    data.joint("joint4").qpos[0] = -np.pi / 2
    data.joint("joint6").qpos[0] = np.pi / 2
    mujoco.mj_kinematics(model, data)
    # The upper arm is upright, the forearm level, the hand points down.
    expected = (0.0825 + 0.384 + 0.088, 0.0, 0.333 + 0.316 + 0.0825 - 0.107 - 0.1034)
    assert data.site("tool").xpos == pytest.approx(expected, abs=1e-9)


def test_at_home_the_hand_is_open_and_points_straight_down() -> None:
    model = PANDA.model()
    data = mujoco.MjData(model)
    for joint, position in zip(PANDA.joints, PANDA.home, strict=True):
        data.joint(joint).qpos[0] = position
    mujoco.mj_kinematics(model, data)
    assert data.site("tool").xmat.reshape(3, 3)[:, 0] == pytest.approx([0, 0, -1], abs=1e-9)
    assert PANDA.jaw_law.gap_m(PANDA.home[PANDA.jaw]) == pytest.approx(0.08, abs=1e-6)


def test_a_copy_for_another_process_is_the_same_robot() -> None:
    copied = pickle.loads(pickle.dumps(PANDA))
    assert copied.model().body_pos.tobytes() == PANDA.model().body_pos.tobytes()


@pytest.mark.parametrize(("name", "episodes"), [("lift-cube", 6), ("grab", 3), ("oranges", 1)])
def test_a_task_is_done(name: str, episodes: int) -> None:
    task = find_task(name)
    parameters = task.parameters(robot="panda")
    scenarios = [Scenario(task=task, parameters=parameters, seed=seed) for seed in range(episodes)]
    for episode in run_scenarios(scenarios, lanes=episodes):
        assert episode.succeeded
        assert not episode.false_success
