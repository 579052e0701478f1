#!/usr/bin/env python3
"""Writes openapi.json from openapi.yaml.

openapi.py [--check]   --check: writes nothing, and fails if openapi.json differs from what openapi.yaml describes

A schema in openapi.yaml:
  "number Speed in m/s."    a type and a description. Types: string, number, integer, boolean, object, any, time (RFC 3339), or a schema by name
  [S]                       an array of S
  {fields: {a: S, b?: S}}   an object; a question mark at the end of a name: optional
  {is: S, KEYWORD: VALUE}   S with other keywords of JSON Schema; without `is` and `fields`, the keywords only
Each operation has the errors 401, 429 and 500, and a body 413, unless `errors` has the key `only`. The parameters of a path are declared by their
names; `needed` marks a required parameter. `etag` declares what belongs to a cached response, `csrf` the token of a request that changes something,
and `otherBodies` the body by further content types. `more` and `raw` are parameters and answers in the form of OpenAPI.
"""
import json
import os
import re
import sys

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
    """A description, or a description and a schema, or these with a content type or several."""
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


def main():
    with open(os.path.join(folder, "openapi.yaml"), encoding="utf-8") as file:
        made = json.dumps(document(yaml.safe_load(file)), indent=2, ensure_ascii=False) + "\n"
    path = os.path.join(folder, "page", "openapi.json")
    if "--check" not in sys.argv[1:]:
        with open(path, "w", encoding="utf-8") as file:
            file.write(made)
        return
    with open(path, encoding="utf-8") as file:
        if file.read() != made:
            sys.exit("openapi.json is not what openapi.yaml describes; run Deploy/openapi.py")


if __name__ == "__main__":
    main()
