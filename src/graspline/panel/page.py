"""One browser's page: who drives, what goes on, and the tabs that apply."""

from __future__ import annotations

import viser

from graspline.live.bench import Bench
from graspline.live.commands import ResetScene
from graspline.live.snapshot import Snapshot
from graspline.machine.machine import Machine
from graspline.panel import words
from graspline.panel.board import Board
from graspline.panel.controls import Controls, Text
from graspline.panel.grasp_tab import GraspTab
from graspline.panel.helm import Helm
from graspline.panel.joints_tab import JointsTab
from graspline.panel.task_tab import TaskTab


class Page:
    """Made anew for every client and every task."""

    def __init__(self, client: viser.ClientHandle, helm: Helm, bench: Bench, board: Board, machine: Machine) -> None:
        self._helm, self._recording = helm, bench.recording
        session = bench.session()
        snapshot, robot = session.snapshot, session.scene.robot
        gui = client.gui
        gui.reset()
        self._controls = Controls(client, helm)
        self._status, self._lease = Text(gui), Text(gui)
        lease = gui.add_button_group("Lease", ("Take control", "Release"))

        @lease.on_click
        def _(event: viser.GuiEvent[viser.GuiButtonGroupHandle]) -> None:
            if event.target.value == "Take control":
                helm.take()
            else:
                helm.release()

        self._reset = self._controls.button(
            "Reset the scene", lambda: self._controls.give(ResetScene()), color="red", visible=False
        )
        tabs = gui.add_tab_group()
        # A task without a desk has neither objects to choose nor variables.
        self._grasp: GraspTab | None = None
        if snapshot.variables:
            with tabs.add_tab("Grasp", viser.Icon.HAND_GRAB):
                self._grasp = GraspTab(self._controls, board, robot)
        with tabs.add_tab("Joints", viser.Icon.ADJUSTMENTS):
            self._joints = JointsTab(self._controls, robot)
        with tabs.add_tab("Task", viser.Icon.TOPOLOGY_STAR_RING_3):
            self._task = TaskTab(self._controls, bench, machine, snapshot.task, snapshot.seed)

    def show(self, snapshot: Snapshot) -> None:
        helm = self._helm
        helm.renew()
        self._controls.enable(helm.may_drive)
        self._status.show(words.status(snapshot, helm.note, self._recording))
        self._lease.show(words.lease(helm.holder, helm.name))
        if self._reset.visible != snapshot.reset_required:
            self._reset.visible = snapshot.reset_required
        if self._grasp is not None:
            self._grasp.show(snapshot)
        self._joints.show(snapshot)
        self._task.show(snapshot)

    def clicked(self, name: str, spot_m: tuple[float, float]) -> None:
        if self._grasp is not None:
            self._grasp.clicked(name, spot_m)
