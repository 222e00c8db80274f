"""Episodes an hour on a GPU, next to what its physics reaches when nobody plans.

    python benchmarks/gpu.py lift-cube --lanes 8192 --episodes 32768
    python benchmarks/gpu.py oranges --lanes 4096 --episodes 8192
    python benchmarks/gpu.py lift-cube --lanes 2000 --episodes 2000 --certify

First the same scene is stepped with arms that stand still, in one engine of all lanes and in as many at once as there
are teams: the limits. Then episodes are played by as many processes as there are cores, in teams. The first run
compiles kernels for minutes; they are kept for later ones.
"""

from __future__ import annotations

import argparse
import json

from measured.gpu import Crowd, idle_steps_a_second, play

from graspline import Scenario, find_task
from graspline.episodes.processes import cores
from graspline.gpu.choose import GPU
from graspline.gpu.workers import TEAMS
from graspline.parameters import build


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task")
    parser.add_argument("--lanes", type=int, default=4096)
    parser.add_argument("--episodes", type=int, default=0, help="0: four for each lane")
    parser.add_argument("--processes", type=int, default=cores(), help="of all teams")
    parser.add_argument("--teams", type=int, default=TEAMS)
    parser.add_argument("--certify", action="store_true", help="play successes again on the CPU, after the others")
    parser.add_argument("--seed", type=int, default=9700000)
    parser.add_argument("--device", default=GPU, help="a device that Warp knows")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    asked = parser.parse_args()
    task = find_task(asked.task)
    parameters = build(task.parameters, None, asked.set)
    seeds = range(asked.seed, asked.seed + (asked.episodes or 4 * asked.lanes))
    scenarios = [Scenario(task=task, parameters=parameters, seed=seed) for seed in seeds]
    idle = idle_steps_a_second(scenarios, asked.lanes, device=asked.device)
    of_teams = idle_steps_a_second(scenarios, asked.lanes, asked.teams, asked.device) if asked.teams > 1 else idle
    crowd = Crowd(lanes=asked.lanes, processes=asked.processes, teams=asked.teams, device=asked.device)
    played = play(scenarios, crowd, certify=asked.certify)
    figures = {
        "task": asked.task,
        "lanes": asked.lanes,
        "processes": asked.processes,
        "teams": asked.teams,
        "episodes": played.episodes,
        "success": round(played.succeeded / played.episodes, 5),
        "verdicts": dict(played.verdicts),
        "false_successes": played.false_successes,
        "failed_seeds": played.failed[:20],
        "certified": played.certified,
        "wall_s": round(played.spent.all_s, 1),
        "episodes_an_hour": round(played.episodes_an_hour),
        "physics_share_of_wall": round(played.physics_share, 3),
        "steps_a_second_of_physics": round(played.steps_a_second),
        "idle_steps_a_second": round(idle),
        "physics_over_idle": round(played.steps_a_second / idle, 3),
        "idle_steps_a_second_of_teams": round(of_teams),
        "physics_over_idle_of_teams": round(played.steps_a_second / of_teams, 3),
    }
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
