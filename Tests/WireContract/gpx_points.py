"""Prints the points of a GPX file with gpxpy: track, latitude, longitude, elevation, time."""

import sys

import gpxpy

with open(sys.argv[1], encoding="utf-8") as file:
    document = gpxpy.parse(file)
for track in document.tracks:
    for segment in track.segments:
        for point in segment.points:
            time = point.time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{point.time.microsecond // 1000:03}Z"
            print(f"{track.name}\t{point.latitude:.9f}\t{point.longitude:.9f}\t{point.elevation}\t{time}")
