"""Bad input: exit code 2 before anything moves, naming what is wrong, what is allowed and the nearest valid name."""

from __future__ import annotations

from pathlib import Path

import pytest

from graspline.tasks.catalogue import TASKS

from .doors import refused, spawn

pytestmark = pytest.mark.usefixtures("nothing_moves")

TASK_NAMES = "known: " + ", ".join(sorted(TASKS)) + "; or pass your own as MODULE:NAME"
# Those that make sense in the scene of lift-cube: no plate, no belt, no furniture.
FAULT_NAMES = "known: blackout, delay, drop, freeze, jam, lighting, nan-control, noise, remove, shove, slippery, "


@pytest.mark.parametrize("command", ["run", "config", "diagram", "region"])
def test_an_unknown_task_is_named_with_the_nearest(command: str) -> None:
    (problem,) = refused(command, "lift-cub")
    assert problem == f"unknown task 'lift-cub'; did you mean 'lift-cube'? {TASK_NAMES}"


def test_an_unknown_task_is_refused_in_a_process_too() -> None:
    answer = spawn("run", "lift-cub", "--json")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == f"graspline: unknown task 'lift-cub'; did you mean 'lift-cube'? {TASK_NAMES}\n"


def test_unknown_aspects_are_named_with_what_there_is() -> None:
    first, second = refused("run", "lift-cube", "--randomize", "lightning,camera,wind")
    known = "known: all, camera, colours, distractors, friction, gains, latency, lighting, masses, textures"
    assert first == f"--randomize lightning: unknown aspect; did you mean 'lighting'? {known}"
    assert second == f"--randomize wind: unknown aspect; {known}"


def test_an_aspect_that_only_other_tasks_have_is_refused() -> None:
    first, second = refused("run", "sort", "--randomize", "lighting,textures,distractors")
    known = "known: all, camera, colours, friction, gains, latency, lighting, masses"
    assert first == f"--randomize textures: sort has none; {known}"
    assert second == f"--randomize distractors: sort has none; {known}"


@pytest.mark.parametrize("command", ["run", "config", "diagram", "region"])
@pytest.mark.parametrize(
    "setting, words",
    [
        ("cube.edge=[0.02, 0.03]", ["unknown key 'edge' in cube", "did you mean 'edge_m'?"]),
        ("cub.edge_m=[0.02, 0.03]", ["unknown key 'cub'", "did you mean 'cube'?", "known: close, cube, goal"]),
        ("lift_m=0.08", ["unknown key 'lift_m'", "did you mean 'reach.lift_m'?"]),
        ("reach.lift_m=1", ["1 is above 0.15", "allowed 0.02 to 0.15, metres"]),
        ("reach.lift_m=-1", ["-1 is below 0.02", "allowed 0.02 to 0.15, metres"]),
        ("reach.lift_m=.nan", ["nan is not a finite number", "allowed 0.02 to 0.15, metres"]),
        ("reach.lift_m=.inf", ["inf is not a finite number"]),
        ("reach.lift_m=1e999", ["inf is not a finite number"]),
        ("reach.lift_m=high", ["'high' is not a number", "allowed 0.02 to 0.15, metres"]),
        ("reach.lift_m=true", ["true is not a number"]),
        ("reach.lift_m='0.08'", ["'0.08' is not a number", "remove the quotes"]),
        ("reach.lift_m=null", ["null is not a number"]),
        ("reach.lift_m=[0.08]", ["[0.08] is not a number"]),
        ("reach.lift_m={a: 1}", ["a value with keys"]),
        ("retries.grasps=1.5", ["1.5 is not a whole number", "allowed 0 to 10"]),
        ("retries.grasps=true", ["true is not a whole number"]),
        ("perception.source=trut", ["'trut' is refused: unknown estimator", "did you mean 'truth'?"]),
        ("cube.edge_m=0.03", ["0.03 is not a range [low, high]"]),
        ("cube.edge_m=[0.03]", ["[0.03] is not a range"]),
        ("cube.edge_m=[0.03, 0.02]", ["its low end 0.03 is above its high end 0.02"]),
        ("cube.edge_m=[0.03, 0.2]", ["[0.03, 0.2]", "reaches above 0.05", "allowed 0.015 to 0.05, metres"]),
        ("cube.edge_m=[0.02, .nan]", ["nan is not a finite number"]),
        ("cube.edge_m.low=0.03", ["cube.edge_m is a range [low, high], set it whole"]),
        ("randomize.colours.hue_rad=[-1, 1]", ["[-1, 1] reaches below -0.2", "allowed -0.2 to 0.2, radians"]),
        ("randomize.distractors.fewest=3", ["fewest is 3, above most, which is 2"]),
        ("reach=0.08", ["0.08 is not a section", "lift_m"]),
        ("reach.lift_m", ["expected KEY.KEY=VALUE"]),
        ("reach.lift_m=", ["nothing after the ="]),
        ("=0.08", ["expected KEY.KEY=VALUE"]),
        ("reach..lift_m=0.08", ["expected KEY.KEY=VALUE"]),
        ("", ["expected KEY.KEY=VALUE"]),
        ("reach.lift_m=0.08 # high", ["a comment or marker"]),
        ("reach.lift_m=&a 0.08", ["anchor &a is not supported"]),
        ("reach.lift_m=!!python/object:os.system {}", ["is not supported"]),
        ("reach.lift_m=[", ["not valid YAML"]),
    ],
)
def test_a_bad_setting_says_what_is_allowed(command: str, setting: str, words: list[str]) -> None:
    (problem,) = refused(command, "lift-cube", f"--set={setting}")
    assert problem.startswith(f"--set {setting}"[:30])
    for word in words:
        assert word in problem


