"""`graspline generate --from-policy`: which policy drives, and when the expert takes over."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from graspline.engine.protocol import EngineKind
from graspline.envs.checkpoints import check_fits, find_checkpoint, policy_source
from graspline.envs.failure_watch import TakeoverParameters
from graspline.envs.interface import interface_of
from graspline.envs.policies import PolicySource, is_checkpoint
from graspline.envs.policy_identity import digest_of_policy
from graspline.envs.policy_process import PolicyProcess
from graspline.envs.takeover import pilot_of
from graspline.episodes.policy_drivers import MakePilot
from graspline.errors import InputError
from graspline.gpu.choose import check_gpu
from graspline.parameters import build, dump
from graspline.scenes.scene import Scene
from graspline.tasks.catalogue import TASKS
from graspline.tasks.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class FromPolicy:
    """What the command line says about a policy that drives, if it names one."""

    named: str | None
    python: Path | None
    settings: tuple[str, ...]
    device: str | None
    timeout_s: float
    take_over: tuple[str, ...]
    keep: str
    record: str
    disturb: float
    # What the policy sees, if not the dataset's cameras, and what renders it.
    cameras: str | None
    renderer: EngineKind

    def check(self, task: Task[Any], *, alone: bool) -> None:
        """Raise all that is wrong with it; `alone` is whether only processes of this machine's CPU play."""
        problems = list(self._without_policy()) if self.named is None else self._with_policy(task, alone)
        if self.record == "intervention" and self.keep != "takeover":
            problems.append(
                "--record intervention: only episodes with a takeover have such frames; add --keep takeover"
            )
        if problems:
            raise InputError(problems)

    def _without_policy(self) -> list[str]:
        given = {
            "--take-over": bool(self.take_over),
            "--keep takeover": self.keep == "takeover",
            "--policy-python": self.python is not None,
            "--policy-set": bool(self.settings),
            "--policy-device": self.device is not None,
            "--policy-cameras": self.cameras is not None,
            "--policy-renderer": self.renderer != "cpu",
        }
        return [f"{option}: needs a policy; add --from-policy" for option, is_on in given.items() if is_on]

    def _with_policy(self, task: Task[Any], alone: bool) -> list[str]:
        problems: list[str] = []
        if task.takeover is None:
            able = ", ".join(name for name, each in TASKS.usable().items() if each.takeover is not None)
            problems.append(f"--from-policy: the expert of {task.name} cannot take over; choose {able}")
        if not alone:
            problems.append("--from-policy: a policy runs on this machine's CPUs; leave out --engine and --cluster")
        if self.disturb:
            problems.append(
                f"--disturb {self.disturb:g}: a policy's episodes are not disturbed; leave out one of the two"
            )
        for check in (self._parameters, self._source):
            try:
                check()
            except InputError as error:
                problems += error.problems
        return problems

    def _parameters(self) -> TakeoverParameters:
        try:
            return build(TakeoverParameters, None, list(self.take_over))
        except InputError as error:
            raise InputError([each.replace("--set", "--take-over", 1) for each in error.problems]) from None

    def _source(self) -> PolicySource:
        assert self.named is not None
        try:
            return policy_source(self.named, self.python, self.settings, self.device)
        except InputError as error:
            raise InputError([_renamed(each) for each in error.problems]) from None

    def as_settings(self, scene: Scene, *, fps: int, cameras: str, units: str) -> dict[str, Any]:
        """As a dataset's settings hold it; the policy has been loaded once, so that it can be."""
        if self.named is None:
            return {}
        option = "--cameras" if self.cameras is None else "--policy-cameras"
        seen = cameras if self.cameras is None else self.cameras
        interface = interface_of(
            scene, fps=fps, cameras=seen, units=units, named=lambda name: option if name == "cameras" else f"--{name}"
        )
        if self.renderer == "gpu":
            check_gpu("--policy-renderer gpu")
        source = self._source()
        try:
            if is_checkpoint(source.named):
                check_fits(find_checkpoint(source.named), interface)
            PolicyProcess(source, self.timeout_s).close()
        except InputError as error:
            raise InputError([_renamed(each) for each in error.problems]) from None
        return {
            "policy": self.named,
            "sha256": digest_of_policy(source.place),
            "set": dict(source.settings),
            "takeover": dict(dump(self._parameters())),
            **({} if self.cameras is None else {"cameras": ",".join(map(str, interface.views)) or "none"}),
            **({} if self.renderer == "cpu" else {"renderer": self.renderer}),
        }

    def pilot(self) -> MakePilot:
        """Makes the pilot in every worker."""
        source = self._source()
        return partial(pilot_of, python=source.python, device=source.device, timeout_s=self.timeout_s)


def _renamed(problem: str) -> str:
    return problem.replace("--policy ", "--from-policy ", 1)
