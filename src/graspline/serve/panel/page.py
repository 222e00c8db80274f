"""One browser's page: what goes on, three verbs, and everything else folded."""

from __future__ import annotations

import viser

from graspline.machine.machine import Machine
from graspline.serve.live.commands import Record, ResetScene, RunTask
from graspline.serve.live.server_context import Bench
from graspline.serve.live.snapshot import SessionSnapshot
from graspline.serve.panel import words
from graspline.serve.panel.controls import Button, Controls, Text
from graspline.serve.panel.drive import DriveSection
from graspline.serve.panel.joints_section import JointsSection
from graspline.serve.panel.operator_client import Helm
from graspline.serve.panel.pick_section import PickSection
from graspline.serve.panel.plan_cache import PlanCache
from graspline.serve.panel.progress_section import ProgressSection
from graspline.serve.panel.questions import QuestionCard
from graspline.serve.panel.scene_section import SceneSection

# While one of these is going on nothing else can begin.
_BUSY = ("task", "replaying", "stopping")


class Page:
    """Made anew for every client and every task."""

    def __init__(
        self, client: viser.ClientHandle, operator: Helm, bench: Bench, board: PlanCache, machine: Machine
    ) -> None:
        self._operator, self._board, self._recording = operator, board, bench.recording
        session = bench.session()
        snapshot = session.snapshot
        gui = client.gui
        gui.reset()
        self._controls = controls = Controls(client, operator)
        self._status, self._lease = Text(gui), Text(gui)
        self._control = gui.add_button("Take control")
        self._control.on_click(lambda event: self._take_or_release())
        self._reset = controls.button("Reset the scene", lambda: controls.give(ResetScene()), "danger", visible=False)
        self._question = QuestionCard(controls)
        # A task without a console has neither objects to choose nor variables.
        model = session.variables_model
        self._pick = None if model is None else PickSection(controls, board, model)
        self._verbs = controls.row(*self._verbs_of(), size="large")
        self._progress = ProgressSection(controls, machine)
        # Sections, folded, in the order in which they are needed.
        self.drive = DriveSection(client, operator, bench)
        if self._pick is not None:
            self._pick.fold(session.scene.robot)
        self._joints = JointsSection(controls, session.scene)
        self._scene = SceneSection(controls, bench, snapshot)
        self._progress.fold(controls)

    def _verbs_of(self) -> list[Button]:
        run = Button("Run", self._run, "primary" if self._pick is None else "normal")
        record = Button("Record", self._record)
        return [run, record] if self._pick is None else [Button("Pick", self._pick.pick, "primary"), run, record]

    def show(self, snapshot: SessionSnapshot) -> None:
        """Show what the snapshot says."""
        operator, controls = self._operator, self._controls
        operator.renew()
        controls.enable(operator.may_drive)
        self._status.show(words.status(snapshot, operator.note, self._recording, self._board.reach(snapshot)))
        self._show_lease()
        if self._reset.visible != snapshot.reset_required:
            self._reset.visible = snapshot.reset_required
        self._question.show(snapshot)
        self._show_verbs(snapshot)
        if self._pick is not None:
            self._pick.show(snapshot)
        self._joints.show(snapshot)
        self._progress.show(snapshot)
        self._scene.show(snapshot)

    def clicked(self, name: str, spot_m: tuple[float, float]) -> None:
        """A person clicked an object or a place."""
        if self._pick is not None:
            self._pick.clicked(name, spot_m)

    def _show_lease(self) -> None:
        operator = self._operator
        self._lease.show(words.lease(operator.holder, operator.name))
        label = "Release" if operator.drives else "Take control"
        if self._control.label != label:
            self._control.label = label

    def _show_verbs(self, snapshot: SessionSnapshot) -> None:
        *_, run, record = self._verbs
        free = snapshot.mode not in _BUSY and not snapshot.state
        self._controls.allow(run, free)
        if self._pick is not None:
            self._controls.allow(self._verbs[0], free and self._pick.can_pick(snapshot))
        label, kind = ("Stop recording", "danger") if self._records(snapshot) else ("Record", "normal")
        if record.label != label:
            record.label = label
            self._controls.dress(record, kind)

    def _records(self, snapshot: SessionSnapshot) -> bool:
        return bool(self._recording) and snapshot.recording == self._recording

    def _take_or_release(self) -> None:
        if self._operator.drives:
            self._operator.release()
        else:
            self._operator.take()

    def _run(self) -> None:
        self._controls.give(RunTask(self._scene.seed))

    def _record(self) -> None:
        snapshot = self._operator.session.snapshot
        if not self._recording:
            command = f"graspline serve {snapshot.task} --record out/{snapshot.task}"
            self._operator.note = f"To record a dataset, start with: {command}"
            return
        self._controls.give(Record(not self._records(snapshot), self._recording))
