"""Messages of vehicles and to vehicles, one dataclass for each kind.

`generate.py` writes this file from Config/schemas. Degrees are WGS 84, lengths metres, speeds m/s, times UTC.
A member that is absent from a message is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from ._decoding import AnyOf, Limits, Message, Record, RequiredIf, RequiredWith, RequiredWithout, Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class AltitudeFloor(Record):
    """Level of a parking garage. Level 0 is where the receiver lost the satellites; the number of the storey on a map
    is unknown. Absent under open sky, if the garage was entered at more than 10 m/s, and if no level is more
    probable than all others together. A level is assumed to be 2.9 m high.
    """

    level: Annotated[int, Limits(minimum=-20, maximum=20)]
    """Number of levels above (positive) or below (negative) level 0."""
    confidence: Annotated[float, Limits(minimum=0.5, maximum=1)]
    """Probability of this level."""
    height: float
    """Height in metres above level 0."""
    height_accuracy: Annotated[float, Limits(minimum=0)]
    """Standard deviation of the height in metres."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Altitude(Message):
    """Retained, QoS 1: the altitude of the vehicle, from barometer and receiver, and its level in a parking garage.
    """

    KIND: ClassVar[str] = "altitude"

    time: datetime
    """Time of the measurement."""
    relative_altitude: Annotated[float, Limits(minimum=-20000, maximum=20000)]
    """Change of altitude in metres since the agent's first pressure reading, from pressure alone. Changes of the
    weather and a cabin's fan also change this value.
    """
    pressure: Annotated[float, Limits(minimum=0, maximum=200000)]
    """Air pressure in Pa; glitches of one or two seconds are removed."""
    altitude: Annotated[float, Limits(minimum=-20000, maximum=40000)] | None = None
    """Metres above mean sea level. Absent before the receiver reports an altitude."""
    accuracy: Annotated[float, Limits(minimum=0, maximum=100000)] | None = None
    """Standard deviation of `altitude` in metres."""
    precision: Annotated[float, Limits(minimum=0, maximum=100000)] | None = None
    """Standard deviation in metres of the difference between two altitudes of a vehicle at rest, measured a few
    seconds apart.
    """
    altitude_source: Literal["fused", "barometric"] | None = None
    """Source of the altitude, if a barometer contributes: receiver and barometer, or the barometer's changes since the
    receiver's last altitude. Absent without a barometer.
    """
    floor: AltitudeFloor | None = None
    """Level of a parking garage. Level 0 is where the receiver lost the satellites; the number of the storey on a map
    is unknown. Absent under open sky, if the garage was entered at more than 10 m/s, and if no level is more
    probable than all others together. A level is assumed to be 2.9 m high.
    """
    epoch: Annotated[str, Limits(pattern=r"^[0-9a-f]{16}$")]
    """Identifies the vehicle's store. A new store starts a new epoch."""
    seq: Annotated[int, Limits(minimum=1)]
    """Number of the message. It increases from message to message within an epoch, across all topics; no number is
    used twice. A missing number does not prove a loss: README.md beside this schema gives the reasons.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class AttitudeRelative(Record):
    """Rotation since the command zero, in the axes at the time of that command; absent before the command, and after
    zero with `clear`.
    """

    quaternion: tuple[Annotated[float, Limits(minimum=-1.000001, maximum=1.000001)], Annotated[float, Limits(minimum=-1.000001, maximum=1.000001)], Annotated[float, Limits(minimum=-1.000001, maximum=1.000001)], Annotated[float, Limits(minimum=-1.000001, maximum=1.000001)]]
    """Unit quaternion: w, x, y, z."""
    roll: Annotated[float, Limits(minimum=-3.15, maximum=3.15)]
    """Radians."""
    pitch: Annotated[float, Limits(minimum=-1.58, maximum=1.58)]
    """Radians."""
    yaw: Annotated[float, Limits(minimum=-3.15, maximum=3.15)]
    """Radians."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attitude(Message):
    """QoS 0, retained: the orientation of the vehicle and its motion. Published at the start of a session, and when
    the attitude differs from the last one by more than attitude.filter.
    """

    KIND: ClassVar[str] = "attitude"

    RULES: ClassVar[tuple[Rule, ...]] = (
        AnyOf((("frame", "quaternion", "roll", "pitch", "yaw"), ("gravity", "degraded"), ("rotationRate", "degraded"),)),
    )

    time: datetime
    """Time of the measurement."""
    frame: Literal["xArbitraryZVertical", "xArbitraryCorrectedZVertical", "xMagneticNorthZVertical", "xTrueNorthZVertical"] | None = None
    """The reference frame, z up."""
    axes: Literal["device", "level", "vehicle"] | None = None
    """Axes of the quaternion, rotationRate, gravity and userAcceleration: those of the device, of the device levelled
    by the command level (see status), or right, forward and up of the vehicle, as determined by navigation. Absent
    from agents of earlier versions.
    """
    quaternion: tuple[Annotated[float, Limits(minimum=-1.000001, maximum=1.000001)], Annotated[float, Limits(minimum=-1.000001, maximum=1.000001)], Annotated[float, Limits(minimum=-1.000001, maximum=1.000001)], Annotated[float, Limits(minimum=-1.000001, maximum=1.000001)]] | None = None
    """Unit quaternion (w, x, y, z) that rotates the frame named by `axes` (x right, y forward, z up) into the
    reference frame. Without `axes` it is the device frame.
    """
    roll: Annotated[float, Limits(minimum=-3.15, maximum=3.15)] | None = None
    """Radians. With the front straight up or down, roll and yaw rotate about the same axis; they then continue from
    the previous message without a jump.
    """
    pitch: Annotated[float, Limits(minimum=-1.58, maximum=1.58)] | None = None
    """Radians."""
    yaw: Annotated[float, Limits(minimum=-3.15, maximum=3.15)] | None = None
    """Radians."""
    relative: AttitudeRelative | None = None
    """Rotation since the command zero, in the axes at the time of that command; absent before the command, and after
    zero with `clear`.
    """
    rotation_rate: tuple[float, float, float] | None = None
    """Rotation rate in rad/s in the frame named by `axes`, without the gyroscope's bias."""
    gravity: tuple[float, float, float] | None = None
    """In g, in the frame named by `axes`."""
    user_acceleration: tuple[float, float, float] | None = None
    """In g, in the frame named by `axes`."""
    degraded: str | None = None
    """Reason for reduced quality, and remedy; absent if no sensor is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeaconsPiece(Message):
    """To the vehicle, QoS 1, not retained: a piece of the fleet's map of beacons, for a cell listed in its
    `beacons/wanted`. At most 64 KiB. A piece with any error is refused as a whole and listed in `beacons/wanted`.
    Sent by `odograph beacons serve`.
    """

    KIND: ClassVar[str] = "beacons/piece"

    cell: Annotated[str, Limits(pattern=r"^[0-9b-hjkmnp-z]{4}$")]
    """Geohash of a map cell of about 20 by 30 km."""
    version: Annotated[str, Limits(pattern=r"^[0-9a-f]{16}$")]
    """Identifies the content of all pieces of a cell."""
    part: Annotated[int, Limits(minimum=1, maximum=8)]
    """Number of this piece within the cell."""
    count: Annotated[int, Limits(minimum=1, maximum=8)]
    """Number of pieces into which the cell's map is divided."""
    beacons: Annotated[str, Limits(shortest=8, longest=65536)]
    """Bit-packed numbers, most significant bit first. They start with the day of the newest reception of any beacon
    (16 bits, days since 1970), the number of access points (12 bits) and of mobile network cells (12 bits). The
    access points and the mobile network cells follow, coded as in `scan`. Then come, for each of them in the same
    order: latitude and longitude as fractions of the height and width of the geohash `cell`, from its south-western
    corner (16 bits each); the reach (7 bits; steps of 8.89 % from 1 m on); the number of receptions (4 bits,
    exponent of a power of two); the days from its last reception to the day at the start (8 bits).
    """
    checksum: Annotated[str, Limits(pattern=r"^[0-9a-f]{16}$")]
    """64-bit FNV-1a hash of the decoded bytes of `beacons`, in hexadecimal digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeaconsWantedCell(Record):

    cell: Annotated[str, Limits(pattern=r"^[0-9b-hjkmnp-z]{4}$")]
    """Geohash of a map cell of about 20 by 30 km."""
    version: Annotated[str, Limits(pattern=r"^[0-9a-f]{16}$")] | None = None
    """The version whose pieces the vehicle has completely; absent if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeaconsWantedRefused(Record):

    cell: Annotated[str, Limits(longest=12)]
    """The cell that the piece names; empty if it names none."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BeaconsWanted(Message):
    """QoS 1, retained: the cells for which the vehicle requests the fleet's map of beacons, and the versions that it
    already has. Published only with `beacons.receive`: after a change, at most once a minute, and each hour without
    an answer. The list contains the cells within 5 km of the published location, and cells requested earlier until
    they are 10 km away.
    """

    KIND: ClassVar[str] = "beacons/wanted"

    time: datetime
    cells: Annotated[tuple[BeaconsWantedCell, ...], Limits(longest=16)]
    refused: Annotated[tuple[BeaconsWantedRefused, ...], Limits(longest=16)] | None = None
    """The newest pieces that were refused since the previous message."""
    epoch: Annotated[str, Limits(pattern=r"^[0-9a-f]{16}$")]
    """Identifies the vehicle's store. A new store starts a new epoch."""
    seq: Annotated[int, Limits(minimum=1)]
    """Number of the message. It increases from message to message within an epoch, across all topics; no number is
    used twice. A missing number does not prove a loss: README.md beside this schema gives the reasons.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRequest(Message):
    """To the vehicle, QoS 1. An empty payload is a request without arguments. The answer has the request's correlation
    data and is sent to its MQTT 5 response topic. Permitted response topics are command/{name}/response of the
    vehicle, topics below it, and those of the vehicle's remote.response_topics. If the request names another topic
    or none, as under MQTT 3.1.1, the answer is sent to command/{name}/response.
    """

    KIND: ClassVar[str] = "command/{name}"

    id: Annotated[str, Limits(longest=64)] | None = None
    """Returned in the answer; replaces correlation data under MQTT 3.1.1. At most 64 bytes of UTF-8; a request with a
    longer `id` is refused.
    """
    from_: datetime | None = None
    """For track and history: start of the interval, RFC 3339."""
    to: datetime | None = None
    """For track and history: end of the interval; default now."""
    at: datetime | None = None
    """For trace: the requested time (RFC 3339), at most half a minute ago; default now."""
    before: Annotated[float, Limits(minimum=0, maximum=60)] | None = None
    """For trace: seconds before `at` that the trace includes; default trace.before of the vehicle."""
    after: Annotated[float, Limits(minimum=0, maximum=60)] | None = None
    """For trace: seconds after `at` that the trace includes; default trace.after of the vehicle."""
    accuracy: Annotated[float, Limits(minimum=1, maximum=100000)] | None = None
    """For locate: sufficient accuracy in metres (68 % confidence); default 50."""
    region: Annotated[str, Limits(shortest=1)] | None = None
    """For region-state: the identifier of a region; default all."""
    clear: bool | None = None
    """For zero: true removes the reference of a previous zero, so that attitudes no longer contain `relative`. For
    level: true removes the tilt that a previous level has measured. For simulate-location: true ends the
    simulation; positions are again those of the vehicle's own input.
    """
    latitude: Annotated[float, Limits(minimum=-90, maximum=90)] | None = None
    """For simulate-location: latitude of a fixed position in degrees. Vehicles with real sensors refuse the command.
    """
    longitude: Annotated[float, Limits(minimum=-180, maximum=180)] | None = None
    """For simulate-location: longitude of a fixed position in degrees."""
    track: Annotated[str, Limits(shortest=1, longest=255)] | None = None
    """For simulate-location: name of a file in the vehicle's folder of tracks (simulation.tracks)."""
    none: bool | None = None
    """For simulate-location: true to simulate a receiver without a fix."""
    odometer: Annotated[float, Limits(minimum=0, maximum=10000000000)] | None = None
    """For set-odometer: reading of the instrument panel in metres."""
    driver: Annotated[str, Limits(longest=200)] | None = None
    """For set-trip: driver of the current and all following trips; empty if unknown."""
    purpose: Annotated[str, Limits(longest=200)] | None = None
    """For set-trip: purpose of the current trip, or of the next one; empty removes it."""
    timeout: Annotated[float, Limits(minimum=0, maximum=300)] | None = None
    """For locate: seconds to wait for a fix with the requested accuracy. After that time the answer contains the best
    fix since the request or, without a fix, the last known location. Default 60, because a receiver needs 35 s
    after a cold start.
    """
    seconds: Annotated[float, Limits(minimum=0.1, maximum=604800)] | None = None
    """For samples: duration; default 10, limited by the vehicle (remote.samples_seconds). For record: duration,
    required, limited by the vehicle (remote.record_seconds).
    """
    rate: Annotated[float, Limits(minimum=0.1, maximum=100000)] | None = None
    """For samples: maximum rate of each sensor in Hz; default 50. Limited by the vehicle (remote.samples_rate)."""
    kinds: Annotated[tuple[Literal["accelerometer", "gyroscope", "magnetometer", "barometer"], ...], Limits(shortest=1)] | None = None
    """For samples: the requested sensors; default all available ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplesSeriesColumn(Record):

    name: Literal["ax", "ay", "az", "gx", "gy", "gz", "mx", "my", "mz", "pressure"]
    decimals: Annotated[int, Limits(minimum=0, maximum=9)]
    """Number of decimals of a value: with 2, the integer 5 means 0.05."""
    values: str
    """Differences from value to value, the first from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplesSeries(Record):

    kind: Literal["accelerometer", "gyroscope", "magnetometer", "barometer"]
    count: Annotated[int, Limits(minimum=0, maximum=100000)]
    times: str
    """Microseconds since `start`, as differences of differences."""
    columns: Annotated[tuple[SamplesSeriesColumn, ...], Limits(shortest=1)]
    """ax, ay, az: m/s², specific force; gx, gy, gz: rad/s; mx, my, mz: µT; pressure: Pa. Device frame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples(Record):
    """Samples of sensors, exact to the number of decimals stated for each column. The texts contain integers in the
    number format of Google's encoded polyline, as in a track.
    """

    start: datetime
    """Time to which the first value of `times` refers."""
    series: tuple[SamplesSeries, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResponseResultRecorded(Record):
    """For history: interval of all stored samples; absent if there are none."""

    from_: datetime
    to: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResponseResult(Record):
    """Members by command. locate: `location`, as in the topic location; `fresh`, true if it was measured after the
    request; `sufficient`, true if it has the requested accuracy and is either fresh or confirmed by standstill. A
    location that is confirmed by standstill and has the requested accuracy is returned immediately, with `fresh`
    false. status: a status message. reload: `changed`, the applied keys, `needsRestart`, the keys that require a
    restart, and `overridden`, the keys overridden by a flag, a variable or remote settings. track: `fixes` and
    `messages`, the numbers of fixes and messages sent to the topic track, and `next`, the start for the next
    request if more fixes exist. reset-regions and forget-regions: `regions`, the number of monitored regions.
    region-state: a message as in the topic regions/state, with one region if one was requested; the topic itself is
    published again. zero: `zero`, the reference attitude of `relative` in later attitudes, as in the topic
    attitude. level: `level`, with `tilt`, degrees between the device and the level vehicle, and `gravity`, its
    direction in the device frame. history and samples: `samples`, a part of the requested samples. history: `next`,
    the start for the next request, and `recorded`, with `from` and `to` of all stored samples. set-odometer:
    `odometer`, the new reading in metres, which applies until the CAN bus reports another one
    (Vehicle.TraveledDistance), and `before`, the previous reading, if privacy permits it. set-trip: `driver` and
    `purpose` as now set. trace: `series`, `number` and `time` of the related message on the topic trace, and
    `before` and `after`, the seconds before and after `time`; the trace's pieces are sent after its end. record:
    `from` and `to`, the interval for a later request of history. samples: several answers with the request's
    correlation data or id. Each contains `piece`, its number from 0, and `more`, true if another answer follows.
    """

    samples: Samples | None = None
    next: datetime | None = None
    """For track and history: start for the next request."""
    piece: Annotated[int, Limits(minimum=0)] | None = None
    """For samples: number of the answer, from 0."""
    more: Literal[True] | None = None
    """For samples: true if another answer follows."""
    series: Annotated[str, Limits(pattern=r"^[0-9a-f]{16}$")] | None = None
    """For trace: series, as in the message on the topic trace."""
    number: Annotated[int, Limits(minimum=1)] | None = None
    """For trace: number within its series."""
    before: Annotated[float, Limits(minimum=0)] | None = None
    """For set-odometer: the previous reading in metres. For trace: available seconds before `time`."""
    after: Annotated[float, Limits(minimum=0)] | None = None
    """For trace: planned seconds after `time`."""
    recorded: CommandResponseResultRecorded | None = None
    """For history: interval of all stored samples; absent if there are none."""
    kinds: tuple[Literal["accelerometer", "gyroscope", "magnetometer", "barometer"], ...] | None = None
    """For samples: the sensors in the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResponse(Message):
    """The answer to a command."""

    KIND: ClassVar[str] = "command/{name}/response"

    command: str
    """The command's name."""
    id: Annotated[str, Limits(longest=64)] | None = None
    """The `id` of the request."""
    time: datetime
    """Time of the answer."""
    state: Literal["done", "refused", "failed"]
    """done: the command was executed. refused: the request is invalid, or the command is unknown. failed: the request
    was valid, but could not be executed.
    """
    problem: str | None = None
    """Reason for the refusal or failure."""
    result: CommandResponseResult | None = None
    """Members by command. locate: `location`, as in the topic location; `fresh`, true if it was measured after the
    request; `sufficient`, true if it has the requested accuracy and is either fresh or confirmed by standstill. A
    location that is confirmed by standstill and has the requested accuracy is returned immediately, with `fresh`
    false. status: a status message. reload: `changed`, the applied keys, `needsRestart`, the keys that require a
    restart, and `overridden`, the keys overridden by a flag, a variable or remote settings. track: `fixes` and
    `messages`, the numbers of fixes and messages sent to the topic track, and `next`, the start for the next
    request if more fixes exist. reset-regions and forget-regions: `regions`, the number of monitored regions.
    region-state: a message as in the topic regions/state, with one region if one was requested; the topic itself is
    published again. zero: `zero`, the reference attitude of `relative` in later attitudes, as in the topic
    attitude. level: `level`, with `tilt`, degrees between the device and the level vehicle, and `gravity`, its
    direction in the device frame. history and samples: `samples`, a part of the requested samples. history: `next`,
    the start for the next request, and `recorded`, with `from` and `to` of all stored samples. set-odometer:
    `odometer`, the new reading in metres, which applies until the CAN bus reports another one
    (Vehicle.TraveledDistance), and `before`, the previous reading, if privacy permits it. set-trip: `driver` and
    `purpose` as now set. trace: `series`, `number` and `time` of the related message on the topic trace, and
    `before` and `after`, the seconds before and after `time`; the trace's pieces are sent after its end. record:
    `from` and `to`, the interval for a later request of history. samples: several answers with the request's
    correlation data or id. Each contains `piece`, its number from 0, and `more`, true if another answer follows.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigDesired(Message):
    """To the vehicle, retained, QoS 1: all remote settings of the vehicle; they override its configuration file. An
    absent key has the file's value. An empty payload means no settings.
    """

    KIND: ClassVar[str] = "config/desired"

    version: Annotated[str, Limits(shortest=1, longest=128)] | None = None
    """The sender's name for this document, returned in the answer. A whole number of at most 2^53 or a time in RFC
    3339 must not be less than that of the last accepted document. Other names have no order.
    """
    settings: Annotated[dict[str, bool | float | str | tuple[str, ...]], Limits(keys=r"^[a-z0-9_]+(\.[a-z0-9_]+)+$")]
    """Values of settings by key, for example "location.distance_filter"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigReportedRefused(Record):

    key: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigReportedIneffective(Record):

    key: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigReported(Message):
    """Retained, QoS 1: the answer to config/desired."""

    KIND: ClassVar[str] = "config/reported"

    time: datetime
    """Time of the decision."""
    version: Annotated[str, Limits(shortest=1, longest=128)] | None = None
    """The sender's name for this document, returned in the answer."""
    state: Literal["applied", "trial", "refused", "rolledBack"]
    """applied: the settings are in effect, and the vehicle has reached a broker with them. trial: the settings are in
    effect, but not confirmed by a connection yet. refused: nothing was changed, or no stored setting is in effect.
    With applied, refused names stored settings that are not in effect, because the vehicle's own configuration has
    changed. rolledBack: the previous settings are in effect again, because the vehicle could not reach a broker
    with the new ones, or did not connect twice in time with a new schedule of bursts.
    """
    problem: str | None = None
    """Reason why the whole document was refused or rolled back, or why stored settings are no longer in effect."""
    accepted: tuple[str, ...]
    """Keys with acceptable values. They are in effect only if the state is applied or trial, because a document is
    applied completely or not at all.
    """
    refused: tuple[ConfigReportedRefused, ...]
    ineffective: tuple[ConfigReportedIneffective, ...] | None = None
    """Accepted remote settings that have no effect because of another setting, with the reason and a remedy. Missing
    if there are none.
    """
    settings: Annotated[dict[str, bool | float | str | tuple[str, ...]], Limits(keys=r"^[a-z0-9_]+(\.[a-z0-9_]+)+$")]
    """The remote settings that the vehicle uses."""
    changeable: tuple[str, ...]
    """The keys that this vehicle permits to be set remotely."""
    epoch: Annotated[str, Limits(pattern=r"^[0-9a-f]{16}$")]
    """Identifies the vehicle's store. A new store starts a new epoch."""
    seq: Annotated[int, Limits(minimum=1)]
    """Number of the message. It increases from message to message within an epoch, across all topics; no number is
    used twice. A missing number does not prove a loss: README.md beside this schema gives the reasons.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class DrivingEvent(Message):
    """QoS 1: an event of driving, or an external influence on the vehicle. An event that lasts, such as idling, is
    published at its start with `ongoing`, and again with the same number at its end. Other events are published
    once.
    """

    KIND: ClassVar[str] = "driving/event"

    RULES: ClassVar[tuple[Rule, ...]] = (
        RequiredWith("latitude", ("longitude",)),
        RequiredWith("longitude", ("latitude",)),
    )

    time: datetime
    """Start of the event."""
    event: Annotated[str, Limits(shortest=1)]
    """harshBraking, harshAcceleration, harshCornering, swerve, kerb, pothole, overSpeed, idling, tow, tilt, supplyLow,
    unplugged, positionContradicted; others may follow.
    """
    series: Annotated[str, Limits(pattern=r"^[0-9a-f]{16}$")]
    """Identifies the numbering of the vehicle's trips and events. If the file with its counts is new, the vehicle
    starts a new series.
    """
    number: Annotated[int, Limits(minimum=1)]
    """Number of the event within its series; trips have their own numbers."""
    ongoing: Literal[True] | None = None
    """True during the event. The event also ends when the agent stops or the limits change; its duration is then the
    observed part. After a kill or a loss of power, the next start publishes the end with the saved data.
    """
    trip: Annotated[int, Limits(minimum=1)] | None = None
    """Number of the trip, in the same series; absent outside of trips."""
    latitude: Annotated[float, Limits(minimum=-90, maximum=90)] | None = None
    """Degrees north, WGS 84; absent if unknown or private."""
    longitude: Annotated[float, Limits(minimum=-180, maximum=180)] | None = None
    """Degrees east."""
    horizontal_accuracy: Annotated[float, Limits(minimum=0, maximum=100000000)] | None = None
    """Metres, 68 % confidence."""
    speed: Annotated[float, Limits(minimum=0, maximum=10000)] | None = None
    """m/s at the start; absent if unknown."""
    peak: float | None = None
    """Maximum so far: m/s² for manoeuvres and shocks, m/s for speed, radians for tilt, volts for supplies, metres for
    positions; absent for events without one.
    """
    limit: float | None = None
    """The exceeded limit (for supplies, the lower limit), in the unit of the peak."""
    duration: Annotated[float, Limits(minimum=0)] | None = None
    """Duration in seconds so far; absent for instantaneous events."""
    severity: Literal["low", "medium", "high"]
    confidence: Annotated[float, Limits(minimum=0, maximum=1)]
    """Probability of the event."""
    region: Annotated[str, Limits(shortest=1)] | None = None
    """Identifier of the region with this limit; absent for the vehicle's own limit."""
    epoch: Annotated[str, Limits(pattern=r"^[0-9a-f]{16}$")]
    """Identifies the vehicle's store. A new store starts a new epoch."""
    seq: Annotated[int, Limits(minimum=1)]
    """Number of the message. It increases from message to message within an epoch, across all topics; no number is
    used twice. A missing number does not prove a loss: README.md beside this schema gives the reasons.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading(Message):
    """QoS 0: direction of the vehicle's front."""

    KIND: ClassVar[str] = "heading"

    time: datetime
    """Time of the measurement."""
    magnetic_heading: Annotated[float, Limits(minimum=0, maximum=360)]
    """Degrees clockwise from magnetic north."""
    true_heading: Annotated[float, Limits(minimum=0, maximum=360)] | None = None
    """Degrees clockwise from true north; absent without a position."""
    heading_accuracy: Annotated[float, Limits(minimum=0, maximum=360)] | None = None
    """Standard deviation of the heading in degrees."""
    cardinal_point: Literal["N", "NE", "E", "SE", "S", "SW", "W", "NW"] | None = None
    """Point of the compass, relative to true north if that is known, otherwise to magnetic north."""
    calibration_wanted: Literal[True] | None = None
    """True when the magnetometer needs a calibration."""
    contradicts_course: Literal[True] | None = None
    """True if the vehicle's course contradicts the heading."""
    magnetic_field: tuple[float, float, float] | None = None
    """Magnetic field in µT, without the part that the calibration attributes to the device's own magnetism. It refers
    to the device frame or, after the command level, to the frame of the level vehicle.
    """
    calibration: Literal["uncalibrated", "low", "medium", "high"] | None = None
    """Quality of the magnetometer's calibration: a heading is correct within 20° (low), 10° (medium) or 5° (high), or
    unknown (uncalibrated).
    """
    calibration_instruction: str | None = None
    """Instruction to the operator for completing the calibration, one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocationEvent(Message):
    """QoS 1: location updates failed, recovered, paused or resumed, a deferral ended before its distance and time, or
    positions became suspect or plausible. A deferral that ends as configured publishes only its track. Each kind of
    event (failures and recoveries; pauses and resumptions; ends of deferrals; suspect and plausible positions) is
    limited to a burst of six and then one a minute. Of the events above this limit only the newest one is
    published, at the next permitted time, with the number of omitted events in `suppressed`.
    """

    KIND: ClassVar[str] = "location/event"

    RULES: ClassVar[tuple[Rule, ...]] = (
        RequiredIf("event", ("failed", "deferralEnded", "suspect"), ("error", "reason")),
    )

    time: datetime
    """Time of the event."""
    event: Literal["failed", "recovered", "paused", "resumed", "deferralEnded", "suspect", "plausible"]
    error: str | None = None
    """For failed: denied, restricted, receiverUnavailable, positionUnknown (no fix for a minute) or requestTimedOut.
    `recovered` follows when positions are available again. For deferralEnded: notUpdating, accuracyTooLow,
    distanceFiltered, cancelled or failed. For suspect: jump, velocity, navigation, wheels or beacons, as `suspect`
    in `location`.
    """
    reason: str | None = None
    """The reason as one sentence."""
    remedy: str | None = None
    """What the operator can do about it."""
    suppressed: Annotated[int, Limits(minimum=1)] | None = None
    """Number of earlier events that the rate limit suppressed."""
    epoch: Annotated[str, Limits(pattern=r"^[0-9a-f]{16}$")]
    """Identifies the vehicle's store. A new store starts a new epoch."""
    seq: Annotated[int, Limits(minimum=1)]
    """Number of the message. It increases from message to message within an epoch, across all topics; no number is
    used twice. A missing number does not prove a loss: README.md beside this schema gives the reasons.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class LocationFloor(Record):
    """Level of a parking garage. Level 0 is where the receiver lost the satellites; the number of the storey on a map
    is unknown. Absent under open sky, if the garage was entered at more than 10 m/s, and if no level is more
    probable than all others together. A level is assumed to be 2.9 m high.
    """

    level: Annotated[int, Limits(minimum=-20, maximum=20)]
    """Number of levels above (positive) or below (negative) level 0."""
    confidence: Annotated[float, Limits(minimum=0.5, maximum=1)]
    """Probability of this level."""
    height: float
    """Height in metres above level 0."""
    height_accuracy: Annotated[float, Limits(minimum=0)]
    """Standard deviation of the height in metres."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocationPredict(Record):
    """With bounded reporting: how to predict positions from this one. Until `validity` seconds after `time`, the
    predicted position is at most `bound` metres from the receiver's fix of the same time, if that fix has been
    accepted by then. A fix that contradicts its predecessors is accepted only after later fixes have confirmed it
    for 2 s (if it contradicts the velocity) or 5 s (at an impossible distance). In an outage, the sum of the
    prediction's error and twice the accuracy of the inertial position is within `bound`. At times without a fix,
    the prediction is within `bound` if it is displayed after the next fix, at most 10 s after the previous one. A
    silent receiver is detected after 1.75 s at one fix a second, and after at most 10.25 s if it often omits fixes.
    After `validity`, without another message, the bound grows by `growth` metres each second. Before sleep, a pause
    or a loss of the receiver, the vehicle sends a last report with a validity that ends before a possible violation
    of the bound. A later message with the same `time` replaces the earlier one.
    """

    velocity_east: Annotated[float, Limits(minimum=-100000, maximum=100000)]
    """Metres per second."""
    velocity_north: Annotated[float, Limits(minimum=-100000, maximum=100000)]
    """Metres per second."""
    bound: Annotated[float, Limits(minimum=0, maximum=100000000)]
    """Metres."""
    delay: Annotated[float, Limits(minimum=0, maximum=1000000)] | None = None
    """Seconds: the bound applies to the position of this many seconds ago."""
    validity: Annotated[float, Limits(minimum=0, maximum=100000000)] | None = None
    """Seconds after `time` for which the bound is guaranteed without another message. Absent from older vehicles:
    until the next message.
    """
    growth: Annotated[float, Limits(minimum=0, maximum=100000)] | None = None
    """Metres per second by which the bound grows after `validity` has ended: the maximum speed of the vehicle relative
    to the prediction.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Location(Message):
    """Retained, QoS 1: the newest location that the vehicle has published."""

    KIND: ClassVar[str] = "location"

    time: datetime
    """Time of the measurement."""
    latitude: Annotated[float, Limits(minimum=-90, maximum=90)]
    """Degrees north, WGS 84."""
    longitude: Annotated[float, Limits(minimum=-180, maximum=180)]
    """Degrees east, WGS 84."""
    altitude: float | None = None
    """Metres above mean sea level."""
    ellipsoidal_altitude: float | None = None
    """Metres above the WGS 84 ellipsoid."""
    horizontal_accuracy: Annotated[float, Limits(minimum=0, maximum=100000000)] | None = None
    """Radius in metres around the position that contains the true position with 68 % confidence."""
    vertical_accuracy: Annotated[float, Limits(minimum=0, maximum=100000000)] | None = None
    """Standard deviation of the altitude in metres."""
    speed: Annotated[float, Limits(minimum=0, maximum=100000)] | None = None
    """Metres per second over ground."""
    speed_accuracy: Annotated[float, Limits(minimum=0, maximum=100000)] | None = None
    """Standard deviation of the speed in metres per second."""
    course: Annotated[float, Limits(minimum=0, maximum=360)] | None = None
    """Direction of travel, degrees clockwise from true north."""
    course_accuracy: Annotated[float, Limits(minimum=0, maximum=360)] | None = None
    """Standard deviation of the course in degrees."""
    source: str | None = None
    """Name of the receiver or recording that measured the position."""
    position_source: Literal["gnss", "fused", "inertial", "coarse"] | None = None
    """Source of the position: the receiver alone, receiver and inertial sensors together, inertial sensors while the
    receiver has no fix, or (`coarse`) access points and cells with known positions, if no better fix exists. Absent
    from vehicles without inertial sensors or with navigation switched off, whose positions are those of the
    receiver.
    """
    contradicts_beacons: bool | None = None
    """True while several access points and cells with known positions contradict the receiver, in two scans in
    succession. Either the receiver is spoofed, or the map of access points and cells is wrong and is corrected
    within three days. Absent otherwise.
    """
    suspect: str | None = None
    """Measurement that contradicts the position: the previous position (`jump`: an impossible speed), the receiver's
    own velocity, inertial navigation, the wheel speed, or access points and cells at known positions.
    `horizontalAccuracy` includes the disputed distance. Suspect positions decide no region, and alerts ignore them.
    `location/event` reports the start (`suspect`) and the end (`plausible`). Absent from plausible positions. Later
    versions may have more values.
    """
    altitude_source: Literal["fused", "barometric"] | None = None
    """Source of the altitude, if a barometer contributes: receiver and barometer, or the barometer's changes since the
    receiver's last altitude. Absent without a barometer.
    """
    floor: LocationFloor | None = None
    """Level of a parking garage. Level 0 is where the receiver lost the satellites; the number of the storey on a map
    is unknown. Absent under open sky, if the garage was entered at more than 10 m/s, and if no level is more
    probable than all others together. A level is assumed to be 2.9 m high.
    """
    odometer: Annotated[int, Limits(minimum=0)] | None = None
    """Metres travelled, rounded down: the reading of the instrument panel, if set (command set-odometer) or reported
    by the vehicle's own bus (Vehicle.TraveledDistance), else metres since the device was new. Integrates speeds,
    not positions: standstills and jumps add nothing. Decreases only if it is set, or if the vehicle's own odometer
    contradicts it by more than a kilometre. Absent if the agent counts no distance, and if positions are blurred.
    """
    odometer_estimated: Annotated[int, Limits(minimum=0)] | None = None
    """Metres of the distance driven with this device that were estimated instead of measured. For each gap in the
    measurements, the estimate uses the positions and speeds before and after it. Absent for less than a metre.
    """
    predict: LocationPredict | None = None
    """With bounded reporting: how to predict positions from this one. Until `validity` seconds after `time`, the
    predicted position is at most `bound` metres from the receiver's fix of the same time, if that fix has been
    accepted by then. A fix that contradicts its predecessors is accepted only after later fixes have confirmed it
    for 2 s (if it contradicts the velocity) or 5 s (at an impossible distance). In an outage, the sum of the
    prediction's error and twice the accuracy of the inertial position is within `bound`. At times without a fix,
    the prediction is within `bound` if it is displayed after the next fix, at most 10 s after the previous one. A
    silent receiver is detected after 1.75 s at one fix a second, and after at most 10.25 s if it often omits fixes.
    After `validity`, without another message, the bound grows by `growth` metres each second. Before sleep, a pause
    or a loss of the receiver, the vehicle sends a last report with a validity that ends before a possible violation
    of the bound. A later message with the same `time` replaces the earlier one.
    """
    epoch: Annotated[str, Limits(pattern=r"^[0-9a-f]{16}$")]
    """Identifies the vehicle's store. A new store starts a new epoch."""
    seq: Annotated[int, Limits(minimum=1)]
    """Number of the message. It increases from message to message within an epoch, across all topics; no number is
    used twice. A missing number does not prove a loss: README.md beside this schema gives the reasons.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Motion(Message):
    """QoS 1: one event of the vehicle's movement."""

    KIND: ClassVar[str] = "motion"

    RULES: ClassVar[tuple[Rule, ...]] = (
        RequiredIf("event", ("shake",), ("phase",)),
        RequiredIf("event", ("impact",), ("side", "peak")),
        RequiredIf("event", ("orientation",), ("orientation",)),
    )

    time: datetime
    """Time of the event."""
    event: Literal["shake", "impact", "orientation", "stationary", "moving"]
    phase: Literal["began", "ended", "cancelled"] | None = None
    """For a shake: its phase."""
    axis: Literal["horizontal", "vertical"] | None = None
    """For a shake: main direction of the swing."""
    side: Literal["front", "rear", "left", "right", "top", "bottom"] | None = None
    """For an impact: the side that was struck."""
    peak: Annotated[float, Limits(minimum=0, maximum=1000000)] | None = None
    """For an impact: maximum acceleration in g."""
    direction: tuple[float, float, float] | None = None
    """For an impact: unit vector towards the origin of the impact, in the axes named by `axes`."""
    axes: Literal["device", "level", "vehicle"] | None = None
    """For an impact: axes of side and direction: those of the device, of the device levelled by the command level, or
    right, forward and up of the vehicle, as determined by navigation. Absent from agents of earlier versions.
    """
    orientation: Literal["portrait", "portraitUpsideDown", "landscapeLeft", "landscapeRight", "faceUp", "faceDown"] | None = None
    """Orientation of the device."""
    epoch: Annotated[str, Limits(pattern=r"^[0-9a-f]{16}$")]
    """Identifies the vehicle's store. A new store starts a new epoch."""
    seq: Annotated[int, Limits(minimum=1)]
    """Number of the message. It increases from message to message within an epoch, across all topics; no number is
    used twice. A missing number does not prove a loss: README.md beside this schema gives the reasons.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Region(Message):
    """QoS 1: the vehicle entered a region, left it, or has been inside for the region's dwell time."""

    KIND: ClassVar[str] = "region"

    time: datetime
    """Time of the crossing, interpolated between two fixes. If `late` is true, time of the first fix that showed it.
    """
    event: Literal["enter", "exit", "dwell"]
    region: Annotated[str, Limits(shortest=1)]
    """The region's identifier."""
    name: Annotated[str, Limits(shortest=1)] | None = None
    """The region's name; absent without one."""
    defined: datetime | None = None
    """Time of the region's definition or last change; absent if unknown."""
    latitude: Annotated[float, Limits(minimum=-90, maximum=90)]
    """Degrees north, WGS 84: where the boundary was crossed, or the vehicle's position at the time of a dwell event.
    Between two fixes, it is interpolated on a straight line.
    """
    longitude: Annotated[float, Limits(minimum=-180, maximum=180)]
    """Degrees east."""
    horizontal_accuracy: Annotated[float, Limits(minimum=0, maximum=100000000)] | None = None
    """Metres, 68 % confidence. In a gap between two fixes, it includes the possible distance of the path from the
    straight line.
    """
    confidence: Annotated[float, Limits(minimum=0, maximum=1)]
    """Probability of the event. An entry and exit between two fixes that are both outside have at least 0.99; in a gap
    of more than 60 s, or with a less certain path, they are not reported.
    """
    late: Literal[True] | None = None
    """True if the event happened while the agent was not running."""
    epoch: Annotated[str, Limits(pattern=r"^[0-9a-f]{16}$")]
    """Identifies the vehicle's store. A new store starts a new epoch."""
    seq: Annotated[int, Limits(minimum=1)]
    """Number of the message. It increases from message to message within an epoch, across all topics; no number is
    used twice. A missing number does not prove a loss: README.md beside this schema gives the reasons.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionsDesiredFeatureProperties(Record):

    radius: Annotated[float, Limits(minimum=0)] | None = None
    """Metres."""
    dwell: Annotated[float, Limits(minimum=0)] | None = None
    """Time in seconds inside the region after which a dwell event is published."""
    desired_accuracy: Annotated[float, Limits(above=0)] | None = None
    """Required accuracy of fixes in metres (68 % confidence) while the boundary can be reached within half a minute.
    It replaces location.desired_accuracy; if absent, location.desired_accuracy applies.
    """
    speed_limit: float | str | None = None
    """Speed limit in the region in m/s, or a text with a unit (km/h, mph or m/s), such as "60 km/h". A higher speed is
    reported in driving/event as overSpeed with this region. The lowest limit applies, including
    `events.speed_limit`. Absent if there is none.
    """
    notify_on_entry: bool | None = None
    notify_on_exit: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionsDesiredFeature(Record):

    type: Literal["Feature"]
    id: int | str | None = None
    """The region's identifier, at most 64 bytes of UTF-8; default `id` or `identifier` of the properties."""
    geometry: dict[str, Any]
    properties: Annotated[RegionsDesiredFeatureProperties | None, Limits(nullable=True)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionsDesired(Message):
    """Sent to the vehicle, retained, QoS 1: a GeoJSON FeatureCollection (RFC 7946) of all regions to monitor. It
    replaces all regions sent before. Of several regions with the same identifier the last one is monitored, and the
    others are refused. An empty payload removes all. Edges are geodesics.
    """

    KIND: ClassVar[str] = "regions/desired"

    type: Literal["FeatureCollection"]
    version: Annotated[str, Limits(shortest=1, longest=128)] | None = None
    """The sender's name for this document, returned in the answer."""
    features: tuple[RegionsDesiredFeature, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionsReportedRefused(Record):

    index: Annotated[int, Limits(minimum=0)]
    """Position of the feature in the collection, from 0."""
    region: str | None = None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionsReported(Message):
    """Retained, QoS 1: the answer to regions/desired. Without remote regions, it is published at each start for the
    vehicle's own file (regions.path).
    """

    KIND: ClassVar[str] = "regions/reported"

    time: datetime
    """Time of the decision."""
    version: Annotated[str, Limits(shortest=1, longest=128)] | None = None
    """The sender's name for this document, returned in the answer."""
    state: Literal["applied", "refused"]
    """applied: only the accepted regions are monitored. refused: nothing was changed."""
    source: Literal["file", "remote"] | None = None
    """Source of the regions: the file of regions.path, or regions/desired and commands. Absent from reports of earlier
    agents, which covered only regions/desired and commands.
    """
    problem: str | None = None
    """Reason why the whole document was refused."""
    accepted: tuple[str, ...]
    """Identifiers of the accepted regions."""
    refused: tuple[RegionsReportedRefused, ...]
    epoch: Annotated[str, Limits(pattern=r"^[0-9a-f]{16}$")]
    """Identifies the vehicle's store. A new store starts a new epoch."""
    seq: Annotated[int, Limits(minimum=1)]
    """Number of the message. It increases from message to message within an epoch, across all topics; no number is
    used twice. A missing number does not prove a loss: README.md beside this schema gives the reasons.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionsStateRegion(Record):

    region: Annotated[str, Limits(shortest=1)]
    """Identifier."""
    state: Literal["unknown", "inside", "outside"]
    """unknown: no location has determined the state yet."""
    since: datetime | None = None
    """Time of the crossing, or of the location that first determined the state; absent for an unknown state or time.
    """
    desired_accuracy: Annotated[float, Limits(above=0)] | None = None
    """Required accuracy of fixes near this region in metres (68 % confidence); absent if the region does not set it.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionsState(Message):
    """Retained, QoS 1: for each monitored region, whether the vehicle is inside. Published after each start, and after
    changes, with all changes of ten seconds in one message. Each crossing is published immediately as `region`.
    Locations withheld by privacy do not affect the states.
    """

    KIND: ClassVar[str] = "regions/state"

    time: datetime
    """Time of the message."""
    source: Literal["file", "remote"] | None = None
    """Source of all regions: the file of regions.path, or regions/desired and commands, which replace it. Absent if no
    region is monitored.
    """
    count: Annotated[int, Limits(minimum=0)]
    """Number of monitored regions."""
    omitted: Annotated[int, Limits(minimum=1)] | None = None
    """Number of monitored regions that `regions` does not list; absent if it lists all. At most 200 regions and 16 KiB
    of identifiers are listed: first the regions with the vehicle inside, beginning with the last entered one, and
    then the nearest ones.
    """
    regions: Annotated[tuple[RegionsStateRegion, ...], Limits(longest=200)]
    epoch: Annotated[str, Limits(pattern=r"^[0-9a-f]{16}$")]
    """Identifies the vehicle's store. A new store starts a new epoch."""
    seq: Annotated[int, Limits(minimum=1)]
    """Number of the message. It increases from message to message within an epoch, across all topics; no number is
    used twice. A missing number does not prove a loss: README.md beside this schema gives the reasons.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan(Message):
    """QoS 1: scans of radios together with good fixes, for the fleet's map of beacons. Published only with
    `beacons.share`, never for a position in a privacy zone. A message contains at most eight scans, which were made
    within half an hour. A scan of twenty access points is a message of at most 200 bytes. It has neither `epoch`
    nor `seq`: scans have no order, and identical bytes are duplicates.
    """

    KIND: ClassVar[str] = "scan"

    scans: Annotated[str, Limits(shortest=16, longest=65536)]
    """Sequence of scans. Each starts at a byte boundary; its numbers are packed with the high bits first (width in
    bits in parentheses): seconds since 1970 (32 bits), latitude from -90° and longitude from -180° as shares of
    180° (24) and 360° (25), accuracy of the position in metres at 68 % (5, 1 to 31), number of access points (6)
    and cells (4), the access points, the cells, and then, in the same order, the signal strength of each (5; 0 if
    unknown, else -32 dBm minus twice the number). An access point is its address without the two bits "group" and
    "locally administered", a number of 46 bits. The n numbers ascend and are Elias-Fano coded: l is 46 minus the
    bit length of n - 1 (46 if n is 1). First, for each number, come as many zeros as its upper bits exceed those of
    the previous number, and a one; then, for each, its l lower bits. Each cell starts with a bit that is set if its
    network is that of the previous cell; the first cell lacks this bit. If the bit is not set, the network follows
    (23: a technology of 3 bits with 2 GSM, 3 UMTS, 4 LTE, 5 NR, and country and network code of 10 bits each). The
    number of the cell comes last (40; for GSM the location area code, followed by 16 bits of cell identity).
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusSource(Record):

    name: str
    state: Literal["active", "idle", "unavailable", "finished"]
    rates: dict[str, Annotated[float, Limits(minimum=0)]] | None = None
    """Sample rates in Hz by kind of sensor."""
    reason: str | None = None
    """Reason for the state unavailable, or why an active source delivers less than its hardware could, with the
    remedy.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusLevel(Record):
    """Tilt of the device in the vehicle, measured by the command level. If present, attitude, gravity, accelerations
    and headings are those of the level vehicle; if absent, those of the device.
    """

    tilt: Annotated[float, Limits(minimum=0, maximum=180)]
    """Degrees between the device's face and the vehicle's roof."""
    gravity: tuple[float, float, float]
    """Direction of gravity while the vehicle is level: a unit vector in the device frame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusCompass(Record):
    """Measurement of the magnetometer, and state of its calibration; absent without a magnetometer."""

    magnetic_field: tuple[float, float, float] | None = None
    """Magnetic field in µT, without the part that the calibration attributes to the device's own magnetism. It refers
    to the device frame or, after the command level, to the frame of the level vehicle.
    """
    calibration: Literal["uncalibrated", "low", "medium", "high"] | None = None
    """Quality of the magnetometer's calibration: a heading is correct within 20° (low), 10° (medium) or 5° (high), or
    unknown (uncalibrated).
    """
    calibration_wanted: Literal[True] | None = None
    """True when the magnetometer needs a calibration."""
    calibration_instruction: str | None = None
    """Instruction to the operator for completing the calibration, one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusNavigationMounting(Record):
    """Mounting of the device in the vehicle, rad: rotation from the device's axes to right, forward, up."""

    roll: float
    pitch: float
    yaw: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusNavigation(Record):
    """State of the vehicle's navigation; absent without inertial sensors, or if it is switched off."""

    state: Literal["waiting", "aligning", "aligned"]
    """waiting: cannot start yet. aligning: estimates attitude and mounting from the vehicle's motion. aligned: can
    continue positions without a receiver.
    """
    reason: str | None = None
    """Reason for waiting, and remedy."""
    vehicle: Literal["wheeled", "truck", "boat"] | None = None
    """Kind of motion of the vehicle, by the setting navigation.vehicle. A boat also moves sideways: without a receiver
    its position is less accurate, and the axes of the vehicle are not used.
    """
    position_source: Literal["gnss", "fused", "inertial"] | None = None
    """Current source of positions."""
    horizontal_accuracy: Annotated[float, Limits(minimum=0)] | None = None
    """Metres, 68 % confidence."""
    since_fix: Annotated[float, Limits(minimum=0)] | None = None
    """Seconds since the last accepted position of the receiver."""
    heading: Annotated[float, Limits(minimum=0, maximum=360)] | None = None
    """Direction of the vehicle's front, degrees clockwise from true north."""
    heading_accuracy: Annotated[float, Limits(minimum=0)] | None = None
    """Standard deviation of the heading in degrees."""
    mounting: StatusNavigationMounting | None = None
    """Mounting of the device in the vehicle, rad: rotation from the device's axes to right, forward, up."""
    mounting_accuracy: Annotated[float, Limits(minimum=0)] | None = None
    """Standard deviation of the mounting in degrees: the larger of the two values about the vehicle's right and up
    axes.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusSystem(Record):
    """The operating system."""

    name: str | None = None
    """Display name and version."""
    kernel: str | None = None
    """The kernel's release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusBattery(Record):

    level: Annotated[float, Limits(minimum=0, maximum=1)] | None = None
    """Charge of the battery, from 0 to 1."""
    charging: bool | None = None
    voltage: Annotated[float, Limits(minimum=0, maximum=1000)] | None = None
    """Volts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusStorage(Record):
    """Free and total bytes of the file system with the store."""

    free: Annotated[int, Limits(minimum=0)]
    total: Annotated[int, Limits(minimum=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusMemory(Record):
    """Bytes."""

    resident: Annotated[int, Limits(minimum=0)] | None = None
    """Resident memory of the agent in bytes."""
    available: Annotated[int, Limits(minimum=0)] | None = None
    """Memory in bytes that the machine can allocate without swapping."""
    total: Annotated[int, Limits(minimum=0)] | None = None
    """Memory of the machine in bytes that the kernel can use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyAccount(Record):

    seconds: Annotated[float, Limits(minimum=0)]
    """Seconds switched on."""
    starts: Annotated[int, Limits(minimum=0)]
    """Number of starts."""
    bytes: Annotated[int, Limits(minimum=0)] | None = None
    """Bytes sent and received; absent for parts that do not transmit."""
    joules: Annotated[float, Limits(minimum=0)]
    """Energy in joules, calculated with the configuration keys `energy.*`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusEnergy(Record):
    """Energy of each part of the device since the start of the agent, calculated with the configuration keys
    `energy.*`. Receiver and sensors are counted while the agent has switched them on.
    """

    total: Annotated[float, Limits(minimum=0)]
    """Energy of all parts in joules."""
    receiver: EnergyAccount | None = None
    accelerometer: EnergyAccount | None = None
    gyroscope: EnergyAccount | None = None
    magnetometer: EnergyAccount | None = None
    barometer: EnergyAccount | None = None
    processor: EnergyAccount | None = None
    """Seconds of processor time; `starts` are wakeups."""
    radio: EnergyAccount | None = None
    """The modem or another network device: `seconds` is the time of all bursts, each until the device sleeps again;
    `starts` is their number.
    """
    wifi: EnergyAccount | None = None
    """Scans for access points: `seconds` is their total duration, `starts` their number."""
    cellular: EnergyAccount | None = None
    """Queries of the modem for its cells, in addition to `radio`; `starts` are queries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status(Message):
    """Retained, QoS 1, also the will: presence and state of the agent. A will (`will` true) is written at the start of
    the session and has no epoch and seq. An empty message that is not retained is a test of `odographd check`:
    ignore it.
    """

    KIND: ClassVar[str] = "status"

    RULES: ClassVar[tuple[Rule, ...]] = (
        RequiredWithout("will", ("epoch", "seq")),
    )

    state: Literal["online", "asleep", "offline"]
    """`asleep` ends each burst of a vehicle that connects in bursts. At rest, such a vehicle also stays `asleep`
    during a short burst at `nextContact`.
    """
    time: datetime
    """Time of the message; of a will, start of the session."""
    session_start: datetime
    """Start of the sender's session: distinguishes an old will from a new one."""
    will: Literal[True] | None = None
    """True if the broker sent it on the agent's behalf, because the connection was lost."""
    clock: Literal["receiver", "system", "unsynchronized"] | None = None
    """Source of times: the receiver, the machine's clock if it is synchronised or was set, or the machine's unverified
    clock with possibly wrong times.
    """
    clock_step: float | None = None
    """Seconds by which civil time was last set since the start of the agent, forward or back. Earlier times of
    heading, attitude, motion and status are wrong by this amount; positions have the receiver's time. After a step
    back, messages continue in a new epoch.
    """
    version: str | None = None
    """Version of the agent."""
    uptime: Annotated[float, Limits(minimum=0)] | None = None
    """Seconds since the agent started."""
    sources: tuple[StatusSource, ...] | None = None
    """Present state of the sensor sources."""
    remote: bool | None = None
    """True if the vehicle accepts configuration, regions and commands over MQTT (remote.enabled)."""
    authorization: Literal["notDetermined", "restricted", "denied", "authorized"] | None = None
    """Whether the agent may use locations."""
    services: dict[str, str] | None = None
    """Each location service by name: `available`, or the reason why it is unavailable. A reason that several services
    share is stated once; the others have `see` and the name of that service.
    """
    frames: tuple[str, ...] | None = None
    """Reference frames available with the present sensors, the best first."""
    degraded: dict[str, str] | None = None
    """Services with reduced quality, with reason and remedy."""
    orientation: Literal["portrait", "portraitUpsideDown", "landscapeLeft", "landscapeRight", "faceUp", "faceDown"] | None = None
    """Orientation of the device, by its own axes; absent if unknown."""
    level: StatusLevel | None = None
    """Tilt of the device in the vehicle, measured by the command level. If present, attitude, gravity, accelerations
    and headings are those of the level vehicle; if absent, those of the device.
    """
    compass: StatusCompass | None = None
    """Measurement of the magnetometer, and state of its calibration; absent without a magnetometer."""
    odometer: Annotated[int, Limits(minimum=0)] | None = None
    """Metres travelled, rounded down: the reading of the instrument panel, if set (command set-odometer) or reported
    by the vehicle's own bus (Vehicle.TraveledDistance), else metres since the device was new. Integrates speeds,
    not positions: standstills and jumps add nothing. Decreases only if it is set, or if the vehicle's own odometer
    contradicts it by more than a kilometre. If positions are reported as cells, it is rounded down to kilometres,
    but not below an earlier published reading; if they are withheld, it is that of the last published position.
    Absent if the agent counts no distance.
    """
    odometer_estimated: Annotated[int, Limits(minimum=0)] | None = None
    """Metres of the distance driven with this device that were estimated instead of measured. For each gap in the
    measurements, the estimate uses the positions and speeds before and after it. Absent for less than a metre.
    """
    odometer_disagreement: Annotated[float, Limits(minimum=-1)] | None = None
    """Relative difference between the measured distance and that of the vehicle's own odometer over the last ten
    kilometres, positive if the measured distance is greater. Absent if the two agree within 4 %, and if the CAN bus
    reports no odometer.
    """
    navigation: StatusNavigation | None = None
    """State of the vehicle's navigation; absent without inertial sensors, or if it is switched off."""
    next_contact: datetime | None = None
    """Time of the next planned contact of a sleeping vehicle; absent if only an event wakes it."""
    model: str | None = None
    """Name of the machine from its firmware."""
    system: StatusSystem | None = None
    """The operating system."""
    processors: Annotated[int, Limits(minimum=1)] | None = None
    """Number of processors that are online."""
    battery: StatusBattery | None = None
    external_power: bool | None = None
    """True with power from outside."""
    storage: StatusStorage | None = None
    """Free and total bytes of the file system with the store."""
    memory: StatusMemory | None = None
    """Bytes."""
    temperature: Annotated[float, Limits(minimum=-273.15, maximum=1000)] | None = None
    """Temperature of the hottest measured part in degrees Celsius."""
    store_problem: str | None = None
    """Reason why accepted messages are only in memory; absent while they are safe on the disk."""
    delivery_problem: str | None = None
    """The broker's refusal and its reason; absent if the broker accepts all messages."""
    function_problem: str | None = None
    """Optional functions that cannot use their files, with the reason, for example the recorder on a read-only disk;
    absent if all can.
    """
    counters: dict[str, Annotated[int, Limits(minimum=0)]] | None = None
    """Counts by name, since the start of the agent unless stated otherwise. Some appear only above 0."""
    energy: StatusEnergy | None = None
    """Energy of each part of the device since the start of the agent, calculated with the configuration keys
    `energy.*`. Receiver and sensors are counted while the agent has switched them on.
    """
    epoch: Annotated[str, Limits(pattern=r"^[0-9a-f]{16}$")] | None = None
    """Identifies the vehicle's store. A new store starts a new epoch, and so does setting the clock back."""
    seq: Annotated[int, Limits(minimum=1)] | None = None
    """Number of the message. It increases from message to message within an epoch, across all topics; no number is
    used twice. A missing number does not prove a loss: README.md beside this schema gives the reasons.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class TracePiece(Message):
    """QoS 1: a part of a trace. All parts in order of their numbers are the trace, with the size and checksum from
    `trace`: a file in zlib's format (RFC 1950), readable with `odograph trace`. A repeated piece has the same
    bytes.
    """

    KIND: ClassVar[str] = "trace/piece"

    time: datetime
    """Time at which the piece was made."""
    series: Annotated[str, Limits(pattern=r"^[0-9a-f]{16}$")]
    """Series of the trace, as in `trace`."""
    number: Annotated[int, Limits(minimum=1)]
    """Number of the trace within its series."""
    piece: Annotated[int, Limits(minimum=1)]
    """Number of this piece, from 1."""
    pieces: Annotated[int, Limits(minimum=1)]
    """Number of pieces."""
    bytes: Annotated[str, Limits(pattern=r"^[A-Za-z0-9+/]*={0,2}$", longest=21848)]
    """At most 16,384 bytes of the trace in Base64 (RFC 4648)."""
    epoch: Annotated[str, Limits(pattern=r"^[0-9a-f]{16}$")]
    """Identifies the vehicle's store. A new store starts a new epoch."""
    seq: Annotated[int, Limits(minimum=1)]
    """Number of the message. It increases from message to message within an epoch, across all topics; no number is
    used twice. A missing number does not prove a loss: README.md beside this schema gives the reasons.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceImpactRest(Record):
    """Position and time of the standstill after the impact; absent until then."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        RequiredWith("latitude", ("longitude",)),
        RequiredWith("longitude", ("latitude",)),
    )

    time: datetime | None = None
    latitude: Annotated[float, Limits(minimum=-90, maximum=90)] | None = None
    """Degrees north, WGS 84; absent if unknown or private."""
    longitude: Annotated[float, Limits(minimum=-180, maximum=180)] | None = None
    """Degrees east."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceImpact(Record):
    """Effect of the impact on the vehicle; absent for other causes."""

    severity: Literal["light", "moderate", "severe"]
    """Class by the change of horizontal velocity: light from 8 km/h on, moderate from 16 km/h, severe from 40 km/h.
    """
    speed_before: Annotated[float, Limits(minimum=0, maximum=10000)] | None = None
    """Speed in m/s before the impact; absent if unknown."""
    change_of_velocity: tuple[float, float, float]
    """Change of velocity in m/s, as components to the right, forward and up."""
    frame: Literal["vehicle", "device"]
    """Frame of right, forward, up: that of the device while its mounting is unknown."""
    direction: Annotated[float, Limits(minimum=0, maximum=360)]
    """Direction from which the force came, in degrees clockwise from the front; in the device frame, from its y axis.
    """
    peak: Annotated[float, Limits(minimum=0)]
    """Largest horizontal acceleration in m/s², as a mean over 10 ms."""
    clipped: Literal[True] | None = None
    """True if the accelerometer reached the limit of its range, so that the real values are greater. Detected only if
    its driver reports the limit and its axes are those of the device.
    """
    duration: Annotated[float, Limits(minimum=0, maximum=60)]
    """Duration of the pulse in seconds."""
    largest_tilt: Annotated[float, Limits(minimum=0, maximum=180)]
    """Largest tilt so far in degrees of the vehicle's upward axis, compared with before the impact."""
    rolled_over: Literal[True] | None = None
    """True if the vehicle lay on its side or roof."""
    rest: TraceImpactRest | None = None
    """Position and time of the standstill after the impact; absent until then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace(Message):
    """QoS 1: announces a trace, the samples of all sensors at full rate around an impact or a requested time
    (command/trace), and describes the impact. Published before the pieces (`trace/piece`). Of the messages about
    one trace (vehicle, series, number), use the one with the greatest revision.
    """

    KIND: ClassVar[str] = "trace"

    RULES: ClassVar[tuple[Rule, ...]] = (
        RequiredWith("latitude", ("longitude",)),
        RequiredWith("longitude", ("latitude",)),
        RequiredWith("size", ("pieces", "checksum")),
        RequiredWith("pieces", ("size", "checksum")),
        RequiredWith("checksum", ("size", "pieces")),
    )

    time: datetime
    """Time of the impact, or the requested time."""
    series: Annotated[str, Limits(pattern=r"^[0-9a-f]{16}$")]
    """Identifies the numbering of the vehicle's traces. If the folder with its count is new, the vehicle starts a new
    series.
    """
    number: Annotated[int, Limits(minimum=1)]
    """Number of the trace within its series; trips and events have their own numbers."""
    revision: Annotated[int, Limits(minimum=1)]
    """Counter of the messages about a trace: each has a greater revision than the one before."""
    cause: Annotated[str, Limits(shortest=1)]
    """impact: an impact was detected; command: a command requested the trace. Others may follow."""
    state: Literal["recording", "complete", "interrupted"]
    """recording: the trace has not reached its end yet. complete: it has. interrupted: the agent, its power or its
    sensors stopped before the end. If complete or interrupted, `size`, `pieces` and `checksum` describe the
    existing bytes.
    """
    before: Annotated[float, Limits(minimum=0, maximum=86400)]
    """Seconds of the trace before `time`, as far as they were in memory."""
    after: Annotated[float, Limits(minimum=0, maximum=86400)]
    """Seconds of the trace after `time`; while the state is recording, the planned number."""
    size: Annotated[int, Limits(minimum=0)] | None = None
    """Bytes of all pieces together."""
    pieces: Annotated[int, Limits(minimum=1)] | None = None
    """Number of pieces."""
    checksum: Annotated[str, Limits(pattern=r"^[0-9a-f]{8}$")] | None = None
    """CRC-32 (ISO 3309) of all pieces together."""
    latitude: Annotated[float, Limits(minimum=-90, maximum=90)] | None = None
    """Degrees north, WGS 84, from the newest position: at most ten seconds before or after `time`, or older if the
    vehicle has not moved since; absent if unknown or private.
    """
    longitude: Annotated[float, Limits(minimum=-180, maximum=180)] | None = None
    """Degrees east."""
    horizontal_accuracy: Annotated[float, Limits(minimum=0, maximum=100000000)] | None = None
    """Metres, 68 % confidence."""
    impact: TraceImpact | None = None
    """Effect of the impact on the vehicle; absent for other causes."""
    epoch: Annotated[str, Limits(pattern=r"^[0-9a-f]{16}$")]
    """Identifies the vehicle's store. A new store starts a new epoch."""
    seq: Annotated[int, Limits(minimum=1)]
    """Number of the message. It increases from message to message within an epoch, across all topics; no number is
    used twice. A missing number does not prove a loss: README.md beside this schema gives the reasons.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Track(Message):
    """QoS 1: a deferred batch of fixes in order of time: all of them, or a selection with the error `bound`."""

    KIND: ClassVar[str] = "track"

    time: datetime
    """Time of the first fix; `times` count from it."""
    count: Annotated[int, Limits(minimum=0, maximum=100000)]
    """Number of fixes."""
    precision: Annotated[int, Limits(minimum=1, maximum=8)]
    """Decimals of a degree in `points`."""
    bound: Annotated[float, Limits(minimum=0, maximum=100000000)] | None = None
    """Maximum distance in metres between an omitted fix and the position interpolated for its time from its neighbours
    in the track; absent if no fix was omitted.
    """
    correction: Literal[True] | None = None
    """True if it corrects locations of the same times that were published while the receiver had no fix
    (positionSource inertial), now that the receiver has one again; absent otherwise.
    """
    odometer: Annotated[int, Limits(minimum=0)] | None = None
    """Metres travelled at the last fix, rounded down: the reading of the instrument panel, if set (command
    set-odometer) or reported by the vehicle's own bus (Vehicle.TraveledDistance), else metres since the device was
    new. Integrates speeds, not positions: standstills and jumps add nothing. Decreases only if it is set, or if the
    vehicle's own odometer contradicts it by more than a kilometre. Absent if the agent counts no distance, and if
    positions are blurred.
    """
    odometer_estimated: Annotated[int, Limits(minimum=0)] | None = None
    """Metres of the distance driven with this device that were estimated instead of measured. For each gap in the
    measurements, the estimate uses the positions and speeds before and after it. Absent for less than a metre.
    """
    points: Annotated[str, Limits(pattern=r"^[?-~]*$")]
    """Google's encoded polyline with `precision` decimals."""
    times: Annotated[str, Limits(pattern=r"^[?-~]*$")]
    """Milliseconds since `time`, as differences of differences in the polyline's number format."""
    accuracies: Annotated[str, Limits(pattern=r"^[?-~]*$")] | None = None
    """Horizontal accuracies in decimetres plus one, 0 if unknown, as differences in the polyline's number format.
    """
    altitudes: Annotated[str, Limits(pattern=r"^[?-~]*$")] | None = None
    """Altitudes above mean sea level in decimetres, plus 100,001; 0 if unknown. They are coded as differences in the
    polyline's number format; absent if no altitude is known.
    """
    speeds: Annotated[str, Limits(pattern=r"^[?-~]*$")] | None = None
    """Speeds over ground in cm/s plus one, 0 if unknown, as differences in the polyline's number format; absent if no
    speed is known.
    """
    epoch: Annotated[str, Limits(pattern=r"^[0-9a-f]{16}$")]
    """Identifies the vehicle's store. A new store starts a new epoch."""
    seq: Annotated[int, Limits(minimum=1)]
    """Number of the message. It increases from message to message within an epoch, across all topics; no number is
    used twice. A missing number does not prove a loss: README.md beside this schema gives the reasons.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class TripStart(Record):
    """Position and time of the first motion, or of switching the ignition on before it."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        RequiredWith("latitude", ("longitude",)),
        RequiredWith("longitude", ("latitude",)),
    )

    time: datetime
    latitude: Annotated[float, Limits(minimum=-90, maximum=90)] | None = None
    """Degrees north, WGS 84; absent if unknown or private."""
    longitude: Annotated[float, Limits(minimum=-180, maximum=180)] | None = None
    """Degrees east."""
    horizontal_accuracy: Annotated[float, Limits(minimum=0, maximum=100000000)] | None = None
    """Metres, 68 % confidence."""
    odometer: Annotated[float, Limits(minimum=0, maximum=100000000000)] | None = None
    """Metres; absent if private."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TripEnd(Record):
    """Position and time of the standstill that ended the trip, or of switching the ignition off, if later. During the
    trip, the newest position.
    """

    RULES: ClassVar[tuple[Rule, ...]] = (
        RequiredWith("latitude", ("longitude",)),
        RequiredWith("longitude", ("latitude",)),
    )

    time: datetime
    latitude: Annotated[float, Limits(minimum=-90, maximum=90)] | None = None
    """Degrees north, WGS 84; absent if unknown or private."""
    longitude: Annotated[float, Limits(minimum=-180, maximum=180)] | None = None
    """Degrees east."""
    horizontal_accuracy: Annotated[float, Limits(minimum=0, maximum=100000000)] | None = None
    """Metres, 68 % confidence."""
    odometer: Annotated[float, Limits(minimum=0, maximum=100000000000)] | None = None
    """Metres; absent if private."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TripWay(Record):
    """The simplified route; absent if private."""

    time: datetime
    """Time of the first position."""
    count: Annotated[int, Limits(minimum=1, maximum=100000)]
    precision: Annotated[int, Limits(minimum=1, maximum=8)]
    """Decimals of a degree in `points`."""
    bound: Annotated[float, Limits(minimum=0, maximum=100000000)] | None = None
    """Maximum distance in metres between an omitted position and the route; absent if none was omitted."""
    points: str
    """Google's encoded polyline with `precision` decimals."""
    times: str
    """Milliseconds since `time`, as differences of differences in the polyline's number format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trip(Message):
    """QoS 1: a trip, published at its start, at intervals, and at its end. Of the messages of one trip (vehicle,
    series, number), use the one with the greatest revision, regardless of their order. Every metre of the odometer
    belongs to one trip.
    """

    KIND: ClassVar[str] = "trip"

    time: datetime
    """Time of the trip's end; during the trip, of the newest position."""
    series: Annotated[str, Limits(pattern=r"^[0-9a-f]{16}$")]
    """Identifies the numbering of the vehicle's trips and events. If the file with its counts is new, the vehicle
    starts a new series.
    """
    number: Annotated[int, Limits(minimum=1)]
    """Number of the trip within its series."""
    revision: Annotated[int, Limits(minimum=1)]
    """Counter of the messages about a trip: each has a greater revision than the one before."""
    phase: Literal["started", "underway", "ended"]
    kind: Annotated[str, Limits(shortest=1)]
    """driven: under its own power. carried: on a ferry, a train or a tow truck. unobserved: while the agent or the
    device was off. Others may follow.
    """
    start: TripStart
    """Position and time of the first motion, or of switching the ignition on before it."""
    end: TripEnd
    """Position and time of the standstill that ended the trip, or of switching the ignition off, if later. During the
    trip, the newest position.
    """
    distance: Annotated[float, Limits(minimum=0, maximum=100000000000)]
    """Distance in metres by the odometer."""
    estimated: Annotated[float, Limits(minimum=0, maximum=100000000000)] | None = None
    """Metres of the distance that were estimated, not measured; absent if none."""
    moving: Annotated[float, Limits(minimum=0)]
    """Seconds in motion."""
    standing: Annotated[float, Limits(minimum=0)]
    """Seconds at standstill within the trip."""
    idling: Annotated[float, Limits(minimum=0)] | None = None
    """Seconds at standstill with the ignition on; absent if unknown."""
    greatest_speed: Annotated[float, Limits(minimum=0, maximum=10000)] | None = None
    """Maximum speed in m/s; absent before any motion."""
    mean_speed: Annotated[float, Limits(minimum=0, maximum=10000)] | None = None
    """Mean speed in motion in m/s."""
    fuel: Annotated[float, Limits(minimum=0)] | None = None
    """Consumed fuel in litres, from the vehicle's own data; absent if it reports none."""
    electricity: float | None = None
    """Consumed energy in kWh, from the vehicle's own data; negative if more was recovered; absent if it reports none.
    """
    events: dict[str, Annotated[int, Limits(minimum=1)]] | None = None
    """Number of driving events of each kind; absent if there were none."""
    driver: Annotated[str, Limits(shortest=1)] | None = None
    """From the command set-trip; absent if not set."""
    purpose: Annotated[str, Limits(shortest=1)] | None = None
    """From the command set-trip; absent if not set."""
    way: TripWay | None = None
    """The simplified route; absent if private."""
    epoch: Annotated[str, Limits(pattern=r"^[0-9a-f]{16}$")]
    """Identifies the vehicle's store. A new store starts a new epoch."""
    seq: Annotated[int, Limits(minimum=1)]
    """Number of the message. It increases from message to message within an epoch, across all topics; no number is
    used twice. A missing number does not prove a loss: README.md beside this schema gives the reasons.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class VehicleSignal(Record):

    value: bool | float | str
    time: datetime
    """Time at which the signal had this value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vehicle(Message):
    """QoS 1, retained: the newest value of each configured signal (`can.signals`) of the vehicle's own bus. Published
    every `can.interval` seconds while the bus is active, and within a second after a change of state.
    """

    KIND: ClassVar[str] = "vehicle"

    time: datetime
    """Time of the newest signal."""
    signals: Annotated[dict[str, VehicleSignal], Limits(longest=1024, keys=r"^Vehicle(\.[A-Za-z0-9_]+)+$")]
    """Values by path of the COVESA Vehicle Signal Specification (release 4), in its units: km/h, km, rpm, V, percent,
    celsius, l/h, s. Signals without a valid value are omitted.
    """
    epoch: Annotated[str, Limits(pattern=r"^[0-9a-f]{16}$")]
    """Identifies the vehicle's store. A new store starts a new epoch."""
    seq: Annotated[int, Limits(minimum=1)]
    """Number of the message. It increases from message to message within an epoch, across all topics; no number is
    used twice. A missing number does not prove a loss: README.md beside this schema gives the reasons.
    """


ALL: tuple[type[Message], ...] = (
    Altitude,
    Attitude,
    BeaconsPiece,
    BeaconsWanted,
    CommandRequest,
    CommandResponse,
    ConfigDesired,
    ConfigReported,
    DrivingEvent,
    Heading,
    LocationEvent,
    Location,
    Motion,
    Region,
    RegionsDesired,
    RegionsReported,
    RegionsState,
    Scan,
    Status,
    TracePiece,
    Trace,
    Track,
    Trip,
    Vehicle,
)
"""The class of each kind."""
