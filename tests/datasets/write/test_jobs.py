"""What workers do with what a GPU played: certify it and render what the CPU saw, or say why not."""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import Any

import numpy as np
import pytest

from graspline.datasets.format.recording import Recording, recording_of
from graspline.datasets.format.rows import Rejected
from graspline.datasets.format.settings import DatasetSettings
from graspline.datasets.write.jobs import Drawing, Drawn, do, judged, render
from graspline.episodes.episode import Episode
from graspline.episodes.run import run_scenarios
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube

from ..conftest import cube_settings

CPU = cube_settings(views=())
GPU = cube_settings(views=(), engine="gpu")
UNCERTIFIED = cube_settings(views=(), engine="gpu", certify=False)


@functools.cache
def an_episode(*faults: str) -> Episode:
    (episode,) = run_scenarios([dataclasses.replace(CPU, faults=faults).scenario(3)], record_states=True)
    return episode


def on_a_gpu(*faults: str, **changes: Any) -> Recording:
    """A recording of an episode as a GPU would have played it; where it says to have been is a metre off."""
    episode = dataclasses.replace(an_episode(*faults), engine="gpu", state_hash="of a GPU")
    log = dataclasses.replace(episode.log, states=episode.log.states + 1.0)
    recording = recording_of(dataclasses.replace(episode, log=log), LIFT_CUBE.machine(LiftCube()))
    return dataclasses.replace(recording, **changes)


def drawn(settings: DatasetSettings, recording: Recording) -> Drawn:
    found = do(Drawing(settings=settings, recording=recording))
    assert isinstance(found, Drawn)
    return found


def rejected(recording: Recording) -> Rejected:
    found = do(Drawing(settings=GPU, recording=recording))
    assert isinstance(found, Rejected)
    return found


def recorded() -> Recording:
    """The same episode without a GPU."""
    return recording_of(an_episode(), LIFT_CUBE.machine(LiftCube()))


def on_the_cpu() -> Drawn:
    return render(Drawing(settings=CPU, recording=recorded()))


def test_what_is_certified_is_written_as_the_cpu_saw_it() -> None:
    found, wanted = drawn(GPU, on_a_gpu()), on_the_cpu()
    assert (found.recording.scenario["engine"], found.recording.scenario["certified"]) == ("gpu", True)
    assert found.recording.state_hash == wanted.recording.state_hash
    assert found.recording.truth == wanted.recording.truth
    assert found.values.keys() == wanted.values.keys()
    for name, values in wanted.values.items():
        np.testing.assert_array_equal(found.values[name], values, err_msg=name)
    assert not len(found.recording.log.states), "what a commit does not need is not sent"
    assert found.took_s.keys() == {"certify", "encode", "render", "rows"}


def test_nobody_needs_the_states_of_what_is_to_be_certified() -> None:
    found, wanted = drawn(GPU, on_a_gpu().without_states()), on_the_cpu()
    poses = "graspline.object_poses"
    np.testing.assert_array_equal(found.values[poses], wanted.values[poses])


def test_pictures_show_what_the_cpu_saw() -> None:
    views = cube_settings().views
    found = drawn(dataclasses.replace(GPU, views=views), on_a_gpu())
    wanted = drawn(dataclasses.replace(CPU, views=views), recorded())
    (view,) = views
    assert found.films[view.key].mp4 == wanted.films[view.key].mp4


def test_what_does_not_happen_on_the_cpu_is_rejected_and_says_why() -> None:
    recording = on_a_gpu()
    still = np.tile(recording.log.positions[0], (len(recording.log.positions), 1))
    log = dataclasses.replace(recording.log, positions=still, velocities=np.zeros_like(still))
    found = rejected(dataclasses.replace(recording, log=log))
    assert (found.seed, found.verdict) == (3, "not_certified")
    assert re.fullmatch(r"on the CPU raised (< )?\S+ mm \(limit >= 50 mm\)", found.cause)
    assert len(found.lay_at_m) == 2
    assert not found.contradicted


def test_a_failure_that_is_none_on_the_cpu_is_rejected_too() -> None:
    found = rejected(on_a_gpu(verdict="dropped", succeeded=False))
    assert (found.verdict, found.cause) == ("not_certified", "on the CPU it is at its goal")


def test_a_failure_that_fails_on_the_cpu_is_rendered() -> None:
    recording = on_a_gpu("remove@hold+0.2")
    assert not recording.succeeded
    settings = dataclasses.replace(GPU, keep="all", faults=("remove@hold+0.2",))
    found = drawn(settings, recording).recording
    assert found.scenario["certified"] is True
    assert (found.verdict, found.succeeded) == (recording.verdict, False)
    assert found.state_hash == an_episode("remove@hold+0.2").state_hash


def test_uncertified_it_keeps_what_the_gpu_saw_and_says_so() -> None:
    found, seen = drawn(UNCERTIFIED, on_a_gpu()), on_the_cpu()
    assert (found.recording.scenario["engine"], found.recording.scenario["certified"]) == ("gpu", False)
    assert found.recording.state_hash == "of a GPU"
    # After the first frame, which shows the start.
    cube = [each.values["graspline.object_poses"][1:, :3] for each in (found, seen)]
    np.testing.assert_allclose(cube[0], cube[1] + 1.0, atol=1e-5)


def test_what_the_cpu_played_is_not_played_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("graspline.datasets.write.jobs.replay_logs")
    found = drawn(CPU, recorded())
    assert found.recording.state_hash == an_episode().state_hash
    assert "certified" not in found.recording.scenario


@pytest.mark.parametrize("keep, kept", [("success", False), ("all", True)])
def test_failures_of_a_gpu_are_kept_if_asked_for_though_they_have_no_states(keep: Any, kept: bool) -> None:
    episode = an_episode("remove@hold+0.2")
    played = dataclasses.replace(
        episode, engine="gpu", log=dataclasses.replace(episode.log, states=episode.log.states[:0])
    )
    found = judged(played, dataclasses.replace(GPU, keep=keep, faults=("remove@hold+0.2",)))
    assert isinstance(found, Recording if kept else Rejected)
    assert found.verdict == episode.verdict


@pytest.mark.parametrize("verdict", ["crashed", "hung", "interrupted"])
def test_what_broke_down_on_a_gpu_is_never_kept(verdict: str) -> None:
    broken = dataclasses.replace(an_episode(), engine="gpu", verdict=verdict, succeeded=False)
    assert isinstance(judged(broken, dataclasses.replace(GPU, keep="all")), Rejected)


def test_physics_that_diverged_on_the_gpu_alone_is_not_certified() -> None:
    whole, settings = an_episode(), dataclasses.replace(GPU, keep="all")
    log = dataclasses.replace(
        whole.log,
        positions=whole.log.positions[:100],
        velocities=whole.log.velocities[:100],
        states=whole.log.states[:0],
    )
    episode = dataclasses.replace(whole, engine="gpu", verdict="physics_diverged", succeeded=False, log=log)
    recording = judged(episode, settings)
    assert isinstance(recording, Recording)
    found = do(Drawing(settings=settings, recording=recording))
    assert isinstance(found, Rejected)
    assert found.cause == "on the CPU nothing diverged"
