"""`graspline generate`: a dataset, made episode by episode."""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args

import typer

from graspline.choices import DEFAULT_VIEWS, POLICY_TIMEOUT_S
from graspline.cli.from_policy import FromPolicy
from graspline.cli.interrupts import interruptible
from graspline.cli.options import (
    Config,
    Disturb,
    EngineName,
    Lanes,
    PolicyDevice,
    PolicyPython,
    PolicySet,
    PolicyTimeout,
    Randomize,
    RobotName,
    Settings,
    TaskName,
    check_certify,
    check_faults,
    disturbable,
    disturbance_of,
    engine_of,
    is_installed,
    lanes_of,
    machine_as_set,
    struck,
    task_and_parameters,
    with_robot,
)
from graspline.cli.outputs import report_saved
from graspline.cli.progress import Progress
from graspline.cli.questions import UnaskedQuestions
from graspline.cli.run_progress import success_text
from graspline.cli.status_line import working
from graspline.datasets.format.index import INFO
from graspline.datasets.format.rows import Row
from graspline.datasets.format.settings import DatasetSettings, Keep, Record, RendererKind, settings_of
from graspline.datasets.format.store import OURS, origin_in
from graspline.datasets.write.generate import GenerationProgress, generate
from graspline.datasets.write.jobs import NOT_CERTIFIED, fly_with
from graspline.datasets.write.pool import LocalPool, Pool
from graspline.datasets.write.ray_cluster import RayPool
from graspline.engine.protocol import EngineKind
from graspline.episodes.camera_views import ticks_per_frame, views_of
from graspline.episodes.processes import cores
from graspline.episodes.units import CONVENTIONS, Convention
from graspline.episodes.workers import Prepare
from graspline.errors import DatasetProblem, InputError, one_of
from graspline.execution.drivers import FOLLOW
from graspline.gpu.dataset_pool import GpuPool
from graspline.gpu.looks import what_warp_cannot_render
from graspline.rendering.choose import gl_problem
from graspline.scenes.scene import Scene
from graspline.tasks.task import Task
from graspline.wording import counted


