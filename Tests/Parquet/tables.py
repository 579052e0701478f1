#!/usr/bin/env python3
"""Reads Parquet files with pyarrow and with DuckDB, and compares every value and every bound in the footer with the
written values.

usage: tables.py FOLDER   for each N.json in it, N.parquet: {"columns": [{"name", "type", "isOptional", "values"}]}, where a
                          double is its 64 bits in hexadecimal, a time milliseconds since 1970, text itself.
Prints "tables,N" and "values,N"; differences go to standard error, with status 1."""

import json
import math
import pathlib
import struct
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

# The footer contains no bounds of longer texts.
LONGEST_BOUND = 1024
TYPES = {"double": pa.float64(), "time": pa.timestamp("ms", tz="UTC"), "text": pa.string()}


def expected(column):
    values = column["values"]
    if column["type"] == "double":
        return [None if value is None else struct.unpack(">d", bytes.fromhex(value))[0] for value in values]
    return values


def bits(value):
    """True for the same value: -0.0 differs from 0.0, and all NaN are equal."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else struct.pack(">d", value)
    return value


def same(left, right):
    return list(map(bits, left)) == list(map(bits, right))


def bounds(metadata, index, column, values):
    """Compares the statistics of a column in the footer with its values, for each row group."""
    start = 0
    for group in range(metadata.num_row_groups):
        chunk = metadata.row_group(group).column(index)
        part = values[start : start + metadata.row_group(group).num_rows]
        start += len(part)
        statistics = chunk.statistics
        known = [value for value in part if value is not None and not (isinstance(value, float) and math.isnan(value))]
        if statistics.null_count != part.count(None):
            yield f"group {group}, {column['name']}: {statistics.null_count} nulls in place of {part.count(None)}"
        known = [value.encode() for value in known] if column["type"] == "text" else known
        if not known or column["type"] == "text" and max(len(min(known)), len(max(known))) > LONGEST_BOUND:
            if statistics.has_min_max:
                yield f"group {group}, {column['name']}: bounds that there should not be"
            continue
        found = (statistics.min_raw, statistics.max_raw)
        found = tuple(value.encode() if isinstance(value, str) else value for value in found)
        if not statistics.has_min_max or found != (min(known), max(known)):
            yield f"group {group}, {column['name']}: bounds {found} in place of {(min(known), max(known))}"


def check(path):
    columns = json.loads(path.read_text())["columns"]
    file = path.with_suffix(".parquet")
    table = pq.read_table(file, partitioning=None)
    metadata = pq.ParquetFile(file).metadata
    if table.column_names != [column["name"] for column in columns]:
        yield f"columns {table.column_names}"
        return
    for index, column in enumerate(columns):
        name, values = column["name"], expected(column)
        field = table.schema.field(name)
        if field.type != TYPES[column["type"]] or field.nullable != column["isOptional"]:
            yield f"{name} is {field}"
        array = table.column(name)
        read = (array.cast(pa.int64()) if column["type"] == "time" else array).to_pylist()
        if not same(read, values):
            yield f"{name}: pyarrow reads other values"
        quoted = '"' + name.replace('"', '""') + '"'
        what = f"epoch_ms({quoted})" if column["type"] == "time" else quoted
        rows = duckdb.execute(f"SELECT {what} FROM read_parquet(?, hive_partitioning = false)", [str(file)]).fetchall()
        if not same([row[0] for row in rows], values):
            yield f"{name}: DuckDB reads other values"
        yield from bounds(metadata, index, column, values)


def main():
    tables, values, faults = 0, 0, []
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
        tables += 1
        values += sum(len(column["values"]) for column in json.loads(path.read_text())["columns"])
        faults += [f"{path.name}: {fault}" for fault in check(path)]
    print(f"tables,{tables}\nvalues,{values}")
    for fault in faults[:30]:
        print(fault[:300], file=sys.stderr)
    sys.exit(1 if faults or not tables else 0)


main()
