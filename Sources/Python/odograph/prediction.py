"""Predicts the positions of vehicles that report within bounds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import cos, inf, radians, sin

from .messages import Location, Status

_LONGEST_EXTENSION = 120
"""Seconds for which a prediction is extended beyond its validity."""
_FUTURE_LIMIT = 60
"""Seconds by which a report's time may be in the future; a later one is of a wrong clock."""
_GREATEST_LATITUDE = 89.9
"""Greatest latitude of a prediction in degrees: the plane of the prediction ends at the pole."""
_MOST_REPORTS = 256
"""Limit of the reports of a vehicle that wait for their moment."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A predicted position."""

    time: datetime
    """Moment of the position: the delay of the report before the requested time."""
    latitude: float
    """Degrees north, WGS 84."""
    longitude: float
    """Degrees east, WGS 84."""
    radius: float | None
    """Metres around the position that contain the vehicle: bound plus `horizontal_accuracy`. None without that accuracy."""
    is_guaranteed: bool
    """True until the end of the validity; then the radius grows by the maximum speed."""


def predict(location: Location, at: datetime) -> Prediction | None:
    """Returns the position of a vehicle at a time, predicted from one report.

    Before the report takes effect, this is its own position; see `Follower` for the report before it.
    Returns None if the message has no prediction, if its validity ended two minutes ago, if its time is more
    than a minute in the future, or within 0.1° of a pole.
    """
    report = location.predict
    if report is None or (location.time - at).total_seconds() > _FUTURE_LIMIT:
        return None
    delay, validity = report.delay or 0, inf if report.validity is None else report.validity
    elapsed = max(0.0, (at - location.time).total_seconds() - delay)
    late = max(0.0, elapsed - validity)
    if late > _LONGEST_EXTENSION:
        return None
    accuracy = location.horizontal_accuracy
    # The plane at the reported position: metres per degree along the meridian and the parallel of WGS 84.
    curve = 1 - 0.00669438 * sin(radians(location.latitude)) ** 2
    north = report.velocity_north * elapsed * curve**1.5 / 110574.2758
    east = report.velocity_east * elapsed * curve**0.5 / (111319.4908 * cos(radians(location.latitude)))
    latitude = location.latitude + north
    if abs(latitude) > _GREATEST_LATITUDE:
        return None
    return Prediction(
        time=location.time + timedelta(seconds=elapsed),
        latitude=latitude,
        longitude=(location.longitude + east + 180) % 360 - 180,
        radius=None if accuracy is None else report.bound + (report.growth or 0) * late + accuracy,
        is_guaranteed=late == 0,
    )


class Follower:
    """The position of one vehicle, from its `location` and `status` messages.

    A report takes effect `delay` seconds after its time. Until then the report before it applies.
    """

    def __init__(self) -> None:
        self._reports: list[Location] = []
        self._is_offline = False

    @property
    def last(self) -> Location | None:
        """The newest location; None before the first."""
        return self._reports[-1] if self._reports else None

    def receive(self, message: Location | Status) -> None:
        """Adds a message. A location with the same time replaces the earlier one."""
        if isinstance(message, Status):
            self._is_offline = message.state == "offline"
            return
        reports = [report for report in self._reports if report.time != message.time] + [message]
        self._reports = sorted(reports, key=lambda report: report.time)[-_MOST_REPORTS:]

    def position(self, at: datetime) -> Prediction | None:
        """Returns the position at a time, predicted from the report in effect.

        Returns None before the first location, while the vehicle is offline, and where `predict` does.
        """
        last = self.last
        if last is None or self._is_offline:
            return None
        delay = last.predict.delay or 0 if last.predict else 0
        in_effect = [report for report in self._reports if (at - report.time).total_seconds() >= delay]
        if not in_effect:
            return predict(self._reports[0], at)
        self._reports = self._reports[len(in_effect) - 1 :]
        return predict(in_effect[-1], at)
