from __future__ import annotations

import pytest

from graspline.engine.events import Change, CorruptControl, Place, Push
from graspline.episodes.episode import Episode
from graspline.episodes.fault_injection import Fault, parse_faults
from graspline.errors import InputError
from graspline.faults.catalogue import fault_names
from graspline.scenes.cube_table import CUBE
from graspline.tasks.lift_cube import LIFT_CUBE

from .playing import ONE_TRY, PARAMETERS, assert_within_limits, run, run_seeds, scenario

STATES = tuple(LIFT_CUBE.machine(PARAMETERS).states)
SEEDS = range(8)


# Their names


@pytest.mark.parametrize(
    "text, fault",
    [
        ("drop@lift", Fault(name="drop", state="lift", delay_s=0.0)),
        ("drop@lift+0.3", Fault(name="drop", state="lift", delay_s=0.3)),
        ("shove@descend+2", Fault(name="shove", state="descend", delay_s=2.0)),
        ("nan-control@back_off+.5", Fault(name="nan-control", state="back_off", delay_s=0.5)),
    ],
)
def test_a_fault_is_read_from_its_name_state_and_delay(text: str, fault: Fault) -> None:
    assert parse_faults([text], STATES) == (fault,)


@pytest.mark.parametrize("text", ["drop@lift", "drop@lift+0.3", "remove@approach+2"])
def test_a_fault_is_told_as_it_is_read(text: str) -> None:
    (fault,) = parse_faults([text], STATES)
    assert str(fault) == text


def test_no_faults_are_none() -> None:
    assert parse_faults([], STATES) == ()


def test_all_mistakes_are_told_at_once_with_the_nearest_name() -> None:
    with pytest.raises(InputError) as caught:
        parse_faults(["drop", "dorp@lift", "drop@lifft", "blink@nowhere+61", "drop@lift+-1", "remove@look"], STATES)
    first, second, third, fourth, fifth, sixth, seventh = list(caught.value.problems)
    assert first == "--fault drop: expected NAME@STATE or NAME@STATE+SECONDS, such as drop@lift+0.2"
    known = "known: " + ", ".join(sorted(fault_names()))
    assert second == f"--fault dorp@lift: unknown fault 'dorp'; did you mean 'drop'? {known}"
    assert third.startswith("--fault drop@lifft: unknown state 'lifft'; did you mean 'lift'? known: approach, ")
    assert fourth.startswith("--fault blink@nowhere+61: unknown fault 'blink'; ")
    assert fifth.startswith("--fault blink@nowhere+61: unknown state 'nowhere'; ")
    assert sixth == "--fault blink@nowhere+61: a delay of 61 s is above 60 s"
    assert seventh.startswith("--fault drop@lift+-1: expected NAME@STATE")


@pytest.mark.parametrize("text", ["", "@", "drop@", "@lift", "drop@lift+", "drop@lift+x", "drop@lift+1e-1", "a@b@c"])
def test_what_is_no_fault_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected NAME@STATE"):
        parse_faults([text], STATES)


def test_a_fault_of_another_package_is_read_and_injected_by_its_place() -> None:
    text = "graspline.faults.objects:DROP@lift+0.3"
    (fault,) = parse_faults([text], STATES)
    assert (fault.name, str(fault)) == ("graspline.faults.objects:DROP", text)
    assert run_seeds([1], text)[1].state_hash == run_seeds([1], "drop@lift+0.3")[1].state_hash


def test_a_place_without_a_fault_is_told_with_the_option() -> None:
    with pytest.raises(InputError, match=r"^--fault graspline\.faults\.robot:JAMM@lift: .*did you mean 'JAM'\?"):
        parse_faults(["graspline.faults.robot:JAMM@lift"], STATES)


# What each causes, and what the task makes of it


def whole(seeds: range = SEEDS) -> dict[int, Episode]:
    return run_seeds(seeds, lanes=8)


def test_a_dropped_cube_is_picked_up_again() -> None:
    played = run_seeds(SEEDS, "drop@lift+0.3", lanes=8)
    # Where one has rolled out of reach, that is the verdict.
    assert {episode.verdict for episode in played.values()} <= {"success", "unreachable"}
    again = [episode for episode in played.values() if episode.succeeded]
    assert len(again) >= len(SEEDS) - 1
    for episode in again:
        assert episode.retries >= 1
        assert not episode.false_success
        lost = [each.outcome for each in episode.transitions if each.state == "lift"]
        assert lost[0] in ("dropped", "slipped")
        assert lost[-1] == "lifted"
        assert "back_off" in [each.state for each in episode.transitions]
        assert_within_limits(episode.log.positions, episode.log.velocities)


def test_a_dropped_cube_without_a_retry_left_is_a_failure_with_evidence() -> None:
    for episode in run_seeds(SEEDS, "drop@hold+0.2", parameters=ONE_TRY, lanes=8).values():
        assert episode.verdict in ("dropped", "slipped")
        assert episode.retries == 0
        assert not episode.succeeded
        assert any(not each.passed for each in episode.evidence)


