"""One finished episode as plain data: what workers hand to each other, and the log a dataset keeps of it."""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graspline.engine.events import Blind, Change, CorruptControl, Event, Misjudge, Place, Push, Roughen, See
from graspline.episodes.episode import Episode, Transition
from graspline.episodes.fault_injection import Strike
from graspline.episodes.log import EpisodeLog
from graspline.episodes.questions import first_default
from graspline.evidence import Evidence, Measurement, failures, passes
from graspline.execution.drivers import FOLLOW, TELEOP
from graspline.execution.notifications import Answered, EndsAs, read_then
from graspline.machine.machine import Machine
from graspline.scenes.variation import Edit, Variation
from graspline.tasks.task import Instruction

# What a log file tells besides its arrays.
_FACTS = (
    "seed",
    "verdict",
    "state_hash",
    "scenario",
    "variation",
    "events",
    "transitions",
    "entries",
    "targets",
    "recoveries",
    "evidence",
    "strikes",
    "truth",
)
_EVENTS: dict[str, type] = {
    kind.__name__: kind for kind in (Push, Change, Place, CorruptControl, Blind, Misjudge, Roughen, See)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """An episode that may become part of a dataset."""

    seed: int
    verdict: str
    # Claimed by the machine and not contradicted by the simulator.
    succeeded: bool
    # Claimed and contradicted: counted, reported, and never a success.
    contradicted: bool
    retries: int
    sim_time_s: float
    # When work on the first object began; 0 where no machine played it.
    start_s: float
    state_hash: str
    # Objects the task has turned to, in the order of the first time.
    targets: tuple[str, ...]
    transitions: tuple[Transition, ...]
    # (time, state) of every entry.
    entries: tuple[tuple[float, str], ...]
    # From when to when something that went wrong was being made good.
    recoveries: tuple[tuple[float, float], ...]
    evidence: Evidence
    truth: dict[str, Any]
    # Faults that struck, or found nothing to strike.
    strikes: tuple[Strike, ...]
    scenario: dict[str, Any]
    # Its instruction.
    instruction: Instruction
    log: EpisodeLog
    # The tick at which its first frame begins.
    first_tick: int = 0
    # A question that got its default because no person was asked; not part of what is stored.
    unasked: Answered | None = field(default=None, compare=False)

    def without_states(self) -> Recording:
        """The same without what only pictures and rows are made from."""
        log = dataclasses.replace(self.log, states=self.log.states[:0])
        return dataclasses.replace(self, log=log)

    @property
    def takeover(self) -> Transition | None:
        """When and why the expert took over from a policy, if it did."""
        return next((each for each in self.transitions if _is_takeover(each)), None)

    @property
    def ended_by(self) -> str:
        """What drove at the end: the expert, a policy that it did not take over from, or a person throughout."""
        if any(state == TELEOP for _, state in self.entries):
            return "person"
        by_policy = self.takeover is None and any(state == FOLLOW for _, state in self.entries)
        return "policy" if by_policy else "expert"

    @property
    def cause(self) -> str:
        """What failed, in a few words; empty for a success."""
        if self.succeeded:
            return ""
        broken = failures(self.evidence)
        return str(broken[0]) if broken else "contradicted by the simulator" if self.contradicted else ""


def _is_takeover(each: Transition) -> bool:
    return each.state == FOLLOW and not isinstance(each.then, EndsAs)


def recording_of(episode: Episode, machine: Machine | None) -> Recording:
    """What becomes of an episode that a machine played, or a policy or a person, which have no recoveries."""
    return Recording(
        seed=episode.scenario.seed,
        verdict=episode.verdict,
        succeeded=episode.succeeded and passes(episode.goal_by_truth),
        contradicted=episode.false_success,
        retries=episode.retries,
        sim_time_s=episode.sim_time_s,
        start_s=0.0 if machine is None else machine.work_began_s(episode.entries),
        state_hash=episode.state_hash,
        targets=episode.targets,
        transitions=episode.transitions,
        entries=episode.entries,
        recoveries=() if machine is None else recoveries_of(episode.transitions, machine, episode.sim_time_s),
        evidence=episode.evidence,
        truth=dict(episode.truth),
        strikes=episode.strikes,
        scenario=_scenario(episode),
        instruction=episode.instruction,
        unasked=first_default(episode.answers),
        log=episode.log,
    )


def _scenario(episode: Episode) -> dict[str, Any]:
    """With the engine that played it; what a GPU plays is not certified until the CPU agrees."""
    plain = dict[str, Any](episode.scenario.as_dict())
    return plain if episode.engine == "cpu" else {**plain, "engine": episode.engine, "certified": False}


def recoveries_of(
    transitions: tuple[Transition, ...], machine: Machine, end_s: float
) -> tuple[tuple[float, float], ...]:
    """Each from when a budget was spent until the state that went wrong ended well, or the episode did."""
    found: list[tuple[float, float]] = []
    since_s, wrong = 0.0, set[str]()
    for each in transitions:
        if machine.is_retry(each.state, each.outcome, each.then):
            since_s = each.t_s if not wrong else since_s
            wrong.add(each.state)
        elif each.state in wrong:
            wrong.discard(each.state)
            if not wrong:
                found.append((since_s, each.t_s))
    return (*found, (since_s, end_s)) if wrong else tuple(found)


def pack(recording: Recording) -> bytes:
    """The log file of one episode: enough to play it again, and everything that was measured."""
    log = recording.log
    facts = {
        "seed": recording.seed,
        "verdict": recording.verdict,
        "state_hash": recording.state_hash,
        "scenario": recording.scenario,
        "variation": dataclasses.asdict(log.variation),
        "events": [[tick, {"event": type(event).__name__, **dataclasses.asdict(event)}] for tick, event in log.events],
        "transitions": [each.as_dict() for each in recording.transitions],
        "entries": recording.entries,
        "targets": recording.targets,
        "recoveries": recording.recoveries,
        "evidence": [each.as_dict() for each in recording.evidence],
        "strikes": [dataclasses.asdict(each) for each in recording.strikes],
        "truth": recording.truth,
    }
    buffer = io.BytesIO()
    text = np.frombuffer(json.dumps(facts, allow_nan=True).encode(), np.uint8)
    pushed = {"intended": log.intended, "off": log.off} if len(log.intended) else {}
    np.savez_compressed(
        buffer, start=log.start, positions=log.positions, velocities=log.velocities, **pushed, facts=text
    )
    return buffer.getvalue()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptLog:
    """A log file read back: the log without pictures' states, and the facts beside it."""

    log: EpisodeLog
    facts: dict[str, Any]

    @property
    def evidence(self) -> Evidence:
        """The evidence of the verdict."""
        return _evidence(self.facts)

    @property
    def transitions(self) -> tuple[Transition, ...]:
        """The states with their outcomes, in order."""
        return tuple(
            Transition(**{**each, "then": read_then(each["then"]), "evidence": _evidence(each)})
            for each in self.facts["transitions"]
        )


def _evidence(plain: Mapping[str, Any]) -> Evidence:
    return tuple(Measurement.read(each) for each in plain["evidence"])


def unpack(data: bytes) -> KeptLog:
    """Read a log file; raises ValueError if it is not one."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            facts = json.loads(arrays["facts"].tobytes())
            start, positions, velocities = (_numbers(arrays, name) for name in ("start", "positions", "velocities"))
            pushed = "intended" in arrays
            intended = _numbers(arrays, "intended") if pushed else positions[:0]
            off = arrays["off"] if pushed else np.zeros(0, bool)
        if start.ndim != 1 or positions.ndim != 2 or positions.shape != velocities.shape:
            raise ValueError(f"shapes {start.shape}, {positions.shape} and {velocities.shape}")
        if pushed and (intended.shape != positions.shape or off.shape != positions.shape[:1] or off.dtype != np.bool_):
            raise ValueError(f"intended {intended.shape} and off {off.shape} beside {positions.shape}")
        missing = [name for name in _FACTS if name not in facts]
        if missing:
            raise ValueError(f"without {', '.join(missing)}")
        edits = tuple(_edit(each) for each in facts["variation"]["edits"])
        log = EpisodeLog(
            start=start,
            variation=Variation(**{**facts["variation"], "edits": edits}),
            positions=positions,
            velocities=velocities,
            events=tuple((int(tick), _event(plain)) for tick, plain in facts["events"]),
            states=np.zeros((0, len(start))),
            intended=intended,
            off=off,
        )
    # Headers of arrays are read by Python's own parser, archives by several libraries: other bytes may raise anything.
    except Exception as error:
        raise ValueError(f"not a log of an episode: {error or type(error).__name__}") from None
    return KeptLog(log=log, facts=facts)


def _numbers(arrays: Mapping[str, NDArray[Any]], name: str) -> NDArray[np.float64]:
    found = arrays[name]
    if found.dtype != np.float64:
        raise ValueError(f"{name} are {found.dtype}")
    return found


def _event(plain: dict[str, Any]) -> Event:
    kind = _EVENTS[plain["event"]]
    values = {
        name: tuple(value) if isinstance(value, list) else value for name, value in plain.items() if name != "event"
    }
    if kind is Change:
        values["edits"] = tuple(_edit(each) for each in values["edits"])
    return kind(**values)


def _edit(plain: dict[str, Any]) -> Edit:
    return Edit(field=plain["field"], element=plain["element"], values=tuple(plain["values"]))
