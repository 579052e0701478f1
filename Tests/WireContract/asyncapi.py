#!/usr/bin/python3
"""Checks Config/asyncapi.yaml: valid AsyncAPI 3, no broken references, no unused schemas, all parameters of addresses declared, and
an operation for every channel. Prints the path of each address below the vehicle."""

import json
import pathlib
import re
import sys

import yaml

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "Config"
VEHICLE = "odograph/v1/{fleet}/{vehicle}/"


def references(node):
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref":
                yield value
            else:
                yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def resolve(document, reference):
    """Resolves a reference; raises an error if it is broken."""
    place, _, pointer = reference.partition("#")
    node = json.loads((FOLDER / place).read_text()) if place else document
    for part in filter(None, pointer.split("/")):
        node = node[part]
    return node


def main():
    document = yaml.safe_load((FOLDER / "asyncapi.yaml").read_text())
    problems = []
    if not str(document.get("asyncapi")).startswith("3."):
        problems.append("not AsyncAPI 3")
    for key in ("title", "version"):
        if key not in document.get("info", {}):
            problems.append(f"info.{key} is missing")
    used = set(references(document))
    for reference in used:
        try:
            resolve(document, reference)
        except (OSError, KeyError, ValueError) as error:
            problems.append(f"{reference} leads nowhere: {error!r}")
    for path in (FOLDER / "schemas").glob("*.json"):
        if f"schemas/{path.name}" not in used:
            problems.append(f"no message uses {path.name}")
    for name, channel in document["channels"].items():
        address = channel["address"] or ""
        declared = set(channel.get("parameters", {}))
        if set(re.findall(r"{(\w+)}", address)) != declared:
            problems.append(f"channel {name}: its address has other parameters than {sorted(declared)}")
        if not channel.get("messages"):
            problems.append(f"channel {name} has no message")
        reference = f"#/channels/{name}"
        if reference not in used:
            problems.append(f"channel {name} has no operation")
        if address.startswith(VEHICLE):
            print(address[len(VEHICLE) :])
    for name, operation in document["operations"].items():
        if operation.get("action") not in ("send", "receive"):
            problems.append(f"operation {name}: its action is neither send nor receive")
        if operation["bindings"]["mqtt"]["qos"] not in (0, 1):
            problems.append(f"operation {name}: no QoS")
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


main()
