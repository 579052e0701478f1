#!/usr/bin/python3
"""Reads a fleet's native topics with the paho client until a message of each kind has arrived, and validates every one.

usage: paho_reader.py PORT VERSION KIND...   VERSION: 5 or 3.1.1
Prints kind,messages,properties for each kind. The property is the content type of MQTT 5."""

import json
import sys
import threading

import paho.mqtt.client as mqtt

from contract import Contract, schema_name


def client(version):
    protocol = mqtt.MQTTv5 if version == "5" else mqtt.MQTTv311
    if hasattr(mqtt, "CallbackAPIVersion"):  # paho 2
        return mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=protocol)
    return mqtt.Client(protocol=protocol)


def main():
    port, version, wanted = int(sys.argv[1]), sys.argv[2], set(sys.argv[3:])
    contract = Contract()
    counts, content_types, problems = {}, {}, []
    everything = threading.Event()

    def received(_client, _userdata, message):
        name = schema_name(message.topic)
        counts[name] = counts.get(name, 0) + 1
        properties = getattr(message, "properties", None)
        content_types[name] = getattr(properties, "ContentType", "")
        for problem in contract.problems(name, json.loads(message.payload)):
            problems.append(f"{message.topic}: {problem}")
        if wanted <= counts.keys():
            everything.set()

    reader = client(version)
    reader.on_message = received
    reader.on_connect = lambda reader, *_: reader.subscribe("odograph/v1/+/+/#", qos=1)
    reader.connect("127.0.0.1", port)
    reader.loop_start()
    came = everything.wait(120)
    reader.loop_stop()
    reader.disconnect()
    for name in sorted(counts):
        print(f"{name},{counts[name]},{content_types[name]}")
    if not came:
        problems.append(f"never came: {sorted(wanted - counts.keys())}")
    for problem in problems[:30]:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


main()
