"""The GPU engine: thousands of lanes on MuJoCo Warp, behind the same protocol as the CPU's.

State and models stay on the device. A tick sends controls there, runs all substeps as one captured graph, and brings
back sensors and configurations. What resets and events change is gathered and sent before the next tick. A tick can be
begun and ended apart, so that others work meanwhile; each engine has a stream of its own. Physics is in single
precision and not the same from run to run.
"""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Iterator
from typing import Any

import mujoco
import mujoco_warp
import numpy as np
import warp
from numpy.typing import NDArray

from graspline.engine.control_delay import Wires
from graspline.engine.events import Blind, Change, CorruptControl, Event, Misjudge, Place, Push, Roughen, See
from graspline.engine.lane_edits import Edits, felt
from graspline.engine.layout import SensorLayout, layout_of
from graspline.engine.protocol import EngineKind, Saved
from graspline.errors import WiringError
from graspline.gpu.kernels import find_sick, place_fixed
from graspline.gpu.lane_models import LaneModels, Singles
from graspline.gpu.lane_rows import LaneRows
from graspline.gpu.newton import newton_for
from graspline.scenes.scene import Scene
from graspline.scenes.variation import Variation
from graspline.stopwatch import seconds

Array = NDArray[np.float64]

# Flags that change nothing on a GPU, and that MuJoCo Warp does not know.
_UNKNOWN_FLAGS = int(mujoco.mjtDisableBit.mjDSBL_AUTORESET) | int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)
# Boxes that touch boxes are clipped face by face, as on the CPU. MuJoCo Warp would else search for the contact step by
# step, and all lanes wait for the longest search.
_BOXES_BY_FACES = int(mujoco.mjtDisableBit.mjDSBL_NATIVECCD)
# All lanes wait for the one whose constraints take longest to solve. In double precision 99.9 % of steps take eight
# iterations or fewer; in single precision the rest would be polished in vain.
_ITERATIONS = 12
# What lacked room; that a solver did not come to its end is no loss.
_LIMITS = mujoco_warp.OverflowType.ITERATIONS | mujoco_warp.OverflowType.LS_ITERATIONS
# All that decides a lane's future, apart from its model.
_STATE = ("qpos", "qvel", "act", "qacc_warmstart", "xfrc_applied")


