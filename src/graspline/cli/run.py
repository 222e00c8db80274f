"""`graspline run`: play episodes and judge them."""

from __future__ import annotations

import collections
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from graspline.cli.options import Config, Settings, TaskName, equipped, task_and_parameters
from graspline.cli.outputs import check_name, make_folder
from graspline.cli.progress import RunProgress
from graspline.cli.view import Viewer
from graspline.engine.protocol import Engine
from graspline.episodes.faults import FAULTS, parse_faults
from graspline.episodes.film import film
from graspline.episodes.narrator import Narrator
from graspline.episodes.run import INTERRUPTED, Episode, run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.episodes.statistics import rate_text
from graspline.errors import InputError, nearest
from graspline.parameters.notation import printable


def run(
    task: TaskName,
    episodes: Annotated[int, typer.Option(min=1, max=1_000_000, metavar="N", help="How many episodes.")] = 1,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Seed of the first; the next ones count up.")] = 0,
    lanes: Annotated[
        int, typer.Option(min=1, max=4096, metavar="N", help="Worlds at once; results do not depend on it.")
    ] = 16,
    threads: Annotated[int, typer.Option(min=0, max=1024, metavar="N", help="Physics threads; 0 takes all cores.")] = 0,
    config: Config = None,
    settings: Settings = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME@STATE[+S]",
            help=f"Let a fault ({', '.join(FAULTS)}) strike, S seconds into a state; repeatable.",
        ),
    ] = None,
    require_success: Annotated[
        float | None,
        typer.Option(metavar="SHARE", min=0, max=1, help="Exit with 1 if fewer succeed, such as 0.99."),
    ] = None,
    video: Annotated[
        Path | None,
        typer.Option(metavar="FILE.mp4", help="Film; with several episodes the seed joins the name."),
    ] = None,
    log: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", help="Tell on standard error what happens: info, or debug for every check."),
    ] = None,
    view: Annotated[bool, typer.Option("--view", help="Watch one lane in MuJoCo's viewer, in real time.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per episode on standard output.")] = False,
) -> None:
    """Play episodes of a task and judge them.

    \b
    Examples:
      graspline run lift-cube --episodes 100 --lanes 64
      graspline run lift-cube --seed 7 --video out/seven.mp4
      graspline run lift-cube --fault drop@lift+0.3 --json
      graspline run lift-cube --set perception.position_sigma_m=0.003
    """
    faults = tuple(fault or ())
    found, parameters = task_and_parameters(
        task,
        config,
        settings,
        lambda named: parse_faults(faults, named.machine(named.parameters()).paths()),
        lambda _: video is None or check_name("--video", video, ".mp4"),
        lambda _: check_level(log),
    )
    parameters = equipped(found, parameters, [each.partition("@")[0] for each in faults])
    if video is not None:
        make_folder("--video", video.parent)
    scenarios = [
        Scenario(task=found, parameters=parameters, seed=seed + index, faults=faults) for index in range(episodes)
    ]
    scene = found.scene(parameters)
    narrator = None if log is None else Narrator("debug" if log == "debug" else "info", _tell)
    viewer = None
    if view:
        viewer = Viewer(scene)
        lanes = 1

    def after_tick(engine: Engine) -> None:
        if viewer is not None:
            viewer.show(engine)
        if narrator is not None:
            narrator.after_tick(engine)

    began, played = time.monotonic(), []
    try:
        with stopping() as stop, RunProgress(episodes, beside_output=as_json) as progress:
            for episode in run_scenarios(
                scenarios,
                lanes=lanes,
                threads=threads,
                record_states=video is not None,
                observers=[] if narrator is None else [narrator],
                after_tick=after_tick if viewer is not None or narrator is not None else None,
                stop=lambda: stop() or (viewer is not None and viewer.closed),
            ):
                progress.add(episode)
                if as_json:
                    print(json.dumps(episode.as_dict(), allow_nan=False), flush=True)
                if video is not None and episode.verdict != INTERRUPTED:
                    film(episode, scene, _video_path(video, episode, episodes))
                played.append(_Told(episode))
            interrupted = stop() or any(each.verdict == INTERRUPTED for each in played)
    finally:
        if viewer is not None:
            viewer.close()
    _summarise(played, time.monotonic() - began, quiet=as_json)
    raise typer.Exit(_exit_code(played, interrupted, require_success))


def check_level(log: str | None) -> None:
    """`--log` knows two levels."""
    levels = ("info", "debug")
    if log is not None and log not in levels:
        raise InputError(f"--log {printable(log)}: unknown level; {nearest(log, levels)}")


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class _Told:
    """What the summary needs of an episode; its log is let go."""

    def __init__(self, episode: Episode) -> None:
        self.verdict, self.succeeded, self.retries = episode.verdict, episode.succeeded, episode.retries
        self.sim_time_s, self.refused, self.error = episode.sim_time_s, episode.draw.refused, episode.error
        self.false_success, self.seed = episode.false_success, episode.scenario.seed


@contextmanager
def stopping() -> Iterator[Callable[[], bool]]:
    """Ctrl-C asks once, politely: lanes brake, hold and report. The second time it is obeyed at once."""
    asked = False

    def ask(signum: int, frame: Any) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)


def _video_path(path: Path, episode: Episode, episodes: int) -> Path:
    return path if episodes == 1 else path.with_stem(f"{path.stem}-{episode.scenario.seed}")


def _summarise(played: list[_Told], wall_s: float, *, quiet: bool) -> None:
    """A few lines on standard error; with --json nothing else may be on standard output."""
    say = (lambda line: print(line, file=sys.stderr)) if quiet else print
    finished = [each for each in played if each.verdict != INTERRUPTED]
    if finished:
        count = len(finished)
        say(f"succeeded {rate_text(sum(each.succeeded for each in finished), count)}")
        first = sum(each.succeeded and each.retries == 0 for each in finished)
        say(f"without a retry {rate_text(first, count)}")
    for verdict, number in collections.Counter(each.verdict for each in played if not each.succeeded).most_common():
        seeds = [str(each.seed) for each in played if each.verdict == verdict]
        say(f"  {verdict}: {number} (seeds {', '.join(seeds[:8])}{', …' if len(seeds) > 8 else ''})")
    if finished:
        false = [str(each.seed) for each in finished if each.false_success]
        say(f"claims that the simulator contradicts: {len(false)}" + (f" (seeds {', '.join(false)})" if false else ""))
        draws = len(played) + sum(each.refused for each in played)
        say(f"certified region: {100 * len(played) / draws:.0f} % of what the arm reaches ({draws} draws)")
        simulated = sum(each.sim_time_s for each in played)
        say(f"{simulated:.0f} s simulated in {wall_s:.1f} s, {len(finished) / wall_s:.1f} episodes per second")
    for each in played:
        if each.error:
            print(f"seed {each.seed} crashed:\n{each.error}", file=sys.stderr)


def _exit_code(played: list[_Told], interrupted: bool, require_success: float | None) -> int:
    if interrupted:
        return 130
    if any(each.verdict == "crashed" for each in played):
        return 5
    share = sum(each.succeeded for each in played) / max(len(played), 1)
    return 1 if require_success is not None and share < require_success else 0
