"""Changes of a message, most of which its schema refuses."""

import copy


def _set(message, path, value):
    changed = copy.deepcopy(message)
    target = changed
    for key in path[:-1]:
        target = target[key]
    if value is _set:
        del target[path[-1]]
    else:
        target[path[-1]] = value
    return changed


def _name(path):
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


def of(schema, message, root=None, part=None, path=()):
    """Yields the name of a changed member, the kind of change, and the changed message."""
    root = root or schema
    part = message if part is None else part
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    if isinstance(part, list):
        for index, element in enumerate(part):
            yield from _value(schema.get("items", {}), message, root, element, (*path, index))
        return
    if not isinstance(part, dict):
        return
    for name in part:
        rule = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
        if not isinstance(rule, dict):
            continue
        # The change may make other members required. The error then names one of them instead.
        yield "", f"without {_name((*path, name))}", _set(message, (*path, name), _set)
        yield from _value(rule, message, root, part[name], (*path, name))


def _value(rule, message, root, value, path):
    if "$ref" in rule:
        rule = root["$defs"][rule["$ref"].removeprefix("#/$defs/")]
    name = _name(path)
    others = [None, True, 7.5, "wrong", [], -1e9, 1e12, ""]
    # The package does not check GeoJSON geometries.
    if not any(option.get("type") == "object" for option in rule.get("oneOf", [])):
        others.append({"wrong": True})
    for bound, step in (("minimum", -1), ("maximum", 1), ("exclusiveMinimum", 0)):
        if bound in rule:
            others += [rule[bound] + step, rule[bound]]
    if "maxLength" in rule:
        others.append("a" * (rule["maxLength"] + 1))
    for other in others:
        yield name, f"with {name} = {other!r:.40}", _set(message, path, other)
    if isinstance(value, list):
        yield name, f"with a longer {name}", _set(message, path, value * 40 + [None] * (not value))
    if "oneOf" not in rule:
        yield from of(rule, message, root, value, path)
