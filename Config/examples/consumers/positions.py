#!/usr/bin/env python3
"""Prints each reported position of a fleet's vehicles once, and the predicted positions of the vehicles every five seconds.

usage: positions.py [HOST [PORT [FLEET]]]

Ctrl-C stops the program, which then prints the missing sequence numbers. Requires paho-mqtt 1 or 2 (Debian:
python3-paho-mqtt)."""

import collections
import itertools
import json
import signal
import sys
import threading
import time
from datetime import datetime
from math import cos, inf, radians, sin

try:
    import paho.mqtt.client as mqtt
except ModuleNotFoundError:
    sys.exit("positions.py: paho-mqtt is not there; apt-get install python3-paho-mqtt, or pip install paho-mqtt")

BLOCK = 65536  # after a crash a vehicle continues with a sequence number that is a multiple of this
INTERVAL = 5  # seconds between two predicted positions of a vehicle


class Sequence:
    """The sequence numbers of one epoch of a vehicle."""

    def __init__(self):
        self.first = self.highest = None  # of the messages that were not retained
        self.missing, self.retained = set(), set()

    def is_new(self, seq, is_retained):
        """Adds a sequence number; returns False if the message has arrived before."""
        is_counted = self.first is not None and self.first <= seq <= self.highest
        is_new = seq not in self.retained and (not is_counted or seq in self.missing)
        # A retained message may be of any age: the numbers between it and others are not missing.
        if is_retained:
            self.retained.add(seq)
        elif self.first is None:
            self.first = self.highest = seq
        elif seq > self.highest:
            # After a crash, the numbers directly below a multiple of the block were never used.
            start = max(self.highest + 1, seq - seq % BLOCK, seq - 10_000)
            self.missing.update(set(range(start, seq)) - self.retained)
            self.highest = seq
        self.missing.discard(seq)
        return is_new


def differences(text):
    """The numbers of an encoded polyline."""
    value = shift = 0
    for character in text:
        code = ord(character) - 63
        value |= (code & 31) << shift
        shift += 5
        if code < 32:
            yield ~(value >> 1) if value & 1 else value >> 1
            value = shift = 0


def positions(kind, message):
    """Latitude and longitude of a location, or of each fix of a track."""
    if kind == "location":
        yield message["latitude"], message["longitude"]
    elif kind == "track":
        numbers, scale = list(differences(message["points"])), 10 ** message["precision"]
        for latitude, longitude in zip(itertools.accumulate(numbers[0::2]), itertools.accumulate(numbers[1::2])):
            yield latitude / scale, longitude / scale


def predicted(location, now):
    """Latitude, longitude and radius (m, None if unknown) of a vehicle at `now` (s since 1970); None without prediction."""
    predict = location.get("predict")
    if predict is None:
        return None
    reported = datetime.fromisoformat(location["time"].replace("Z", "+00:00")).timestamp()
    elapsed = max(0, now - predict.get("delay", 0) - reported)
    late = max(0, elapsed - predict.get("validity", inf))
    latitude, curve = location["latitude"], 1 - 0.00669438 * sin(radians(location["latitude"])) ** 2
    north = predict["velocityNorth"] * elapsed * curve**1.5 / 110574.2758
    east = predict["velocityEast"] * elapsed * curve**0.5 / (111319.4908 * cos(radians(latitude)))
    longitude = (location["longitude"] + east + 180) % 360 - 180
    unusable = late > 120 or reported > now + 60 or abs(latitude + north) > 89.9
    accuracy = location.get("horizontalAccuracy")
    radius = None if accuracy is None else predict["bound"] + predict.get("growth", 0) * late + accuracy
    return None if unusable else (latitude + north, longitude, radius)


class Reader:
    def __init__(self):
        self.sequences, self.counts, self.last, self.states = {}, collections.Counter(), {}, {}

    def received(self, _client, _userdata, message):
        fleet, vehicle, kind = message.topic.split("/", 4)[2:]
        try:
            payload = json.loads(message.payload)
            if "seq" in payload:
                key, seq = (fleet, vehicle, payload["epoch"]), payload["seq"]
                if not self.sequences.setdefault(key, Sequence()).is_new(seq, message.retain):
                    self.counts["repeated"] += 1
                    return
            if kind == "location":
                self.last[fleet, vehicle] = payload
            elif kind == "status":
                self.states[fleet, vehicle] = payload["state"]
            for latitude, longitude in positions(kind, payload):
                self.counts["positions"] += 1
                print(f"{fleet}/{vehicle} {payload['time']} {latitude:.7f} {longitude:.7f} {kind}", flush=True)
        except (ValueError, KeyError, TypeError) as error:
            self.counts["unreadable"] += 1
            print(f"{message.topic}: {error!r}", file=sys.stderr)

    def print_now(self, now):
        """Prints the predicted positions of the vehicles with bounded reporting."""
        for (fleet, vehicle), location in list(self.last.items()):
            if self.states.get((fleet, vehicle)) != "offline" and (place := predicted(location, now)):
                within = "within an unknown distance" if place[2] is None else f"within {place[2]:.0f} m"
                print(f"{fleet}/{vehicle} now {place[0]:.7f} {place[1]:.7f} {within}", flush=True)

    def summary(self):
        missing = sum(len(sequence.missing) for sequence in self.sequences.values())
        vehicles = len({key[:2] for key in self.sequences})
        return (f"{self.counts['positions']} positions of {vehicles} vehicles, {self.counts['repeated']} messages repeated, "
                f"{self.counts['unreadable']} unreadable, {missing} numbers missing")


def main(host="localhost", port="1883", fleet="+"):
    reader = Reader()
    versions = [mqtt.CallbackAPIVersion.VERSION2] if hasattr(mqtt, "CallbackAPIVersion") else []
    client = mqtt.Client(*versions, protocol=mqtt.MQTTv5)
    client.on_message = reader.received
    # All topics of a vehicle share one sequence: a subscriber of some topics cannot detect missing numbers.
    client.on_connect = lambda client, *_: client.subscribe(f"odograph/v1/{fleet}/+/#", qos=1)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    try:
        client.connect(host, int(port))
    except (OSError, ValueError) as error:  # an invalid name or port is a ValueError
        sys.exit(f"positions.py: cannot reach the broker at {host}:{port}: {error}")
    client.loop_start()
    while not ended.wait(INTERVAL):
        reader.print_now(time.time())
    client.disconnect()
    client.loop_stop()
    print(reader.summary(), file=sys.stderr)


arguments = sys.argv[1:]
if any(argument in ("-h", "--help") for argument in arguments):
    print(__doc__)
elif len(arguments) > 3 or any(argument.startswith("-") for argument in arguments):
    sys.exit(__doc__.split("\n\n")[1])
else:
    main(*arguments)
