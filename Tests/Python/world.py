#!/usr/bin/env python3
"""Publishes the JSON lines of `odographd run --print` and the schemas' examples to a broker.

usage: world.py PORT LINES       publish the messages
       world.py --count LINES    print the number of messages
The examples are from the vehicle examples/van-2.
"""

import json
import pathlib
import sys

from documents import SCHEMAS

import odograph
import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

# Recorded kinds. The others are requests and responses, which the recorder does not store.
KINDS = ["altitude", "driving-event", "location", "track", "trip", "vehicle"]


def messages(lines):
    for line in pathlib.Path(lines).read_text().splitlines():
        record = json.loads(line)
        yield record["topic"], record["payload"], record.get("retain", False)
    for name in KINDS:
        for number, example in enumerate(SCHEMAS[name]["examples"]):
            # Two examples may have the same sequence number.
            payload = example | {"seq": 1000 * KINDS.index(name) + number + 1}
            yield f"{odograph.ROOT}/examples/van-2/{SCHEMAS[name]['title']}", payload, False


def main(port, lines):
    if port == "--count":
        print(len(list(messages(lines))))
        return
    client = mqtt.Client(CallbackAPIVersion.VERSION2)
    client.max_inflight_messages_set(1000)
    client.connect("127.0.0.1", int(port))
    client.loop_start()
    sent = [client.publish(topic, json.dumps(payload), qos=1, retain=retain) for topic, payload, retain in messages(lines)]
    for one in sent:
        one.wait_for_publish(20)
    client.disconnect()
    client.loop_stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
