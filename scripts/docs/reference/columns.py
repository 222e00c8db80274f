"""Columns of a dataset: one row per frame for each task, one row per episode."""

from __future__ import annotations

from graspline import TASKS
from graspline.datasets.format.frames import Column, columns_of
from graspline.datasets.format.rows import EPISODE_COLUMNS
from reference.markdown import code, sentence, table

HEAD = """# Dataset columns

A dataset is in LeRobot's format v3.0. [The guide](../datasets.md) explains what the columns mean. Each camera
adds `observation.images.NAME`, a video; LeRobot's own columns of the episode table (`length`, `tasks`, `stats/…`,
where the files are) are left out here.

## One row per frame

"""


def page() -> str:
    by_task = {name: columns_of(task.scene(task.parameters())) for name, task in TASKS.items()}
    names = [column.name for column in next(iter(by_task.values()))]
    rows = []
    for at, name in enumerate(names):
        alike = [columns[at] for columns in by_task.values()]
        kinds = {_kind(column) for column in alike}
        kind = kinds.pop() if len(kinds) == 1 else f"`{alike[0].dtype}[n]`, see below"
        rows.append((code(name), kind, sentence(alike[0].about)))
    frames = table(("column", "type", "meaning"), rows)
    wide = [_entries(name, columns) for name, columns in by_task.items()]
    episodes = table(
        ("column", "type", "meaning"),
        ((code(name), code(str(each.kind)), sentence(each.about)) for name, each in EPISODE_COLUMNS.items()),
    )
    return (
        HEAD + frames + "\n## Joints and objects by task\n\n"
        "`observation.state` and `action` have one number for each joint, `graspline.object_poses` seven for each "
        "object (x, y, z, then the quaternion, w first).\n\n"
        + table(("task", "joints", "objects"), wide)
        + "\n## One row per episode\n\n"
        + episodes
    )


def _kind(column: Column) -> str:
    return code(f"{column.dtype}[{len(column.entries)}]" if column.entries else column.dtype)


def _entries(name: str, columns: tuple[Column, ...]) -> tuple[str, str, str]:
    found = {column.name: column.entries or () for column in columns}
    joints = [code(each) for each in found["observation.state"]]
    things = dict.fromkeys(each.rpartition(".")[0] for each in found["graspline.object_poses"])
    return code(name), f"{len(joints)}: {', '.join(joints)}", f"{len(things)}: {_things(list(things))}"


def _things(names: list[str]) -> str:
    shown = [code(each) for each in names[:6]]
    return ", ".join(shown) + (", …" if len(names) > 6 else "")