@pytest.mark.parametrize(
    "fault, words",
    [
        ("drp@lift", ["unknown fault 'drp'", "did you mean 'drop'?", FAULT_NAMES]),
        ("drop@lit", ["unknown state 'lit'", "did you mean 'lift'?", "known: approach, back_off"]),
        ("drop", ["expected NAME@STATE or NAME@STATE+SECONDS, such as drop@lift+0.2"]),
        ("", ["expected NAME@STATE"]),
        ("@", ["expected NAME@STATE"]),
        ("drop@", ["expected NAME@STATE"]),
        ("@lift", ["expected NAME@STATE"]),
        ("drop@lift@hold", ["expected NAME@STATE"]),
        ("drop@lift+", ["expected NAME@STATE"]),
        ("drop@lift+soon", ["expected NAME@STATE"]),
        ("drop@lift+-1", ["expected NAME@STATE"]),
        ("drop@lift+nan", ["expected NAME@STATE"]),
        ("drop@lift+inf", ["expected NAME@STATE"]),
        ("drop@lift+61", ["a delay of 61 s is above 60 s"]),
        ("drop@lift+" + "9" * 400, ["is above 60 s"]),
        ("drop @lift", ["unknown fault 'drop '", "did you mean 'drop'?"]),
        ("move-plate@lift", ["the scene has no plate"]),
        ("belt-jam@lift", ["does not apply to lift-cube: the scene has no belt"]),
        ("base-slip@lift", ["the robot has no wheels"]),
        ("bump@lift", ["the scene has no furniture"]),
    ],
)
def test_a_bad_fault_says_what_is_allowed(fault: str, words: list[str]) -> None:
    (problem,) = refused("run", "lift-cube", f"--fault={fault}")
    assert problem.startswith("--fault ")
    for word in words:
        assert word in problem


