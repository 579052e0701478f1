"""Tests of decoding tracks and ways, also damaged ones."""

import itertools
import json
import unittest
from datetime import UTC, datetime

from documents import SCHEMAS, blocks

import odograph
from odograph.messages import Track, Trip

PAGE = "Config/schemas/README.md"


def encoded(numbers):
    """Encodes the differences of numbers in the polyline format."""
    text = ""
    for number, before in zip(numbers, [0, *numbers]):
        bits = ~((number - before) << 1) if number < before else (number - before) << 1
        while bits >= 32:
            text += chr((bits & 31 | 32) + 63)
            bits >>= 5
        text += chr(bits + 63)
    return text


class PolylineTests(unittest.TestCase):
    def documented(self):
        (text,) = blocks(PAGE, "json track")
        return json.loads(text)

    def test_the_documented_track(self):
        lines = []
        for fix in odograph.fixes(Track.decode(self.documented())):
            metres = "" if fix.accuracy is None else f"{fix.accuracy:.1f}"
            time = fix.time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            lines.append(f"{time},{fix.latitude:.7f},{fix.longitude:.7f},{metres}")
        self.assertEqual(lines, blocks(PAGE, "csv")[0].splitlines())

    def test_the_way_of_a_trip(self):
        trip = Trip.decode(next(example for example in SCHEMAS["trip"]["examples"] if "way" in example))
        found = odograph.fixes(trip.way)
        self.assertEqual(len(found), trip.way.count)
        self.assertEqual(found[0].time, datetime(2026, 11, 22, 8, 0, 12, tzinfo=UTC))
        self.assertEqual((found[0].latitude, found[0].longitude, found[0].accuracy), (48.133756, 11.572872, None))

    def test_altitudes_and_speeds(self):
        altitudes, speeds = encoded([0, 105204, 99001, 1]), encoded([1, 1391, 0, 2])
        track = Track.decode(self.documented() | {"altitudes": altitudes, "speeds": speeds})
        self.assertEqual([fix.altitude for fix in odograph.fixes(track)], [None, 520.3, -100.0, -10000.0])
        self.assertEqual([fix.speed for fix in odograph.fixes(track)], [0.0, 13.9, None, 0.01])

    def test_damaged_tracks(self):
        cases = [
            ({"points": "_rvcu[o~bx{EsjAo{AgkA{zA?"}, "track: points: 8 values expected for count 4, has 7"),
            ({"count": 3}, "track: points: 6 values expected for count 3, has more"),
            ({"times": "?o}@?s"}, "track: times: the text ends within a number"),
            ({"times": "?o}@?~~~~~~~~~~~~~~~"}, "track: times: the number before character 17 has more than 60 bits"),
            ({"accuracies": "gA?"}, "track: accuracies: 4 values expected for count 4, has 2"),
            ({"precision": 5}, "track: points: position 0 is 4813.74, 1157.55"),
            ({"times": "~~~~~~~~~~N???"}, "track: times: time 0 is out of range"),
        ]
        for change, expected in cases:
            with self.subTest(change=change), self.assertRaises(odograph.DecodingError) as caught:
                odograph.fixes(Track.decode(self.documented() | change))
            self.assertEqual(str(caught.exception), expected)
        trip = next(example for example in SCHEMAS["trip"]["examples"] if "way" in example)
        damaged = trip | {"way": trip["way"] | {"points": "a b"}}
        with self.assertRaises(odograph.DecodingError) as caught:
            odograph.fixes(Trip.decode(damaged).way)
        self.assertEqual(str(caught.exception), "trip: way.points: character 1 is ' ', which no encoded polyline has")

    def test_each_damaged_character_is_decoded_or_refused(self):
        track = self.documented()
        for key in ("points", "times", "accuracies"):
            for place, character in itertools.product(range(len(track[key])), "?~_A"):
                text = track[key][:place] + character + track[key][place + 1 :]
                try:
                    self.assertEqual(len(odograph.fixes(Track.decode(track | {key: text}))), 4)
                except odograph.DecodingError:
                    pass


if __name__ == "__main__":
    unittest.main()