def command(
    task: TaskName,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of the dataset: a new or empty one, or one to continue.")
    ],
    episodes: Annotated[
        int, typer.Option(min=1, max=1_000_000, metavar="N", help="Number of episodes in the finished dataset.")
    ],
    seed: Annotated[
        int, typer.Option(min=0, max=2**62, metavar="S", help="Seed of the first attempt; the others count up.")
    ] = 0,
    workers: Annotated[
        int,
        typer.Option(
            min=0, max=1024, metavar="K", help="Worker processes; 0 uses all cores. Results do not depend on it."
        ),
    ] = 0,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Run on a Ray cluster: local, auto or HOST:PORT. Results do not depend on it."
        ),
    ] = None,
    fps: Annotated[int, typer.Option(metavar="HZ", help="Frames per second; must divide the control rate, 60.")] = 30,
    cameras: Annotated[
        str, typer.Option(metavar="NAME:WxH,…", help="Cameras and image sizes, or none for a dataset without images.")
    ] = DEFAULT_VIEWS,
    keep: Annotated[
        str,
        typer.Option(
            metavar="WHICH",
            help="success; all, to keep labelled failures as well; takeover, for successes after the expert took over.",
        ),
    ] = "success",
    units: Annotated[
        str, typer.Option(metavar="UNITS", help="degrees, or normalized (joints from -100 to 100).")
    ] = "degrees",
    engine: EngineName = "cpu",
    lanes: Lanes = 0,
    certify: Annotated[
        bool | None,
        typer.Option(
            "--certify/--no-certify",
            help="Replay GPU episodes on the CPU, from their actions, and keep only those that succeed there too "
            "(the default).",
            show_default=False,
        ),
    ] = None,
    config: Config = None,
    settings: Settings = None,
    robot: RobotName = None,
    randomize: Randomize = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME@STATE[+S]", help="Inject a fault in every attempt, as in `graspline run`; repeatable."
        ),
    ] = None,
    disturb: Disturb = 0.0,
    from_policy: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:NAME|lerobot:DIR",
            help="Let this policy act, as in `graspline eval`, until the expert takes over.",
        ),
    ] = None,
    take_over: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="When the expert takes over, such as still_s=2 or after_s=[1,6] for a random time; repeatable.",
        ),
    ] = None,
    record: Annotated[
        str, typer.Option(metavar="WHICH", help="episode, or intervention for the frames from the takeover on.")
    ] = "episode",
    policy_cameras: Annotated[
        str | None,
        typer.Option(
            metavar="NAME:WxH,…",
            help="What the policy sees, if not the dataset's cameras: for a dataset whose images are rendered later.",
        ),
    ] = None,
    policy_renderer: Annotated[
        Literal["cpu", "gpu"],
        typer.Option(help="What renders the images the policy sees: this machine's CPU or its GPU."),
    ] = "cpu",
    policy_timeout: PolicyTimeout = POLICY_TIMEOUT_S,
    policy_python: PolicyPython = None,
    policy_set: PolicySet = None,
    policy_device: PolicyDevice = None,
    smooth: Annotated[
        bool, typer.Option("--smooth", help="Antialias images; rendering takes about three times as long.")
    ] = False,
    numbered: Annotated[bool, typer.Option("--numbered", hidden=True)] = False,
) -> None:
    """Generate a dataset of verified demonstrations.

    The format is LeRobot v3.0. Every attempt is run and judged first; images are rendered only for those that are kept.
    Each episode is committed as a whole: whatever stops this command, committed episodes stay, and the same command
    continues where it stopped. Prints a progress bar in a terminal, otherwise one JSON object per episode.

    \b
    Examples:
      graspline generate lift-cube --episodes 20 --out out/cubes
      graspline generate oranges --episodes 500 --out out/oranges --cameras front:640x480,wrist:640x480
      graspline generate oranges --episodes 100 --out out/states --cameras none --fps 60
      graspline generate oranges --episodes 100 --out out/varied --randomize lighting,camera,colours
      graspline generate lift-cube --episodes 50 --out out/recoveries --fault drop@lift+0.3 --keep all
      graspline generate lift-cube --episodes 50 --out out/corrections --disturb 1
      graspline generate lift-cube --episodes 100000 --out out/many --cameras none --engine gpu
      graspline generate lift-cube --episodes 100 --out out/corrected --from-policy my_policy:Policy --keep takeover
    """
    settings = with_robot(task, settings, robot)
    faults = tuple(fault or ())
    driver = FromPolicy(
        named=from_policy,
        python=policy_python,
        settings=tuple(policy_set or ()),
        device=policy_device,
        timeout_s=policy_timeout,
        take_over=tuple(take_over or ()),
        keep=keep,
        record=record,
        disturb=disturb,
        cameras=policy_cameras,
        renderer=policy_renderer,
    )
    driven_by = () if from_policy is None else (FOLLOW,)
    _check_installed(task, out)
    found, parameters = task_and_parameters(
        task,
        config,
        settings,
        lambda named: check_faults(named, faults, (*driven_by, *machine_as_set(named, config, settings).paths())),
        lambda _: cameras.strip() or _nothing("--cameras", "name cameras, or none"),
        lambda named: views_of(named.scene(named.parameters()), cameras),
        lambda named: ticks_per_frame(fps, _control_hz(named)),
        lambda _: one_of(keep, get_args(Keep), "--keep"),
        lambda _: one_of(record, get_args(Record), "--record"),
        lambda named: driver.check(named, alone=engine == "cpu" and cluster is None),
        lambda _: one_of(units, CONVENTIONS, "--units"),
        disturbable(disturb),
        lambda _: cluster != "" or _nothing("--cluster", "expected local, auto or HOST:PORT"),
        lambda _: cluster is None or engine == "cpu" or _only_one(cluster),
        lambda _: certify is None or check_certify("--certify" if certify else "--no-certify", engine),
        randomize=randomize,
    )
    kind = engine_of(engine)
    with working("compiling the scene"):
        parameters = struck(found, parameters, faults)
        scene = found.scene(parameters)
    views = views_of(scene, cameras)
    chosen = settings_of(
        found,
        parameters,
        seed=seed,
        fps=fps,
        views=views,
        keep=cast(Keep, keep),
        from_policy=driver.as_settings(scene, fps=fps, cameras=cameras, units=units),
        record=cast(Record, record),
        units=cast(Convention, units),
        faults=faults,
        renderer=_renderer(kind, scene, smooth=smooth) if views else "gl",
        smooth=smooth,
        numbered=numbered,
        engine=kind,
        certify=certify is not False,
        disturb=disturbance_of(disturb),
    )
    fly = partial(fly_with, driver.pilot()) if chosen.from_policy else None
    pool = _pool(chosen, cluster, workers, lanes, fly)
    with (
        interruptible(lambda: _left_in(out)),
        Progress("episodes", episodes, said="starting workers", lines=False) as progress,
        progress.part("checking existing episodes", visible=False, lines=True) as checked,
    ):
        tally = generate(
            out,
            chosen,
            episodes,
            pool,
            on_commit=partial(_show, progress),
            on_progress=partial(_show_work, progress),
            on_check=checked,
        )
    _summarise(out, chosen, tally)
    unasked = UnaskedQuestions()
    unasked.note(tally.unasked)
    unasked.report()


