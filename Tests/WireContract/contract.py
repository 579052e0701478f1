"""The wire contract for consumers: the schemas of Config/schemas by topic."""

import json
import pathlib

from jsonschema import Draft202012Validator

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "Config" / "schemas"


def schema_name(topic, root="odograph/v1"):
    """Returns the schema of a topic's messages; None for other topics."""
    if not topic.startswith(root + "/"):
        return None
    parts = topic[len(root) + 1 :].split("/", 2)
    if len(parts) != 3:
        return None
    path = parts[2].split("/")
    if path[0] == "command":
        return "command-response" if path[2:] == ["response"] else "command-request"
    return "-".join(path)


class Contract:
    def __init__(self):
        self.schemas = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}
        for schema in self.schemas.values():
            Draft202012Validator.check_schema(schema)
        self.validators = {
            name: Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
            if hasattr(Draft202012Validator, "FORMAT_CHECKER")
            else Draft202012Validator(schema)
            for name, schema in self.schemas.items()
        }

    def problems(self, name, message):
        """Returns the faults of a message, one line each; empty for a valid message."""
        if name not in self.validators:
            return [f"no schema {name}.json"]
        return [
            f"{'/'.join(str(part) for part in error.absolute_path) or 'message'}: {error.message}"
            for error in self.validators[name].iter_errors(message)
        ]