@pytest.mark.parametrize(
    "option, value, message",
    [
        ("--episodes", "0", "0 is below 1 (allowed 1 to 1000000)"),
        ("--episodes", "-3", "-3 is below 1 (allowed 1 to 1000000)"),
        ("--episodes", "1.5", "'1.5' is not a whole number (allowed 1 to 1000000)"),
        ("--episodes", "many", "'many' is not a whole number (allowed 1 to 1000000)"),
        ("--episodes", "[/]", "'[/]' is not a whole number (allowed 1 to 1000000)"),
        ("--episodes", "1000000000000", "1000000000000 is above 1000000 (allowed 1 to 1000000)"),
        ("--seed", "-1", "-1 is below 0 (allowed 0 or more)"),
        ("--seed", "one", "'one' is not a whole number (allowed 0 or more)"),
        ("--lanes", "-1", "-1 is below 0 (allowed 0 to 65536)"),
        ("--lanes", "70000", "70000 is above 65536 (allowed 0 to 65536)"),
        ("--threads", "-1", "-1 is below 0 (allowed 0 to 1024)"),
        ("--threads", "1000000000", "1000000000 is above 1024 (allowed 0 to 1024)"),
        ("--require-success", "2", "2 is above 1 (allowed 0 to 1)"),
        ("--require-success", "-0.1", "-0.1 is below 0 (allowed 0 to 1)"),
        ("--require-success", "nan", "nan is not a finite number (allowed 0 to 1)"),
        ("--require-success", "90%", "'90%' is not a number (allowed 0 to 1)"),
        ("--engine", "cpuu", "unknown choice 'cpuu'; did you mean 'cpu'? known: auto, cpu, gpu"),
    ],
)
def test_a_bad_value_of_run_names_its_option_and_what_is_allowed(option: str, value: str, message: str) -> None:
    assert refused("run", "lift-cube", option, value) == [f"{option} {value}: {message}"]


@pytest.mark.parametrize(
    "words, expected",
    [
        (
            ["diagram", "lift-cube", "--format", "dot"],
            "--format dot: unknown choice 'dot'; known: mermaid, svg",
        ),
        (["region", "lift-cube", "--samples", "9"], "--samples 9: 9 is below 10 (allowed 10 to "),
        (["region", "lift-cube", "--seed", "-1"], "--seed -1: -1 is below 0 (allowed 0 or more)"),
        (["demo", "--seed", "-1"], "--seed -1: -1 is below 0 (allowed 0 or more)"),
        (["workspace", "so101", "--samples", "9"], "--samples 9: 9 is below 1000 (allowed 1000 to 10000000)"),
    ],
)
def test_a_bad_value_of_another_command_names_its_option_and_its_limit(words: list[str], expected: str) -> None:
    (problem,) = refused(*words)
    assert problem.startswith(expected)


@pytest.mark.parametrize("name", ["film.avi", "film", ".mp4", "film.mp4.bak", "film.MP4"])
def test_a_film_needs_a_name_in_mp4(name: str) -> None:
    (problem,) = refused("run", "lift-cube", "--video", name)
    assert problem == f"--video {name}: expected a name that ends in .mp4, .gif or .webp"


def test_a_folder_is_no_file_to_write(tmp_path: Path) -> None:
    folder = tmp_path / "folder.mp4"
    folder.mkdir()
    assert refused("run", "lift-cube", "--video", folder) == [f"--video {folder}: is a directory, expected a file"]
    assert refused("diagram", "lift-cube", "--out", tmp_path) == [
        f"--out {tmp_path}: is a directory, expected a file",
    ]
    svg = tmp_path / "folder.svg"
    svg.mkdir()
    assert refused("region", "lift-cube", "--out", svg) == [f"--out {svg}: is a directory, expected a file"]


def test_a_region_is_drawn_in_svg_only() -> None:
    assert refused("region", "lift-cube", "--out", "region.png") == [
        "--out region.png: expected a name that ends in .svg",
    ]


