"""What a log file keeps of an episode, and what counts as making something good."""

from __future__ import annotations

import dataclasses
import json
import typing
from pathlib import Path

import numpy as np
import pytest

from graspline.datasets.format.log_reader import recording_from
from graspline.datasets.format.recording import Recording, pack, recording_of, recoveries_of, unpack
from graspline.datasets.format.rows import labels_of
from graspline.engine.cpu import CpuEngine
from graspline.engine.events import Blind, Change, CorruptControl, Event, Misjudge, Place, Push, Roughen, See
from graspline.episodes.episode import Transition
from graspline.episodes.log import replay_log
from graspline.episodes.run import run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.evidence import at_least
from graspline.execution.notifications import EndsAs
from graspline.parameters import build
from graspline.scenes.cube_table import cube_table
from graspline.scenes.variation import Edit, Variation
from graspline.tasks.lift_cube import LIFT_CUBE, LiftCube
from graspline.tasks.tidy.parameters import Tidy
from graspline.tasks.tidy.task import TIDY

from ..conftest import cube_settings, play

EVENTS: tuple[Event, ...] = (
    Push(body="cube", force_n=(0.1, -2.5, 1 / 3)),
    Change(edits=(Edit(field="geom_friction", element="cube", values=(0.1, 0.2, 0.3)),)),
    Place(body="cube", position_m=(0.1, 0.2, 0.3), quaternion=(0.5, 0.5, 0.5, 0.5)),
    CorruptControl(joint="gripper"),
    Blind(kind="black", camera="wrist"),
    Blind(kind="frozen"),
    Misjudge(sigma_m=0.01, delay_s=0.2, seed=7),
    Roughen(sigma_factor=2.0, hole_share=0.1, camera="head"),
    See(),
)


def kept(recording: Recording, **changed: object) -> Recording:
    return dataclasses.replace(recording, log=dataclasses.replace(recording.log, **changed))  # pyright: ignore[reportArgumentType]


def test_there_is_an_example_of_every_event() -> None:
    assert {type(event) for event in EVENTS} == set(typing.get_args(Event))


def test_events_come_back_as_they_were(played: Recording) -> None:
    events = tuple(enumerate(EVENTS))
    assert unpack(pack(kept(played, events=events))).log.events == events


def test_a_variation_comes_back_as_it_was(played: Recording) -> None:
    edits = Edit(field="body_mass", element="cube", values=(1 / 3,)), Edit(field="x", element="y", values=())
    variation = Variation(edits=edits, described={"mass_kg": 1 / 3}, latency_ticks=2, depth_hole_share=0.1)
    assert unpack(pack(kept(played, variation=variation))).log.variation == variation


def test_numbers_come_back_to_the_bit_and_states_for_pictures_do_not(played: Recording) -> None:
    found = unpack(pack(played)).log
    for part in ("start", "positions", "velocities"):
        np.testing.assert_array_equal(getattr(found, part), getattr(played.log, part))
    assert found.ticks == played.log.ticks
    assert len(found.states) == 0


def test_facts_are_kept_beside_the_log(recovered: Recording) -> None:
    found = unpack(pack(recovered))
    assert found.evidence == recovered.evidence
    assert found.facts["seed"] == recovered.seed
    assert found.facts["verdict"] == "success"
    assert found.facts["scenario"] == json.loads(json.dumps(recovered.scenario))
    assert [each["outcome"] for each in found.facts["transitions"]] == [each.outcome for each in recovered.transitions]
    assert [each["fault"] for each in found.facts["strikes"]] == ["drop@lift+0.3"]
    assert [tuple(each) for each in found.facts["entries"]] == list(recovered.entries)
    assert [tuple(each) for each in found.facts["recoveries"]] == list(recovered.recoveries)


def test_a_signal_without_data_stays_absent(played: Recording) -> None:
    absent = at_least("force", float("nan"), 1.0, "N")
    (found,) = unpack(pack(dataclasses.replace(played, evidence=(absent,)))).evidence
    assert found.absent
    assert (found.name, found.limit, found.unit) == ("force", 1.0, "N")


