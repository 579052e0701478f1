#!/usr/bin/python3
"""Checks messages of the OwnTracks profile, one JSON line {"topic","qos","retain","payload"} each on standard input,
against the requirements of the format's readers. Prints the number of each type. Fails with the first thirty invalid ones.

usage: owntracks.py USER DEVICE"""

import collections
import json
import sys


def integer(low, high):
    return lambda value: type(value) is int and low <= value <= high


def number(low, high):
    return lambda value: type(value) in (int, float) and low <= value <= high


def text(value):
    return isinstance(value, str) and value != ""


def texts(value):
    return isinstance(value, list) and all(text(item) for item in value)


def one_of(*choices):
    return lambda value: value in choices


def waypoints(value):
    return isinstance(value, list) and all(not list(problems_of(item, TYPES["waypoint"])) for item in value)


TIME = integer(946684800, 4102444800)
LATITUDE, LONGITUDE = number(-90, 90), number(-180, 180)
TRACKER = lambda value: text(value) and len(value) <= 2

# For each type: topic below owntracks/user/device, QoS, retained or not, required fields, optional fields.
TYPES = {
    "location": dict(
        topic="", qos=1, retain=True,
        required=dict(lat=LATITUDE, lon=LONGITUDE, tst=TIME),
        optional=dict(
            acc=integer(0, 10**8), alt=integer(-500, 10**5), vac=integer(0, 10**8), vel=integer(0, 2000),
            cog=integer(0, 359), batt=integer(0, 100), bs=one_of(0, 1, 2, 3), tid=TRACKER,
            t=one_of("p", "c", "C", "b", "r", "u", "t", "v"), m=one_of(1, 2), conn=one_of("w", "o", "m"),
            inregions=texts, inrids=texts, created_at=TIME,
            # An extension of this project, which readers ignore.
            positionSource=one_of("coarse"))),
    "transition": dict(
        topic="/event", qos=1, retain=False,
        # The OwnTracks recorder crashes without desc. wtst is the creation time of the region.
        required=dict(wtst=TIME, tst=TIME, acc=integer(0, 10**8), event=one_of("enter", "leave"), desc=text),
        optional=dict(lat=LATITUDE, lon=LONGITUDE, tid=TRACKER, t=one_of("c", "b", "l"), rid=text)),
    "waypoint": dict(
        topic="/waypoint", qos=0, retain=False,
        required=dict(desc=text, lat=LATITUDE, lon=LONGITUDE, rad=integer(0, 10**7), tst=integer(0, 4102444800)),
        optional=dict(rid=text)),
    "waypoints": dict(
        topic="/waypoints", qos=0, retain=False,
        required=dict(waypoints=waypoints), optional=dict(_creator=text)),
    "lwt": dict(topic="", qos=1, retain=False, required=dict(tst=TIME), optional={}),
    "status": dict(topic="/status", qos=1, retain=False, required=dict(tst=TIME), optional={}),
    "dump": dict(
        topic="/dump", qos=1, retain=False,
        required=dict(configuration=lambda value: value.get("_type") == "configuration"), optional={}),
}


def problems_of(payload, rule):
    for name, check in rule["required"].items():
        if name not in payload:
            yield f"no {name}"
        elif not check(payload[name]):
            yield f"{name} = {payload[name]!r}"
    for name, check in rule["optional"].items():
        if name in payload and not check(payload[name]):
            yield f"{name} = {payload[name]!r}"


def main():
    base = f"owntracks/{sys.argv[1]}/{sys.argv[2]}"
    counts, problems = collections.Counter(), []
    last = 0
    for line in sys.stdin:
        record = json.loads(line)
        if not record["topic"].startswith("owntracks/"):
            continue
        payload = record["payload"]
        kind = payload.get("_type")
        counts[kind] += 1
        where = f"{record['topic']} {json.dumps(payload)[:300]}"
        if kind not in TYPES:
            problems.append(f"{where}: unknown _type")
            continue
        rule = TYPES[kind]
        for what, value in (("topic", base + rule["topic"]), ("qos", rule["qos"]), ("retain", rule["retain"])):
            if record[what] != value:
                problems.append(f"{where}: {what} is {record[what]}, not {value}")
        problems += [f"{where}: {problem}" for problem in problems_of(payload, rule)]
        if len(payload.get("inregions", [])) != len(payload.get("inrids", [])):
            problems.append(f"{where}: inregions and inrids differ in number")
        if kind == "location":
            if payload["tst"] < last:
                problems.append(f"{where}: older than the one before")
            last = payload["tst"]
    for kind in sorted(counts):
        print(f"{kind},{counts[kind]}")
    for problem in problems[:30]:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


main()
