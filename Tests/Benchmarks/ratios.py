#!/usr/bin/env python3
"""Compares measured ratios with a table.

usage: ratios.py TABLE FOLDER

TABLE has the columns benchmark, pair, ratio, tolerance. A ratio is the project's speed divided by that of its peer in the same
run, so a higher ratio is better. FOLDER has one file per benchmark with the CSV that it printed. A pair fails if its ratio is
below that of the table by more than the tolerance, which is a share of the table's ratio. A pair of the table that its
benchmark did not measure fails, too.
"""
import csv
import pathlib
import statistics
import sys


def rows(path):
    """Yields the rows of a benchmark's output; a line with column names starts a new table."""
    header = None
    for row in csv.reader(path.read_text().splitlines()):
        if header is None or not any(any(c.isdigit() for c in cell) for cell in row):
            header = row
        else:
            yield dict(zip(header, row))


def medians(table, key, value):
    groups = {}
    for row in table:
        groups.setdefault(tuple(row[k] for k in key), []).append(float(row[value]))
    return {group: statistics.median(values) for group, values in groups.items()}


def drain(table):
    speeds = medians([row for row in table if "publisher" in row], ["publisher", "window"], "messages_per_second")
    for (publisher, window), speed in speeds.items():
        if publisher != "minimal-c":
            yield f"{publisher}, window {window}", speed / speeds["minimal-c", window]


def readers(table):
    speeds = medians(table, ["case", "reader"], "messages_per_second")
    for (case, reader), speed in speeds.items():
        if reader.startswith("odograph"):
            peer = "minimal-c" if case == "record" else "mosquitto_sub"
            yield f"{case}, {reader.removeprefix('odograph-')}", speed / speeds[case, peer]


def guard(table):
    for row in table:
        yield f"guard, {row['load']}", 1 / float(row["ratio"])


def regions(table):
    speeds = medians(table, ["engine", "count"], "checks_per_second")
    for (engine, count), speed in speeds.items():
        if engine == "odograph" and ("geos", count) in speeds:
            yield f"{count} regions", speed / speeds["geos", count]


BENCHMARKS = {"drain": drain, "record": readers, "tail": readers, "stats": readers, "guard": guard, "regions": regions}


def main(table, folder):
    with open(table, newline="") as file:
        table = list(csv.DictReader(file))
    stated = {row["pair"]: (float(row["ratio"]), float(row["tolerance"])) for row in table}
    failed = []
    print(f"{'pair':<58} {'measured':>8} {'stated':>8} {'least':>8}")
    for path in sorted(pathlib.Path(folder).iterdir()):
        measured = dict(BENCHMARKS[path.name](list(rows(path))))
        for row in table:
            if row["benchmark"] == path.name and row["pair"] not in measured:
                failed.append(f"{row['pair']}: not measured")
        for pair, ratio in measured.items():
            if pair not in stated:
                failed.append(f"{pair}: the table has no such pair; add it")
                print(f"{pair:<58} {ratio:>8.2f}")
                continue
            least = stated[pair][0] * (1 - stated[pair][1])
            print(f"{pair:<58} {ratio:>8.2f} {stated[pair][0]:>8.2f} {least:>8.2f}")
            if not ratio >= least:
                failed.append(f"{pair}: {ratio:.2f} is lower than {least:.2f}")
    for text in failed:
        print(f"benchmarks: {text}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        print("usage: ratios.py TABLE FOLDER", file=sys.stderr)
        sys.exit(64)
    sys.exit(main(*sys.argv[1:]))