def test_a_kept_log_can_be_played_again(recovered: Recording) -> None:
    assert replay_log(CpuEngine(cube_table(), 1, 1), unpack(pack(recovered)).log) == recovered.state_hash


def test_a_scenario_played_again_gives_the_same_file(played: Recording) -> None:
    assert pack(play(cube_settings(), played.seed)) == pack(played)


@pytest.mark.parametrize("damage", [b"", b"PK", b"no log at all"])
def test_what_is_no_log_is_refused(damage: bytes) -> None:
    with pytest.raises(ValueError, match="not a log of an episode"):
        unpack(damage)


def test_a_log_cut_short_is_refused(played: Recording) -> None:
    data = pack(played)
    for size in range(0, len(data), max(len(data) // 40, 1)):
        with pytest.raises(ValueError):
            unpack(data[:size])


def test_a_log_of_something_else_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", start=np.zeros(3))
    with pytest.raises(ValueError, match="not a log of an episode"):
        unpack((tmp_path / "other.npz").read_bytes())


def test_an_episode_without_trouble_has_no_recovery(played: Recording) -> None:
    assert played.recoveries == ()


def test_a_recovery_lasts_from_the_failure_until_the_state_was_passed(recovered: Recording) -> None:
    ((begin_s, end_s),) = recovered.recoveries
    lifts = [each for each in recovered.transitions if each.state == "lift"]
    assert [each.outcome for each in lifts] == ["slipped", "lifted"]
    assert (begin_s, end_s) == (lifts[0].t_s, lifts[1].t_s)
    assert recovered.succeeded


def test_what_is_never_made_good_lasts_until_the_end(recovered: Recording) -> None:
    machine = LIFT_CUBE.machine(LiftCube())
    until_drop = tuple(each for each in recovered.transitions if each.t_s <= recovered.recoveries[0][0])
    assert recoveries_of(until_drop, machine, 99.0) == ((recovered.recoveries[0][0], 99.0),)


def test_two_troubles_at_once_are_one_recovery_until_both_are_made_good(recovered: Recording) -> None:
    machine = LIFT_CUBE.machine(LiftCube())
    drop = next(each for each in recovered.transitions if each.outcome == "slipped")
    miss = Transition(t_s=10.0, state="close", outcome="missed", then="back_off")
    ends = [
        Transition(t_s=t_s, state=state, outcome=how, then="-")
        for t_s, state, how in ((12.0, "close", "closed"), (13.0, "lift", "lifted"))
    ]
    found = recoveries_of((dataclasses.replace(drop, t_s=9.0), miss, *ends), machine, 20.0)
    assert found == ((9.0, 13.0),)


def test_work_begins_with_the_state_that_the_machine_names(played: Recording) -> None:
    assert played.start_s == next(t_s for t_s, state in played.entries if state == "approach")


def test_endings_are_text_in_a_log_and_values_when_it_is_read(played: Recording) -> None:
    kept = unpack(pack(played))
    assert kept.facts["transitions"][-1]["then"] == "end: success"
    assert kept.transitions[-1].then == EndsAs("success")
    assert kept.transitions == played.transitions


def test_the_cause_of_a_failure_is_what_was_measured(played: Recording) -> None:
    failed = dataclasses.replace(played, succeeded=False, evidence=(at_least("height", 0.01, 0.05, "m"),))
    assert failed.cause == "height 10 mm (limit >= 50 mm)"
    assert dataclasses.replace(failed, evidence=(), contradicted=True).cause == "contradicted by the simulator"
    assert played.cause == ""


@pytest.mark.slow
def test_a_grasp_that_is_repeated_inside_a_nested_machine_is_a_retry_in_row_and_log() -> None:
    parameters = build(Tidy, None, ["table.count=[2,2]"])
    fault = "drop@single_grasp.execute_grasp.leave"
    (episode,) = run_scenarios([Scenario(task=TIDY, parameters=parameters, seed=3, faults=(fault,))])
    assert (episode.verdict, episode.retries) == ("success", 1)
    recording = recording_of(episode, TIDY.machine(parameters))
    row = labels_of(recording)
    assert (row["retries"], row["recovered"]) == (1, True)
    assert recording_from(row, unpack(pack(recording))).retries == 1
