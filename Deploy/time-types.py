#!/usr/bin/env python3
"""Finds times that are declared as a bare Int64.

usage: Deploy/time-types.py [FOLDER]     (default: Sources)
Times have the types MonotonicTime (deadlines), Timestamp (since boot) and UTCTime (civil), so that the compiler detects a mixture of
the clocks. Reports declarations of the type Int64 with the name of a time, such as now, deadline or connectedAt, except those in
ALLOWED. Exit status 1 if there are findings, or if an entry of ALLOWED matches nothing."""

import pathlib
import re
import sys

WORDS = "at arrival began begin deadline due end ended instant moment now opened seen since start started time timestamp until"
NAME = "(?:{}|[a-z]\\w*(?:{}))".format(WORDS.replace(" ", "|"), WORDS.title().replace(" ", "|"))
DECLARATION = re.compile(
    # Parameters and properties with a type, properties whose value has the type, and functions and computed properties.
    rf"\b(?P<declared>{NAME}): Int64\b(?!\()"
    rf"|\b(?:var|let) (?P<valued>{NAME}) = Int64\."
    rf"|\bfunc (?P<returning>{NAME})\([^\n]*-> Int64\b"
)

# Files or folders, the names in them, and the reason.
ALLOWED = [
    ("Sources/FleetAlerts/Rules/TimeZoneFile.swift", "time", "seconds of the file format"),
    ("Sources/FleetStore/Export/Parquet", "time", "milliseconds of the file format"),
    ("Sources/FleetStore/History", "time", "milliseconds in the form of a recording's column, for millions of rows"),
    ("Sources/FleetStore/Record/StoringOrder.swift", "time", "milliseconds in the form of a recording's column"),
    ("Sources/FleetWeb/Live/RateWindow.swift", "now", "the number of a second"),
    ("Sources/Recordings/NMEA/NMEAEpoch.swift", "time", "time of day"),
    ("Sources/Recordings/PacedReplay.swift", "due time", "nanoseconds since the first event of a recording"),
    ("Sources/Simulation", "end lastTime now since time", "nanoseconds on the grid of the simulated drive"),
    ("Sources/StoreAndForward", "lastSeen now storedAt", "seconds of the store's own clock, which no other component uses"),
    ("Sources/Telemetry/Messages/SamplePiece.swift", "time", "steps of the wire format"),
    ("Sources/Traces/Codec/TraceBlock.swift", "time", "microseconds of the file format"),
    ("Sources/odograph/Management/SampleFile.swift", "time", "steps of the wire format"),
]


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    unused = {(place, name) for place, names, _ in ALLOWED for name in names.split()}
    count = 0
    for path in sorted((root / (sys.argv[1] if len(sys.argv) > 1 else "Sources")).rglob("*.swift")):
        file = str(path.relative_to(root))
        for number, line in enumerate(path.read_text().split("\n"), 1):
            for match in DECLARATION.finditer(line.split("//")[0]):
                name = next(filter(None, match.groups()))
                allowed = {(place, name) for place, names, _ in ALLOWED if file.startswith(place) and name in names.split()}
                unused -= allowed
                if not allowed:
                    count += 1
                    print(f"{file}:{number}: {name} is an Int64; use MonotonicTime, Timestamp or UTCTime")
    for place, name in sorted(unused):
        print(f"Deploy/time-types.py: ALLOWED has {name} of {place}, which does not exist")
    sys.exit(1 if count or unused else 0)


main()
