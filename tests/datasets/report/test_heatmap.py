from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from graspline.datasets.report.heatmap import heat_map, outcome_map
from graspline.datasets.report.summary import TableObject
from graspline.kinematics.table_reach import table_reach
from graspline.robots.so101 import SO101

_around = table_reach(SO101)
assert _around is not None
AROUND = _around


def spot(x_m: float, y_m: float, radius_m: float = 0.0) -> TableObject:
    return TableObject(name="<thing>", x_m=x_m, y_m=y_m, radius_m=radius_m)


def drawn(
    *targets: TableObject, failed: tuple[TableObject, ...] = (), places: tuple[TableObject, ...] = ()
) -> ElementTree.Element:
    return ElementTree.fromstring(heat_map(targets, failed, places, AROUND))


def cells_of(map_: ElementTree.Element) -> list[dict[str, str]]:
    """Cells carry a title, those of the legend do not."""
    return [each.attrib for each in map_.iter() if each.attrib.get("class") == "heat" and len(each)]


def test_forward_is_up_and_the_robots_left_is_left() -> None:
    far, near, left, right = (
        cells_of(drawn(spot(*at)))[0] for at in ((0.31, 0.01), (0.11, 0.01), (0.21, 0.21), (0.21, -0.21))
    )
    assert float(far["y"]) < float(near["y"])
    assert float(left["x"]) < float(right["x"])


def test_things_that_lay_in_one_cell_share_it_and_make_it_stronger() -> None:
    shared, alone = sorted(
        cells_of(drawn(spot(0.201, 0.101), spot(0.202, 0.102), spot(0.301, -0.1))),
        key=lambda cell: -float(cell["fill-opacity"]),
    )
    assert float(shared["fill-opacity"]) == 1.0
    assert float(alone["fill-opacity"]) < 1.0


def test_each_failure_is_a_cross_that_says_why() -> None:
    map_ = drawn(spot(0.2, 0.1), failed=(spot(0.2, 0.1), spot(0.3, 0.0)))
    crosses = [each for each in map_.iter() if each.attrib.get("class") == "cross" and len(each)]
    assert [each[0].text for each in crosses] == ["<thing>", "<thing>"]


def test_what_lies_out_of_reach_is_still_on_the_map() -> None:
    map_ = drawn(spot(0.8, -0.9), spot(-0.6, 0.0))
    _, _, width, height = map(float, map_.attrib["viewBox"].split())
    assert len(cells_of(map_)) == 2
    for cell in cells_of(map_):
        assert 0 < float(cell["x"]) < width
        assert 0 < float(cell["y"]) < height


def test_many_plates_are_thinned() -> None:
    map_ = drawn(spot(0.2, 0.1), places=tuple(spot(0.2, -0.1, 0.1) for _ in range(500)))
    assert 10 < sum(each.attrib.get("class") == "place" for each in map_.iter()) < 60


def test_an_outcome_map_has_a_dot_or_a_cross_for_every_object() -> None:
    map_ = ElementTree.fromstring(outcome_map([spot(0.2, 0.1), spot(0.3, 0.1)], [spot(0.1, -0.2)], AROUND))
    titles = [(each.attrib.get("class"), each[0].text) for each in map_.iter() if len(each) and each[0].text]
    assert titles.count(("dot", "<thing>")) == 2
    assert titles.count(("cross", "<thing>")) == 1
