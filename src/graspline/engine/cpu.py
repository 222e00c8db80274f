"""The CPU engine: lanes on `mujoco.batch`, for one world and for hundreds.

A lane is its integration state row plus its edits of the model; a step gives each lane the bits it gets alone, at any
number of lanes and threads. Sensors are those `mj_step` leaves behind, computed one substep (2.1 ms) before the state.
"""

from __future__ import annotations

import mujoco
import numpy as np
from mujoco.batch import Batch, SimulationError
from numpy.typing import NDArray

from graspline.engine.control_delay import Wires
from graspline.engine.events import Blind, Change, CorruptControl, Event, Misjudge, Place, Push, Roughen, See
from graspline.engine.lane_edits import SET_CONST_INPUTS, Edits, LaneEdits, felt
from graspline.engine.layout import SensorLayout, layout_of
from graspline.engine.protocol import EngineKind, Saved
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation

Array = NDArray[np.float64]


class CpuEngine:
    """`count` lanes of one scene on `threads` threads (0: all cores)."""

    kind: EngineKind = "cpu"

    def __init__(self, scene: Scene, count: int, threads: int = 0) -> None:
        _quieten_mujoco()
        self.scene = scene
        self.count = count
        self.layout: SensorLayout = layout_of(scene.model)
        self._substeps = scene.robot.substeps
        self._batch = Batch(scene.model, count, threads)
        sensors = self._batch.bind("sensordata")
        self.readings = sensors[:, : self.layout.readings_size]
        self.truth = sensors[:, self.layout.readings_size :]
        self.qpos = self._batch.bind("qpos")
        self._qvel = self._batch.bind("qvel")
        self._ctrl = self._batch.bind("ctrl")
        self._warning = self._batch.warning
        self._no_warning = bytes(self._warning.nbytes)
        self.diverged = np.zeros(count, bool)
        self._edits, self._wires = LaneEdits(scene, count), Wires()
        self._fields: dict[str, Array] = {}
        self._actuators = [scene.model.actuator(name).id for name in scene.robot.joints]

    def reset(self, lane: int, start: Array, variation: Variation) -> None:
        """Put one lane at `start` (a full qpos), at rest, servos holding it there, with this variation."""
        ids = [lane]
        self._batch.reset(ids, stage=int(mujoco.mjtStage.mjSTAGE_NONE))
        self._set_edits(lane, felt(variation.edits))
        self.qpos[lane] = start
        at = [start[self.scene.joint_address(joint)] for joint in self.scene.robot.joints]
        self._ctrl[lane, self._actuators] = at
        self._wires.connect(lane, [self._ctrl[lane].copy()] * variation.latency_ticks)
        # Servos' set points stand where the joints are.
        self._batch.bind("act")[lane] = at
        self._batch.forward(ids)
        self._warning[lane] = 0
        self.diverged[lane] = False

    def apply(self, lane: int, event: Event) -> None:
        """Let the world act on one lane before its next tick."""
        match event:
            case Push():
                body = self.scene.model.body(event.body).id
                self._batch.bind("xfrc_applied")[lane, body, :3] = event.force_n
            case Change():
                self._set_edits(lane, {**self._edits.of(lane), **felt(event.edits)})
            case Place():
                at = self.scene.joint_address(event.body)
                self.qpos[lane, at : at + 7] = (*event.position_m, *event.quaternion)
                dof = int(self.scene.model.joint(event.body).dofadr[0])
                self._qvel[lane, dof : dof + 6] = (*event.velocity_m_s, 0.0, 0.0, 0.0)
            case CorruptControl():
                self._wires.spoil(lane, self.scene.model.actuator(event.joint).id)
            case Blind() | Misjudge() | Roughen() | See():
                # Bodies do not notice; cameras and estimators do.
                pass

    def step(self, controls: Array, lanes: NDArray[np.intp]) -> bool:
        """Advance these lanes by one control tick with these controls, (n, nu); whether any of them diverged."""
        # All lanes at once is the common case, and cheaper without an index.
        every = len(lanes) == self.count
        self._ctrl[_EVERY if every else lanes] = controls
        self._wires.pass_on(self._ctrl, lanes)
        failed = False
        try:
            self._batch.step(None if every else lanes, nstep=self._substeps)
        except SimulationError as error:
            self.diverged[error.ids] = failed = True
        # MuJoCo warns about a NaN before it uses it. What the last substep of a tick brings forth it finds
        # in the next, and readings, which are from before that substep, show nothing of it until then.
        if failed or self._warning.tobytes() != self._no_warning:
            sick = self._warning.any(axis=(1, 2)) | ~np.isfinite(self._qvel).all(axis=1)
            self.diverged[lanes] |= sick[lanes]
            return bool(self.diverged[lanes].any())
        return False

    def half_extents_m(self, lane: int, name: str) -> Array:
        """Half the sizes along the object's own axes."""
        return self._edits.half_extents_m(lane, name)

    def number(self, lane: int, field: str, element: str) -> Array:
        """A number of the model as this lane has it."""
        return self._edits.number(lane, field, element)

    def state(self, lane: int) -> Array:
        """The full integration state of one lane, a copy."""
        return self._batch.state[lane].copy()

    def save(self, lane: int) -> Saved:
        """The state of a lane, to be restored later."""
        return Saved(
            state=self.state(lane),
            edits=self._edits.of(lane),
            corrupt=self._wires.spoilt(lane),
            on_the_way=self._wires.on_the_way(lane),
        )

    def restore(self, lane: int, saved: Saved) -> None:
        """Continue from a saved state with the same bits as if nothing had happened in between."""
        self._set_edits(lane, saved.edits)
        self._batch.state[lane] = saved.state
        self._wires.connect(lane, saved.on_the_way, saved.corrupt)
        self._warning[lane] = 0
        self.diverged[lane] = False

    def _set_edits(self, lane: int, edits: Edits) -> None:
        stale = False
        for field, row, values in self._edits.change(lane, edits):
            self._field(field)[lane, row] = values
            stale |= field in SET_CONST_INPUTS
        if stale:
            self._batch.set_const([lane])

    def _field(self, name: str) -> Array:
        if name not in self._fields:
            self._fields[name] = self._batch.expand(name)
        return self._fields[name]


def _quieten_mujoco() -> None:
    """Warnings end a lane by name; MuJoCo would also print them and write a log into the current directory."""
    config = mujoco.MjLogConfig.get()
    config.logto_console = False
    config.logto_file = False
    mujoco.MjLogConfig.set(config)


_EVERY = slice(None)