@pytest.mark.parametrize(
    "text, words",
    [
        ("cube: {edge_m: [0.02, 0.03]}\ncube: {}\n", [":2: cube: given twice, first on line 1"]),
        (
            "reach:\n  lift_m: 0.08\n  travel_speed: 0.5\n  lift_m: 0.06\n",
            [":4: reach.lift_m: given twice, first on line 2"],
        ),
        ("reach: &slow {lift_m: 0.08}\n", [":1: anchor &slow is not supported; write the value out"]),
        ("reach: !!map {lift_m: 0.08}\n", [":1: tag '!!map' is not supported"]),
        ("reach: !!python/object/apply:os.system ['true']\n", [":1: tag '!!python/object/apply:os.system'"]),
        ("reach: {lift_m: 0.08}\n---\nreach: {lift_m: 0.06}\n", [":2: a second document starts here"]),
        ("- reach\n- cube\n", ["['reach', 'cube'] at the top level", "expected keys with values"]),
        ("lift\n", ["'lift' at the top level"]),
        ("# a comment\nreach:\n  lift_mm: 80\n", [":3: unknown key 'lift_mm' in reach", "did you mean 'lift_m'?"]),
        ("reech:\n  lift_m: 0.08\n", [":1: unknown key 'reech'", "did you mean 'reach'?"]),
        ("\n\nreach:\n  lift_m: high\n", [":4: reach.lift_m: 'high' is not a number", "allowed 0.02 to 0.15"]),
        ("cube:\n  edge_m: [0.04, 0.02]\n", [":2: cube.edge_m", "its low end 0.04 is above its high end 0.02"]),
        ("cube:\n  edge_m:\n    - 0.02\n    - .nan\n", [":4: cube.edge_m[1]: nan is not a finite number"]),
        ("reach:\n  lift_m: yes\n", [":2: reach.lift_m: 'yes' is not a number"]),
        ("reach:\n  lift_m: true\n", [":2: reach.lift_m: true is not a number"]),
        ("reach:\n", [":1: reach: the section is empty"]),
        ("reach: 0.08\n", [":1: reach: 0.08 is not a section"]),
        ("reach: {<<: {lift_m: 0.08}}\n", [":1: merge key << is not supported"]),
        ("reach:\n\tlift_m: 0.08\n", [":2: not valid YAML", "indent with spaces, not tabs"]),
        ("reach: {lift_m: 0.08\n", ["not valid YAML"]),
        ("reach: " + "[" * 5000 + "]" * 5000, ["nested deeper than 20 levels"]),
        ("reach: " + "{a: " * 5000 + "}" * 5000, ["nested deeper than 20 levels"]),
        ("reach: {lift_m: \x07}\n", [":1: holds a character that is not text"]),
    ],
)
def test_a_bad_file_is_refused_with_file_and_line(text: str, words: list[str], tmp_path: Path) -> None:
    file = tmp_path / "task.yaml"
    file.write_text(text)
    (problem,) = refused("config", "lift-cube", "--config", file)
    assert problem.startswith(f"{file}:")
    for word in words:
        assert word in problem


def test_a_file_that_would_grow_without_end_is_refused_at_once(tmp_path: Path) -> None:
    file = tmp_path / "bomb.yaml"
    levels = [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 30)]
    file.write_text("\n".join(["a0: &a0 [lol]", *levels]))
    problems = refused("run", "lift-cube", "--config", file)
    assert problems[0] == f"{file}:1: anchor &a0 is not supported; write the value out"
    assert f"{file}:2: alias *a0 is not supported; write the value out" in problems


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    missing = tmp_path / "missing.yaml"
    assert refused("run", "lift-cube", "--config", missing) == [f"{missing}: cannot be read: No such file or directory"]
    assert refused("run", "lift-cube", "--config", tmp_path) == [f"{tmp_path}: cannot be read: Is a directory"]


def test_a_file_that_is_no_text_says_on_which_line(tmp_path: Path) -> None:
    file = tmp_path / "latin.yaml"
    file.write_bytes("reach:\n  lift_m: 0.08 # größer\n".encode("latin-1"))
    assert refused("run", "lift-cube", "--config", file) == [f"{file}:2: not UTF-8 text; expected a YAML file"]


