"""Comparison of predictions with the documented ones, which PredictionFormsTests compares with the vehicle's."""

import json
import math
import random
import unittest
from datetime import UTC, datetime, timedelta

from documents import blocks

import odograph
from odograph.messages import Location, Status

GUIDE = "Config/examples/consumers/README.md"
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def written(time):
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def report(seconds, latitude=48.0, longitude=11.0, accuracy=4, **predict):
    """Returns a location some seconds after noon."""
    message = {"time": written(NOON + timedelta(seconds=seconds)), "latitude": latitude, "longitude": longitude,
               "epoch": "6f1d0a41c08e7b52", "seq": 1}
    message |= {} if accuracy is None else {"horizontalAccuracy": accuracy}
    return message | ({"predict": predict} if predict else {})


def metres(a, b, c, d):
    """Returns the distance of two close positions on a sphere in metres."""
    east = ((d - b + 180) % 360 - 180) * math.cos(math.radians(a))
    return math.hypot(c - a, east) * 111_320


class PredictTests(unittest.TestCase):
    def test_agrees_with_the_documented_function(self):
        seed = random.randrange(2**32)
        print("seed", seed)
        chance = random.Random(seed)
        names = {}
        exec(blocks(GUIDE, "python")[0], names)
        predicted = 0
        for _ in range(2000):
            longitude = chance.choice([179.9999, -180.0, chance.uniform(-180, 180)])
            predict = {"velocityEast": chance.uniform(-60, 60), "velocityNorth": chance.uniform(-60, 60),
                       "bound": chance.uniform(1, 200)}
            for name, value in (("delay", chance.choice([0, 1.5, 5, 60])), ("validity", chance.uniform(1, 400)),
                                ("growth", chance.uniform(0, 110))):
                if chance.random() < 0.8:
                    predict[name] = value
            latitude = chance.uniform(*chance.choice([(-85, 85)] * 9 + [(89.7, 89.95)]))
            message = report(round(chance.uniform(-500, 10), 1), latitude, longitude,
                             chance.choice([None, 0, chance.uniform(1, 900)]),
                             **(predict if chance.random() < 0.95 else {}))
            expected = names["predicted"](message, NOON.timestamp())
            found = odograph.predict(Location.decode(json.dumps(message)), NOON)
            self.assertEqual(found is None, expected is None, message)
            if found and expected:
                predicted += 1
                self.assertLess(metres(found.latitude, found.longitude, *expected[:2]), 0.01, message)
                self.assertEqual(found.radius is None, "horizontalAccuracy" not in message, message)
                self.assertEqual(found.radius is None, expected[2] is None, message)
                self.assertAlmostEqual(found.radius or 0, expected[2] or 0, delta=0.001)
        self.assertGreater(predicted, 1000)

    def test_the_documented_message(self):
        """141 m east and 22 m north, as Config/messages.md states."""
        message = Location.decode(blocks("Config/messages.md", "json location")[1])
        found = odograph.predict(message, datetime(2026, 11, 22, 8, 1, 28, tzinfo=UTC))
        self.assertEqual(found.time, datetime(2026, 11, 22, 8, 1, 23, tzinfo=UTC))
        self.assertAlmostEqual((found.latitude - message.latitude) * 111_200, 22, delta=0.5)
        east = (found.longitude - message.longitude) * 111_320 * math.cos(math.radians(message.latitude))
        self.assertAlmostEqual(east, 141, delta=0.6)
        self.assertAlmostEqual(found.radius, 20 + 2.14)
        self.assertTrue(found.is_guaranteed)

    def test_the_radius_grows_after_the_validity(self):
        message = Location.decode(report(0, velocityEast=0, velocityNorth=10, bound=20, delay=5, validity=60, growth=3))
        at = NOON + timedelta(seconds=65)
        self.assertEqual(odograph.predict(message, at).radius, 24)
        late = odograph.predict(message, at + timedelta(seconds=10))
        self.assertEqual((late.radius, late.is_guaranteed), (54, False))
        self.assertIsNone(odograph.predict(message, at + timedelta(seconds=121)))


    def test_the_radius_includes_the_accuracy(self):
        predict = {"velocityEast": 0, "velocityNorth": 10, "bound": 20, "delay": 5}
        for accuracy, radius in ((185.05, 205.05), (925, 945), (0, 20), (None, None)):
            message = Location.decode(report(0, accuracy=accuracy, **predict))
            self.assertEqual(odograph.predict(message, NOON + timedelta(seconds=10)).radius, radius)


class FollowerTests(unittest.TestCase):
    def at(self, follower, seconds):
        return follower.position(NOON + timedelta(seconds=seconds))

    def receive(self, follower, *arguments, **predict):
        follower.receive(Location.decode(report(*arguments, **predict)))

    def test_a_report_takes_effect_after_its_delay(self):
        follower = odograph.Follower()
        self.assertIsNone(self.at(follower, 0))
        self.receive(follower, 0, velocityEast=0, velocityNorth=10, bound=20, delay=5)
        self.receive(follower, 60, 49.0, velocityEast=0, velocityNorth=0, bound=10, delay=5)
        before = self.at(follower, 64)
        self.assertEqual((before.time, before.radius), (NOON + timedelta(seconds=59), 24))
        self.assertLess(before.latitude, 48.1)
        after = self.at(follower, 65)
        self.assertEqual((after.time, after.latitude, after.radius), (NOON + timedelta(seconds=60), 49, 14))

    def test_late_and_repeated_reports(self):
        follower = odograph.Follower()
        self.receive(follower, 60, 49.0, velocityEast=0, velocityNorth=0, bound=10)
        self.receive(follower, 0, 48.0, velocityEast=0, velocityNorth=0, bound=20)
        self.receive(follower, 60, 49.5, velocityEast=0, velocityNorth=0, bound=30)
        self.assertEqual(self.at(follower, 30).latitude, 48)
        self.assertEqual(self.at(follower, 61).latitude, 49.5)
        self.assertEqual(follower.last.latitude, 49.5)

    def test_an_offline_vehicle_guarantees_nothing(self):
        follower = odograph.Follower()
        self.receive(follower, 0, velocityEast=0, velocityNorth=0, bound=20)
        status = {"time": written(NOON), "sessionStart": written(NOON), "will": True}
        follower.receive(Status.decode(status | {"state": "offline"}))
        self.assertIsNone(self.at(follower, 1))
        follower.receive(Status.decode(status | {"state": "online"}))
        self.assertIsNotNone(self.at(follower, 1))

    def test_the_last_possible_time(self):
        message = report(0, velocityEast=0, velocityNorth=0, bound=20, delay=1e6) | {"time": "9999-12-31T23:59:59.999Z"}
        follower = odograph.Follower()
        follower.receive(Location.decode(message))
        self.assertIsNone(self.at(follower, 0))
        self.receive(follower, 0, velocityEast=0, velocityNorth=0, bound=30)
        self.assertEqual(self.at(follower, 10).radius, 34)

    def test_a_location_without_a_prediction_ends_the_one_before(self):
        follower = odograph.Follower()
        self.receive(follower, 0, velocityEast=0, velocityNorth=0, bound=20)
        self.receive(follower, 10)
        self.assertIsNone(self.at(follower, 11))
        self.assertEqual(follower.last.time, NOON + timedelta(seconds=10))


if __name__ == "__main__":
    unittest.main()
