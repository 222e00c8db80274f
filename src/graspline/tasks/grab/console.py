"""The console of `grab`: choose an object, see whether and why it can be taken, and send the arm."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Mapping
from typing import Any

import numpy as np

from graspline.errors import InputError, nearest
from graspline.execution.notifications import Noticed
from graspline.execution.requests import Announce, Reply, solved
from graspline.grasping.commanded_grasp_checks import jaws_for
from graspline.grasping.commanded_grasp_values import GrabPlan, GrabRefusal, GrabVariables
from graspline.grasping.nearest_feasible import plan_grab
from graspline.machine.machine import Result as MachineResult
from graspline.parameters import load
from graspline.perception.core.beliefs import Belief
from graspline.placement.query import Support
from graspline.tasks.console import Done, ObjectListed, Plain, Play, PostObject, Refused, Result, listed, plain
from graspline.tasks.grab.layout import collision_world, query_for
from graspline.tasks.grab.parameters import Grab, GrabRetries
from graspline.tasks.grab.posted import posted_store
from graspline.tasks.grab.sight import make_eye
from graspline.tasks.grab.states import move
from graspline.tasks.grab.task import build_machine, inputs
from graspline.tasks.posted_objects import PostedEye
from graspline.tasks.stages.parameters import ArmSettings
from graspline.tasks.stages.place import WhereItLay
from graspline.tasks.stages.rest import settled_jaw
from graspline.tasks.stages.sight import Eye, resting
from graspline.wording import counted, quantity

_NOTHING_SELECTED = "no object is selected; select one of the list first"


class GrabConsole:
    """Objects as last seen, one of them selected, and the variables it is taken with.

    Every object-aware command looks again before it plans: what was shoved since the list was made is taken where it
    is, and what is gone is said to be.
    """

    def __init__(self, parameters: Grab, random: np.random.Generator) -> None:
        self._parameters, self._random = parameters, random
        self._robot = parameters.the_robot
        self._machine = build_machine(parameters)
        self._variables = parameters.grasp
        self._seen: tuple[Belief, ...] = ()
        self._objects: tuple[ObjectListed, ...] = ()
        self._selected = ""
        self._eye = make_eye(parameters.perception, random, parameters.kinds)
        self._posted = posted_store(parameters)
        # What was posted is not tried again by itself: it is where the detector says it is.
        once = parameters.model_copy(update={"retries": GrabRetries(grasps=0)})
        self._once = build_machine(once)

    @property
    def selected(self) -> str:
        """The name of the selected object; empty if none is."""
        return self._selected

    @property
    def variables_model(self) -> type[GrabVariables]:
        """The type of the grasp settings."""
        return GrabVariables

    @property
    def variables(self) -> Mapping[str, Plain]:
        """The grasp settings."""
        return self._variables.model_dump()

    @property
    def objects(self) -> tuple[ObjectListed, ...]:
        """The objects that commands can name."""
        if not self._posted.in_use:
            return self._objects
        return tuple(
            dataclasses.replace(listed(each), posted=True, stale=not self._posted.is_fresh(each))
            for each in self._posted.objects
        )

    @property
    def believed(self) -> tuple[Belief, ...]:
        """The objects as planning knows them."""
        return self._posted.fresh if self._posted.in_use else self._seen

    def age(self, now_s: float) -> None:
        """Update the age of posted objects."""
        self._posted.age(now_s)

    def post(self, posted: PostObject) -> Result:
        """Take an object that the caller has detected."""
        first = not self._posted.in_use
        result = self._posted.post(posted)
        if first and isinstance(result, Done):
            # Nothing that the session has seen by itself is of use any more.
            self._seen, self._objects = (), ()
            self._selected = self._selected if self._selected == posted.name else ""
        return result

    def withdraw(self, name: str | None) -> Result:
        """Drop a posted object, or all."""
        result = self._posted.withdraw(name)
        if isinstance(result, Done) and self._selected not in [each.name for each in self._posted.objects]:
            self._selected = ""
        return result

    def forget(self) -> None:
        """Drop everything that was seen."""
        self._seen, self._objects, self._selected = (), (), ""
        self._posted.clear()
        self._eye = make_eye(self._parameters.perception, self._random, self._parameters.kinds)

    def select(self, name: str) -> Result:
        """Select an object."""
        names = [each.name for each in self.objects]
        if not names:
            posts = self._posted.in_use
            return Refused(reason=f"no objects are {'posted' if posts else 'listed; refresh first'}")
        if name not in names:
            return Refused(reason=f"no object {name!r} on the table; {nearest(name, names)}")
        self._selected = name
        return Done(text=f"{name} selected", data={"selected": name})

    def set_variables(self, values: Mapping[str, Plain]) -> Result:
        """Change grasp settings."""
        try:
            self._variables = load(GrabVariables, {**self._variables.model_dump(), **values}, "")
        except InputError as error:
            return Refused(reason="; ".join(error.problems), mistaken=True)
        return Done(text=", ".join(f"{name} = {value}" for name, value in values.items()), data=dict(values))

    def refresh(self, last: Reply) -> Play:
        """Look again."""
        before = self._selected
        yield from self._look()
        gone = f"; {before} is gone" if before != self._selected else ""
        names = [each.name for each in self.objects]
        return Done(text=f"{counted(len(names), 'object')}{gone}", data={"objects": names})

    def check(self, last: Reply) -> Play:
        """Say whether the selected object can be picked."""
        return self._show(last, " can be grabbed")

    def preview(self, last: Reply) -> Play:
        """Plan the pick without moving."""
        return self._show(last, ": preview")

    def _show(self, last: Reply, words: str) -> Play:
        found = yield from self._planned(last)
        if isinstance(found, Refused):
            return found
        return Done(text=f"{found.name}{words}{self._posted.left_out}", data=_as_dict(found))

    def move(self, last: Reply) -> Play:
        """Move the hand to the selected object."""
        found = yield from self._planned(last)
        if isinstance(found, Refused):
            return found
        target = next(each for each in self.believed if each.name == found.name)
        ended = yield from move(
            self._robot,
            collision_world(self._parameters),
            self._eye_for(last),
            resting(target),
            self._others(target),
            found,
            ArmSettings(close=self._parameters.close, reach=self._parameters.reach.whole()),
        )
        if ended.name == "arrived":
            return Done(text=f"at {found.name}{self._posted.left_out}", data=_as_dict(found))
        if ended.name == "moved":
            return Refused(reason=f"{found.name} is no longer where it was seen", evidence=ended.evidence)
        return Refused(reason=f"{found.name}: something is in the way", evidence=ended.evidence)

    def pick(self, last: Reply, place_m: tuple[float, float] | None) -> Play:
        """Pick the selected object."""
        target = yield from self._target()
        if isinstance(target, Refused):
            return target
        name = target.name
        outside = self._posted.in_use
        eye = self._eye_for(last)
        machine = self._once if outside else self._machine
        destination = WhereItLay() if place_m is None else Support(x_m=place_m[0], y_m=place_m[1])
        given = inputs(self._parameters, eye, name, destination, self._variables)
        result, rejection = yield from _heard(machine.run(self._robot, last, given), eye)
        yield from self._look()
        if result.outcome in self._machine.successes:
            return Done(text=f"{name} was picked and put down", data={"verdict": result.outcome})
        data = {"verdict": result.outcome}
        if rejection is None:
            return Refused(reason=f"{name}: {result.outcome}", evidence=result.evidence, data=data)
        refused = self._refusal(rejection)
        return dataclasses.replace(refused, data={**refused.data, **data})

    def open(self, last: Reply) -> Play:
        """Open the hand."""
        return self._move_jaw(last, "open")

    def close(self, last: Reply) -> Play:
        """Release everything it holds; it cannot be used afterwards."""
        return self._move_jaw(last, "close")

    def _look(self) -> Generator[Any, Any, None]:
        """See everything on the table; a selected thing that is no longer there is no longer selected."""
        if self._posted.in_use:
            if self._selected not in [each.name for each in self._posted.objects]:
                self._selected = ""
            return
        survey = yield from self._eye.survey()
        self._seen = survey
        self._objects = tuple(listed(each) for each in survey)
        if self._selected not in [each.name for each in survey]:
            self._selected = ""

    def _eye_for(self, last: Reply) -> Eye | PostedEye:
        """What sees the objects that are believed."""
        return PostedEye(posted=self._posted, robot=self._robot, last=last) if self._posted.in_use else self._eye

    def _target(self) -> Generator[Any, Any, Belief | Refused]:
        """The selected object as it is now."""
        selected = self._selected
        if not selected:
            return Refused(reason=_NOTHING_SELECTED)
        yield from self._look()
        if not self._selected:
            return Refused(reason=f"{selected} is no longer on the table")
        stale = self._posted.stale(selected)
        return stale or next(each for each in self.believed if each.name == selected)

    def _planned(self, last: Reply) -> Generator[Any, Any, GrabPlan | Refused]:
        target = yield from self._target()
        if isinstance(target, Refused):
            return target
        others = self._others(target)
        query = query_for(self._parameters, resting(target), self._variables, others, last.command)
        found = yield from solved(plan_grab, query)
        return self._refusal(found) if isinstance(found, GrabRefusal) else found

    def _others(self, target: Belief) -> tuple[Belief, ...]:
        return tuple(each for each in self.believed if each.name != target.name)

    def _move_jaw(self, last: Reply, way: str) -> Play:
        target = yield from self._target()
        if isinstance(target, Refused):
            return target
        jaws = jaws_for(self._robot, resting(target), self._variables)
        if isinstance(jaws, GrabRefusal):
            return self._refusal(jaws)
        angle = jaws.open_rad if way == "open" else jaws.close_rad
        gap_m = jaws.open_gap_m if way == "open" else jaws.close_gap_m
        measured = yield from settled_jaw(self._robot, f"grasp_{way}", last, angle)
        settled_m = float(self._robot.jaw_law.gap_m(measured))
        data = {"asked_rad": angle, "asked_gap_m": gap_m, "jaw_rad": measured, "gap_m": settled_m}
        text = f"jaw {way} for {target.name}: at {1000 * settled_m:.1f} mm, asked {1000 * gap_m:.1f} mm"
        return Done(text=text, data=data)

    def _refusal(self, rejected: GrabRefusal) -> Refused:
        data: dict[str, Any] = {"object": rejected.label, "stage": rejected.stage, "check": rejected.check}
        when = self._when(rejected.stage)
        if when:
            data["when"] = when
        if rejected.advice:
            data["advice"] = rejected.advice
        if rejected.change:
            data["change"] = dict(rejected.change)
        if rejected.nearest is not None:
            data["nearest"] = plain(dataclasses.asdict(rejected.nearest))
        return Refused(reason=str(rejected), evidence=rejected.evidence, data=data)

    def _when(self, stage: str) -> str:
        """During which part of a grasp something is wrong, in words; empty for the grasp itself."""
        match stage:
            case "approach":
                return f"for a {quantity(self._variables.approach_height_m, 'm')} approach"
            case "lift":
                return "when it is lifted"
            case "place":
                return "where it is put down"
            case _:
                return ""


def _as_dict(plan: GrabPlan) -> dict[str, Any]:
    """A plan as plain values."""
    return {
        "object": plan.name,
        "yaw_rad": plan.yaw_rad,
        "tcp_m": list(plan.tcp_m),
        "width_m": plan.jaws.width_m,
        "open_gap_m": plan.jaws.open_gap_m,
        "close_gap_m": plan.jaws.close_gap_m,
        "stages": [{"name": each.name, "joints_rad": each.joints_rad.tolist()} for each in plan.stages],
    }


def _heard(
    play: Generator[Any, Any, MachineResult], eye: Eye
) -> Generator[Any, Any, tuple[MachineResult, GrabRefusal | None]]:
    """Pass requests up and replies down; returns what the machine returned, and what it rejected the order for."""
    answer: Reply | None = None
    rejection: GrabRefusal | None = None
    while True:
        try:
            request = play.send(answer)
        except StopIteration as stop:
            return stop.value, rejection
        if isinstance(request, Announce) and isinstance(request.notification, Noticed):
            why = request.notification.facts.get("why")
            rejection = why if isinstance(why, GrabRefusal) else rejection
        answer = yield request
        if isinstance(eye, PostedEye) and answer is not None:
            eye.last = answer
