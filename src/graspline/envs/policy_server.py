"""The process that a policy runs in, and the protocol between it and the evaluator.

It is started by its path, needs nothing but Python and numpy, and so runs in any interpreter, whether graspline is
installed there or not. Nothing that a policy does can end or confuse the evaluator: what it prints goes to standard
error, and a process that ends, hangs or talks nonsense is a policy error.

The protocol, version 2. Messages are JSON objects, one a line, from the evaluator on standard input, to it on standard
output (both are moved elsewhere before the policy is imported). Arrays lie in a memory that both sides map: an open
file whose descriptor is this program's only argument. The evaluator speaks first:

    {"policy": "module:name", "version": 2, "settings": {key: text}, "device": text}
        import it: {"ready": true}, or {"refused": text, "known": [names]}, or {"lacks": text} if this Python has no
        package that is needed. "lerobot:FOLDER" names a checkpoint of LeRobot; `settings` are keys of its
        configuration, `device` is cuda, cpu or empty. Both are empty for other policies.
    {"slots": n, "fields": [field…], "actions": offset, "joints": [names]}
        how the memory is arranged: {"ready": true}, or {"refused": text} if the policy cannot use such observations.
        It may come again, with more slots.
    {"ask": [episode…], "seeds": [number…], "tasks": [text…], "ended": [episode…]}
        what comes next in the first, and which have ended since the last question

A field is {"key": [key…], "dtype": text, "shape": [number…], "offsets": [one for each slot]}. Observation `i` of a
question is in slot `i`, its `task` is text `i`; its action goes to row `i` of an array of float64, (slots, joints),
at the offset `actions`. A class is made anew for every episode; one with a method `many` is made once and answers for
all rows of a question. Seed `i` is for a LeRobot policy that samples; other policies never see it. A question is
answered by {"row": i} as each of its rows is done, so that a time limit can be for each of them, or by {"rows": n} as
all of them are done at once, and at last by {"answered": n, "errors": {"i": text}}. When standard input ends, so does
the process, whatever the policy is doing.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import mmap
import os
import queue
import sys
import threading
import traceback
from typing import TYPE_CHECKING, Any, BinaryIO

# Without it nothing works, which `main` tells the evaluator instead of a traceback.
_HAS_NUMPY = importlib.util.find_spec("numpy") is not None
if TYPE_CHECKING or _HAS_NUMPY:
    import numpy as np

VERSION = 2
# `lerobot:FOLDER` is a checkpoint, not a function of a module.
LEROBOT = "lerobot"
_LONGEST_ERROR = 20_000
_LONGEST_SIGNATURE = 60


class Unusable(Exception):
    """What was named is no policy; `known` are the names that there are."""

    def __init__(self, text: str, known: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.known = known


class Lacking(Exception):
    """This Python has no package that a policy needs."""


class NoAction(Exception):
    """What a policy returned is no action."""


def find_policy(module_name: str, name: str) -> Any:
    """What makes a policy: of one episode, or, if it is a class with a method `many`, of all of them.

    A class is made anew for each episode, a function serves all of them.
    """
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
    if not is_batched(found) and not any("__call__" in vars(each) for each in found.__mro__):
        raise Unusable("its objects cannot be called; expected a method __call__(self, observation)")
    return found


def is_batched(make_policy: Any) -> bool:
    """Whether one object of it answers for all episodes at once."""
    return inspect.isclass(make_policy) and callable(getattr(make_policy, "many", None))


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


def _takes(called: Any, count: int) -> bool:
    """Whether it can be called with `count` arguments; what does not say what it takes may be tried."""
    try:
        inspect.signature(called).bind(*[None] * count)
    except ValueError:
        return True
    except TypeError:
        return False
    return True


def _check_takes(called: Any, count: int, expected: str) -> None:
    if not _takes(called, count):
        raise Unusable(f"{expected}; it takes {str(inspect.signature(called))[:_LONGEST_SIGNATURE]}")


def _imported(name: str) -> Any:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            hint = "; leave .py out" if name.endswith(".py") else ""
            raise Unusable(f"no such module in {here} or among the installed packages{hint}") from None
        raise Unusable(_import_error(error)) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise Unusable(_import_error(error)) from None


def _import_error(error: BaseException) -> str:
    """What importing a module raised, and where."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    return f"cannot be imported: {type(error).__name__}: {error} ({at.filename}:{at.lineno})"


