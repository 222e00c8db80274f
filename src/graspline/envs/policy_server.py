"""The process that a policy runs in, and the protocol between it and the evaluator.

It is started by its path, needs nothing but Python and numpy, and so runs in any interpreter, whether graspline is
installed there or not. Nothing that a policy does can end or confuse the evaluator: what it prints goes to standard
error, and a process that ends, hangs or talks nonsense is a policy error.

The protocol, version 1. Messages are JSON objects, one a line, from the evaluator on standard input, to it on standard
output (both are moved elsewhere before the policy is imported). Arrays lie in a memory that both sides map: an open
file whose descriptor is this program's only argument. The evaluator speaks first:

    {"policy": "module:name", "version": 1}     import it: {"ready": true}, or {"refused": text, "known": [names]}
    {"slots": n, "fields": [field…], "actions": offset, "joints": [names]}     no answer
    {"ask": [episode…], "tasks": [text…], "ended": [episode…]}     what comes next in the first, and which have ended

A field is {"key": [key…], "dtype": text, "shape": [number…], "offsets": [one for each slot]}. Observation `i` of a
question is in slot `i`, its `task` is text `i`; its action comes to row `i` of an array of float64, (slots, joints),
at the offset `actions`. A class is made anew for every episode. A question is answered by {"row": i} as each of its
rows is done, so that a time limit can be for each of them, and at last by {"answered": n, "errors": {"i": text}}.
When standard input ends, so does the process, whatever the policy is doing.
"""

from __future__ import annotations

import importlib
import inspect
import json
import mmap
import os
import queue
import sys
import threading
import traceback
from typing import Any, BinaryIO

import numpy as np

VERSION = 1
_LONGEST_ERROR = 20_000
_LONGEST_SIGNATURE = 60


class Unusable(Exception):
    """What was named is no policy; `known` are the names that there are."""

    def __init__(self, text: str, known: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.known = known


class NoAction(Exception):
    """What a policy returned is no action."""


def find_policy(module_name: str, name: str) -> Any:
    """What makes the policy of one episode: a class is made anew for each, a function serves all of them."""
    module = _imported(module_name)
    if not hasattr(module, name):
        known = tuple(each for each, value in vars(module).items() if callable(value) and not each.startswith("_"))
        raise Unusable("the module has no such name", known)
    found = getattr(module, name)
    if not callable(found):
        raise Unusable(f"{name} is of type {type(found).__name__}; expected a function or a class")
    if not inspect.isclass(found):
        _check_takes(found, 1, "expected a function of one observation")
        return lambda: found
    _check_takes(found, 0, "expected a class that is made without arguments")
    if not any("__call__" in vars(each) for each in found.__mro__):
        raise Unusable("its objects cannot be called; expected a method __call__(self, observation)")
    return found


def action_of(action: object, joints: tuple[str, ...]) -> Any:
    """An action as an array of float64, (joints,); what is none is refused in words."""
    try:
        given = np.asarray(action)
        # Numbers could be made of what is complex, text or a date, but it is none.
        values = given if given.dtype.kind in "cSUmM" else given.astype(np.float64)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # Arrays of other libraries refuse with errors of their own.
        kind = type(action).__name__
        raise NoAction(f"the action, of type {kind}, is no array: {error}; {_expected(joints)}") from None
    if values.dtype != np.float64:
        raise NoAction(f"the action is an array of {values.dtype}; {_expected(joints)}")
    if values.shape != (len(joints),):
        raise NoAction(f"the action has the shape {values.shape}; {_expected(joints)}")
    if not np.isfinite(values).all():
        raise NoAction(f"the action is {values.tolist()}; {_expected(joints)}")
    return values


def _expected(joints: tuple[str, ...]) -> str:
    return f"expected {len(joints)} finite numbers, a target for each of {', '.join(joints)}"


def _check_takes(called: Any, count: int, expected: str) -> None:
    """Refuse what cannot be called with so many arguments; what does not say what it takes may be tried."""
    try:
        signature = inspect.signature(called)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*[None] * count)
    except TypeError:
        raise Unusable(f"{expected}; it takes {str(signature)[:_LONGEST_SIGNATURE]}") from None


