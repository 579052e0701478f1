"""Reads recordings of `odograph record` and its Parquet exports into pandas.

Requires pandas, and pyarrow for Parquet: pip install 'odograph[recordings]'.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import sqlite3
import types
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

_APPLICATION = 0x6F646F67
"""Application identifier of a recording: "odog"."""
_OLDEST = 5
"""Oldest readable version of a recording; from it on it has trips and driving events."""
_POSITIONS = ["fleet", "vehicle", "time", "latitude", "longitude", "altitude", "accuracy", "speed", "course", "source"]

Path = str | os.PathLike[str]


class RecordingError(Exception):
    """A recording that cannot be read."""


def read_positions(
    recording: Path,
    *,
    fleet: str | None = None,
    vehicle: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
) -> pandas.DataFrame:
    """Returns the positions of an SQLite recording, a Parquet folder or a Parquet file, sorted by fleet, vehicle and time.

    Selects a fleet, a vehicle, and times from `start` on and before `end`. Columns: fleet, vehicle, time (UTC),
    latitude, longitude (degrees, WGS 84), altitude, accuracy (m), speed (m/s), course (degrees) and source: "location",
    "track", "coarse" for a position from radio transmitters, or "suspect" for one that another measurement contradicts.
    A time of a vehicle occurs once; positions of `location` messages precede those of tracks.
    """
    pd = _pandas()
    path = pathlib.Path(recording)
    if path.is_dir() or path.suffix == ".parquet":
        rows = _read_parquet(pd, path, fleet, vehicle, start, end)
    else:
        rows = _read_sqlite(
            path, _POSITIONS, "positions", "fleet, vehicle, time, source = 'track'", "time", fleet, vehicle, start, end
        )
    rows["time"] = rows["time"].astype("datetime64[ms, UTC]")
    rows = rows.drop_duplicates(["fleet", "vehicle", "time"])
    return rows.sort_values(["fleet", "vehicle", "time"], ignore_index=True)


def read_trips(
    recording: Path,
    *,
    fleet: str | None = None,
    vehicle: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
) -> pandas.DataFrame:
    """Returns the trips of an SQLite recording that began in an interval, one row each, sorted by fleet, vehicle and time.

    Columns as in Config/database/README.md. `payload` is the message, for `Trip.decode`.
    """
    return _read_sqlite(
        pathlib.Path(recording), None, "trips", "fleet, vehicle, start_time, number", "start_time", fleet, vehicle, start, end
    )


def read_driving_events(
    recording: Path,
    *,
    fleet: str | None = None,
    vehicle: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
) -> pandas.DataFrame:
    """Returns the driving events of an SQLite recording, one row each, sorted by fleet, vehicle and time.

    Columns as in Config/database/README.md. `payload` is the message, for `DrivingEvent.decode`.
    """
    return _read_sqlite(
        pathlib.Path(recording), None, "driving_events", "fleet, vehicle, time, number", "time", fleet, vehicle, start, end
    )


def read_messages(
    recording: Path,
    kind: str,
    *,
    fleet: str | None = None,
    vehicle: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
) -> pandas.DataFrame:
    """Returns the messages of one kind of an SQLite recording, sorted by fleet, vehicle and time.

    Columns: fleet, vehicle, time, received, topic, epoch, seq and `payload`, the message for the `decode` of its class.
    """
    columns = ["fleet", "vehicle", "time", "received", "topic", "epoch", "seq", "payload"]
    return _read_sqlite(
        pathlib.Path(recording), columns, "messages", "fleet, vehicle, time, seq", "time", fleet, vehicle, start, end, kind
    )


def _pandas() -> types.ModuleType:
    try:
        import pandas
    except ImportError as error:
        raise ImportError(f"recordings require pandas: pip install 'odograph[recordings]' ({error})") from error
    return pandas


def _milliseconds(time: datetime) -> int:
    """Milliseconds since 1970, rounded up, as stored times have whole ones."""
    return -((datetime.fromtimestamp(0, UTC) - time) // timedelta(milliseconds=1))


def _aware(name: str, time: datetime | None) -> datetime | None:
    if time is not None and time.tzinfo is None:
        raise ValueError(f"{name} has no time zone: {time.isoformat()}")
    return time


def _read_parquet(
    pd: Any, path: pathlib.Path, fleet: str | None, vehicle: str | None, start: datetime | None, end: datetime | None
) -> pandas.DataFrame:
    filters: list[tuple[str, str, object]] = []
    if fleet is not None:
        filters.append(("fleet", "==", fleet))
    if vehicle is not None:
        filters.append(("vehicle", "==", vehicle))
    if (start := _aware("start", start)) is not None:
        filters.append(("time", ">=", start))
    if (end := _aware("end", end)) is not None:
        filters.append(("time", "<", end))
    try:
        rows: pandas.DataFrame = pd.read_parquet(path, engine="pyarrow", filters=filters or None)
    except ImportError as error:
        raise ImportError(f"Parquet requires pyarrow: pip install 'odograph[recordings]' ({error})") from error
    except (OSError, ValueError) as error:
        raise RecordingError(f"{path}: {error}") from error
    if missing := [name for name in _POSITIONS if name not in rows.columns]:
        raise RecordingError(f"{path}: not an export of odograph: no column {missing[0]}")
    # Also without the day, which is a partition.
    return rows[_POSITIONS].copy()


def _read_sqlite(
    path: pathlib.Path,
    columns: list[str] | None,
    table: str,
    order: str,
    time: str,
    fleet: str | None,
    vehicle: str | None,
    start: datetime | None,
    end: datetime | None,
    kind: str | None = None,
) -> pandas.DataFrame:
    pd = _pandas()
    values: dict[str, str | int] = {}
    conditions = ["fleet IS NOT NULL", "vehicle IS NOT NULL"]
    for name, text in (("fleet", fleet), ("vehicle", vehicle), ("kind", kind)):
        if text is not None:
            conditions.append(f"{name} = :{name}")
            values[name] = text
    for name, sign, limit in (("start", ">=", _aware("start", start)), ("end", "<", _aware("end", end))):
        if limit is not None:
            conditions.append(f"{time} {sign} :{name}")
            values[name] = _milliseconds(limit)
    query = f"SELECT {', '.join(columns or ['*'])} FROM {table} WHERE {' AND '.join(conditions)} ORDER BY {order}"
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            _check(database, path)
            rows: pandas.DataFrame = pd.read_sql_query(query, database, params=values)
    except (sqlite3.Error, pd.errors.DatabaseError) as error:
        raise RecordingError(f"{path}: {error}") from error
    for name in rows.columns.intersection(["time", "received", "start_time", "end_time"]):
        rows[name] = pd.to_datetime(rows[name], unit="ms", utc=True).astype("datetime64[ms, UTC]")
    return rows


def _check(database: sqlite3.Connection, path: pathlib.Path) -> None:
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION:
        raise RecordingError(f"{path}: not a recording of odograph")
    if version < _OLDEST:
        raise RecordingError(f"{path}: recording of version {version}; upgrade it with: odograph record --prepare {path}")
