#!/usr/bin/env python3
"""Prints the distance of each vehicle on each day (UTC), from the trips of a recording.

usage: distance_per_day.py RECORDING
"""

import sys

import odograph

trips = odograph.read_trips(sys.argv[1])
driven = trips[trips["kind"] == "driven"]
# A trip belongs to the day on which it began.
days = driven.assign(day=driven["start_time"].dt.date, kilometres=driven["distance"] / 1000)
print(days.groupby(["fleet", "vehicle", "day"])["kilometres"].sum().round(1).to_string())
