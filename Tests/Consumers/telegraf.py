#!/usr/bin/python3
"""Compares a Telegraf configuration with the schemas: TOML, topics, and for each path a member of the topic's message with the
same type. Telegraf itself does not run. usage: telegraf.py FILE. Prints "paths,N"."""

import json
import pathlib
import re
import sys
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "WireContract"))
from contract import Contract, schema_name  # noqa: E402

TYPES = {"float": {"number", "integer"}, "int": {"integer"}, "string": {"string"}, "bool": {"boolean"}}


def member(schema, path):
    """Returns the schema of a member by its GJSON path, and True if it is required; None if the member does not exist."""
    node, is_required = schema, True
    for part in re.split(r"(?<!\\)\.", path):
        name = part.replace("\\.", ".")
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].removeprefix("#/$defs/")]
        if name not in node.get("properties", {}):
            return None
        is_required = is_required and name in node.get("required", [])
        node = node["properties"][name]
    if "$ref" in node:
        node = schema["$defs"][node["$ref"].removeprefix("#/$defs/")]
    return node, is_required


def check(consumer, contract):
    for topic in consumer["topics"]:
        name = schema_name(topic)
        if name not in contract.schemas:
            yield f"{topic}: not a topic of the contract", 0
            continue
        schema = contract.schemas[name]
        for parsing in consumer["topic_parsing"]:
            levels = topic.count("/")
            if parsing["topic"] != topic or any(parsing[key].count("/") != levels for key in ("measurement", "tags")):
                yield f"{topic}: topic_parsing has a different number of levels", 0
        for part in consumer["json_v2"]:
            fields = [(field["path"], field) for field in part["field"]]
            if "timestamp_path" in part:
                fields.append((part["timestamp_path"], {"type": "string"}))
            for path, field in fields:
                found = member(schema, path)
                if found is None:
                    yield f"{topic}: {path} is no member of {name}.json", 1
                    continue
                kinds = {found[0].get("type") or ("string" if "enum" in found[0] else None)}
                if not kinds <= TYPES[field["type"]]:
                    yield f"{topic}: {path} is {kinds} and not {field['type']}", 1
                if not found[1] and not field.get("optional"):
                    yield f"{topic}: {path} may be absent and must be optional", 1
                yield None, 1


def main(path):
    consumers = tomllib.loads(pathlib.Path(path).read_text())["inputs"]["mqtt_consumer"]
    contract, count, problems = Contract(), 0, []
    if len({consumer["client_id"] for consumer in consumers}) < len(consumers):
        problems.append("two consumers have the same client_id; the broker accepts only one of them")
    for consumer in consumers:
        for problem, paths in check(consumer, contract):
            count += paths
            problems += [problem] if problem else []
    print(f"paths,{count}")
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems or not count else 0)


main(sys.argv[1])