def test_a_cube_that_was_taken_away_is_not_found() -> None:
    for episode in run_seeds(SEEDS, "remove@approach", lanes=8).values():
        assert episode.verdict == "target_not_found"
        assert not episode.succeeded
        assert episode.transitions[-1].state == "look"
        assert episode.transitions[-1].outcome == "lost"


@pytest.mark.parametrize("state", ["look", "descend", "close", "lift", "hold", "verify"])
def test_a_cube_taken_away_at_any_time_is_never_a_false_success(state: str) -> None:
    for episode in run_seeds(range(4), f"remove@{state}", lanes=4).values():
        assert not episode.false_success
        assert episode.verdict != "crashed", episode.error
        assert not episode.succeeded


def test_a_control_that_is_not_a_number_ends_its_lane_only() -> None:
    mixed = run(
        [scenario(seed, *(["nan-control@lift"] if seed in (2, 5) else [])) for seed in SEEDS], lanes=8, threads=2
    )
    expected = whole()
    for seed in SEEDS:
        if seed in (2, 5):
            assert mixed[seed].verdict == "physics_diverged"
            assert mixed[seed].transitions[-1].state == "close"
            assert not mixed[seed].succeeded
            # One tick after the lift began, and that tick is in the log.
            lift_s = next(time_s for time_s, state in mixed[seed].entries if state == "lift")
            assert mixed[seed].sim_time_s == pytest.approx(lift_s + 1 / 60)
        else:
            assert mixed[seed].as_dict() == expected[seed].as_dict()


@pytest.mark.parametrize("fault", ["shove@descend", "shove@close", "shove@lift+0.2", "shove@verify"])
def test_a_shoved_cube_is_never_a_false_success(fault: str) -> None:
    for episode in run_seeds(SEEDS, fault, lanes=8).values():
        assert not episode.false_success
        assert episode.verdict != "crashed", episode.error


@pytest.mark.slow
@pytest.mark.parametrize("name", ["drop", "shove", "remove"])
def test_no_fault_in_any_state_leads_to_a_false_success_or_a_crash(name: str) -> None:
    texts = [f"{name}@{state}{delay}" for state in STATES for delay in ("", "+0.1", "+0.3")]
    for episode in run([scenario(seed, text) for seed, text in enumerate(texts)], lanes=16).values():
        assert not episode.false_success
        assert episode.verdict != "crashed", episode.error
        assert_within_limits(episode.log.positions, episode.log.velocities)


# When they strike


def test_a_fault_strikes_once_after_its_delay() -> None:
    episode = run_seeds([1], "remove@approach+0.25")[1]
    approach_s = next(time_s for time_s, state in episode.entries if state == "approach")
    ((tick, event),) = episode.log.events
    assert tick == round((approach_s + 0.25) * 60)
    assert isinstance(event, Place)
    assert event.body == CUBE


def test_a_fault_strikes_only_the_first_time_its_state_is_entered() -> None:
    episode = run_seeds([1], "drop@lift+0.3")[1]
    assert [state for _, state in episode.entries].count("lift") == 2
    assert len(episode.log.events) == 4


def test_a_drop_oils_the_pads_and_tugs_for_a_moment_and_takes_both_back() -> None:
    episode = run_seeds([1], "drop@lift+0.3")[1]
    (oiled, oil), (tugged, tug), (loosed, loose), (dried, dry) = episode.log.events
    assert isinstance(oil, Change)
    assert isinstance(dry, Change)
    assert isinstance(tug, Push)
    assert isinstance(loose, Push)
    assert oiled == tugged
    assert loosed == dried == oiled + 18
    assert all(edit.values[0] < 0.05 for edit in oil.edits)
    assert dry.edits == tuple(edit for edit in episode.sampled.variation.edits if edit.field == "geom_friction")
    assert {edit.element for edit in oil.edits} == {edit.element for edit in dry.edits}
    assert tug.force_n[2] < 0
    assert loose.force_n == (0.0, 0.0, 0.0)


def test_a_fault_of_a_state_that_is_never_entered_does_not_strike() -> None:
    episode = run_seeds([1], "nan-control@back_off")[1]
    assert episode.verdict == "success"
    assert episode.log.events == ()
    assert episode.as_dict() == run_seeds([1])[1].as_dict()


def test_several_faults_strike_in_one_episode() -> None:
    episode = run_seeds([1], "drop@lift+0.3", "nan-control@back_off")[1]
    assert episode.verdict == "physics_diverged"
    assert isinstance(episode.log.events[-1][1], CorruptControl)
    # The grasp that was begun again counts, although its way back never ended.
    assert episode.retries == 1


def test_a_shove_is_drawn_from_the_scenarios_own_seed() -> None:
    def push(seed: int, lanes: int) -> Push:
        played = run_seeds([seed, 50, 51], "shove@descend", lanes=lanes)
        event = played[seed].log.events[0][1]
        assert isinstance(event, Push)
        return event

    assert push(1, 1) == push(1, 3)
    assert push(1, 1).force_n != push(2, 1).force_n