def _imported(name: str) -> Any:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            hint = "; leave .py out" if name.endswith(".py") else ""
            raise Unusable(f"no such module in {here} nor among what is installed{hint}") from None
        raise Unusable(_import_error(error)) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise Unusable(_import_error(error)) from None


def _import_error(error: BaseException) -> str:
    """What importing a module raised, and where."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    return f"cannot be imported: {type(error).__name__}: {error} ({at.filename}:{at.lineno})"


class _Server:
    """Answers questions about observations in shared memory."""

    def __init__(self, make_policy: Any, layout: Any, memory: Any, writing: BinaryIO) -> None:
        self._make_policy, self._writing = make_policy, writing
        self._policies: dict[int, Any] = {}
        self._joints = tuple(layout["joints"])
        self._fields = [
            (each["key"], [np.ndarray(each["shape"], each["dtype"], memory, at) for at in each["offsets"]])
            for each in layout["fields"]
        ]
        shape = layout["slots"], len(self._joints)
        self._actions = np.ndarray(shape, np.float64, memory, layout["actions"])

    def answer(self, message: Any) -> None:
        for episode in message["ended"]:
            self._policies.pop(episode, None)
        errors: dict[str, str] = {}
        for row, episode in enumerate(message["ask"]):
            try:
                if episode not in self._policies:
                    self._policies[episode] = self._make_policy()
                action = self._policies[episode](self._observation(row, message["tasks"][row]))
                self._actions[row] = action_of(action, self._joints)
            except NoAction as error:
                errors[str(row)] = str(error)[:_LONGEST_ERROR]
            except BaseException:
                # A script that is used as a policy may well leave by `sys.exit`; libraries in other languages panic.
                errors[str(row)] = traceback.format_exc()[-_LONGEST_ERROR:]
            send(self._writing, {"row": row})
        send(self._writing, {"answered": len(message["ask"]), "errors": errors})

    def _observation(self, slot: int, task: str) -> dict[str, Any]:
        """Arrays of its own: a policy may keep or change what it is given."""
        observation: dict[str, Any] = {"task": task}
        for (*around, last), arrays in self._fields:
            inside = observation
            for key in around:
                inside = inside.setdefault(key, {})
            inside[last] = arrays[slot].copy()
        return observation


def send(writing: BinaryIO, message: Any) -> None:
    writing.write(json.dumps(message).encode() + b"\n")
    writing.flush()


def _read(reading: BinaryIO, inbox: queue.SimpleQueue[Any]) -> None:
    for line in reading:
        inbox.put(json.loads(line))
    # Nobody is there any more who wants to know.
    os._exit(0)


def _streams_apart() -> tuple[BinaryIO, BinaryIO]:
    """The streams of the protocol; what else reads standard input finds nothing, what is printed goes to the errors."""
    reading, writing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(nothing, 1)
    if sys.stdout is not None:
        sys.stdout.reconfigure(line_buffering=True)  # pyright: ignore[reportAttributeAccessIssue]
    return os.fdopen(reading, "rb"), os.fdopen(writing, "wb")


def main() -> None:
    memory_file, sys.argv = int(sys.argv[1]), [""]
    # The modules beside this file are not meant to be found like this, those of the current directory are.
    sys.path[:] = [os.getcwd()] + [each for each in sys.path if each != os.path.dirname(os.path.abspath(__file__))]
    reading, writing = _streams_apart()
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(reading, inbox), daemon=True).start()
    module_name, _, name = inbox.get()["policy"].partition(":")
    try:
        make_policy = find_policy(module_name, name)
    except Unusable as error:
        send(writing, {"refused": str(error), "known": list(error.known)})
        return
    send(writing, {"ready": True})
    layout = inbox.get()
    server = _Server(make_policy, layout, mmap.mmap(memory_file, 0), writing)
    while True:
        server.answer(inbox.get())


if __name__ == "__main__":
    main()
