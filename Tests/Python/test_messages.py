"""The dataclasses have exactly the members of the schemas, and accept and refuse the same messages."""

import dataclasses
import itertools
import json
import pickle
import subprocess
import sys
import typing
import unittest
from datetime import UTC, datetime

from documents import PACKAGE, REPOSITORY, SCHEMAS

import odograph
from odograph import messages
from odograph._decoding import wire_name

import mutations
from jsonschema import Draft202012Validator, FormatChecker

CHECKER = FormatChecker(())


@CHECKER.checks("date-time", ValueError)
def is_time(value):
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None


VALIDATORS = {name: Draft202012Validator(schema, format_checker=CHECKER) for name, schema in SCHEMAS.items()}


def class_of(name):
    kind = "command/locate/response" if name == "command-response" else SCHEMAS[name]["title"]
    return odograph.message_class(kind)


def resolved(schema, root):
    return root["$defs"][schema["$ref"].removeprefix("#/$defs/")] if "$ref" in schema else schema


def parts(hint):
    """Returns the record classes in an annotation."""
    if isinstance(hint, type) and issubclass(hint, odograph.Record):
        yield hint
    for argument in typing.get_args(hint):
        yield from parts(argument)


class SchemaTests(unittest.TestCase):
    def test_each_property_is_a_field_and_each_field_a_property(self):
        counted = 0

        def compare(cls, schema, root, path):
            nonlocal counted
            fields = {wire_name(field.name): field for field in dataclasses.fields(cls) if field.name != "extra"}
            self.assertEqual(set(fields), set(schema["properties"]), path)
            hints = typing.get_type_hints(cls)
            for name, field in fields.items():
                counted += 1
                is_required = field.default is dataclasses.MISSING
                self.assertEqual(is_required, name in schema.get("required", []), f"{path}.{name}")
                rule = resolved(schema["properties"][name], root)
                while rule.get("type") == "array" or isinstance(rule.get("additionalProperties"), dict):
                    rule = resolved(rule.get("items") or rule.get("additionalProperties"), root)
                found = list(parts(hints[field.name]))
                self.assertEqual(bool(found), "properties" in rule, f"{path}.{name}")
                if found:
                    compare(found[0], rule, root, f"{path}.{name}")

        for name, schema in SCHEMAS.items():
            compare(class_of(name), schema, schema, name)
        self.assertGreater(counted, 300)

    def test_each_kind_has_a_class(self):
        self.assertEqual({class_of(name) for name in SCHEMAS}, set(messages.ALL))

    def test_messages_are_generated_from_the_schemas(self):
        ran = subprocess.run([sys.executable, PACKAGE / "generate.py", "--check"], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_the_version_is_that_of_the_programs(self):
        header = (REPOSITORY / "Sources/CBuild/include/CBuild.h").read_text()
        self.assertIn(f'#define ODOGRAPH_VERSION "{odograph.__version__}"', header)

    def test_the_licence_is_that_of_the_repository(self):
        self.assertEqual((PACKAGE / "LICENSE").read_text(), (REPOSITORY / "LICENSE").read_text())


class DecodingTests(unittest.TestCase):
    def test_examples_are_decoded(self):
        for name, schema in SCHEMAS.items():
            for example in schema["examples"]:
                message = class_of(name).decode(json.dumps(example))
                present = {wire_name(field.name) for field in dataclasses.fields(message) if getattr(message, field.name) is not None}
                self.assertEqual(present - {"extra"} | set(message.extra), set(example))

    def test_values(self):
        location = messages.Location.decode(json.dumps(SCHEMAS["location"]["examples"][1]))
        self.assertEqual(location.time, datetime(2026, 11, 22, 8, 1, 13, tzinfo=UTC))
        self.assertEqual((location.latitude, location.horizontal_accuracy, location.seq), (48.13335307, 2.14, 8))
        self.assertEqual((location.predict.velocity_east, location.predict.growth), (14.089, 104.255))
        east = messages.Location.decode(SCHEMAS["location"]["examples"][1] | {"time": "2026-11-22T09:01:13+01:00"})
        self.assertEqual((east.time, east.time.tzinfo), (location.time, UTC))
        vehicle = messages.Vehicle.decode(json.dumps(SCHEMAS["vehicle"]["examples"][0]))
        self.assertIs(vehicle.signals["Vehicle.IsMoving"].value, True)
        self.assertEqual(vehicle.signals["Vehicle.LowVoltageSystemState"].value, "ON")
        self.assertEqual(vehicle.signals["Vehicle.Speed"].value, 52.305)

    def test_messages_of_version_0_1_0_are_decoded(self):
        counts = {}
        for line in (REPOSITORY / "Tests/Fixtures/wire-0.1.0.jsonl").read_text().splitlines():
            record = json.loads(line)
            if record["topic"].startswith(odograph.ROOT + "/"):
                found = odograph.decode(record["topic"], json.dumps(record["payload"]))
                self.assertEqual((found.fleet, found.vehicle), ("delivery", "van-1"))
                counts[found.kind] = counts.get(found.kind, 0) + 1
        self.assertEqual(set(counts), {"attitude", "heading", "location", "motion", "region", "status", "track"})

    def test_unknown_members_are_accepted(self):
        for name, schema in SCHEMAS.items():
            example = schema["examples"][-1] | {"addedInALaterVersion": {"value": 1}}
            message = class_of(name).decode(json.dumps(example))
            self.assertEqual(message.extra["addedInALaterVersion"], {"value": 1})
        location = SCHEMAS["location"]["examples"][1]
        changed = location | {"predict": location["predict"] | {"later": 1}}
        self.assertEqual(messages.Location.decode(json.dumps(changed)).predict.extra, {"later": 1})

    def test_broken_messages_are_refused_by_the_name_of_the_member(self):
        """The package and the schema agree about each change of each example."""
        refused = 0
        for name, schema in SCHEMAS.items():
            for example in schema["examples"]:
                for key, what, broken in mutations.of(schema, example):
                    is_accepted = VALIDATORS[name].is_valid(broken)
                    with self.subTest(schema=name, change=what):
                        try:
                            class_of(name).decode(json.dumps(broken))
                        except odograph.DecodingError as error:
                            self.assertFalse(is_accepted, str(error))
                            self.assertIn(key, error.key)
                            self.assertTrue(error.reason)
                            self.assertEqual(str(error), f"{error.kind}: {error.key}: {error.reason}")
                            refused += 1
                        else:
                            self.assertTrue(is_accepted, f"{name} accepts a message {what}")
        self.assertGreater(refused, 1000)

    def test_reasons(self):
        location = SCHEMAS["location"]["examples"][1]
        cases = [
            ({"latitude": None}, "location: latitude: must be a number, is null"),
            ({"latitude": 91}, "location: latitude: 91.0 is greater than 90"),
            ({"latitude": True}, "location: latitude: must be a number, is true or false"),
            ({"seq": 1.5}, "location: seq: must be a whole number, is 1.5"),
            ({"time": "yesterday"}, "location: time: 'yesterday' is not a time as in RFC 3339"),
            ({"time": "2026-13-01T00:00:00.000Z"}, "location: time: '2026-13-01T00:00:00.000Z' is not a time: month must be in 1..12"),
            ({"time": "0001-01-01T00:00:00+01:00"}, "location: time: '0001-01-01T00:00:00+01:00' is not a time: date value out of range"),
            ({"positionSource": "dowsing"}, "location: positionSource: 'dowsing' is not one of gnss, fused, inertial, coarse"),
            ({"predict": {"velocityEast": 1, "bound": 2}}, "location: predict.velocityNorth: required, but missing"),
            ({"predict": []}, "location: predict: must be an object, is a list"),
            ({"speed": 10**400}, "location: speed: must be a finite number"),
        ]
        for change, expected in cases:
            with self.assertRaises(odograph.DecodingError) as caught:
                messages.Location.decode(json.dumps(location | change))
            self.assertEqual(str(caught.exception), expected)
        status = SCHEMAS["status"]["examples"][0] | {"sources": [{"name": "gpsd", "state": "active"}, {"state": "idle"}]}
        with self.assertRaises(odograph.DecodingError) as caught:
            messages.Status.decode(json.dumps(status))
        self.assertEqual(str(caught.exception), "status: sources[1].name: required, but missing")
        self.assertEqual(str(pickle.loads(pickle.dumps(caught.exception))), str(caught.exception))

    def test_payloads_that_are_no_messages(self):
        cases = [
            (b"", "location: the payload is empty, as for the deletion of a retained message"),
            (b"\xff", "location: not UTF-8"),
            (b"{", "location: not JSON"),
            (b"[]", "location: must be an object, is a list"),
            (b'{"time": NaN}', "location: NaN is not a number in JSON"),
            (b"1" * 10_000, "location: not readable"),
            (b"[" * 100_000, "location: nested too deeply"),
        ]
        for payload, expected in cases:
            with self.assertRaises(odograph.DecodingError) as caught:
                messages.Location.decode(payload)
            self.assertTrue(str(caught.exception).startswith(expected), str(caught.exception))

    def test_damaged_payloads_raise_only_decoding_errors(self):
        """Each payload is cut at each byte, and each byte is replaced."""
        refused = 0
        for name in ("location", "trip", "vehicle", "regions-desired"):
            payload = json.dumps(SCHEMAS[name]["examples"][-1]).encode()
            for place, byte in itertools.product(range(len(payload)), (None, b'"', b"9", b"\x00")):
                damaged = payload[:place] if byte is None else payload[:place] + byte + payload[place + 1 :]
                try:
                    class_of(name).decode(damaged)
                except odograph.DecodingError:
                    refused += 1
        self.assertGreater(refused, 1000)


class TopicTests(unittest.TestCase):
    def test_topics(self):
        payload = json.dumps(SCHEMAS["location"]["examples"][0])
        found = odograph.decode("odograph/v1/delivery/van-1/location", payload)
        self.assertEqual((found.fleet, found.vehicle, found.kind), ("delivery", "van-1", "location"))
        self.assertIsInstance(found.message, messages.Location)
        self.assertEqual(odograph.decode("site/delivery/van-1/location", payload, root="site").message, found.message)
        request = odograph.decode("odograph/v1/delivery/van-1/command/locate", b"")
        self.assertEqual(request.message, messages.CommandRequest())
        response = json.dumps(SCHEMAS["command-response"]["examples"][0])
        self.assertIsInstance(
            odograph.decode("odograph/v1/f/v/command/locate/response/me", response).message, messages.CommandResponse
        )

    def test_unknown_topics(self):
        for topic in ("odograph/v1/f/v/later", "odograph/v1/f/location", "odograph/v1//v/location", "other/f/v/location", ""):
            with self.assertRaises(odograph.UnknownKindError):
                odograph.decode(topic, b"{}")


if __name__ == "__main__":
    unittest.main()
