#!/usr/bin/python3
"""Writes openapi.json, and the types of the page's answers in types/server.d.ts, from openapi.yaml.

openapi.py [--check]   --check: writes nothing, and fails if a file differs from what openapi.yaml describes

A schema in openapi.yaml:
  "number Speed in m/s."    a type and a description. Types: string, number, integer, boolean, object, any, time (RFC 3339), or a schema by name
  [S]                       an array of S
  {fields: {a: S, b?: S}}   an object; a question mark at the end of a name: optional
  {is: S, KEYWORD: VALUE}   S with other keywords of JSON Schema; without `is` and `fields`, the keywords only
Each operation has the errors 401, 429 and 500, and a body 413, unless `errors` has the key `only`. The parameters of a path are declared by their
names; `needed` marks a required parameter. `etag` declares the header of a cached response, `csrf` the token of a request that changes data,
and `otherBodies` the body by further content types. `more` and `raw` are parameters and answers in the form of OpenAPI.
"""
import json
import os
import re
import sys
import textwrap

import yaml

folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Sources", "CFleetPage")
plain = {"string", "number", "integer", "boolean", "object"}
# Keywords whose value is a schema, or a list of schemas.
nested, nested_lists = ("items", "additionalProperties", "not"), ("oneOf", "anyOf", "allOf", "prefixItems")


def schema(short):
    if isinstance(short, list):
        return {"type": "array", "items": schema(short[0])}
    if isinstance(short, str):
        kind, _, text = short.partition(" ")
        made = {"type": kind} if kind in plain else {"type": "string", "format": "date-time"} if kind == "time" else {} if kind == "any" else {
            "$ref": f"#/components/schemas/{kind}"}
        return {**made, "description": text} if text else made
    short = dict(short)
    made = schema(short.pop("is")) if "is" in short else {}
    if "fields" in short:
        fields = short.pop("fields")
        required = [name for name in fields if not name.endswith("?")]
        made |= {"type": "object", "properties": {name.removesuffix("?"): schema(each) for name, each in fields.items()}}
        made |= {"required": required} if required else {}
    for key, value in short.items():
        if key in nested and not isinstance(value, bool):
            value = schema(value)
        elif key in nested_lists:
            value = [schema(each) for each in value]
        made[key] = value
    return made


def parameter(name, short, place="query"):
    if short is None:
        return {"$ref": f"#/components/parameters/{name}"}
    short = dict(short) if isinstance(short, dict) else {"is": short}
    made = schema(short)
    fixed = {"name": name, "in": place, "required": place == "path" or made.pop("needed", False)}
    if "description" in made:
        fixed["description"] = made.pop("description")
    fixed["schema"] = made
    return {**fixed, "explode": True} if made.get("type") == "array" else fixed


def response(short, etag=False):
    """Returns a response, from a description, optionally a schema, and optionally one or more content types."""
    text, body, kinds = [*([short] if isinstance(short, str) else short), None, None][:3]
    made = {"description": text}
    if body is not None:
        kinds = kinds if isinstance(kinds, list) else [kinds or "application/json"]
        made["content"] = {kind: {"schema": schema(body)} for kind in kinds}
    if etag:
        made["headers"] = {"ETag": {"description": "Identifies the content of the response; it changes when the content changes.", "schema": {"type": "string"}}}
    return made


def operation(route, short, errors):
    method, path = route.split(" ")
    own, etag = dict(short.get("parameters", {})), short.get("etag", False)
    parameters = []
    for name in re.findall(r"\{(\w+)\}", path):
        parameters.append(parameter(name, own.pop(name, None), "path"))
    for name, each in own.items():
        parameters.append(parameter(name, each))
    parameters += short.get("more", [])
    if etag:
        parameters.append(parameter("IfNoneMatch", None))
    if short.get("csrf"):
        parameters.append(parameter("CSRF", None))
    made = {"operationId": short["id"], "tags": [short["tag"]], "summary": short["summary"]}
    if "description" in short:
        made["description"] = short["description"]
    if "security" in short:
        made["security"] = short["security"]
    if parameters:
        made["parameters"] = parameters
    if "body" in short:
        bodies = {"application/json": short["body"], **short.get("otherBodies", {})}
        made["requestBody"] = {"required": True, "content": {kind: {"schema": schema(each)} for kind, each in bodies.items()}}
    answers = {str(code): response(each, etag and index == 0) for index, (code, each) in enumerate(short["answers"].items())}
    if etag:
        answers["304"] = {"description": "Not modified."}
    codes = short.get("errors", [])
    codes = codes["only"] if isinstance(codes, dict) else [*codes, 401, 429, 500, *([413] if "body" in short else [])]
    for code in codes:
        answers[str(code)] = {"$ref": f"#/components/responses/{errors[code]}"}
    answers |= short.get("raw", {})
    made["responses"] = dict(sorted(answers.items()))
    return made


def document(source):
    errors = {code: name for code, (name, _) in source["errors"].items()}
    paths = {}
    for route, short in source["operations"].items():
        method, path = route.split(" ")
        paths.setdefault(path, {})[method.lower()] = operation(route, short, errors)
    error = {"content": {"application/json": {"schema": schema("Error")}}}
    return {**source["head"], "paths": paths, "components": {
        "securitySchemes": source["security"], "parameters": source["parameters"],
        "responses": {name: {"description": text, **error} for name, text in source["errors"].values()},
        "schemas": {name: schema(each) for name, each in source["schemas"].items()}}}


def typescript(short):
    """Returns the TypeScript type of a JSON Schema."""
    if short is True or not short:
        return "any"
    if "$ref" in short:
        return short["$ref"].split("/")[-1]
    if "const" in short or "enum" in short:
        return " | ".join(json.dumps(each) for each in short.get("enum", [short.get("const")]))
    for key, sign in (("oneOf", " | "), ("anyOf", " | "), ("allOf", " & ")):
        if key in short and "properties" not in short:
            return f"({sign.join(typescript(each) for each in short[key])})"
    kind = short.get("type")
    if isinstance(kind, list):
        return f"({' | '.join(typescript({**short, 'type': each}) for each in kind)})"
    if kind == "array":
        return f"Array<{typescript(short.get('items'))}>"
    if kind == "object" and "properties" in short:
        required = short.get("required", [])
        members = (f"{name}{'' if name in required else '?'}: {typescript(each)}" for name, each in short["properties"].items())
        return f"{{ {'; '.join(members)} }}"
    return {"object": "Record<string, any>", "integer": "number", "any": "any", None: "any"}.get(kind, kind)


def declarations(made):
    """Returns the schemas as TypeScript types, one per line, in a separate namespace."""
    lines = [f"  type {name} = {typescript(each)};" for name, each in made["components"]["schemas"].items()]
    # Members are wrapped to the line width of the page's files.
    wrapped = (textwrap.fill(line, 156, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False) for line in lines)
    return "\n".join(["// Written by Deploy/openapi.py.", "declare namespace Server {", *wrapped, "}", ""])


def main():
    with open(os.path.join(folder, "openapi.yaml"), encoding="utf-8") as file:
        made = document(yaml.safe_load(file))
    files = {"page/openapi.json": json.dumps(made, indent=2, ensure_ascii=False) + "\n", "types/server.d.ts": declarations(made)}
    for name, text in files.items():
        path = os.path.join(folder, name)
        if "--check" not in sys.argv[1:]:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            continue
        with open(path, encoding="utf-8") as file:
            if file.read() != text:
                sys.exit(f"{name} differs from openapi.yaml; run Deploy/openapi.py")


if __name__ == "__main__":
    main()