def _left_in(out: Path) -> str:
    """What an interrupted command leaves behind."""
    if not (out / INFO).is_file():
        return "no episode was committed yet; run the same command again to start over"
    return f"committed episodes stay in {out}; run the same command again to continue"


def _check_installed(task: str, out: Path) -> None:
    """Say what to install if the task of a dataset that is continued is missing."""
    if not is_installed(task) and (out / OURS).exists():
        with suppress(DatasetProblem):
            origin_in(out)


def _pool(settings: DatasetSettings, cluster: str | None, workers: int, lanes: int, prepare: Prepare | None) -> Pool:
    if cluster is not None:
        return RayPool(cluster, workers)
    if settings.engine == "gpu":
        return GpuPool(settings, workers or cores(), lanes_of(lanes, "gpu", 0))
    return LocalPool(workers or cores(), prepare=prepare)


def _renderer(engine: EngineKind, scene: Scene, *, smooth: bool) -> RendererKind:
    """What renders images: the engine's device if it can, or else what this machine has."""
    if engine == "gpu":
        problem = "antialiased edges" if smooth else what_warp_cannot_render(scene)
        if not problem:
            return "warp"
        print(f"images are rendered on the CPU: a GPU cannot render {problem}", file=sys.stderr, flush=True)
    return "rays" if gl_problem() else "gl"


def _nothing(option: str, expected: str) -> None:
    raise InputError(f"{option} '': {expected}")


def _only_one(cluster: str) -> None:
    raise InputError(f"--cluster {cluster}: a cluster runs on CPUs only; leave out --engine")


def _control_hz(task: Task[Any]) -> int:
    return task.scene(task.parameters()).robot.control_hz


def _show_work(progress: Progress, tally: GenerationProgress) -> None:
    """What workers do until the first episode is committed; from then on the pace says more."""
    if tally.committed > tally.began_with:
        return
    progress.done, progress.began_with = tally.committed, tally.began_with
    played = f"{counted(tally.attempts, 'attempt')} played" if tally.attempts else "playing the first attempts"
    rendering = f", rendering {counted(tally.rendering, 'episode')}" if tally.rendering else ""
    progress.show(played + rendering)


def _show(progress: Progress, tally: GenerationProgress, row: Row) -> None:
    """A bar on a terminal, else one JSON object per episode on standard output."""
    progress.done, progress.began_with = tally.committed, tally.began_with
    # Judged attempts run ahead of commits; failures that are kept are no successes either.
    good = tally.attempts - sum(tally.rejected.values()) - tally.failures_kept
    per_hour = 3600 * progress.per_s
    if progress.on_terminal:
        rate = success_text(good, tally.attempts)
        progress.show(f"{per_hour:.0f}/h, {rate}, {tally.disk_bytes / 1e6:.0f} MB")
        return
    message = {
        "episode": row["episode_index"],
        "seed": row["seed"],
        "verdict": row["verdict"],
        "success": row["success"],
        "committed": tally.committed,
        "wanted": tally.wanted,
        "attempts": tally.attempts,
        "success_rate": round(good / tally.attempts, 4),
        "episodes_per_hour": round(per_hour, 1),
        "left_s": None if progress.left_s is None else round(progress.left_s, 1),
        "disk_bytes": tally.disk_bytes,
    }
    print(json.dumps(message), flush=True)


def _summarise(out: Path, settings: DatasetSettings, tally: GenerationProgress) -> None:
    made = tally.committed - tally.began_with
    if not made:
        print(
            f"nothing to do: {out} has {counted(tally.committed, 'episode')}, {tally.wanted} requested",
            file=sys.stderr,
        )
        return
    new = f", {made} of them new" if tally.began_with else ""
    attempts = counted(tally.attempts, "attempt")
    say = [f"{counted(tally.committed, 'episode')}{new}, from {attempts}, {tally.disk_bytes / 1e6:.1f} MB"]
    say += [f"  {verdict}: {counted(count, 'attempt')} not kept" for verdict, count in sorted(tally.rejected.items())]
    if settings.certified:
        say.append(f"  played on a GPU, certified on the CPU: {made} of {made + tally.rejected.get(NOT_CERTIFIED, 0)}")
    elif settings.engine == "gpu":
        say.append("  played on a GPU and not certified: on the CPU, labels may differ")
    if tally.contradicted:
        say.append(f"  false claims: {tally.contradicted} (please report this)")
    print("\n".join(say), file=sys.stderr)
    report_saved(out)
    print(f"next: graspline report {shlex.quote(str(out))}", file=sys.stderr, flush=True)
