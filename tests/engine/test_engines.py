"""What every engine does: the same assertions on the CPU's and on the one for GPUs, on Warp's own CPU device."""

from __future__ import annotations

import copy
from collections.abc import Callable

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import graspline.gpu.engine
from graspline.engine.cpu import CpuEngine
from graspline.engine.events import Change, CorruptControl, Place, Push
from graspline.engine.protocol import Engine
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.errors import EnvironmentProblem, WiringError
from graspline.gpu.choose import open_gpu_engine
from graspline.gpu.engine import WarpEngine
from graspline.gpu.lane_models import LaneModels
from graspline.robots.so101 import PAD_GEOMS, SO101
from graspline.scenes.cube_table import CUBE, cube_table
from graspline.scenes.scene import Array, Scene
from graspline.scenes.variation import Edit, Variation, friction_of, write_edits
from graspline.tasks.catalogue import find_task
from graspline.tasks.task import Draw

from .worlds import CUBES, PLAIN, START, varied

WORLDS = [varied(0), varied(1), (START, PLAIN)]
MakeEngine = Callable[[], Engine]


def _reset(engine: Engine) -> Engine:
    for lane, (start, variation) in enumerate(WORLDS):
        engine.reset(lane, start, variation)
    return engine


@pytest.fixture(scope="module")
def warp_engine() -> WarpEngine:
    """Kernels take half a minute to compile the first time, and every engine some seconds to load them."""
    return WarpEngine(cube_table(), len(WORLDS), "cpu")


@pytest.fixture(params=["cpu", pytest.param("warp", marks=pytest.mark.slow)])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "cpu":
        return _reset(CpuEngine(cube_table(), len(WORLDS), 1))
    return _reset(request.getfixturevalue("warp_engine"))


def rest(engine: Engine, ticks: int, lanes: list[int] | None = None) -> bool:
    chosen = np.array(range(engine.count) if lanes is None else lanes, np.intp)
    diverged = False
    for _ in range(ticks):
        diverged |= engine.step(np.tile(SO101.home, (len(chosen), 1)), chosen)
    return diverged


def cube_m(engine: Engine, lane: int) -> Array:
    return engine.truth[lane, engine.layout.truth["cube.position"]].copy()


def test_every_lane_has_a_cube_of_its_own_size(engine: Engine) -> None:
    assert not rest(engine, 30)
    for lane, edge_m in enumerate((CUBES[0][0], CUBES[1][0], 0.03)):
        assert cube_m(engine, lane)[2] == pytest.approx(edge_m / 2, abs=5e-5)
        assert engine.half_extents_m(lane, CUBE) == pytest.approx([edge_m / 2] * 3)


def test_every_lane_has_a_cube_of_its_own_mass(engine: Engine) -> None:
    rest(engine, 10)
    before = [cube_m(engine, lane)[2] for lane in range(2)]
    for lane in range(2):
        engine.apply(lane, Push(body=CUBE, force_n=(0.0, 0.0, 2 * CUBES[lane][1] * 9.81)))
    rest(engine, 12)
    # Twice its weight lifts it as fast as it would fall; sensors are one substep behind the state.
    risen = 0.5 * 9.81 * (12 / 60 - 1 / 480) ** 2
    for lane in range(2):
        assert cube_m(engine, lane)[2] - before[lane] == pytest.approx(risen, rel=0.02)


def test_readings_are_there_before_the_first_tick(engine: Engine) -> None:
    joints = engine.readings[:, engine.layout.readings["joint_position"]]
    np.testing.assert_allclose(joints, np.tile(SO101.home, (len(WORLDS), 1)), atol=1e-6)
    assert cube_m(engine, 2) == pytest.approx([0.15, 0.22, 0.015], abs=1e-6)


def test_joints_go_where_they_are_told(engine: Engine) -> None:
    goal = SO101.home + 0.1
    for _ in range(60):
        engine.step(np.tile(goal, (engine.count, 1)), np.arange(engine.count))
    joints = engine.readings[:, engine.layout.readings["joint_position"]]
    np.testing.assert_allclose(joints, np.tile(goal, (engine.count, 1)), atol=0.02)


