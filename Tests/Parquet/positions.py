#!/usr/bin/env python3
"""Reads the folder of `odograph export --format parquet` with pandas, pyarrow, geopandas and DuckDB, and compares all
values with the JSON lines of the same recording.

usage: positions.py FOLDER LINES
Prints "rows,N", "days,N" and "left out,N" (row groups that a filter by time did not read); differences go to standard
error, with status 1."""

import datetime
import json
import pathlib
import sys
import urllib.parse

import duckdb
import geopandas
import pandas
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

NAMES = ["fleet", "vehicle", "time", "latitude", "longitude", "altitude", "accuracy", "speed", "course", "source"]


def line(text):
    record = json.loads(text)
    record["accuracy"] = record.pop("horizontalAccuracy", None)
    record["time"] = datetime.datetime.fromisoformat(record["time"])
    return tuple(record.get(name) for name in NAMES)


def value_of(cell):
    """Converts a cell of pandas to a Python value."""
    return cell.to_pydatetime() if isinstance(cell, pandas.Timestamp) else cell


def rounded(row):
    """Rounds a value to the decimals of JSON lines; Parquet contains the exact recorded value."""
    decimals = {"latitude": 9, "longitude": 9, "altitude": 3, "accuracy": 3, "speed": 3, "course": 3}
    return tuple(
        round(value, decimals[name]) if name in decimals and value is not None else value for name, value in zip(NAMES, row)
    )


def main():
    folder, lines = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    expected = sorted(map(rounded, map(line, lines.read_text().splitlines())), key=str)
    faults = []

    dataset = ds.dataset(folder, partitioning="hive")
    table = dataset.to_table()
    rows = sorted((rounded(row[name] for name in NAMES) for row in table.to_pylist()), key=str)
    if rows != expected:
        faults.append(f"pyarrow reads {len(rows)} other rows than the {len(expected)} JSON lines")
    if any(row["date"] != row["time"].date().isoformat() for row in table.select(["date", "time"]).to_pylist()):
        faults.append("a row lies in the folder of another day")
    if {name: str(table.schema.field(name).type) for name in ("date", "fleet")} != {"date": "string", "fleet": "string"}:
        faults.append(f"pyarrow's partition columns are {table.schema}")
    # Each folder has one day of one fleet. The name of the fleet is text, even if it looks like a number.
    typed = ds.dataset(folder, partitioning=ds.partitioning(pa.schema([("date", pa.date32())]), flavor="hive"))
    for fragment in typed.get_fragments():
        day = ds.get_partition_keys(fragment.partition_expression)["date"]
        name = pathlib.PurePath(fragment.path).parent.name
        for row in fragment.to_table(columns=["fleet", "time"]).to_pylist():
            if row["time"].date() != day or urllib.parse.unquote(name) != "fleet-" + row["fleet"]:
                faults.append(f"{fragment.path} has a row of {row}")
                break
    for fleet in {row[0] for row in expected}:
        if typed.count_rows(filter=ds.field("fleet") == fleet) != sum(row[0] == fleet for row in expected):
            faults.append(f"pyarrow has other rows of the fleet {fleet}")

    # Reads the whole folder in one call.
    whole = pq.read_table(folder)
    if sorted((rounded(row[name] for name in NAMES) for row in whole.to_pylist()), key=str) != expected:
        faults.append(f"pyarrow.parquet reads {whole.num_rows} other rows")
    frame = pandas.read_parquet(folder)
    # pandas represents an empty cell as NaN.
    found = frame[NAMES].astype(object).where(frame[NAMES].notna(), None).itertuples(index=False, name=None)
    if sorted((rounded(value_of(cell) for cell in row) for row in found), key=str) != expected:
        faults.append(f"pandas reads {len(frame)} other rows")
    if set(frame["date"].astype(str)) != {row[2].date().isoformat() for row in expected}:
        faults.append("pandas has other days")
    points = geopandas.GeoDataFrame(
        frame, geometry=geopandas.points_from_xy(frame.longitude, frame.latitude), crs="EPSG:4326"
    )
    west, south, east, north = points.total_bounds
    longitudes, latitudes = [row[4] for row in expected], [row[3] for row in expected]
    bounds = (min(longitudes), min(latitudes), max(longitudes), max(latitudes))
    if any(abs(found - wanted) > 1e-8 for found, wanted in zip((west, south, east, north), bounds)):
        faults.append(f"geopandas has the bounds {points.total_bounds}")

    pattern = f"{folder}/*/*/*.parquet"
    columns = ", ".join("epoch_ms(time)" if name == "time" else name for name in NAMES)
    read = duckdb.execute(f"SELECT {columns} FROM read_parquet('{pattern}') ORDER BY date, vehicle").fetchall()
    milliseconds = lambda time: round(time.timestamp() * 1000)  # noqa: E731
    wanted = sorted((row[:2] + (milliseconds(row[2]),) + row[3:] for row in expected), key=str)
    if sorted(map(rounded, read), key=str) != wanted:
        faults.append(f"DuckDB reads {len(read)} other rows")
    for day, count in duckdb.execute(f"SELECT date, count(*) FROM read_parquet('{pattern}') GROUP BY date").fetchall():
        if count != sum(row[2].date() == day for row in expected):
            faults.append(f"DuckDB has {count} rows of {day}")

    for date, fleet in duckdb.execute(
        f"SELECT DISTINCT typeof(date), typeof(fleet) FROM read_parquet('{pattern}', hive_partitioning = true)"
    ).fetchall():
        if (date, fleet) != ("DATE", "VARCHAR"):
            faults.append(f"DuckDB's partition columns are {date} and {fleet}")
    for fleet, count in duckdb.execute(
        f"SELECT fleet, count(*) FROM read_parquet('{pattern}', hive_partitioning = true) GROUP BY fleet"
    ).fetchall():
        if count != sum(row[0] == fleet for row in expected):
            faults.append(f"DuckDB has {count} rows of the fleet {fleet}")

    # A filter by time skips row groups outside of its bounds.
    times = sorted(row[2] for row in expected)
    limit = times[len(times) // 2]
    if dataset.count_rows(filter=ds.field("time") >= limit) != sum(time >= limit for time in times):
        faults.append("pyarrow's filter by time finds other rows")
    never = times[-1] + datetime.timedelta(days=1)
    left_out = 0
    for fragment in dataset.get_fragments():
        groups = pq.ParquetFile(fragment.path).metadata.num_row_groups
        left_out += groups - len(fragment.split_by_row_group(ds.field("time") > never))
        if fragment.split_by_row_group(ds.field("time") > never):
            faults.append(f"{fragment.path}: nothing is left out by the time")
    print(f"rows,{len(rows)}\ndays,{len(set(row[2].date() for row in expected))}\nleft out,{left_out}")
    for fault in faults:
        print(fault, file=sys.stderr)
    sys.exit(1 if faults or not rows else 0)


main()
