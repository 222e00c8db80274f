"""Known things recognised by colour, shape and size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graspline.perception.core.beliefs import UNKNOWN, Shape
from graspline.perception.core.outlines import Array
from graspline.perception.rgbd.objects import Fit, fit_pose, misfits_of, of_unknown_size
from graspline.perception.rgbd.shape_init import find_circle
from graspline.perception.rgbd.sightings import Sighting
from graspline.perception.rgbd.upright_shapes import DEEP, HIGH, WIDE, YAW, X, Y

# Colours without light differ by so much, 1σ; what differs by more than the limit is something else.
_COLOUR_SIGMA, _MOST_COLOUR = 0.03, 0.075
# A known size may fit worse than any size by so much, and by this share.
_WORSE, _WORSE_SHARE = 0.6, 0.3
# Number of the likely places of a known thing that are fitted, which are not the same and not much worse than the best.
_STARTS, _SAME_M, _SAME_RAD, _PROMISING = 3, 0.003, 0.1, 3.0
# A circle that may be a known one has a radius between these shares of it.
_LIKE_SIZE = (0.85, 1.15)
_SIGNS = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """A thing that may be met: its shape as it stands, its colour, and how far a handle sticks out of it along x."""

    name: str
    shape: Shape
    half_extents_m: tuple[float, float, float]
    rgb: tuple[float, float, float]
    handle_m: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recognition:
    """What a thing is taken for, with a score from 0 to 1, and where it then is."""

    name: str
    score: float
    fit: Fit
    model: KnownModel | None = None


def recognise(sighting: Sighting, fits: Sequence[Fit], models: Sequence[KnownModel]) -> Recognition:
    """The known thing that looks like this most, or an unknown one of the best shape.

    `fits` are of any size, the best first.
    """
    best = Recognition(name=UNKNOWN, score=0.0, fit=of_unknown_size(sighting, fits))
    for model in models:
        off = colour_off(sighting.colour, model)
        if off > _MOST_COLOUR:
            continue
        fit = fit_model(sighting, fits, model)
        worse = fit.misfit - fits[0].misfit
        if worse > _WORSE + _WORSE_SHARE * fits[0].misfit:
            continue
        score = float(np.exp(-((off / _COLOUR_SIGMA) ** 2) / 2 - max(worse, 0.0) / 2))
        if score > best.score:
            best = Recognition(name=model.name, score=score, fit=fit, model=model)
    return best


def colour_off(colour: Array, model: KnownModel) -> float:
    """How far a colour without light is from that of a model."""
    rgb = np.array(model.rgb)
    return float(np.abs(colour - rgb / rgb.sum()).max())


def fit_model(sighting: Sighting, fits: Sequence[Fit], model: KnownModel) -> Fit:
    """Where a thing of this model would have to be."""
    starts = np.concatenate([_starts(fit.upright, model) for fit in fits if fit.shape == model.shape])
    if model.shape == "cylinder":
        radius = model.half_extents_m[0]
        circle = starts[:1].copy()
        circle[0, [X, Y]] = find_circle(sighting, (_LIKE_SIZE[0] * radius, _LIKE_SIZE[1] * radius))[:2]
        starts = np.concatenate([starts, circle])
    return fit_pose(sighting, model.shape, _likely(starts, misfits_of(sighting, model.shape, starts)))


def _likely(starts: Array, misfits: Array) -> Array:
    """Those of the starts (S, 6) worth a fit, the best first, and none twice."""
    chosen: list[Array] = []
    for index in np.argsort(misfits, kind="stable").tolist():
        off = [np.abs(starts[index] - other) for other in chosen]
        promising = misfits[index] < misfits.min() + _PROMISING
        if promising and all(each[[X, Y]].max() > _SAME_M or each[YAW] > _SAME_RAD for each in off):
            chosen.append(starts[index])
    return np.stack(chosen[:_STARTS])


def _starts(upright: Array, model: KnownModel) -> Array:
    """(S, 6): a model in the middle of a fit and, of a box, at each of its corners, both ways round."""
    x, y, z = model.half_extents_m
    if model.shape != "box":
        start = upright.copy()
        start[[WIDE, DEEP, HIGH]] = x, y, 2 * z
        return start[None]
    starts = []
    for turn, sizes in ((0.0, (x, y)), (np.pi / 2, (y, x))):
        spare = upright[[WIDE, DEEP]] - np.array(sizes)
        cosine, sine = np.cos(upright[YAW]), np.sin(upright[YAW])
        for shift in np.concatenate([np.zeros((1, 2)), _SIGNS * spare]):
            start = upright.copy()
            start[X] += cosine * shift[0] - sine * shift[1]
            start[Y] += sine * shift[0] + cosine * shift[1]
            start[[YAW, WIDE, DEEP, HIGH]] = upright[YAW] + turn, x, y, 2 * z
            starts.append(start)
    return np.stack(starts)
