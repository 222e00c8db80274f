"""`graspline generate --from-policy`: which policy drives, and when the expert takes over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graspline.envs.identity import digest_of_policy
from graspline.envs.policy_process import PolicyProcess
from graspline.envs.watching import TakeoverParameters
from graspline.errors import InputError
from graspline.parameters import build, dump
from graspline.tasks.catalogue import TASKS
from graspline.tasks.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySource:
    """What the command line says about a policy that drives, if it names one."""

    named: str | None
    take_over: tuple[str, ...]
    keep: str
    record: str

    def check(self, task: Task[Any], *, alone: bool) -> None:
        """Raise all that is wrong with it; `alone` is whether only processes of this machine's CPU play."""
        problems = list(self._without_policy()) if self.named is None else self._with_policy(task, alone)
        if self.record == "intervention" and self.keep != "takeover":
            problems.append("--record intervention: other episodes have no such frames; add --keep takeover")
        if problems:
            raise InputError(problems)

    def _without_policy(self) -> list[str]:
        given = {"--take-over": bool(self.take_over), "--keep takeover": self.keep == "takeover"}
        return [f"{option}: nothing to take over from; add --from-policy" for option, is_on in given.items() if is_on]

    def _with_policy(self, task: Task[Any], alone: bool) -> list[str]:
        problems: list[str] = []
        if task.remaining is None:
            able = ", ".join(name for name, each in TASKS.items() if each.remaining is not None)
            problems.append(f"--from-policy: the expert of {task.name} cannot take over; tasks whose can: {able}")
        if not alone:
            problems.append("--from-policy: a policy plays on this machine's CPUs; leave out --engine and --cluster")
        try:
            self._parameters()
        except InputError as error:
            problems += error.problems
        return problems

    def _parameters(self) -> TakeoverParameters:
        try:
            return build(TakeoverParameters, None, list(self.take_over))
        except InputError as error:
            raise InputError([each.replace("--set", "--take-over", 1) for each in error.problems]) from None

    def settings(self, timeout_s: float) -> dict[str, Any]:
        """As a dataset's settings hold it; the policy has been imported once, so that it can be."""
        if self.named is None:
            return {}
        try:
            PolicyProcess(self.named, timeout_s).close()
        except InputError as error:
            raise InputError([each.replace("--policy", "--from-policy", 1) for each in error.problems]) from None
        takeover = dict(dump(self._parameters()))
        return {"policy": self.named, "sha256": digest_of_policy(self.named), "takeover": takeover}
