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

from graspline.cli.options import Config, Settings, TaskName, task_and_parameters
from graspline.cli.progress import RunProgress
from graspline.cli.view import Viewer
from graspline.engine.protocol import Engine
from graspline.episodes.faults import parse_faults
from graspline.episodes.film import film
from graspline.episodes.run import Episode, run_scenarios
from graspline.episodes.scenario import Scenario
from graspline.episodes.statistics import rate_text
from graspline.errors import InputError
from graspline.scenes.scene import Scene


def run(
    task: TaskName,
    episodes: Annotated[int, typer.Option(min=1, help="How many episodes.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first; the next ones count up.")] = 0,
    lanes: Annotated[int, typer.Option(min=1, max=4096, help="Worlds at once; results do not depend on it.")] = 16,
    threads: Annotated[int, typer.Option(min=0, help="Physics threads; 0 takes all cores.")] = 0,
    config: Config = None,
    settings: Settings = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME@STATE[+S]", help="Let a fault strike in a state: drop, shove, remove, nan-control."),
    ] = None,
    require_success: Annotated[
        float | None,
        typer.Option(metavar="SHARE", min=0, max=1, help="Exit with 1 if fewer succeed, such as 0.99."),
    ] = None,
    video: Annotated[
        Path | None,
        typer.Option(metavar="FILE.mp4", help="Film; with several episodes the seed joins the name."),
    ] = None,
    view: Annotated[bool, typer.Option("--view", help="Watch one lane in MuJoCo's viewer, in real time.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per episode on standard output.")] = False,
) -> None:
    """Play episodes of a task and judge them.

    Examples:

      graspline run lift-cube --episodes 100 --lanes 64

      graspline run lift-cube --seed 7 --video out/seven.mp4

      graspline run lift-cube --fault drop@lift+0.3 --json

      graspline run lift-cube --set perception.position_sigma_m=0.003 --episodes 200
    """
    found, parameters = task_and_parameters(task, config, settings)
    faults = tuple(fault or ())
    parse_faults(faults, found.machine(parameters).states)
    if video is not None:
        _check_video(video)
    scenarios = [
        Scenario(task=found, parameters=parameters, seed=seed + index, faults=faults) for index in range(episodes)
    ]
    scene = found.scene(parameters)
    after_tick: Callable[[Engine], None] | None = None
    viewer = None
    if view:
        viewer = Viewer(scene)
        after_tick, lanes = viewer.show, 1
    began, played = time.monotonic(), []
    try:
        with stopping() as stop, RunProgress(episodes) as progress:
            for episode in run_scenarios(
                scenarios,
                lanes=lanes,
                threads=threads,
                record_states=video is not None,
                after_tick=after_tick,
                stop=lambda: stop() or (viewer is not None and viewer.closed),
            ):
                progress.add(episode)
                if as_json:
                    print(json.dumps(episode.as_dict(), allow_nan=False), flush=True)
                if video is not None:
                    film(episode, scene, _video_path(video, episode, episodes))
                played.append(_Told(episode))
            interrupted = stop()
    finally:
        if viewer is not None:
            viewer.close()
    _summarise(played, time.monotonic() - began, scene, quiet=as_json)
    raise typer.Exit(_exit_code(played, interrupted, require_success))


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


def _check_video(path: Path) -> None:
    if path.suffix != ".mp4":
        raise InputError(f"--video {path}: expected a name that ends in .mp4")
    if path.is_dir():
        raise InputError(f"--video {path}: is a directory, expected a file")


def _video_path(path: Path, episode: Episode, episodes: int) -> Path:
    return path if episodes == 1 else path.with_stem(f"{path.stem}-{episode.scenario.seed}")


def _summarise(played: list[_Told], wall_s: float, scene: Scene, *, quiet: bool) -> None:
    """A few lines on standard error; with --json nothing else may be on standard output."""
    if not played:
        return
    say = (lambda line: print(line, file=sys.stderr)) if quiet else print
    count = len(played)
    say(f"succeeded {rate_text(sum(each.succeeded for each in played), count)}")
    first = sum(each.succeeded and each.retries == 0 for each in played)
    say(f"without a retry {rate_text(first, count)}")
    for verdict, number in collections.Counter(each.verdict for each in played if not each.succeeded).most_common():
        seeds = [str(each.seed) for each in played if each.verdict == verdict][:8]
        say(f"  {verdict}: {number} (seeds {', '.join(seeds)})")
    false = [str(each.seed) for each in played if each.false_success]
    say(f"claims that the simulator contradicts: {len(false)}" + (f" (seeds {', '.join(false)})" if false else ""))
    draws = count + sum(each.refused for each in played)
    say(f"certified region: {100 * count / draws:.0f} % of what the arm reaches ({draws} draws)")
    simulated = sum(each.sim_time_s for each in played)
    say(f"{simulated:.0f} s simulated in {wall_s:.1f} s, {count / wall_s:.1f} episodes per second")
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