def test_a_lane_that_nobody_steps_stays_as_it_is(engine: Engine) -> None:
    engine.apply(1, Push(body=CUBE, force_n=(0.0, 0.0, 5.0)))
    rest(engine, 3)
    still = engine.qpos[1].copy(), engine.truth[1].copy()
    rest(engine, 5, [0, 2])
    np.testing.assert_array_equal(engine.qpos[1], still[0])
    np.testing.assert_array_equal(engine.truth[1], still[1])
    rest(engine, 2)
    # It flies on from there, as if the other ticks had not been.
    assert 0 < engine.qpos[1, 8] - still[0][8] < 0.3


def test_an_object_can_be_put_elsewhere(engine: Engine) -> None:
    rest(engine, 2)
    engine.apply(2, Place(body=CUBE, position_m=(0.2, -0.1, 0.3), velocity_m_s=(0.5, 0.0, 0.0)))
    rest(engine, 6)
    time_s = 6 / 60
    assert engine.qpos[2, 6:9] == pytest.approx([0.2 + 0.5 * time_s, -0.1, 0.3 - 0.5 * 9.81 * time_s**2], abs=2e-3)


def test_numbers_change_while_it_runs(engine: Engine) -> None:
    engine.apply(0, Change(edits=friction_of(PAD_GEOMS, (0.3, 0.001, 0.0001))))
    rest(engine, 1)
    assert engine.number(0, "geom_friction", PAD_GEOMS[0])[0] == 0.3
    assert engine.number(2, "geom_friction", PAD_GEOMS[0])[0] != 0.3


def test_a_control_that_is_no_number_ends_one_lane(engine: Engine) -> None:
    engine.apply(1, CorruptControl(joint="elbow_flex"))
    assert rest(engine, 2)
    assert engine.diverged.tolist() == [False, True, False]
    assert np.isfinite(engine.qpos[[0, 2]]).all()
    engine.reset(1, *WORLDS[1])
    assert not rest(engine, 5)
    assert not engine.diverged.any()


def test_controls_may_arrive_late(engine: Engine) -> None:
    engine.reset(0, START, Variation(latency_ticks=4))
    engine.reset(1, START, PLAIN)
    goal = SO101.home + np.array([0.2, 0, 0, 0, 0, 0])
    for _ in range(4):
        engine.step(np.tile(goal, (engine.count, 1)), np.arange(engine.count))
    pan = engine.readings[:, engine.layout.readings["joint_position"]][:, 0]
    assert abs(pan[0] - SO101.home[0]) < 1e-3
    assert pan[1] - SO101.home[0] > 0.01


def test_a_lane_goes_on_from_where_it_was_saved(engine: Engine) -> None:
    rest(engine, 5)
    saved = engine.save(0)
    engine.apply(0, Push(body=CUBE, force_n=(0.0, 0.0, 1.0)))
    rest(engine, 10)
    high = cube_m(engine, 0)[2]
    engine.restore(0, saved)
    rest(engine, 3)
    assert cube_m(engine, 0)[2] < high - 0.01
    assert cube_m(engine, 0)[2] == pytest.approx(CUBES[0][0] / 2, abs=1e-4)


def test_a_state_begins_with_the_time_of_its_own_lane(engine: Engine) -> None:
    def ticks() -> list[float]:
        return [engine.state(lane)[0] / SO101.dt_s for lane in range(engine.count)]

    assert ticks() == [0.0, 0.0, 0.0]
    rest(engine, 3)
    rest(engine, 2, [0, 2])
    assert ticks() == pytest.approx([5, 3, 5])
    saved = engine.save(0)
    engine.reset(2, *WORLDS[2])
    rest(engine, 1)
    assert ticks() == pytest.approx([6, 4, 1])
    engine.restore(0, saved)
    assert ticks() == pytest.approx([5, 4, 1])
    rest(engine, 1, [0])
    assert ticks() == pytest.approx([6, 4, 1])