class WarpEngine:
    """`count` lanes of one scene on a Warp device, which must be there: the first GPU, or `cpu`, slowly, for tests."""

    kind: EngineKind = "gpu"

    def __init__(
        self, scene: Scene, count: int, device: str = "cuda:0", *, contacts: int = 0, constraints: int = 0
    ) -> None:
        """As many contacts and constraints fit each lane as given, by default as the scene needs; more is an error."""
        warp.config.log_level = warp.LOG_ERROR
        warp.init()
        self.device = device
        self.scene, self.count = scene, count
        self.layout: SensorLayout = layout_of(scene.model)
        self._host = copy.copy(scene.model)
        self._host.opt.disableflags = int(self._host.opt.disableflags) & ~_UNKNOWN_FLAGS | _BOXES_BY_FACES
        self._host.opt.iterations = min(int(self._host.opt.iterations), _ITERATIONS)
        self.contacts, self.constraints = contacts or _contacts(scene), constraints or _constraints(scene)
        self._models, self._wires = LaneModels(scene, count), Wires()
        fields = self._models.fields
        cuda = warp.get_device(device).is_cuda
        self._stream = warp.Stream(device) if cuda else None
        # Recorded before and behind everything that a tick has to do.
        self._begin = warp.Event(device, enable_timing=True) if cuda else None
        self._end = warp.Event(device, enable_timing=True) if cuda else None
        if cuda:
            _beginning(device)
        # When the device worked on the last tick, in its own seconds since some moment that all engines here share.
        self.worked_s = 0.0, 0.0
        with self._on_device():
            self._model = mujoco_warp.put_model(self._host, batch_sizes=dict.fromkeys(fields, count))
            self._model.opt.warn_overflow &= ~_LIMITS
            self._data: Any = mujoco_warp.make_data(
                self._host, nworld=count, nconmax=self.contacts, njmax=self.constraints
            )
            self._newton = newton_for(self._model, self._data)
            self._sick = warp.zeros(count, dtype=int)
            self._model_rows = LaneRows({name: _flat(getattr(self._model, name)) for name in fields}, device)
            self._state = LaneRows({name: _flat(getattr(self._data, name)) for name in _STATE}, device)
        # What transfers go through: page-locked, and looked at as arrays.
        pinned = {"device": "cpu", "pinned": cuda}
        self._sent = warp.zeros((count, self._host.nu), dtype=float, **pinned)
        self._ctrl: Singles = np.asarray(self._sent.numpy(), np.float32)
        sources = {"sensordata": self._data.sensordata, "qpos": self._data.qpos, "overflow": self._data.overflow}
        self._transfers = [
            (warp.zeros(source.shape, dtype=source.dtype, **pinned), source)
            for source in (*sources.values(), self._sick)
        ]
        self._got: dict[str, NDArray[Any]] = {
            name: host.numpy() for name, (host, _) in zip((*sources, "sick"), self._transfers, strict=True)
        }
        # The doubles that others see.
        self._sensors = np.zeros((count, self._host.nsensordata))
        self._qpos = np.zeros((count, self._host.nq))
        self.diverged = np.zeros(count, bool)
        # Ticks of each lane since its start.
        self._ticks = np.zeros(count, np.int64)
        self._actuators = [scene.model.actuator(name).id for name in scene.robot.joints]
        self._joints = [scene.joint_address(name) for name in scene.robot.joints]
        self._unread = False
        self._graph: Any = None
        self._fixed = self._fixed_geoms()
        # Lanes whose tick has begun, and the others.
        self._under_way = self._still = np.zeros(0, np.intp)

    @contextlib.contextmanager
    def _on_device(self) -> Iterator[None]:
        """Work that is queued meanwhile is this engine's."""
        with warp.ScopedDevice(self.device), warp.ScopedStream(self._stream):
            yield

    # What there is to read

    @property
    def readings(self) -> Array:
        """What the robot senses, a row for each lane."""
        self._read()
        return self._sensors[:, : self.layout.readings_size]

    @property
    def truth(self) -> Array:
        """What only the simulator knows, a row for each lane."""
        self._read()
        return self._sensors[:, self.layout.readings_size :]

    @property
    def qpos(self) -> Array:
        """The coordinates of the state, a row for each lane."""
        return self._qpos

    def half_extents_m(self, lane: int, name: str) -> Array:
        """Half the sizes along the object's own axes."""
        return self._models.half_extents_m(lane, name)

    def number(self, lane: int, field: str, element: str) -> Array:
        """A number of the model as this lane has it."""
        return self._models.number(lane, field, element)

    # What happens to lanes

    def reset(self, lane: int, start: Array, variation: Variation) -> None:
        """Put one lane at `start` (a full qpos), at rest, servos holding it there, with this variation."""
        self._edit(lane, felt(variation.edits))
        self.begin(np.array([lane]), start[None])
        self._wires.connect(lane, [self._ctrl[lane].astype(float)] * variation.latency_ticks)

    def begin(self, lanes: NDArray[np.intp], starts: Array) -> None:
        """The same for several lanes at once, starts being (n, nq), whose edits and wires are kept elsewhere."""
        at = starts[:, self._joints]
        self._ctrl[lanes] = 0.0
        self._ctrl[lanes[:, None], self._actuators] = at
        rows = np.zeros((len(lanes), self._state.width), np.float32)
        rows[:, self._state.spans["qpos"]], rows[:, self._state.spans["act"]] = starts, at
        self._state.put(lanes, rows)
        self._qpos[lanes] = starts
        self.diverged[lanes] = False
        self._ticks[lanes] = 0
        self._unread = True

    def change(self, lanes: NDArray[np.intp], models: Singles) -> None:
        """Give lanes other models, (n, width) as `LaneModels` has them."""
        self._model_rows.put(lanes, models)
        if not self._model.flg_surfacevel and models[:, self._models.spans["geom_surfacevel"]].any():
            # In the scene that the device was given no surface moves, so it has not looked for any.
            self._model.flg_surfacevel, self._graph = True, None

    def _edit(self, lane: int, edits: Edits) -> None:
        if self._models.set(lane, edits):
            self.change(np.array([lane]), self._models.rows[lane : lane + 1])

    def apply(self, lane: int, event: Event) -> None:
        """Let the world act on one lane before its next tick."""
        model = self.scene.model
        match event:
            case Push():
                self._state.put_numbers(lane, "xfrc_applied", 6 * model.body(event.body).id, event.force_n)
            case Change():
                self._edit(lane, {**self._models.of(lane), **felt(event.edits)})
            case Place():
                at, dof = self.scene.joint_address(event.body), int(model.joint(event.body).dofadr[0])
                place = (*event.position_m, *event.quaternion)
                self._state.put_numbers(lane, "qpos", at, place)
                self._state.put_numbers(lane, "qvel", dof, (*event.velocity_m_s, 0.0, 0.0, 0.0))
                self._qpos[lane, at : at + 7] = place
            case CorruptControl():
                self._wires.spoil(lane, model.actuator(event.joint).id)
            case Blind() | Misjudge() | Roughen() | See():
                # Bodies do not notice; cameras and estimators do.
                pass

    def step(self, controls: Array, lanes: NDArray[np.intp]) -> bool:
        """Advance these lanes by one control tick with these controls, (n, nu); whether any of them diverged."""
        self.begin_step(controls, lanes)
        return self.end_step()

    def begin_step(self, controls: Array, lanes: NDArray[np.intp]) -> None:
        """Let the device begin a tick; nothing else may be asked of this engine until it is ended."""
        # Taking all rows by a slice is cheaper than by an index.
        all_move = len(lanes) == self.count
        self._ctrl[slice(None) if all_move else lanes] = controls
        self._wires.pass_on(self._ctrl, lanes)
        if not np.isfinite(self._ctrl).all():
            # Warp would clamp what is no number to a servo's range.
            self.diverged[lanes] |= ~np.isfinite(self._ctrl[lanes]).all(axis=1)
        self._under_way = lanes
        self._still = lanes[:0] if all_move else np.delete(np.arange(self.count), lanes)
        with self._on_device():
            self._flush()
            if self._begin is None:
                self.worked_s = seconds(), 0.0
            else:
                warp.record_event(self._begin)
            warp.copy(self._data.ctrl, self._sent)
            # The others are stepped along, and then are what they were.
            if not all_move:
                self._state.keep(self._still)
            self._run()
            if not all_move:
                self._state.put_back()
            warp.launch(find_sick, dim=self.count, inputs=[self._data.qpos, self._data.qvel], outputs=[self._sick])
            for host, source in self._transfers:
                warp.copy(host, source)
            if self._end is not None:
                warp.record_event(self._end)
        self._ticks += 1
        self._ticks[self._still] -= 1

    @property
    def stepped(self) -> bool:
        """Whether the tick that was begun need not be waited for any more."""
        return self._end is None or self._end.is_complete

    def end_step(self) -> bool:
        """Wait for the tick that was begun; whether any of its lanes diverged."""
        if self._begin is None or self._end is None:
            self.worked_s = self.worked_s[0], seconds()
        else:
            warp.synchronize_event(self._end)
            first, since = _beginning(self.device), warp.get_event_elapsed_time
            self.worked_s = since(first, self._begin, False) / 1e3, since(first, self._end, False) / 1e3
        self._check_room()
        for mine, name in ((self._sensors, "sensordata"), (self._qpos, "qpos")):
            # Mostly few stand still, and taking all rows but some by an index is slow.
            still = mine[self._still]
            mine[:] = self._got[name]
            mine[self._still] = still
        sick = self._got["sick"] > 0
        sick[self._still] = False
        self.diverged |= sick
        return bool(self.diverged.any() and self.diverged[self._under_way].any())

    def _run(self) -> None:
        """All substeps of a tick; on a GPU a graph that was captured the first time."""
        if self._graph is not None:
            warp.capture_launch(self._graph)
            return
        self._substeps()
        if warp.get_device(self.device).is_cuda:
            with warp.ScopedCapture() as capture:
                self._substeps()
            self._graph = capture.graph

    def _substeps(self) -> None:
        """Sensors are read after the last one, and computed only then."""
        option = self._model.opt
        flags = option.disableflags
        with self._solving():
            for left in reversed(range(self.scene.robot.substeps)):
                option.disableflags = flags | (mujoco_warp.DisableBit.SENSOR if left else 0)
                mujoco_warp.step(self._model, self._data)

    def _solving(self) -> contextlib.AbstractContextManager[None]:
        """Constraints are solved by our own kernel meanwhile, where it can."""
        return self._newton.in_place() if self._newton is not None else contextlib.nullcontext()

    def _check_room(self) -> None:
        """Nothing may have been left out for want of room."""
        overflow = self._got["overflow"] & ~int(_LIMITS)
        if overflow.any():
            needed, most = int(self._data.nacon.numpy()[0]), int(self._data.nefc.numpy().max())
            raise WiringError(
                f"{int((overflow > 0).sum())} lanes had more contacts or constraints than there was room for: "
                f"{needed} contacts in {self.count} lanes of {self.contacts} each, up to {most} constraints in one "
                f"where {self.constraints} fit"
            )

    def _read(self) -> None:
        """Sensors of lanes that were reset since the last tick."""
        if not self._unread:
            return
        with self._on_device(), self._solving():
            self._flush()
            mujoco_warp.forward(self._model, self._data)
            for host, source in self._transfers:
                warp.copy(host, source)
            warp.synchronize_stream(self.device)
        self._sensors[:] = self._got["sensordata"]
        self._unread = False

    # What is sent

    def _fixed_geoms(self) -> tuple[Any, ...]:
        """Geoms of bodies that stand on the world, for `place_fixed`; MuJoCo Warp puts them there only once."""
        model = self._host
        bodies = np.flatnonzero((model.body_weldid == 0) & (np.arange(model.nbody) > 0))
        if np.any(model.body_parentid[bodies] != 0):
            raise WiringError("a body that is fixed to another fixed one cannot stand elsewhere in a lane of a GPU")
        geoms = np.flatnonzero(np.isin(model.geom_bodyid, bodies))
        with self._on_device():
            return (
                warp.array(geoms.astype(np.int32), dtype=int),
                warp.array(model.geom_bodyid[geoms].astype(np.int32), dtype=int),
                warp.array(model.geom_pos[geoms].astype(np.float32), dtype=warp.vec3),
                warp.array(model.geom_quat[geoms].astype(np.float32), dtype=warp.quat),
            )

    def _flush(self) -> None:
        """Send what has been gathered."""
        self._state.send()
        if self._model_rows.send() and len(self._fixed[0]):
            inputs = [*self._fixed, self._model.body_pos, self._model.body_quat]
            outputs = [self._data.geom_xpos, self._data.geom_xmat]
            warp.launch(place_fixed, dim=(self.count, len(self._fixed[0])), inputs=inputs, outputs=outputs)

    def share(self, qpos: Array, sensors: Array, diverged: NDArray[np.bool_]) -> None:
        """From now on leave what comes of ticks in these arrays: others look at them, too."""
        for new, old in ((qpos, self._qpos), (sensors, self._sensors), (diverged, self.diverged)):
            new[:] = old
        self._qpos, self._sensors, self.diverged = qpos, sensors, diverged

    # Whole lanes

    def state(self, lane: int) -> Array:
        """Its time, and all that decides a lane's future, a copy."""
        time_s = self._ticks[lane] * self.scene.robot.dt_s
        return np.concatenate([[time_s], self._state.row(lane)])

    def save(self, lane: int) -> Saved:
        """The state of a lane, to be restored later."""
        return Saved(
            state=self.state(lane),
            edits=self._models.of(lane),
            corrupt=self._wires.spoilt(lane),
            on_the_way=self._wires.on_the_way(lane),
        )

    def restore(self, lane: int, saved: Saved) -> None:
        """Continue from a saved state."""
        self._edit(lane, saved.edits)
        row = saved.state[1:]
        self._state.put(np.array([lane]), row[None])
        self._ticks[lane] = round(saved.state[0] / self.scene.robot.dt_s)
        self._qpos[lane] = row[self._state.spans["qpos"]]
        self._wires.connect(lane, saved.on_the_way, saved.corrupt)
        self.diverged[lane] = False
        self._unread = True


@functools.cache
def _beginning(device: str) -> Any:
    """The moment from which a device's time is counted here."""
    event = warp.Event(device, enable_timing=True)
    with warp.ScopedDevice(device):
        warp.record_event(event)
    warp.synchronize_event(event)
    return event


def _flat(array: Any) -> Any:
    """The same memory as rows of plain numbers, (N, n)."""
    lanes, numbers = array.shape[0], array.capacity // 4 // array.shape[0]
    return warp.array(ptr=array.ptr, dtype=float, shape=(lanes, numbers), device=array.device, copy=False)


def _contacts(scene: Scene) -> int:
    """How many contacts of one lane there is room for: every object at rest on something, held, and some more."""
    return _CONTACTS_OF_HAND + _CONTACTS_EACH * len(scene.object_names)


def _constraints(scene: Scene) -> int:
    """As many rows as those contacts have in elliptic cones, and what joints and their friction add."""
    model = scene.model
    return 4 * _contacts(scene) + 2 * int(model.njnt) + int(model.neq) * 6 + int((model.dof_frictionloss > 0).sum())


_CONTACTS_OF_HAND, _CONTACTS_EACH = 24, 8