class _EachEpisode:
    """Policies of their own for all episodes: a class made anew for each, or a function."""

    def __init__(self, make_policy: Any) -> None:
        self._make_policy = make_policy
        self._policies: dict[int, Any] = {}

    def forget(self, episodes: list[int]) -> None:
        for episode in episodes:
            self._policies.pop(episode, None)

    def answer(self, memory: _PolicyBuffers, message: Any, writing: BinaryIO) -> dict[str, str]:
        errors: dict[str, str] = {}
        for row, episode in enumerate(message["ask"]):
            try:
                if episode not in self._policies:
                    self._policies[episode] = self._make_policy()
                action = self._policies[episode](memory.observation(row, message["tasks"][row]))
                memory.put(row, action)
            except BaseException as error:
                # A script that is used as a policy may well leave by `sys.exit`; libraries in other languages panic.
                errors[str(row)] = _text(error)
            send(writing, {"row": row})
        return errors


class _AllAtOnce:
    """One policy for all episodes: `many(observations)` or `many(observations, episodes)`, and `ended(episodes)`."""

    def __init__(self, make_policy: Any) -> None:
        self._make_policy, self._policy = make_policy, None
        self._wants_lanes = _takes(make_policy.many, 3)

    def forget(self, episodes: list[int]) -> None:
        if self._policy is not None and episodes and hasattr(self._policy, "ended"):
            self._policy.ended(episodes)

    def answer(self, memory: _PolicyBuffers, message: Any, writing: BinaryIO) -> dict[str, str]:
        count = len(message["ask"])
        try:
            if self._policy is None:
                self._policy = self._make_policy()
            observations = [memory.observation(row, message["tasks"][row]) for row in range(count)]
            arguments = (observations, message["ask"]) if self._wants_lanes else (observations,)
            actions = self._policy.many(*arguments)
        except BaseException as error:
            return dict.fromkeys(map(str, range(count)), _text(error))
        finally:
            send(writing, {"rows": count})
        return memory.put_all(count, actions)


class _Checkpoint:
    """A checkpoint of LeRobot; see `policy_lerobot`."""

    def __init__(self, policy: Any) -> None:
        self._policy = policy

    def forget(self, episodes: list[int]) -> None:
        self._policy.ended(episodes)

    def try_out(self, memory: _PolicyBuffers) -> None:
        """One pass over an empty observation, so that what does not fit is found before anything is played."""
        try:
            actions = self._policy.many([memory.observation(0, "")], [-1], [0])
            self._policy.ended([-1])
            memory.put(0, actions[0])
        except ImportError as error:
            raise Lacking(f"cannot run this checkpoint: {error}") from None
        except Exception as error:
            raise Unusable(f"cannot use such observations: {type(error).__name__}: {error}") from None

    def answer(self, memory: _PolicyBuffers, message: Any, writing: BinaryIO) -> dict[str, str]:
        count = len(message["ask"])
        try:
            # Its tensors are copies.
            observations = [memory.observation(row, message["tasks"][row], copies=False) for row in range(count)]
            actions = self._policy.many(observations, message["ask"], message["seeds"])
        except BaseException as error:
            return dict.fromkeys(map(str, range(count)), _text(error))
        finally:
            send(writing, {"rows": count})
        return memory.put_all(count, actions)


