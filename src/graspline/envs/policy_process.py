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
import sys
import tempfile
from collections.abc import Callable
from types import TracebackType
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from graspline.envs import policy_server
from graspline.envs.interface import Array, Interface, Observation
from graspline.envs.policies import Answered, Asked, PolicyFailed, parse_policy, unusable
from graspline.episodes.units import joint_names
from graspline.errors import InputError
from graspline.execution.requests import Preempted

# How long an answer may take, and importing a policy at least.
TIMEOUT_S = 60.0
# Observations in one message; pictures of so many are held in shared memory.
SLOTS = 64
# How often somebody who waits looks whether to wait on.
_SLICE_S = 0.05
_LONGEST_MESSAGE = 2**24
_LEAVE_S = 5.0


class PolicyGone(Exception):
    """The process has ended, or was ended for its silence."""


class PolicyProcess:
    """One process with a policy in it."""

    def __init__(self, named: str, timeout_s: float = TIMEOUT_S) -> None:
        """Imports the policy there; an InputError says what was not found. Answers may take `timeout_s` each."""
        parse_policy(named)
        self.named, self.timeout_s = named, timeout_s
        # Why it is gone, if it is.
        self.ending = ""
        self.has_answered = False
        self._received = b""
        self._memory_file = _memory_file()
        self._process = subprocess.Popen(
            [sys.executable, policy_server.__file__, str(self._memory_file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if _is_open(2) else subprocess.DEVNULL,
            pass_fds=(self._memory_file,),
            # Ctrl-C is for us to hear, and processes that the policy starts are ended with it.
            start_new_session=True,
        )
        try:
            self.send({"policy": named, "version": policy_server.VERSION})
            answer = self.receive(lambda: False, max(TIMEOUT_S, timeout_s))
        except PolicyGone as gone:
            raise unusable(named, f"cannot be imported: {gone}", ()) from None
        except BaseException:
            self.close()
            raise
        if "refused" in answer:
            self.close()
            raise unusable(named, str(answer["refused"]), tuple(answer.get("known", ())))

    def lay_out(self, fields: dict[tuple[str, ...], tuple[str, tuple[int, ...]]], joints: tuple[str, ...]) -> _Memory:
        """Arrange the shared memory for observations of these fields: dtype and shape, by key."""
        offsets: dict[tuple[str, ...], list[int]] = {key: [] for key in fields}
        end = 0
        for _ in range(SLOTS):
            for key, (dtype, shape) in fields.items():
                offsets[key].append(end)
                end += _whole_lines(int(np.prod(shape)) * np.dtype(dtype).itemsize)
        actions, size = end, end + SLOTS * len(joints) * 8
        os.ftruncate(self._memory_file, size)
        told = [
            {"key": key, "dtype": dtype, "shape": shape, "offsets": offsets[key]}
            for key, (dtype, shape) in fields.items()
        ]
        self.send({"slots": SLOTS, "fields": told, "actions": actions, "joints": joints})
        memory = mmap.mmap(self._memory_file, size)
        slots = {
            key: [np.ndarray(shape, dtype, memory, at) for at in offsets[key]] for key, (dtype, shape) in fields.items()
        }
        return _Memory(slots, np.ndarray((SLOTS, len(joints)), np.float64, memory, actions))

    def send(self, message: dict[str, Any]) -> None:
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
            # Counted, not read from a clock: while this process does not run, nobody waits.
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


class _Memory:
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

    A process that ends takes with it the episodes whose policies lived in it. Those that begin later get a new one,
    unless it ended before it had answered at all.
    """

    def __init__(self, process: PolicyProcess, interface: Interface, stop: Callable[[], bool] = lambda: False) -> None:
        self._interface, self._stop = interface, stop
        self._joints = joint_names(interface.robot)
        self._process, self._memory = process, self._lay_out(process)
        # Where the policy of each episode lives.
        self._homes: dict[int, PolicyProcess] = {}
        self._ended: list[int] = []

    def __call__(self, asked: Asked) -> Answered:
        return self.many([(asked,)])[0]

    def many(self, asked: list[tuple[Asked]]) -> list[Answered]:
        answers: list[Answered] = []
        for first in range(0, len(asked), SLOTS):
            answers += self._answers([each for (each,) in asked[first : first + SLOTS]])
        return answers

    def forget(self, episode: int) -> None:
        if self._homes.pop(episode, None) is self._process:
            self._ended.append(episode)

    def close(self) -> None:
        self._process.close()

    def _answers(self, asked: list[Asked]) -> list[Answered]:
        for each in asked:
            if each.episode not in self._homes:
                self._homes[each.episode] = self._living()
        there = [each for each in asked if not self._homes[each.episode].ending]
        found: dict[int, Answered] = {}
        try:
            found = self._ask(there)
        except Preempted:
            found = {each.episode: Preempted() for each in there}
        except PolicyGone:
            pass
        return [found[each.episode] if each.episode in found else self._lost(each) for each in asked]

    def _lost(self, asked: Asked) -> PolicyFailed:
        ending = self._homes[asked.episode].ending
        return PolicyFailed(f"the policy is gone, and with it the episodes it was playing: {ending}")

    def _living(self) -> PolicyProcess:
        """A process for a new episode; one that is gone if it is no use to start another."""
        before = self._process
        if before.ending and before.has_answered:
            self._ended = []
            try:
                self._process = PolicyProcess(before.named, before.timeout_s)
                self._memory = self._lay_out(self._process)
            except InputError as error:
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
        tasks = [each.observation["task"] for each in asked]
        process.send({"ask": [each.episode for each in asked], "tasks": tasks, "ended": ended})
        while "errors" not in (answer := process.receive(self._stop, process.timeout_s)):
            process.has_answered = True
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

    def _lay_out(self, process: PolicyProcess) -> _Memory:
        fields: dict[tuple[str, ...], tuple[str, tuple[int, ...]]] = {}
        for view in self._interface.views:
            fields["pixels", view.camera] = "uint8", (view.height, view.width, 3)
        fields["agent_pos",] = "float32", (len(self._joints),)
        return process.lay_out(fields, self._joints)


def _memory_file() -> int:
    """An open file that is nowhere on disk, if it can be so, and is gone with those who have it open."""
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
