#!/usr/bin/python3
"""Validates messages, one JSON line {"topic","payload"} each on standard input, as `odographd run --print` and
`odograph tail` write them, against Config/schemas. Prints the number of messages of each schema and of each object in
them. Fails with the first thirty invalid messages, and if a schema accepts a message with an introduced fault."""

import collections
import copy
import json
import sys

from contract import Contract, schema_name


def of_another_type(schema, value):
    """Returns an invalid value in place of a valid one."""
    return {"wrong": True} if not isinstance(value, dict) else "wrong"


def mutations(schema, message, root=None, path=""):
    """Yields invalid messages with a description of their fault, also in nested objects."""
    root = root or schema
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    for name in schema.get("required", []):
        broken = copy.deepcopy(message)
        broken.pop(name, None)
        yield f"without {path}{name}", broken
    for name, rule in schema.get("properties", {}).items():
        if name not in message:
            continue
        broken = copy.deepcopy(message)
        broken[name] = of_another_type(rule, message[name])
        yield f"with {path}{name} = {broken[name]}", broken
        for bound, step in (("minimum", -1), ("maximum", 1)):
            if bound in rule:
                broken = copy.deepcopy(message)
                broken[name] = rule[bound] + step
                yield f"with {path}{name} = {broken[name]}", broken
        if isinstance(message[name], dict):
            for what, part in mutations(rule, message[name], root, f"{path}{name}."):
                yield what, message | {name: part}


def main():
    contract = Contract()
    counts = collections.Counter()
    first = {}
    problems = []
    for line in sys.stdin:
        record = json.loads(line)
        name = schema_name(record["topic"]) or "unknown topic"
        counts[name] += 1
        counts.update(f"{name}.{key}" for key, value in record["payload"].items() if isinstance(value, dict))
        first.setdefault(name, record["payload"])
        for counter in record["payload"].get("counters", {}) if name == "status" else ():
            if counter not in contract.schemas["status"]["properties"]["counters"]["properties"]:
                problems.append(f"{record['topic']}: status.json does not list the counter {counter}")
        for problem in contract.problems(name, record["payload"]):
            problems.append(f"{record['topic']}: {problem}: {json.dumps(record['payload'])[:300]}")
    for name, message in first.items():
        if name not in contract.schemas:
            continue
        schema = contract.schemas[name]
        for what, broken in mutations(schema, message):
            if not contract.problems(name, broken):
                problems.append(f"{name}.json accepts a message {what}")
        if contract.problems(name, message | {"addedInALaterVersion": 1}):
            problems.append(f"{name}.json refuses an unknown field")
    for name in sorted(counts):
        print(f"{name},{counts[name]}")
    for problem in problems[:30]:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems or not counts else 0)


main()
