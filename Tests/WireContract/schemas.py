#!/usr/bin/python3
"""Checks the schemas: each has a $id with its name, and valid examples. Prints "name,examples". With a name as its argument,
prints that schema's examples, a JSON line each."""

import json
import sys

from contract import Contract


def main(chosen):
    contract = Contract()
    problems = []
    for name, schema in contract.schemas.items():
        if schema.get("$id") != f"urn:odograph:schema:1:{name}":
            problems.append(f"{name}.json: its $id is {schema.get('$id')}")
        examples = schema.get("examples", [])
        if not examples:
            problems.append(f"{name}.json has no examples")
        for number, example in enumerate(examples):
            problems += [f"{name}.json, example {number}: {problem}" for problem in contract.problems(name, example)]
        if chosen is None:
            print(f"{name},{len(examples)}")
        elif name == chosen:
            print("\n".join(map(json.dumps, examples)))
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


main(sys.argv[1] if len(sys.argv) > 1 else None)