class TestTooLittleMemory:
    """The device is Warp's own CPU: no GPU is needed to run out of memory."""

    def test_it_is_said_how_many_lanes_did_not_fit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fail_with(RuntimeError("Failed to allocate 123456 bytes on device 'cpu'"), monkeypatch)
        with pytest.raises(EnvironmentProblem, match=r"--engine gpu: 300 lanes of scene 'cube_table' do not fit"):
            open_gpu_engine(cube_table(), 300, "cpu")

    def test_so_it_is_when_the_machine_itself_has_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fail_with(MemoryError(), monkeypatch)
        with pytest.raises(EnvironmentProblem, match=r"300 lanes .* use fewer --lanes, or --engine cpu"):
            open_gpu_engine(cube_table(), 300, "cpu")

    def test_other_errors_stay_what_they_are(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fail_with(RuntimeError("CUDA error 700: an illegal access"), monkeypatch)
        with pytest.raises(RuntimeError, match="illegal access"):
            open_gpu_engine(cube_table(), 300, "cpu")

    @staticmethod
    def fail_with(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: object) -> None:
            raise error

        monkeypatch.setattr(graspline.gpu.engine, "WarpEngine", full)


@pytest.mark.slow
class TestOnWarp:
    def test_what_is_fixed_stands_where_its_own_lane_has_it(self) -> None:
        task = find_task("tidy")
        parameters, scene = task.parameters(), task.scene(task.parameters())
        draws = [Scenario(task=task, parameters=parameters, seed=seed).sample() for seed in (4, 5)]
        model = scene.model
        geoms = np.flatnonzero((model.body_weldid[model.geom_bodyid] == 0) & (model.geom_bodyid > 0))
        wanted = [self.kinematics(scene, draw, geoms) for draw in draws]
        assert np.abs(wanted[0] - wanted[1]).max() > 5e-3, "the lanes' tables are not in one place"
        engine = WarpEngine(scene, len(draws), "cpu")
        for lane, draw in enumerate(draws):
            engine.reset(lane, draw.start, draw.variation)
        np.testing.assert_allclose(self.placed(engine, geoms), wanted, atol=2e-6)
        joints = [scene.joint_address(name) for name in scene.robot.joints]
        engine.step(np.stack([draw.start[joints] for draw in draws]), np.arange(len(draws)))
        np.testing.assert_allclose(self.placed(engine, geoms), wanted, atol=2e-6)
        # Another episode in the same lane, and furniture that is moved while one is played.
        engine.reset(0, draws[1].start, draws[1].variation)
        moved = tuple(each for each in draws[0].variation.edits if each.field in ("body_pos", "body_quat"))
        engine.apply(1, Change(edits=moved))
        np.testing.assert_allclose(self.placed(engine, geoms), wanted[::-1], atol=2e-6)

    @staticmethod
    def kinematics(scene: Scene, draw: Draw, geoms: NDArray[np.intp]) -> Array:
        """Where MuJoCo has these geoms, (n, 12): positions in W, then rotations."""
        model = copy.copy(scene.model)
        write_edits(model, draw.variation.edits)
        data = mujoco.MjData(model)
        data.qpos[:] = draw.start
        mujoco.mj_kinematics(model, data)
        return np.hstack([data.geom_xpos[geoms], data.geom_xmat[geoms]])

    @staticmethod
    def placed(engine: WarpEngine, geoms: NDArray[np.intp]) -> Array:
        """The same on the device, (lanes, n, 12)."""
        # Sends what is to be sent.
        assert np.isfinite(engine.readings).all()
        positions, rotations = (getattr(engine._data, name).numpy()[:, geoms] for name in ("geom_xpos", "geom_xmat"))
        return np.concatenate([positions, rotations.reshape(engine.count, len(geoms), 9)], axis=2)

    def test_what_happens_to_lanes_between_two_ticks_happens_in_its_order(self, warp_engine: WarpEngine) -> None:
        engine = warp_engine
        rest(_reset(engine), 3)
        moved = engine.state(1)
        engine.apply(0, Push(body=CUBE, force_n=(0.0, 0.0, 5.0)))
        engine.apply(1, Push(body=CUBE, force_n=(1.0, 2.0, 3.0)))
        engine.begin(np.array([2, 0]), np.stack([START, WORLDS[0][0]]))
        engine.apply(2, Place(body=CUBE, position_m=(0.2, -0.1, 0.3), velocity_m_s=(0.5, 0.0, 0.0)))
        engine.begin(np.array([0]), WORLDS[1][0][None])
        model, body = engine.scene.model, engine.scene.model.body(CUBE).id
        at_home = np.concatenate([np.zeros(model.nv), SO101.home, np.zeros(model.nv + 6 * model.nbody)])
        wanted = [np.concatenate([[0.0], WORLDS[1][0], at_home]), moved, np.concatenate([[0.0], START, at_home])]
        wanted[1][-6 * model.nbody :][6 * body : 6 * body + 3] = 1.0, 2.0, 3.0
        wanted[2][7:10] = 0.2, -0.1, 0.3
        wanted[2][10:14] = 1.0, 0.0, 0.0, 0.0
        wanted[2][1 + len(START) + 6] = 0.5
        # The same before anything has been sent and after.
        for _ in range(2):
            for lane, state in enumerate(wanted):
                np.testing.assert_allclose(engine.state(lane), state, atol=1e-6)
                np.testing.assert_allclose(engine.qpos[lane], state[1 : 1 + len(START)], atol=1e-6)
            assert np.isfinite(engine.readings).all()

    def test_models_of_several_lanes_are_changed_together(self, warp_engine: WarpEngine) -> None:
        models = LaneModels(warp_engine.scene, 3)
        for lane, (_, variation) in enumerate(WORLDS):
            models.set(lane, {(edit.field, edit.element): edit for edit in variation.edits})
        _reset(warp_engine)
        # The last one of each lane counts.
        for which, wanted in (([2, 1], [0, 1, 0]), ([2, 0], [2, 1, 0]), ([0, 2], [0, 1, 2])):
            warp_engine.change(np.array([0, 2]), models.rows[[1, 1]])
            warp_engine.change(np.array(which), models.rows[[wanted[lane] for lane in which]])
            warp_engine.change(np.array([0]), models.rows[[wanted[0]]])
            # Before readings are looked at what waits is sent.
            warp_engine.begin(np.arange(3), np.stack([START] * 3))
            assert np.isfinite(warp_engine.readings).all()
            for lane, model in enumerate(wanted):
                mine = [getattr(warp_engine._model, name).numpy()[lane].ravel() for name in models.fields]
                np.testing.assert_array_equal(np.concatenate(mine), models.rows[model])

    def test_too_little_room_for_contacts_is_an_error_that_says_how_much_there_was(self) -> None:
        crowded = WarpEngine(cube_table(), 1, "cpu", contacts=2, constraints=64)
        crowded.reset(0, START, PLAIN)
        with pytest.raises(WiringError, match=r"contacts in 1 lanes of 2 each"):
            rest(crowded, 3)

    def test_lanes_differ_only_in_what_it_can_vary(self, warp_engine: WarpEngine) -> None:
        edit = Edit(field="geom_solref", element=CUBE, values=(0.01, 1.0))
        with pytest.raises(WiringError, match="cannot differ in geom_solref; they can in actuator_biasprm"):
            warp_engine.reset(0, START, Variation(edits=(edit,)))

    def test_a_task_is_played_by_the_code_that_plays_it_on_a_cpu(self) -> None:
        task = find_task("lift-cube")
        scenarios = [Scenario(task=task, parameters=task.parameters(), seed=seed) for seed in (1, 5)]
        played = list(
            run_scenarios(scenarios, lanes=2, make_engine=lambda scene, count, _: WarpEngine(scene, count, "cpu"))
        )
        assert [each.verdict for each in played] == ["success", "success"]
        assert not any(each.false_success for each in played)
        assert {each.engine for each in played} == {"gpu"}
