#!/usr/bin/env python3
"""Writes odograph/messages.py: a dataclass for each JSON Schema of Config/schemas, and for each object in it.

usage: Sources/Python/generate.py [--check]
  --check   write nothing; fail if the file differs
"""

from __future__ import annotations

import json
import pathlib
import re
import sys
import textwrap
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
SCHEMAS = HERE.parents[1] / "Config" / "schemas"
OUTPUT = HERE / "odograph" / "messages.py"

WIDTH = 116
LIMITS = {
    "minimum": "minimum", "maximum": "maximum", "exclusiveMinimum": "above", "minLength": "shortest", "maxLength": "longest",
    "minItems": "shortest", "maxItems": "longest", "maxProperties": "longest", "pattern": "pattern",
}
HEAD = '''"""Messages of vehicles and to vehicles, one dataclass for each kind.

`generate.py` writes this file from Config/schemas. Degrees are WGS 84, lengths metres, speeds m/s, times UTC.
A member that is absent from a message is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from ._decoding import AnyOf, Limits, Message, Record, RequiredIf, RequiredWith, RequiredWithout, Rule
'''


def camel(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[-_/ ]", name))


def field_name(member: str) -> str:
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", member).lower()
    return name + "_" if name in {"from", "class", "in", "is"} else name


def literal(value: Any) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)


