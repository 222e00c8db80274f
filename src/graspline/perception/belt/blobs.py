"""Coloured blobs in a picture, one for each hue that lies together, and their outlines to a fraction of a pixel."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from graspline.perception.core.palette import OVEREXPOSED, HueImage, colours_of
from graspline.rendering.picture import Array, Pixels

Flags = NDArray[np.bool_]

# Patches of colour are found in every fourth pixel of every fourth row and then looked at in all of them. Those that
# are nearer to each other than twice that are one patch; the blobs in it are separated when it is looked at.
_COARSE = 4
# Pixels around a blob that are needed to find its edges.
_MARGIN_PX = 10
# A blob that comes this near to the picture's edge may go on beyond it.
_BORDER_PX = 3
# Hues within this, in steps of 2°, are of one block. A block's darkest side in the dimmest light has a spread of 5;
# its overexposed top may be off by 14.
_HUE_REACH, _BRIGHT_REACH = np.arange(-8, 9), np.arange(-17, 18)
# Of the pixels of the least blob looked for, this share must have a hue for it to be a blob's own: fewer are where two
# colours meet and mix.
_LEAST_SHARE = 0.5
# With fewer pixels than this share that are not overexposed, which may be its edges only, a blob's colour is that of
# those that are.
_PLAIN_SHARE = 0.25
# Where the colour across an edge is sampled, in pixels outward.
_STEP_PX = 0.5
_ACROSS_PX = np.arange(-3.5, 3.75, _STEP_PX)
_END_SAMPLES = 3
# Less of a blob's colour than this is none of it; the darkest side of a block has 0.35 of what its top has. From there
# the edge is one pixel wide, and this many samples further in all is the blob's.
_LEAST_COLOUR, _PLATEAU = 0.12, (2, 4)
# Neighbours this far along a contour, fewest, most and as a share of it, give its direction; where it turns by more
# than 37° within twice that, there is a corner, which pixels round off.
_TANGENT_STEPS, _STRAIGHT = (2, 4, 24), 0.8
# Of a long contour every second or third point is enough: that of a block then has 50 to 100.
_PER_POINT, _MOST_SKIPPED = 100, 3
# What lies beside an edge is looked at this far outside it.
_BESIDE_PX = 3.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Blob:
    """Pixels of one hue that hang together."""

    # (3,), the mean colour, 0 to 255.
    rgb: Array
    # (N, 2), the corners of its outline pixel by pixel.
    contour_px: Array
    # (M, 2), edge points in order and the normals out of the blob; (M,) whether belt or furniture is seen beside them,
    # for elsewhere another block may hide it; and (M,) the number of the straight part of the outline each is on.
    points_px: Array
    normals_px: Array
    own: Flags
    part: NDArray[np.intp]
    # Whether it ends within the picture, and not at something that hides part of it.
    whole: bool
    area_px: float


def find_blobs(rgb: Pixels, hidden: tuple[Array, ...], least_px: float) -> list[Blob]:
    """Blobs of at least this many pixels, by row and column; nothing within hidden polygons (K, 2) counts."""
    cover = _cover(rgb.shape[:2], hidden)
    colours = colours_of(np.ascontiguousarray(rgb[::_COARSE, ::_COARSE]))
    mask = colours.coloured
    if cover is not None:
        mask[cover[::_COARSE, ::_COARSE] > 0] = 0
    around = cv2.dilate(mask, np.ones((3, 3), np.uint8))
    _, labels, stats, _ = cv2.connectedComponentsWithStats(around, connectivity=8, ltype=cv2.CV_32S)
    least = _LEAST_SHARE * least_px / _COARSE**2
    blobs: list[Blob] = []
    for label, (left, top, width, height, _) in enumerate(stats.tolist()[1:], start=1):
        box = slice(top, top + height), slice(left, left + width)
        patch = labels[box] == label
        mine = patch & (mask[box] > 0)
        peaks = _peaks(colours.hue[box][mine], colours.value[box][mine] >= OVEREXPOSED, least)
        if peaks:
            piece = _Cutout.around(rgb, cover, (left, top), patch)
            blobs += [blob for peak in peaks for blob in piece.blobs(peak, peaks, least_px)]
    return blobs


def _cover(shape: tuple[int, int], hidden: tuple[Array, ...]) -> Pixels | None:
    """(H, W): 255 within the polygons."""
    if not hidden:
        return None
    cover = np.zeros(shape, np.uint8)
    for polygon in hidden:
        cv2.fillPoly(cover, [np.rint(polygon).astype(np.int32)], 255)
    return cover


def _peaks(hues: Pixels, overexposed: Flags, least: float) -> list[int]:
    """Hues that at least this many of these pixels have, the most common first, overexposed ones last.

    An overexposed top of a block may have another hue than its sides, and is no block by itself.
    """
    # All of one hue, as most patches are, unless at the ends of the circle.
    if len(hues) >= least and int(hues.max()) - int(hues.min()) <= _HUE_REACH[-1]:
        return [int(np.median(hues))]
    plain, bright = (np.bincount(each, minlength=180)[:180] for each in (hues[~overexposed], hues[overexposed]))
    peaks: list[int] = []
    for counts, reach in ((plain, _HUE_REACH), (bright, _BRIGHT_REACH)):
        for peak in peaks:
            counts[(peak + _BRIGHT_REACH) % 180] = 0
        while counts.sum() >= least:
            # A little smoothing, for two bins may share a hue.
            peak = int(np.argmax(counts + np.roll(counts, 1) + np.roll(counts, -1)))
            near = (peak + reach) % 180
            if counts[near].sum() < least:
                break
            peaks.append(peak)
            counts[near] = 0
    return peaks


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Cutout:
    """A cut-out of the picture with one patch of coloured pixels, which may be of several hues."""

    rgb: Pixels
    colours: HueImage
    # Those pixels of the patch itself that have a colour.
    mask: Pixels
    cover: Pixels | None
    corner: tuple[int, int]
    shape: tuple[int, int]

    @classmethod
    def around(cls, rgb: Pixels, cover: Pixels | None, at: tuple[int, int], patch: Flags) -> _Cutout:
        """Of a patch (h, w) of coarse pixels."""
        high, wide = rgb.shape[:2]
        fine = cv2.resize(patch.astype(np.uint8), None, fx=_COARSE, fy=_COARSE, interpolation=cv2.INTER_NEAREST)
        x, y = _COARSE * at[0], _COARSE * at[1]
        left, top = max(x - _MARGIN_PX, 0), max(y - _MARGIN_PX, 0)
        rows = slice(top, min(y + fine.shape[0] + _MARGIN_PX, high))
        columns = slice(left, min(x + fine.shape[1] + _MARGIN_PX, wide))
        piece = np.ascontiguousarray(rgb[rows, columns])
        colours = colours_of(piece)
        covered = None if cover is None else cover[rows, columns]
        if covered is not None:
            colours.coloured[covered > 0] = 0
        mine = np.zeros_like(colours.coloured)
        inner = mine[y - top : y - top + fine.shape[0], x - left : x - left + fine.shape[1]]
        np.multiply(fine[: inner.shape[0], : inner.shape[1]], 255, out=inner)
        return cls(
            rgb=piece,
            colours=colours,
            mask=colours.coloured & mine,
            cover=covered,
            corner=(left, top),
            shape=(high, wide),
        )

    def blobs(self, peak: int, peaks: list[int], least_px: float) -> list[Blob]:
        """What is nearer to this hue than to the others, in pieces that hang together."""
        mask = self.mask
        if len(peaks) > 1:
            off = np.stack([np.abs((self.colours.hue.astype(np.int16) - each + 90) % 180 - 90) for each in peaks])
            mask = np.where(off.argmin(axis=0) == peaks.index(peak), mask, 0).astype(np.uint8)
            # A line one pixel wide is where two other colours mix.
            mask = cv2.morphologyEx(mask, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
        contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        loops = [np.asarray(each, np.int32).reshape(-1, 2) for each in contours if cv2.contourArea(each) >= least_px]
        loops.sort(key=lambda loop: (int(loop[:, 1].min()), int(loop[:, 0].min())))
        return [self._blob(loop) for loop in loops]

    def _blob(self, loop: NDArray[np.int32]) -> Blob:
        filled = np.zeros_like(self.mask)
        cv2.fillPoly(filled, [loop], 255)
        mine = filled & self.mask
        mean = np.array(cv2.mean(self.rgb, mine)[:3])
        left, top = self.corner
        (x_low, y_low), (x_high, y_high) = loop.min(axis=0), loop.max(axis=0)
        high, wide = self.shape
        whole = (
            min(x_low + left, y_low + top) >= _BORDER_PX
            and x_high + left < wide - _BORDER_PX
            and y_high + top < high - _BORDER_PX
            and not self._beside_cover(filled)
        )
        points, normals, part = self._edges(loop, mean)
        corner = np.array(self.corner, float)
        return Blob(
            rgb=self._true_colour(mine, mean),
            contour_px=loop.astype(float) + corner,
            points_px=points + corner,
            normals_px=normals,
            own=self._is_own(points + _BESIDE_PX * normals, filled),
            part=part,
            whole=bool(whole),
            area_px=float(cv2.contourArea(loop)),
        )

    def _true_colour(self, mine: Pixels, mean: Array) -> Array:
        """The mean colour of pixels that are not overexposed, unless these are few."""
        plain = np.where(self.colours.value < OVEREXPOSED, mine, 0).astype(np.uint8)
        share = cv2.countNonZero(plain) / max(cv2.countNonZero(mine), 1)
        if share > 1 - _PLAIN_SHARE:
            return mean
        return np.array(cv2.mean(self.rgb, plain if share >= _PLAIN_SHARE else cv2.bitwise_xor(mine, plain))[:3])

    def _beside_cover(self, filled: Pixels) -> bool:
        if self.cover is None:
            return False
        near = cv2.dilate(filled, np.ones((2 * _BORDER_PX + 1, 2 * _BORDER_PX + 1), np.uint8))
        return bool(cv2.bitwise_and(near, self.cover).any())

    def _edges(self, loop: NDArray[np.int32], mean: Array) -> tuple[Array, Array, NDArray[np.intp]]:
        """Points along the contour moved outward or inward to where half a pixel is the blob's."""
        points, normals, part = _straight_parts(loop.astype(float))
        samples = (points[:, None] + _ACROSS_PX[:, None] * normals[:, None]).astype(np.float32)
        if not len(points):
            return points, normals, part
        field = self._colour_of(mean)
        across = cv2.remap(field, samples[..., 0], samples[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        shift, clear = _half_way(np.asarray(across, np.float32))
        return points[clear] + shift[:, None] * normals[clear], normals[clear], part[clear]

    def _is_own(self, places_px: Array, filled: Pixels) -> Flags:
        """(M,): whether these places beside an edge are within the picture, not hidden and not of another block."""
        places = np.rint(places_px).astype(int)
        column, row = places.T
        high, wide = filled.shape
        at = np.clip(row, 0, high - 1), np.clip(column, 0, wide - 1)
        own = (self.colours.coloured[at] == 0) | (filled[at] > 0)
        if self.cover is not None:
            own &= self.cover[at] == 0
        inside = places + np.array(self.corner)
        return own & (inside >= 0).all(axis=1) & (inside < np.array(self.shape[::-1])).all(axis=1)

    def _colour_of(self, mean: Array) -> NDArray[np.float32]:
        """(H, W): how much of a blob's colour is in a pixel, 0 for the belt however bright it is, 1 for the mean.

        Linear in the colours, it is half way in a pixel that blob and belt share evenly.
        """
        grey = np.array(cv2.mean(self.rgb, cv2.bitwise_not(self.colours.coloured))[:3])
        grey = grey / np.linalg.norm(grey) if grey.sum() > 0 else np.full(3, 3**-0.5)
        across = mean - grey * (mean @ grey)
        across /= max(float(across @ mean), 1e-9)
        found = cv2.transform(self.rgb.astype(np.float32), across.astype(np.float32)[None])
        return np.asarray(found, np.float32)


def _straight_parts(loop: Array) -> tuple[Array, Array, NDArray[np.intp]]:
    """Points of a closed contour without its corners, the normals out of it, and the number of the part each is on."""
    fewest, most, share = _TANGENT_STEPS
    steps = min(max(len(loop) // share, fewest), most)
    at = np.arange(len(loop))
    ahead, behind = (at + steps) % len(loop), at - steps
    along = loop[ahead] - loop[behind]
    # OpenCV walks a contour with the inside to the same hand always, so that these point outward.
    normals = np.stack([-along[:, 1], along[:, 0]], axis=1)
    normals /= np.maximum(np.hypot(normals[:, 0], normals[:, 1]), 1e-9)[:, None]
    bent = (normals[behind] * normals[ahead]).sum(axis=1) <= _STRAIGHT
    kept = np.flatnonzero(~bent)
    kept = kept[:: min(max(len(loop) // _PER_POINT, 1), _MOST_SKIPPED)]
    return loop[kept], normals[kept], np.cumsum(bent)[kept]


def _half_way(across: NDArray[np.float32]) -> tuple[Array, Flags]:
    """Where profiles (M, S) fall to half way between the blob just inside its edge and what is outside; which do.

    A side of a block that is seen at a slant may be a few pixels wide and a third as bright as its top: half of what is
    found deeper inside would be where the top ends.
    """
    outside = across[:, -_END_SAMPLES:].mean(axis=1)
    above = across - outside[:, None]
    colours = above > _LEAST_COLOUR
    # From the outside inward, the first sample that has any of the blob's colour.
    begins = across.shape[1] - 1 - np.argmax(colours[:, ::-1], axis=1)
    clear = (begins >= _PLATEAU[-1]) & (begins < across.shape[1] - 1) & colours.any(axis=1)
    rows = np.flatnonzero(clear)
    # From one sample outside of there inward.
    inward = above[rows[:, None], begins[rows, None] + 1 - np.arange(_PLATEAU[-1] + 2)]
    half = (inward[:, 1 + _PLATEAU[0]] + inward[:, 1 + _PLATEAU[1]]) / 4
    first = np.argmax(inward >= half[:, None], axis=1)
    found = first > 0
    clear[rows[~found]] = False
    each = np.flatnonzero(found)
    first, half = first[found], half[found]
    high, low = inward[each, first], inward[each, first - 1]
    at = begins[rows[found]] + 1 - first
    return (_ACROSS_PX[at] + _STEP_PX * (high - half) / (high - low)).astype(float), clear
