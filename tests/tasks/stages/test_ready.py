"""Ready tables: what they start with, what they let a task change, and what their sampler promises."""

from __future__ import annotations

import numpy as np
import pytest

from graspline.errors import WiringError
from graspline.machine.table import End
from graspline.placement.query import Support
from graspline.placement.transfer import Transfer
from graspline.refusal import Refusal
from graspline.scenes.table import Box, table_with
from graspline.tasks import stages
from graspline.tasks.scatter import lying_at
from graspline.tasks.stages.place import go_home

RED, BLUE = Box(name="red", rgb=(1, 0, 0)), Box(name="blue", rgb=(0, 0, 1))
SCENE = table_with(RED, BLUE)
PARAMETERS = stages.PickAndPlaceParameters()


def lying(name: str, x_m: float, y_m: float):
    return lying_at(name, x_m, y_m, np.full(3, 0.015), "box")


def test_a_whole_machine_takes_only_parameters() -> None:
    machine = stages.pick_and_place("place", PARAMETERS)
    assert (machine.start, machine.takes_over) == ("look", "take_over")
    assert machine.budgets == {"grasps": PARAMETERS.retries.grasps, "looks": PARAMETERS.retries.looks}
    assert set(machine.limits_s.values()) == {PARAMETERS.state_limit_s}
    given = stages.pick_and_place_inputs(
        PARAMETERS, SCENE, "red", stages.OnObject(name="blue"), np.random.default_rng(1)
    )
    assert set(given) == set(machine.inputs)


def test_every_failure_has_a_name() -> None:
    machine = stages.pick_and_place("place", PARAMETERS)
    assert set(machine.outcomes) == {
        "success",
        "target_not_found",
        "unreachable",
        "blocked",
        "target_moved",
        "missed",
        "dropped",
        "slipped",
        "no_way",
        "stranded",
        "not_verified",
        "timed_out",
    }


def test_states_and_rows_of_a_task_replace_and_extend_the_ready_ones() -> None:
    machine = stages.pick_and_place(
        "rest",
        PARAMETERS,
        states={"park": go_home},
        table={
            "confirm": {"confirmed": "park", "refuted": stages.again("not_verified", "look")},
            "park": {"home": End("success"), "stranded": End("stranded")},
        },
    )
    assert machine.table["confirm"]["confirmed"] == "park"
    assert machine.table["park"]["timed_out"] == End("timed_out")


def test_a_table_without_its_last_state_is_told_so() -> None:
    with pytest.raises(WiringError, match="verify"):
        stages.PICK.machine("pick", budgets={"grasps": 1, "looks": 1}, limit_s=5.0)


def test_what_the_sampler_certifies_lies_in_reach_of_what_it_is_put_on() -> None:
    on_blue = stages.OnObject(name="blue")
    red, blue = lying("red", 0.2, 0.1), lying("blue", 0.2, -0.1)
    assert isinstance(stages.certify_pick_and_place(PARAMETERS, SCENE, red, (blue,), on_blue), Transfer)
    far = lying("blue", 0.36, 0.0)
    assert isinstance(stages.certify_pick_and_place(PARAMETERS, SCENE, red, (far,), on_blue), Refusal)
    assert isinstance(
        stages.certify_pick_and_place(PARAMETERS, SCENE, red, (blue,), Support(x_m=0.15, y_m=0.0)), Transfer
    )


def test_a_destination_that_is_not_on_the_table_is_a_mistake() -> None:
    with pytest.raises(WiringError, match="green"):
        stages.certify_pick_and_place(PARAMETERS, SCENE, lying("red", 0.2, 0.1), (), stages.OnObject(name="green"))
