"""Decodes the packed positions of `track` messages and of the `way` of a trip."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from ._decoding import DecodingError
from .messages import Track, TripWay

_LONGEST = 60
"""Limit of bits in a number; larger ones are damaged."""


@dataclass(frozen=True, slots=True)
class Fix:
    """A position of a track or of the way of a trip."""

    time: datetime
    latitude: float
    """Degrees north, WGS 84."""
    longitude: float
    """Degrees east, WGS 84."""
    accuracy: float | None = None
    """Metres, 68 % confidence; None if unknown."""
    altitude: float | None = None
    """Metres above mean sea level; None if unknown."""
    speed: float | None = None
    """m/s over ground; None if unknown."""


def fixes(track: Track | TripWay) -> list[Fix]:
    """Decodes the positions of a track, or of the way of a trip, in order of time.

    Raises DecodingError if a text is damaged, or has another number of values than `count`.
    """
    kind = track.KIND if isinstance(track, Track) else "trip"
    prefix = "" if isinstance(track, Track) else "way."
    count, scale = track.count, 10**track.precision

    def numbers(key: str, text: str, expected: int) -> list[int]:
        try:
            found = list(itertools.islice(differences(text), expected + 1))
        except ValueError as error:
            raise DecodingError(kind, prefix + key, str(error)) from None
        if len(found) != expected:
            has = "more" if len(found) > expected else str(len(found))
            raise DecodingError(kind, prefix + key, f"{expected} values expected for count {count}, has {has}")
        return found

    def values(key: str, text: str | None, lowest: int, per_unit: int, highest: int) -> list[float | None]:
        if text is None:
            return [None] * count
        units = itertools.accumulate(numbers(key, text, count))
        return [
            (unit - 1 + lowest * per_unit) / per_unit if 0 < unit <= (highest - lowest) * per_unit + 1 else None
            for unit in units
        ]

    points = numbers("points", track.points, 2 * count)
    times = itertools.accumulate(itertools.accumulate(numbers("times", track.times, count)))
    if isinstance(track, Track):
        accuracies = values("accuracies", track.accuracies, 0, 10, 10**8)
        altitudes = values("altitudes", track.altitudes, -10_000, 10, 10**5)
        speeds = values("speeds", track.speeds, 0, 100, 10**4)
    else:
        accuracies = altitudes = speeds = [None] * count
    places = zip(itertools.accumulate(points[0::2]), itertools.accumulate(points[1::2]), strict=True)
    found = []
    for index, ((north, east), milliseconds) in enumerate(zip(places, times, strict=True)):
        latitude, longitude = north / scale, east / scale
        if abs(latitude) > 90 or abs(longitude) > 180:
            raise DecodingError(kind, prefix + "points", f"position {index} is {latitude}, {longitude}")
        try:
            time = track.time + timedelta(milliseconds=milliseconds)
        except OverflowError:
            raise DecodingError(kind, prefix + "times", f"time {index} is out of range") from None
        found.append(Fix(time, latitude, longitude, accuracies[index], altitudes[index], speeds[index]))
    return found


def differences(text: str) -> Iterator[int]:
    """Yields the numbers of a text in the format of Google's encoded polyline.

    Each character has five bits, the low ones first. The lowest bit of a number is its sign.
    Raises ValueError if the text is damaged.
    """
    value = shift = 0
    for position, character in enumerate(text):
        code = ord(character) - 63
        if not 0 <= code < 64:
            raise ValueError(f"character {position} is {character!r}, which no encoded polyline has")
        value |= (code & 31) << shift
        shift += 5
        if code < 32:
            yield ~(value >> 1) if value & 1 else value >> 1
            value = shift = 0
        elif shift > _LONGEST:
            raise ValueError(f"the number before character {position} has more than {_LONGEST} bits")
    if shift:
        raise ValueError("the text ends within a number")