class _PolicyBuffers:
    """Observations and actions where both processes see them."""

    def __init__(self, layout: Any, memory: Any) -> None:
        self.joints = tuple(layout["joints"])
        self._fields = [
            (each["key"], [np.ndarray(each["shape"], each["dtype"], memory, at) for at in each["offsets"]])
            for each in layout["fields"]
        ]
        shape = layout["slots"], len(self.joints)
        self._actions = np.ndarray(shape, np.float64, memory, layout["actions"])

    def observation(self, slot: int, task: str, *, copies: bool = True) -> dict[str, Any]:
        """Arrays of its own unless set otherwise: a policy may keep or change what it is given."""
        observation: dict[str, Any] = {"task": task}
        for (*around, last), arrays in self._fields:
            inside = observation
            for key in around:
                inside = inside.setdefault(key, {})
            inside[last] = arrays[slot].copy() if copies else arrays[slot]
        return observation

    def put(self, row: int, action: object) -> None:
        self._actions[row] = action_of(action, self.joints)

    def put_all(self, count: int, actions: Any) -> dict[str, str]:
        """What is wrong with any of them, by row."""
        try:
            rows = list(actions)
        except Exception:
            rows = None
        if rows is None or len(rows) != count:
            got = f"{len(rows)} actions" if rows is not None else f"what is no list: {type(actions).__name__}"
            text = f"many() returned {got}; expected {count} actions, one for each observation"
            return dict.fromkeys(map(str, range(count)), text)
        errors: dict[str, str] = {}
        for row, action in enumerate(rows):
            try:
                self.put(row, action)
            except NoAction as error:
                errors[str(row)] = _text(error)
        return errors


def _text(error: BaseException) -> str:
    if isinstance(error, NoAction):
        return str(error)[:_LONGEST_ERROR]
    return "".join(traceback.format_exception(error))[-_LONGEST_ERROR:]


def send(writing: BinaryIO, message: Any) -> None:
    """Write one message as a line of JSON."""
    writing.write(json.dumps(message).encode() + b"\n")
    writing.flush()


def _read(reading: BinaryIO, inbox: queue.SimpleQueue[Any]) -> None:
    for line in reading:
        inbox.put(json.loads(line))
    # No client is left that waits for an answer.
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
    """Serve a policy over standard input and output until the evaluator leaves."""
    memory_file, sys.argv = int(sys.argv[1]), [""]
    # The modules beside this file are not meant to be found like this, those of the current directory are.
    sys.path[:] = [os.getcwd()] + [each for each in sys.path if each != os.path.dirname(os.path.abspath(__file__))]
    reading, writing = _streams_apart()
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(reading, inbox), daemon=True).start()
    try:
        policy = _found(inbox.get())
        send(writing, {"ready": True})
        memory = _PolicyBuffers(inbox.get(), mmap.mmap(memory_file, 0))
        if isinstance(policy, _Checkpoint):
            policy.try_out(memory)
        send(writing, {"ready": True})
    except Unusable as error:
        send(writing, {"refused": str(error), "known": list(error.known)})
        return
    except Lacking as error:
        version = ".".join(map(str, sys.version_info[:3]))
        send(writing, {"lacks": f"{sys.executable} (Python {version}) {error}"})
        return
    while True:
        message = inbox.get()
        if "slots" in message:
            memory = _PolicyBuffers(message, mmap.mmap(memory_file, 0))
            send(writing, {"ready": True})
            continue
        policy.forget(message["ended"])
        errors = policy.answer(memory, message, writing)
        send(writing, {"answered": len(message["ask"]), "errors": errors})


def _found(message: Any) -> _EachEpisode | _AllAtOnce | _Checkpoint:
    if not _HAS_NUMPY:
        raise Lacking("has no numpy, which every policy needs")
    module_name, _, name = message["policy"].partition(":")
    if module_name == LEROBOT:
        return _Checkpoint(_loaded(name, message["settings"], message["device"]))
    make_policy = find_policy(module_name, name)
    return _AllAtOnce(make_policy) if is_batched(make_policy) else _EachEpisode(make_policy)


def _loaded(folder: str, settings: dict[str, str], device: str) -> Any:
    """A checkpoint, by the module beside this file; the folder of both is not one that modules are looked for in."""
    # A file of the current directory may be named like one of the many modules that lerobot imports.
    sys.path[:] = [each for each in sys.path if each != os.getcwd()]
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "policy_lerobot.py")
    spec = importlib.util.spec_from_file_location("graspline_policy_lerobot", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        return module.CheckpointPolicy(folder, settings, device)
    except (ImportError, module.NoDevice) as error:
        raise Lacking(f"cannot load this checkpoint: {error}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # Parsers of settings leave by `sys.exit`.
        raise Unusable(f"cannot be loaded: {_with_causes(error)}") from None


def _with_causes(error: BaseException) -> str:
    """Its message after those of what caused it: a parser that fails says little about why."""
    cause = error.__cause__ or error.__context__
    return (f"{_with_causes(cause)}; " if cause is not None else "") + f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    main()