def test_a_huge_file_is_not_read() -> None:
    assert refused("run", "lift-cube", "--config", "/dev/zero") == [
        "/dev/zero: larger than 1 MB; expected a short YAML file",
    ]


def test_all_problems_of_all_options_are_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "task.yaml"
    file.write_text("reach:\n  lift_m: 9\ncub: {}\n")
    problems = refused(
        *("run", "lift-cube", "--config", file, "--set", "jaw.standoff_m=9", "--set", "nonsense"),
        *("--fault", "drp@lit", "--fault", "drop", "--video", "film.avi"),
    )
    for start in (
        "--set nonsense: expected KEY.KEY=VALUE",
        f"{file}:2: reach.lift_m: 9 is above 0.15",
        f"{file}:3: unknown key 'cub'",
        "--set jaw.standoff_m=9: 9 is above 0.1",
        "--fault drp@lit: unknown fault 'drp'",
        "--fault drp@lit: unknown state 'lit'",
        "--fault drop: expected NAME@STATE",
        "--video film.avi: expected a name that ends in .mp4, .gif or .webp",
    ):
        assert any(problem.startswith(start) for problem in problems), start
    assert len(problems) == 8


def test_a_line_break_in_a_word_does_not_break_the_message() -> None:
    for words in (["lift\ncube"], ["lift-cube", "--set=a\nb=1"], ["lift-cube", "--video=a\nb"]):
        assert len(refused("run", *words)) == 1


@pytest.mark.parametrize("level", ["loud", "INFO", "", "debugg"])
def test_an_unknown_level_of_telling_is_refused_with_those_that_exist(level: str) -> None:
    (problem,) = refused("run", "oranges", f"--log={level}")
    assert problem.startswith(f"--log: {level!r} is unknown; ")
    assert "known: debug, info" in problem


@pytest.mark.parametrize(
    "setting, words",
    [
        ("targets.choose=apple", "targets.choose: unknown orange 'apple'"),
        ("targets.choose=7", "targets.choose: there is no orange with key 7; keys are 1 to 3"),
        ("oranges.radius_m=[0.5, 0.6]", "oranges.radius_m: [0.5, 0.6] m is outside the arm's reach"),
        ("plate.outer_radius_m=0.06", "oranges.count: 3 oranges of 50 mm or more do not fit"),
    ],
)
@pytest.mark.parametrize("command", ["run", "region"])
def test_oranges_that_cannot_be_served_are_refused_before_anything_moves(
    command: str, setting: str, words: str
) -> None:
    (problem,) = refused(command, "oranges", f"--set={setting}")
    assert words in problem


@pytest.mark.parametrize(
    "setting, words",
    [
        ("object_to_grasp=elephant", "object_to_grasp: unknown object 'elephant'; known: apple, cracker_box"),
        ("object_to_grasp=mugg", "object_to_grasp: unknown object 'mugg'; did you mean 'mug'?"),
        ("table.objects=[mug, cup]", "table.objects: unknown object 'cup'"),
        ("rules.shelf=[unknown, cup]", "rules.shelf: unknown object 'cup'"),
        ("alone.object=cup", "alone.object: unknown object 'cup'"),
        ("handover.force_thresh=abc", "handover.force_thresh=abc: 'abc' is not a number"),
        ("handover.force_thresh=0", "at 0 N objects would be released without a pull; expected at least 1 N"),
        ("placing.area=cellar", "placing.area: 'cellar' is unknown; known: left_half, one_board, shelf"),
        ("placing.areas_file=/missing.yaml", "/missing.yaml: cannot be read: No such file or directory"),
        ("program=juggle", "program=juggle: unknown choice 'juggle'; known: clear_table"),
    ],
)
@pytest.mark.parametrize("command", ["run", "region"])
def test_what_cannot_be_tidied_is_refused_before_anything_moves(command: str, setting: str, words: str) -> None:
    (problem,) = refused(command, "tidy", f"--set={setting}")
    assert words in problem
