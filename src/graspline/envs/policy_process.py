"""A policy in a process of its own, asked about all lanes of a tick in one message; see `policy_server`."""

from __future__ import annotations

import contextlib
import fcntl
import json
import mmap
import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from graspline.choices import POLICY_TIMEOUT_S
from graspline.envs import policy_server
from graspline.envs.interface import Array, Interface, Observation
from graspline.envs.policies import Answered, Asked, PolicyFailed, PolicySource, is_checkpoint, parse_policy, unusable
from graspline.episodes.episode import INTERRUPTED, Episode
from graspline.episodes.scenario import Scenario
from graspline.episodes.units import joint_names
from graspline.errors import EnvironmentProblem, GrasplineError, InputError
from graspline.execution.requests import Preempted

# How long an answer may take, and importing a policy at least; loading a checkpoint with torch may take longer.
TIMEOUT_S, LOADING_S = POLICY_TIMEOUT_S, 300.0
# Observations in one message. Shared memory holds the images of this many; more are laid out as more lanes ask, up to
# the memory that they may take.
SLOTS = 64
_MOST_BYTES = 2**32
# How many processes are started after one that has ended.
_MOST_RESTARTS = 20
# How often a wait for an answer is interrupted to see whether to wait on.
_SLICE_S = 0.05
_LONGEST_MESSAGE = 2**24
_LEAVE_S = 5.0


class PolicyGone(Exception):
    """The process has ended, or was ended for its silence."""


class _ProcessEnded(Exception):
    """The process ended while it was answering for these."""

    def __init__(self, blamed: list[Asked]) -> None:
        super().__init__()
        self.blamed = blamed


