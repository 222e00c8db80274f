"""`oranges`: an SO-101 puts every orange in its own free spot on the plate, and knows which are there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graspline.evidence import Evidence, at_most, passes
from graspline.faults.hints import FaultHints
from graspline.machine.machine import Machine, by_name
from graspline.machine.table import End, Retry, Transition
from graspline.perception.core.held import HeldObject
from graspline.placement.plate import Plate
from graspline.placement.resting import FruitSighting, rests_on
from graspline.scenes.fruit_table import FLOOR_M, PLATE
from graspline.tasks.oranges.carrying import lift, lower, retreat, transport
from graspline.tasks.oranges.feasible import problems
from graspline.tasks.oranges.layout import collision_world, probe, sample, scene_of
from graspline.tasks.oranges.parameters import Oranges
from graspline.tasks.oranges.pick_state import OrangesCell, OrangesProgress
from graspline.tasks.oranges.picking import approach, descend, grasp, idle, plan, posture_adjust, settle
from graspline.tasks.oranges.placing import release, withdraw
from graspline.tasks.oranges.recovery import (
    all_placed,
    back_off,
    confirm,
    put_back,
    regroup,
    remaining,
    return_home,
    step_aside,
    take_over,
)
from graspline.tasks.oranges.sight import make_eye, plate_shape, virtual_plate
from graspline.tasks.oranges.targets import instruction, named_targets, targets_in
from graspline.tasks.task import Claim, Claims, Draw, PolicyRules, Snapshot, Task, in_hand

# Fruit that fills any plate of the usual size.
STRANGERS = 6


def build_machine(settings: Oranges) -> Machine:
    """States and table. Every failure has a name and ends at home; every retry has a budget."""

    def failed(verdict: str) -> End:
        return End(verdict, after="return_home")

    def again(verdict: str, to: str = "back_off") -> Retry:
        return Retry(to=to, budget="grasps", otherwise=failed(verdict))

    def look_again(verdict: str) -> Retry:
        return Retry(to="step_aside", budget="looks", otherwise=failed(verdict))

    def place_again(verdict: str, to: str) -> Retry:
        return Retry(to=to, budget="places", otherwise=failed(verdict))

    lost: dict[str, Transition] = {
        "dropped": again("dropped", "regroup"),
        "slipped": again("slipped", "put_back"),
        "blocked": again("blocked", "put_back"),
    }
    table: dict[str, dict[str, Transition]] = {
        "idle": {
            "selected": "plan",
            "all_placed": "return_home",
            "lost": look_again("target_not_found"),
            "stuck": look_again("unreachable"),
            "plate_lost": look_again("reset_required"),
        },
        "plan": {
            "planned": "approach",
            "refused": "idle",
            "plate_full": failed("plate_full"),
            "no_way": look_again("reset_required"),
        },
        "approach": {
            "above": "posture_adjust",
            "blocked": again("blocked"),
            "moved": again("target_moved", "regroup"),
        },
        "posture_adjust": {
            "aligned": "descend",
            "blocked": again("blocked"),
            "moved": again("target_moved", "regroup"),
        },
        "descend": {
            "green": "grasp",
            "not_green": failed("not_green"),
            "blocked": again("blocked"),
            "moved": again("target_moved"),
            "plate_moved": place_again("reset_required", "back_off"),
        },
        "grasp": {"closed": "settle", "missed": again("missed")},
        "settle": {"held": "lift", "missed": again("missed")},
        "lift": {"lifted": "retreat", **lost, "dropped": again("dropped")},
        "retreat": {
            "clear": "transport",
            **lost,
            "plate_full": failed("plate_full"),
            "no_way": again("reset_required", "put_back"),
            "plate_lost": again("reset_required", "put_back"),
            "plate_moved": place_again("reset_required", "retreat"),
        },
        "transport": {"arrived": "lower", **lost, "plate_moved": place_again("reset_required", "retreat")},
        "lower": {
            "lowered": "release",
            **lost,
            "plate_moved": place_again("reset_required", "retreat"),
            "spot_taken": place_again("plate_full", "retreat"),
        },
        "release": {
            "released": "withdraw",
            "missed_plate": "withdraw",
            "not_released": failed("release_timed_out"),
        },
        "withdraw": {
            "placed": "idle",
            # It rests there, but plate or neighbours were moved meanwhile: look at everything anew.
            "disturbed": place_again("disturbed", "idle"),
            "unseen": look_again("not_confirmed"),
            "not_placed": place_again("not_placed", "idle"),
            "blocked": place_again("blocked", "regroup"),
        },
        "return_home": {"home": "confirm", "stranded": End("stranded")},
        "confirm": {"confirmed": End("success"), "refuted": place_again("not_confirmed", "idle")},
        "back_off": {"ready": "idle"},
        "regroup": {"ready": "idle"},
        "put_back": {"put_back": "idle", "stranded": End("stranded")},
        "step_aside": {"aside": "idle", "stranded": End("stranded")},
        "take_over": {"ready": "idle"},
    }
    states = {
        **by_name(idle, plan, approach, posture_adjust, descend, grasp, settle, lift),
        **by_name(retreat, transport, lower, release, withdraw, return_home, confirm),
        **by_name(back_off, regroup, put_back, step_aside, take_over),
    }
    asked = len(named_targets(settings)) or settings.oranges.count
    retries = settings.retries
    return Machine(
        name="oranges",
        start="idle",
        work_begins="approach",
        vertical=("descend", "lift"),
        states=states,
        table={state: {**row, "timed_out": _out_of_time(state)} for state, row in table.items()},
        inputs={"cell": OrangesCell, "progress": OrangesProgress, "held": HeldObject | None},
        budgets={
            "grasps": retries.grasps * asked,
            "looks": retries.looks * asked,
            "places": retries.places * asked,
        },
        limits_s=dict.fromkeys(table, settings.state_limit_s),
        takes_over="take_over",
    )


def _out_of_time(state: str) -> End:
    """A state that took too long ends the task at home, unless that is where it was going."""
    return End("timed_out", after=None if state == "return_home" else "return_home")


def given(settings: Oranges, sampled: Draw, random: np.random.Generator) -> Mapping[str, Any]:
    """The machine's inputs for one episode."""
    cell = OrangesCell(world=collision_world(settings), eye=make_eye(settings, random), settings=settings)
    return {"cell": cell, "progress": OrangesProgress(), "held": None}


