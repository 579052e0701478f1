#!/usr/bin/env python3
"""Prints the newest trip of a vehicle, or one by its number, as GeoJSON.

usage: trip_geojson.py RECORDING VEHICLE [NUMBER]
"""

import json
import sys

import odograph
from odograph.messages import Trip

recording, vehicle, *number = sys.argv[1:]
trips = odograph.read_trips(recording, vehicle=vehicle)
if number:
    trips = trips[trips["number"] == int(number[0])]
if trips.empty:
    sys.exit(f"{recording}: no such trip of {vehicle}")

trip = Trip.decode(trips.iloc[-1]["payload"])
way = odograph.fixes(trip.way) if trip.way else []
line = [[fix.longitude, fix.latitude] for fix in way]
feature = {
    "type": "Feature",
    # A line has at least two points.
    "geometry": {"type": "LineString", "coordinates": line} if len(line) > 1 else None,
    "properties": {
        "vehicle": vehicle,
        "trip": trip.number,
        "metres": trip.distance,
        "times": [fix.time.isoformat() for fix in way],
    },
}
print(json.dumps(feature, indent=2))
