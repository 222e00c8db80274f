"""What every robot promises: a jaw law that can be read both ways, and a servo that says how far it trails."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graspline.robots.robot import JawLaw, Servo
from graspline.robots.so101 import SO101

LAW = SO101.jaw_law
ANGLES = st.floats(float(LAW.angles_rad[0]), float(LAW.angles_rad[-1]))


def test_a_jaw_law_grows_strictly_with_the_angle() -> None:
    assert (np.diff(LAW.angles_rad) > 0).all()
    assert (np.diff(LAW.gaps_m) > 0).all()


@settings(deadline=None)
@given(ANGLES)
def test_an_angle_survives_the_way_through_its_gap(angle: float) -> None:
    assert float(LAW.angle_rad(LAW.gap_m(angle))) == pytest.approx(angle, abs=1e-12)


def test_beyond_its_ends_a_jaw_law_stays_at_them() -> None:
    law = JawLaw(angles_rad=np.array([0.0, 1.0]), gaps_m=np.array([0.01, 0.09]), middles_m=np.zeros((2, 3)))
    assert float(law.gap_m(-1.0)) == 0.01
    assert float(law.gap_m(2.0)) == 0.09
    assert float(law.angle_rad(0.0)) == 0.0
    assert float(law.angle_rad(1.0)) == 1.0


def test_a_servo_trails_by_its_smoothing_and_by_what_damps_it() -> None:
    one = np.ones(1)
    servo = Servo(kp=100 * one, kv=2 * one, damping=one, force=one, smoothing_s=0.02)
    assert servo.lag_s == pytest.approx(0.05)


def test_the_arm_is_every_joint_but_the_jaw() -> None:
    assert SO101.joints[SO101.arm] == SO101.joints[:-1]
    assert SO101.joints[SO101.jaw] == "gripper"
    assert SO101.dt_s == pytest.approx(1 / 60)