def equipped(settings: Oranges) -> Oranges:
    """With enough strangers to fill the plate."""
    if settings.oranges.strangers:
        return settings
    return settings.model_copy(update={"oranges": settings.oranges.model_copy(update={"strangers": STRANGERS})})


def judge(settings: Oranges, sampled: Draw, truth: Snapshot) -> Evidence:
    """The goal by truth: the oranges asked for rest on the plate, and the hand has let go of them."""
    names = targets_in(settings, sampled)
    placed = all_placed(
        {name: (_sighting(settings, truth, name),) for name in names},
        {name: float(truth.objects[name].half_extents_m[0]) for name in names},
        _plate(settings, truth),
        settings,
    )
    return (*placed, at_most("oranges_in_hand", sum(passes(in_hand(truth, name)) for name in names), 0))


def _sighting(settings: Oranges, truth: Snapshot, name: str) -> FruitSighting:
    thing = truth.objects[name]
    plate = truth.places[PLATE].position_m if settings.plate.present else virtual_plate(settings.plate, 0.0).position_m
    return FruitSighting(time_s=truth.time_s, position_m=thing.position_m, plate_m=plate, speed_m_s=thing.speed_m_s)


def _plate(settings: Oranges, truth: Snapshot) -> Plate:
    if not settings.plate.present:
        return plate_shape(virtual_plate(settings.plate, 0.0))
    x, y, _ = truth.places[PLATE].position_m
    return Plate(x_m=float(x), y_m=float(y), radius_m=settings.plate.outer_radius_m, floor_m=FLOOR_M)


def check_claim(settings: Oranges, claim: str, about: str, truth: Snapshot) -> Evidence:
    """Whether the orange really is in the hand, or really rests on the plate."""
    if claim == "held":
        return in_hand(truth, about)
    radius = float(truth.objects[about].half_extents_m[0])
    return rests_on((_sighting(settings, truth, about),), radius, _plate(settings, truth), settings.rest)


_HELD, _NOT_HELD = Claim(name="held", asserted=True), Claim(name="held", asserted=False)
CLAIMS = {
    ("settle", "held"): _HELD,
    ("lift", "lifted"): _HELD,
    ("retreat", "clear"): _HELD,
    ("transport", "arrived"): _HELD,
    ("lower", "lowered"): _HELD,
    ("grasp", "missed"): _NOT_HELD,
    ("settle", "missed"): _NOT_HELD,
    ("lift", "dropped"): _NOT_HELD,
    ("retreat", "dropped"): _NOT_HELD,
    ("transport", "dropped"): _NOT_HELD,
    ("lower", "dropped"): _NOT_HELD,
    ("withdraw", "placed"): Claim(name="placed", asserted=True),
    ("withdraw", "not_placed"): Claim(name="placed", asserted=False),
}

ORANGES = Task(
    name="oranges",
    robot="so101",
    sentence="Put all oranges on the plate.",
    summary="SO-101 puts oranges of 50 to 70 mm on a plate, each in a free spot of its own",
    instruction=instruction,
    parameters=Oranges,
    scene=scene_of,
    sample=sample,
    region=probe,
    machine=build_machine,
    inputs=given,
    goal=judge,
    policy=PolicyRules(time_limit_s=lambda parameters: 40.0 * parameters.oranges.count),
    claims=Claims(outcomes=CLAIMS, check=check_claim),
    uses_truth=lambda settings: settings.perception.source == "truth",
    problems=problems,
    disturbable=True,
    randomization=lambda settings: settings.randomize,
    fault_hints=FaultHints(equipped=equipped),
    takeover=remaining,
)
