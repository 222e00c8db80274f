"""Progress: from 0 to 1 within its rates, either way; and the cubic move that keeps limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graspline.motion.scaling import AT_ONCE, Rates, Scaling, TimeScaling, soonest

Array = NDArray[np.float64]

SCALINGS = st.sampled_from(["ruckig", "cubic"])
RATES = st.builds(Rates, speed=st.floats(0.1, 30), push=st.floats(0.5, 300), jerk=st.floats(5, 2e4))


def sampled(progress: TimeScaling, count: int = 2001) -> tuple[Array, Array, Array]:
    times = np.linspace(0.0, progress.duration_s, count)
    return (times, *progress.at(times))


@settings(max_examples=60, deadline=None)
@given(RATES, SCALINGS)
def test_progress_goes_from_nothing_to_all_and_never_back(rates: Rates, scaling: Scaling) -> None:
    _, done, rate = sampled(soonest(rates, scaling))
    assert (done[0], done[-1]) == pytest.approx((0.0, 1.0), abs=1e-9)
    assert (rate[0], rate[-1]) == pytest.approx((0.0, 0.0), abs=1e-6 * rates.speed)
    assert np.diff(done).min() >= -1e-12
    assert rate.min() >= -1e-9 * rates.speed


@settings(max_examples=60, deadline=None)
@given(RATES, SCALINGS)
def test_progress_keeps_its_rates_and_takes_one_of_them_in_full(rates: Rates, scaling: Scaling) -> None:
    times, done, rate = sampled(soonest(rates, scaling))
    step = times[1]
    push = np.diff(rate) / step
    assert rate.max() <= rates.speed * (1 + 1e-9)
    assert np.abs(push).max() <= rates.push * (1 + 1e-6)
    # Rates are those of what is done, up to what a change of push within a step does.
    between = (rate[1:] + rate[:-1]) / 2 * step
    np.testing.assert_allclose(np.diff(done), between, atol=rates.push * step**2)
    taken = [rate.max() / rates.speed, np.abs(push).max() / rates.push]
    if scaling == "ruckig":
        jerk = np.abs(np.diff(push)).max() / step
        assert jerk <= rates.jerk * (1 + 1e-4)
        taken.append(jerk / rates.jerk)
    assert max(taken) > 0.97


@settings(max_examples=60, deadline=None)
@given(RATES)
def test_jerk_limited_progress_is_ruckigs(rates: Rates) -> None:
    progress = soonest(rates)
    profile = progress.profile
    assert profile is not None
    times, done, rate = sampled(progress, 57)
    told = np.array([profile.at_time(time)[:2] for time in times])[:, :, 0]
    np.testing.assert_allclose(done, np.clip(told[:, 0], 0, 1), atol=1e-12)
    np.testing.assert_allclose(rate, told[:, 1], atol=1e-9 * rates.speed)


@settings(max_examples=60, deadline=None)
@given(RATES, SCALINGS, st.floats(0.0005, 0.9995))
def test_when_tells_the_time_at_which_so_much_is_done(rates: Rates, scaling: Scaling, share: float) -> None:
    progress = soonest(rates, scaling)
    time = progress.when(share)
    assert 0.0 < time < progress.duration_s
    assert progress.at(np.array([time]))[0][0] == pytest.approx(share, abs=1e-7)


@pytest.mark.parametrize("scaling", ["ruckig", "cubic"])
def test_nothing_is_done_before_and_all_after(scaling: Scaling) -> None:
    progress = soonest(Rates(speed=2.0, push=10.0, jerk=300.0), scaling)
    done, rate = progress.at(np.array([-1.0, progress.duration_s + 1.0]))
    assert done == pytest.approx([0.0, 1.0], abs=1e-12)
    assert rate == pytest.approx([0.0, 0.0], abs=1e-9)
    assert [progress.when(share) for share in (-0.5, 0.0, 1.0, 1.5)] == [0.0, 0.0, *[progress.duration_s] * 2]


def test_what_is_done_at_once_takes_no_time() -> None:
    done, rate = AT_ONCE.at(np.array([-0.1, 0.0, 0.1]))
    assert done.tolist() == [0.0, 1.0, 1.0]
    assert not rate.any()
    assert AT_ONCE.when(0.5) == 0.0


@settings(max_examples=30, deadline=None)
@given(RATES, SCALINGS, st.floats(1.1, 4.0))
def test_greater_rates_are_sooner_done(rates: Rates, scaling: Scaling, factor: float) -> None:
    faster = Rates(speed=factor * rates.speed, push=factor * rates.push, jerk=factor * rates.jerk)
    assert soonest(faster, scaling).duration_s < soonest(rates, scaling).duration_s