class Generator:
    def __init__(self) -> None:
        self.classes: dict[str, str] = {}

    def annotation(self, schema: dict[str, Any], root: dict[str, Any], name: str) -> str:
        """Returns the annotation of a value; `name` is that of its class, if it is an object."""
        if "$ref" in schema:
            definition = schema["$ref"].removeprefix("#/$defs/")
            return self.annotation(root["$defs"][definition], root, camel(definition))
        if "const" in schema:
            return f"Literal[{literal(schema['const'])}]"
        if "enum" in schema:
            return f"Literal[{', '.join(map(literal, schema['enum']))}]"
        if "oneOf" in schema:
            # Of objects only GeoJSON's geometries, which stay as they are.
            alternatives = [
                "dict[str, Any]" if option.get("type") == "object" else self.annotation(option, root, name)
                for option in schema["oneOf"]
            ]
            return " | ".join(dict.fromkeys(alternatives))
        kind = schema["type"]
        if isinstance(kind, list) and "null" in kind:
            plain = self.annotation(schema | {"type": next(one for one in kind if one != "null")}, root, name)
            return f"Annotated[{plain} | None, Limits(nullable=True)]"
        if isinstance(kind, list):
            # True is a number to Python, so that it comes first.
            order = ["boolean", "integer", "number", "string"]
            return " | ".join(self.annotation({"type": one}, root, name) for one in order if one in kind)
        return self.limited(schema, self.plain(schema, root, name))

    def plain(self, schema: dict[str, Any], root: dict[str, Any], name: str) -> str:
        kind = schema["type"]
        if kind == "array":
            items = schema.get("items")
            single = name if name.endswith("Series") else name.removesuffix("s")
            item = self.annotation(items, root, single) if items else "Any"
            if schema.get("minItems") is not None and schema.get("minItems") == schema.get("maxItems"):
                return f"tuple[{', '.join([item] * schema['minItems'])}]"
            return f"tuple[{item}, ...]"
        if kind == "object":
            others = schema.get("additionalProperties")
            if isinstance(others, dict):
                return f"dict[str, {self.annotation(others, root, name.removesuffix('s'))}]"
            if "properties" in schema:
                self.record(schema, root, name, "Record")
                return name
            return "dict[str, Any]"
        if schema.get("format") == "date-time":
            return "datetime"
        return {"string": "str", "number": "float", "integer": "int", "boolean": "bool"}[kind]

    def limited(self, schema: dict[str, Any], plain: str) -> str:
        limits = {LIMITS[key]: value for key, value in schema.items() if key in LIMITS}
        if plain == "datetime" or (plain.startswith("tuple[") and "..." not in plain):
            limits = {}
        if "propertyNames" in schema:
            limits["keys"] = schema["propertyNames"]["pattern"]
        if not limits:
            return plain
        written = ", ".join(f"{key}={self.limit(value)}" for key, value in limits.items())
        return f"Annotated[{plain}, Limits({written})]"

    @staticmethod
    def limit(value: Any) -> str:
        if isinstance(value, str):
            return 'r"' + value.replace('"', '\\"') + '"'
        return str(int(value)) if value == int(value) else str(value)

    def rules(self, schema: dict[str, Any]) -> list[str]:
        def names(values: list[str]) -> str:
            return repr(tuple(values)).replace("'", '"')

        rules = [
            f'RequiredWith("{key}", {names(required)})' for key, required in schema.get("dependentRequired", {}).items()
        ]
        for condition in [*schema.get("allOf", []), schema]:
            if "if" not in condition:
                continue
            if "required" in condition["if"]:
                (key,) = condition["if"]["required"]
                rules.append(f'RequiredWithout("{key}", {names(condition["else"]["required"])})')
            else:
                ((key, value),) = condition["if"]["properties"].items()
                values = value["enum"] if "enum" in value else [value["const"]]
                rules.append(f'RequiredIf("{key}", {names(values)}, {names(condition["then"]["required"])})')
        if "anyOf" in schema:
            rules.append(f"AnyOf(({', '.join(names(option['required']) for option in schema['anyOf'])},))")
        return rules

    def record(self, schema: dict[str, Any], root: dict[str, Any], name: str, base: str, kind: str = "") -> None:
        required = schema.get("required", [])
        members = schema["properties"]
        lines = ["", "", "@dataclass(frozen=True, slots=True, kw_only=True)", f"class {name}({base}):"]
        lines += self.docstring(schema.get("description", ""))
        if kind:
            lines += ["", f'    KIND: ClassVar[str] = "{kind}"']
        if rules := self.rules(schema):
            lines += ["", "    RULES: ClassVar[tuple[Rule, ...]] = ("] + [f"        {rule}," for rule in rules] + ["    )"]
        lines.append("")
        # The order of a message's members, which the order of their requirement would break without kw_only.
        for member, rule in members.items():
            annotation = self.annotation(rule, root, name + camel(member))
            if member not in required:
                annotation = (annotation if "nullable" in annotation else f"{annotation} | None") + " = None"
            lines.append(f"    {field_name(member)}: {annotation}")
            lines += self.docstring(rule.get("description", ""))
        self.classes[name] = "\n".join(lines)

    @staticmethod
    def docstring(text: str) -> list[str]:
        if not text:
            return []
        text = text.replace("\\", "\\\\") + (" " if text.endswith('"') else "")
        lines = textwrap.wrap(text, WIDTH - 4, break_long_words=False, break_on_hyphens=False)
        if len(lines) == 1 and len(lines[0]) <= WIDTH - 10:
            return [f'    """{lines[0]}"""']
        return [f'    """{lines[0]}'] + [f"    {line}" for line in lines[1:]] + ['    """']

    def text(self) -> str:
        names = []
        for path in sorted(SCHEMAS.glob("*.json")):
            schema = json.loads(path.read_text())
            kind = "command/{name}/response" if schema["title"] == "command response" else schema["title"]
            name = camel(path.stem)
            self.record(schema, schema, name, "Message", kind)
            names.append(name)
        text = HEAD + "\n".join(self.classes.values()) + "\n\n\nALL: tuple[type[Message], ...] = (\n"
        return text + "".join(f"    {name},\n" for name in names) + ")\n" + '"""The class of each kind."""\n'


def main(arguments: list[str]) -> int:
    text = Generator().text()
    if arguments == ["--check"]:
        if OUTPUT.read_text() != text:
            print(f"{OUTPUT} differs from Config/schemas; run Sources/Python/generate.py", file=sys.stderr)
            return 1
        return 0
    if arguments:
        print("usage: Sources/Python/generate.py [--check]", file=sys.stderr)
        return 64
    OUTPUT.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
