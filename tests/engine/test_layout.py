from __future__ import annotations

import mujoco
import numpy as np
import pytest

from graspline.engine.layout import Readings, layout_of
from graspline.errors import WiringError
from graspline.robots.so101 import SO101
from graspline.scenes.cube_table import cube_table

from .worlds import PLAIN, START, engine_with, rest


def model_with(*sensors: tuple[str, mujoco.mjtSensor]) -> mujoco.MjModel:
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="ball")
    body.add_freejoint()
    body.add_geom(size=(0.1, 0.1, 0.1))
    for name, kind in sensors:
        spec.add_sensor(name=name, type=kind, objtype=mujoco.mjtObj.mjOBJ_BODY, objname="ball")
    return spec.compile()


POSITION, QUATERNION = mujoco.mjtSensor.mjSENS_FRAMEPOS, mujoco.mjtSensor.mjSENS_FRAMEQUAT


def test_signals_have_their_names_order_and_sizes() -> None:
    layout = layout_of(cube_table().model)
    sizes = {name: columns.stop - columns.start for name, columns in layout.readings.items()}
    assert list(sizes.items()) == [
        ("joint_position", 6),
        ("joint_velocity", 6),
        ("joint_load", 6),
        ("tool_position", 3),
        ("tool_axes", 9),
        ("pad_force", 6),
    ]
    assert list(layout.truth) == ["cube.position", "cube.quaternion", "cube.velocity"]


def test_every_column_belongs_to_exactly_one_signal() -> None:
    model = cube_table().model
    layout = layout_of(model)
    for columns, size in ((layout.readings, layout.readings_size), (layout.truth, layout.truth_size)):
        covered = [column for each in columns.values() for column in range(each.start, each.stop)]
        assert covered == list(range(size))
    assert layout.readings_size + layout.truth_size == model.nsensordata


def test_sensors_of_one_signal_are_joined() -> None:
    layout = layout_of(model_with(("reading/pose/a", POSITION), ("reading/pose/b", QUATERNION), ("truth/c", POSITION)))
    assert layout.readings == {"pose": slice(0, 7)}
    assert layout.truth == {"c": slice(0, 3)}


def test_a_reading_behind_truth_is_refused_by_name() -> None:
    model = model_with(("truth/a", POSITION), ("reading/late", POSITION))
    with pytest.raises(WiringError, match=r"'reading/late'.*before truth"):
        layout_of(model)


@pytest.mark.parametrize("name", ["weight", "measured/weight", "readings/weight"])
def test_a_sensor_that_is_neither_reading_nor_truth_is_refused_by_name(name: str) -> None:
    with pytest.raises(WiringError, match=f"'{name}'"):
        layout_of(model_with((name, POSITION)))


def test_sensors_of_one_signal_that_lie_apart_are_refused() -> None:
    model = model_with(("reading/a/1", POSITION), ("reading/b", POSITION), ("reading/a/2", POSITION))
    with pytest.raises(WiringError, match="'a' are not next to each other"):
        layout_of(model)


def test_readings_give_the_robots_signals_by_name() -> None:
    engine = engine_with([(START, PLAIN)])
    rest(engine, 30)
    readings = Readings(engine.readings[0].copy(), engine.layout)
    assert readings.joints == pytest.approx(SO101.home, abs=0.01)
    assert readings["joint_velocity"] == pytest.approx(np.zeros(6), abs=1e-3)
    assert readings.pad_forces_n() == (0.0, 0.0)
    rotation = readings.tool_rotation
    assert rotation.T @ rotation == pytest.approx(np.eye(3), abs=1e-9)
    assert np.linalg.det(rotation) == pytest.approx(1.0)
    # At home the hand points down over the table, leaning by 27°.
    assert rotation[2, 0] < -0.85
    assert 0.05 < readings.tool_position_m[2] < 0.25
