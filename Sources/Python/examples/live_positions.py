#!/usr/bin/env python3
"""Prints every five seconds where the vehicles of a fleet are now.

usage: live_positions.py [HOST [PORT [FLEET]]]
"""

import sys
import time
from datetime import UTC, datetime
from typing import Any

import odograph
import paho.mqtt.client as mqtt
from odograph.messages import Location, Status
from paho.mqtt.enums import CallbackAPIVersion

followers: dict[tuple[str, str], odograph.Follower] = {}


def received(_client: mqtt.Client, _userdata: Any, message: mqtt.MQTTMessage) -> None:
    try:
        found = odograph.decode(message.topic, message.payload)
    except odograph.DecodingError as error:
        print(f"{message.topic}: {error}", file=sys.stderr)
        return
    if isinstance(found.message, (Location, Status)):
        follower = followers.setdefault((found.fleet, found.vehicle), odograph.Follower())
        follower.receive(found.message)


def main(host: str = "localhost", port: str = "1883", fleet: str = "+") -> None:
    client = mqtt.Client(CallbackAPIVersion.VERSION2)
    client.on_message = received
    client.on_connect = lambda client, *_: client.subscribe(
        [(f"{odograph.ROOT}/{fleet}/+/{kind}", 1) for kind in ("location", "status")]
    )
    try:
        client.connect(host, int(port))
    except (OSError, ValueError) as error:  # an invalid name or port is a ValueError
        sys.exit(f"live_positions.py: cannot reach the broker at {host}:{port}: {error}")
    client.loop_start()
    while True:
        time.sleep(5)
        for (name, vehicle), follower in sorted(followers.copy().items()):
            if position := follower.position(datetime.now(UTC)):
                place = f"{position.latitude:.6f} {position.longitude:.6f}"
                within = "unknown" if position.radius is None else f"{position.radius:.0f} m"
                print(f"{name}/{vehicle} {place} within {within}", flush=True)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        pass