class PolicyProcess:
    """One process with a policy in it."""

    def __init__(self, policy: str | PolicySource, timeout_s: float = TIMEOUT_S) -> None:
        """Imports the policy there; an InputError says what was not found. Answers may take `timeout_s` each."""
        self.source = PolicySource(named=policy) if isinstance(policy, str) else policy
        parse_policy(self.source.named)
        self.timeout_s = timeout_s
        self._start_s = max(LOADING_S if is_checkpoint(self.source.named) else TIMEOUT_S, timeout_s)
        # Why it is gone, if it is.
        self.ending = ""
        self.has_answered = False
        # Whether it answers for one episode after the other, so that the one it dies of is known.
        self.one_by_one = True
        self._received = b""
        self._memory_file = _memory_file()
        try:
            self._process = subprocess.Popen(
                [self.source.python, policy_server.__file__, str(self._memory_file)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if _is_open(2) else subprocess.DEVNULL,
                pass_fds=(self._memory_file,),
                # Ctrl-C is for us to hear, and processes that the policy starts are ended with it.
                start_new_session=True,
            )
        except OSError as error:
            os.close(self._memory_file)
            raise InputError(f"--policy-python {self.source.python}: cannot be run: {error.strerror}") from None
        self._agree(
            {
                "policy": self.source.place,
                "version": policy_server.VERSION,
                "settings": dict(self.source.settings),
                "device": self.source.device,
            }
        )

    def _agree(self, message: dict[str, Any]) -> None:
        """Send what must be answered by ready; what is refused or lacking is raised, and the process ended."""
        named = self.source.named
        try:
            self.send(message)
            answer = self.receive(lambda: False, self._start_s)
        except PolicyGone as gone:
            raise unusable(named, f"cannot be imported: {gone}", ()) from None
        except BaseException:
            self.close()
            raise
        if "ready" in answer:
            return
        self.ending = "it could not begin"
        self.close()
        if "lacks" in answer:
            raise EnvironmentProblem(
                f"--policy {named}: {answer['lacks']}; use --policy-python to choose a Python that has it"
            )
        raise unusable(named, str(answer.get("refused")), tuple(answer.get("known", ())))

    def lay_out(
        self, fields: dict[tuple[str, ...], tuple[str, tuple[int, ...]]], joints: tuple[str, ...], slots: int = SLOTS
    ) -> _EvaluatorBuffers:
        """Arrange the shared memory for observations of these fields: dtype and shape, by key.

        An InputError says why the policy cannot use such observations.
        """
        sizes = {
            key: _whole_lines(int(np.prod(shape)) * np.dtype(dtype).itemsize) for key, (dtype, shape) in fields.items()
        }
        slots = max(SLOTS, min(slots, _MOST_BYTES // sum(sizes.values())))
        offsets: dict[tuple[str, ...], list[int]] = {}
        end = 0
        for key, size in sizes.items():
            offsets[key] = [end + slot * size for slot in range(slots)]
            end += slots * size
        actions, whole = end, end + slots * len(joints) * 8
        os.ftruncate(self._memory_file, whole)
        layout = [
            {"key": key, "dtype": dtype, "shape": shape, "offsets": offsets[key]}
            for key, (dtype, shape) in fields.items()
        ]
        self._agree({"slots": slots, "fields": layout, "actions": actions, "joints": joints})
        memory = mmap.mmap(self._memory_file, whole)
        arrays = {
            key: [np.ndarray(shape, dtype, memory, at) for at in offsets[key]] for key, (dtype, shape) in fields.items()
        }
        return _EvaluatorBuffers(arrays, np.ndarray((slots, len(joints)), np.float64, memory, actions))

    def send(self, message: dict[str, Any]) -> None:
        """Send one message to the process."""
        assert self._process.stdin is not None
        try:
            policy_server.send(self._process.stdin, message)  # pyright: ignore[reportArgumentType]
        except OSError:
            self._give_up(self._how_it_ended())

    def receive(self, stop: Callable[[], bool], timeout_s: float) -> dict[str, Any]:
        """The next message. Raises PolicyGone where none comes, and Preempted when `stop` turns true."""
        assert self._process.stdout is not None
        silent_s = 0.0
        while b"\n" not in self._received:
            if stop():
                self.ending = "it was stopped"
                self.close()
                raise Preempted
            if select.select([self._process.stdout], [], [], _SLICE_S)[0]:
                chunk = os.read(self._process.stdout.fileno(), 65_536)
                self._received += chunk
                if not chunk or len(self._received) > _LONGEST_MESSAGE:
                    self._give_up(self._how_it_ended() if not chunk else "it sent what is no answer")
                continue
            # Others that it started may keep its end of the pipe open.
            if self._process.poll() is not None:
                self._give_up(self._how_it_ended())
            # Counted, not read from a clock: time in which this process does not run does not count.
            silent_s += _SLICE_S
            if silent_s >= timeout_s:
                self._give_up(f"no answer within {timeout_s:g} s")
        line, _, self._received = self._received.partition(b"\n")
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            self._give_up("it sent what is no answer")
        return message

    def close(self) -> None:
        """End it, with all that it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                assert stream is not None
                stream.close()
        if self._memory_file >= 0:
            os.close(self._memory_file)
            self._memory_file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(_LEAVE_S)
        except subprocess.TimeoutExpired:
            return "its process closed its streams"
        return f"its process was ended by {signal.Signals(-code).name}" if code < 0 else f"its process left with {code}"

    def _give_up(self, why: str) -> NoReturn:
        self.ending = why
        self.close()
        raise PolicyGone(why)


class _EvaluatorBuffers:
    """Observations and actions where both processes see them."""

    def __init__(self, slots: dict[tuple[str, ...], list[NDArray[Any]]], actions: Array) -> None:
        self._slots, self.actions = slots, actions

    def put(self, slot: int, observation: Observation) -> None:
        for key, arrays in self._slots.items():
            value: Any = observation
            for each in key:
                value = value[each]
            arrays[slot][...] = value


class ServedPolicies:
    """Answers for the policies of all episodes by asking a process.

    A process that ends takes with it the episodes whose policies lived in it; those that begin later get a new one,
    unless it ended before it had answered at all. The episode it was answering for is to blame, or all of one question
    if it answers for them at once. The others are in `lost`: played again, they end as if they had been alone.
    """

    def __init__(self, process: PolicyProcess, interface: Interface, stop: Callable[[], bool] = lambda: False) -> None:
        self._interface, self._stop = interface, stop
        self._joints = joint_names(interface.robot)
        self._process, self._memory = process, self._lay_out(process)
        # Where the policy of each episode lives.
        self._homes: dict[int, PolicyProcess] = {}
        self._ended: list[int] = []
        self._restarts = 0
        self.lost: set[Scenario] = set()

    def __call__(self, asked: Asked) -> Answered:
        """The actions for an episode's observation."""
        return self.many([(asked,)])[0]

    def many(self, asked: list[tuple[Asked]]) -> list[Answered]:
        """The actions for several observations, in one batch."""
        answers: list[Answered] = []
        while len(answers) < len(asked):
            left = [each for (each,) in asked[len(answers) :]]
            answers += self._answers(left)
        return answers

    def forget(self, episode: int) -> None:
        """The episode has ended."""
        if self._homes.pop(episode, None) is self._process:
            self._ended.append(episode)

    def close(self) -> None:
        """Release everything it holds; it cannot be used afterwards."""
        self._process.close()

    def _answers(self, asked: list[Asked]) -> list[Answered]:
        """Answers for as many as fit into one question."""
        for each in asked:
            if each.episode not in self._homes:
                self._homes[each.episode] = self._living()
        slots = self._room(len(asked))
        asked = asked[:slots]
        there = [each for each in asked if not self._homes[each.episode].ending]
        found: dict[int, Answered] = {}
        try:
            found = self._ask(there)
        except Preempted:
            found = {each.episode: Preempted() for each in there}
        except _ProcessEnded as ended:
            found = {each.episode: self._gone(each) for each in ended.blamed}
        return [found[each.episode] if each.episode in found else self._lost(each) for each in asked]

    def _room(self, count: int) -> int:
        """How many observations one question may have; more memory is laid out if more are there."""
        slots = len(self._memory.actions)
        if slots < count and not self._process.ending:
            with contextlib.suppress(GrasplineError):
                self._memory = self._lay_out(self._process, 2 ** (count - 1).bit_length())
        return len(self._memory.actions)

    def _gone(self, asked: Asked) -> PolicyFailed:
        return PolicyFailed(f"the policy's process is gone: {self._homes[asked.episode].ending}")

    def _lost(self, asked: Asked) -> PolicyFailed:
        if self._homes[asked.episode].has_answered and self._restarts < _MOST_RESTARTS:
            self.lost.add(asked.scenario)
        return self._gone(asked)

    def _living(self) -> PolicyProcess:
        """A process for a new episode; one that is gone if it is no use to start another."""
        before = self._process
        if before.ending and before.has_answered and self._restarts < _MOST_RESTARTS:
            self._ended, self._restarts = [], self._restarts + 1
            try:
                self._process = PolicyProcess(before.source, before.timeout_s)
                self._memory = self._lay_out(self._process, len(self._memory.actions))
                # A policy that has answered once is worth another process, whichever episode ends this one.
                self._process.has_answered = True
            except GrasplineError as error:
                before.has_answered, before.ending = False, str(error)
                self._process = before
        return self._process

    def _ask(self, asked: list[Asked]) -> dict[int, Answered]:
        if not asked:
            return {}
        for slot, each in enumerate(asked):
            self._memory.put(slot, each.observation)
        ended, self._ended = self._ended, []
        process = self._process
        done = 0
        try:
            process.send(
                {
                    "ask": [each.episode for each in asked],
                    "seeds": [each.scenario.seed for each in asked],
                    "tasks": [each.observation["task"] for each in asked],
                    "ended": ended,
                }
            )
            while "errors" not in (answer := process.receive(self._stop, process.timeout_s)):
                process.has_answered = True
                process.one_by_one = "row" in answer
                done += 1
        except PolicyGone:
            raise _ProcessEnded(asked[min(done, len(asked) - 1) :][:1] if process.one_by_one else asked) from None
        actions = self._memory.actions[: len(asked)].copy()
        return {
            each.episode: self._answer(actions[row], answer["errors"].get(str(row))) for row, each in enumerate(asked)
        }

    def _answer(self, action: Array, error: object) -> Answered:
        if error is not None:
            return PolicyFailed(str(error))
        try:
            return self._interface.target_rad(action)
        except InputError as refused:
            return PolicyFailed(str(refused))

    def _lay_out(self, process: PolicyProcess, slots: int = SLOTS) -> _EvaluatorBuffers:
        fields: dict[tuple[str, ...], tuple[str, tuple[int, ...]]] = {}
        for view in self._interface.views:
            fields["pixels", view.camera] = "uint8", (view.height, view.width, 3)
        fields["agent_pos",] = "float32", (len(self._joints),)
        return process.lay_out(fields, self._joints, slots)


def play_lost_again(
    scenarios: Sequence[Scenario],
    policies: ServedPolicies,
    run: Callable[[Sequence[Scenario]], Iterator[Episode]],
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[Episode]:
    """Every episode once: those that were lost because another one ended the policy's process are run again.

    So which episodes end as `policy_error` does not depend on which ones are played together.
    """
    while scenarios:
        policies.lost.clear()
        lost: list[Episode] = []
        for episode in run(scenarios):
            if episode.scenario in policies.lost:
                lost.append(episode)
            else:
                yield episode
        if stop():
            yield from (replace(each, verdict=INTERRUPTED, error="") for each in lost)
            return
        scenarios = [each.scenario for each in lost]


def _memory_file() -> int:
    """An open file that is nowhere on disk, if it can be so, and is gone with the processes that have it open."""
    if hasattr(os, "memfd_create"):
        opened = os.memfd_create("graspline-policy")
    else:
        with tempfile.TemporaryFile() as file:
            opened = os.dup(file.fileno())
    # The first three belong to the streams, even where those were closed before we began.
    moved = fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(opened)
    return moved


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _whole_lines(size: int) -> int:
    """A size that keeps the next array where numpy likes it."""
    return -(-size // 64) * 64
