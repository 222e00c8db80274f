from __future__ import annotations

import numpy as np
import pytest

from graspline.errors import InputError
from graspline.scenes.meshes.checks import checked, volume_m3
from graspline.scenes.meshes.files import TriangleMesh

from . import shapes

BRACKET = shapes.bracket()


def with_faces(faces: np.ndarray) -> TriangleMesh:
    return TriangleMesh(vertices=BRACKET.vertices, faces=faces)


def turned_over() -> TriangleMesh:
    faces = BRACKET.faces.copy()
    faces[0] = faces[0][::-1]
    return with_faces(faces)


def collapsed() -> TriangleMesh:
    faces = BRACKET.faces.copy()
    faces[0] = faces[0][0]
    return with_faces(faces)


def twice() -> TriangleMesh:
    count = len(BRACKET.vertices)
    return TriangleMesh(
        vertices=np.vstack([BRACKET.vertices, BRACKET.vertices + 100]),
        faces=np.vstack([BRACKET.faces, BRACKET.faces + count]),
    )


def test_a_solid_is_scaled_to_metres_and_turned_outwards() -> None:
    inside_out = with_faces(BRACKET.faces[:, ::-1])
    found = checked(inside_out, "it", 0.001)
    assert volume_m3(found) == pytest.approx((60 * 15 + 25 * 15) * 30 * 1e-9)


@pytest.mark.parametrize(
    ("surface", "scale", "expected"),
    [
        (shapes.without(BRACKET, 0), 0.001, "not closed: 3 edges have one triangle; expected two at each"),
        (turned_over(), 0.001, "not all turned the same way"),
        (collapsed(), 0.001, "1 triangles have no area"),
        (twice(), 0.001, "2 separate pieces; expected one closed surface"),
        (with_faces(np.vstack([BRACKET.faces, BRACKET.faces[:1]])), 0.001, "3 edges have more than two triangles"),
        (
            BRACKET,
            1.0,
            "60 x 40 x 30 m; expected 3 to 500 mm along each axis; modelled in millimetres? then set scale: 0.001",
        ),
        (shapes.box(3.0, 2.0, 2.0), 1.0, "modelled in centimetres? then set scale: 0.01"),
        (shapes.box(20, 20, 2), 0.001, "0.02 x 0.02 x 0.002 m at scale 0.001"),
    ],
)
def test_what_cannot_be_an_object_is_refused(surface: TriangleMesh, scale: float, expected: str) -> None:
    with pytest.raises(InputError, match="it: ") as raised:
        checked(surface, "it", scale)
    assert expected in raised.value.problems[0]


def test_a_hollow_inside_is_part_of_one_solid() -> None:
    outer, inner = shapes.box(40, 40, 40), shapes.box(10, 10, 10)
    hollow = TriangleMesh(
        vertices=np.vstack([outer.vertices, inner.vertices + 15]),
        faces=np.vstack([outer.faces, inner.faces[:, ::-1] + len(outer.vertices)]),
    )
    assert volume_m3(checked(hollow, "it", 0.001)) == pytest.approx((40**3 - 10**3) * 1e-9)
