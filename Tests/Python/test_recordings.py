"""Tests of reading recordings, and of the three documented examples, with messages of the agent.

Deploy/python-check.sh creates the folder ODOGRAPH_PYTHON_WORLD: `port` of a broker, `messages.jsonl` of the agent,
`fleet.sqlite` with them and the schemas' examples, and its exports `positions` (Parquet) and `positions.jsonl`.
"""

import json
import os
import pathlib
import queue
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest
from datetime import UTC, datetime, timedelta

import pandas
from documents import EXAMPLES, SCHEMAS, blocks

import odograph
import paho.mqtt.client as mqtt
from odograph.messages import DrivingEvent, Track, Trip
from paho.mqtt.enums import CallbackAPIVersion

WORLD = pathlib.Path(os.environ["ODOGRAPH_PYTHON_WORLD"])
RECORDING = WORLD / "fleet.sqlite"


def milliseconds(time):
    return round(time.timestamp() * 1000)


class RecordingTests(unittest.TestCase):
    def test_positions_of_sqlite_and_parquet_are_those_of_the_export(self):
        lines = [json.loads(line) for line in (WORLD / "positions.jsonl").read_text().splitlines()]
        self.assertGreater(len(lines), 50)
        expected = [(line["fleet"], line["vehicle"], milliseconds(datetime.fromisoformat(line["time"])), line["source"]) for line in lines]
        for recording in (RECORDING, WORLD / "positions"):
            with self.subTest(recording=recording):
                rows = odograph.read_positions(recording)
                found = list(zip(rows.fleet, rows.vehicle, map(milliseconds, rows.time), rows.source))
                self.assertEqual(found, sorted(expected))
                for row, line in zip(rows.itertuples(), sorted(lines, key=lambda line: (line["vehicle"], line["time"]))):
                    self.assertAlmostEqual(row.latitude, line["latitude"], places=8)
                    self.assertAlmostEqual(row.longitude, line["longitude"], places=8)
        pandas.testing.assert_frame_equal(
            odograph.read_positions(RECORDING), odograph.read_positions(WORLD / "positions"), check_dtype=False
        )
        self.assertEqual(str(odograph.read_positions(RECORDING).time.dtype), "datetime64[ms, UTC]")
        self.assertEqual({"location", "track", "coarse", "suspect"}, set(odograph.read_positions(RECORDING).source))

    def test_selections(self):
        whole = odograph.read_positions(RECORDING)
        van = whole[whole.vehicle == "van-1"]
        start, end = van.time.iloc[10].to_pydatetime(), van.time.iloc[20].to_pydatetime()
        for recording in (RECORDING, WORLD / "positions"):
            some = odograph.read_positions(recording, fleet="examples", vehicle="van-1", start=start, end=end)
            self.assertEqual(list(some.time), list(van.time.iloc[10:20]))
            later = odograph.read_positions(recording, vehicle="van-1", start=start + timedelta(microseconds=1), end=end)
            self.assertEqual(list(later.time), list(van.time.iloc[11:20]))
            self.assertEqual(len(odograph.read_positions(recording, fleet="none")), 0)
            with self.assertRaisesRegex(ValueError, "start has no time zone"):
                odograph.read_positions(recording, start=datetime(2026, 1, 1))

    def test_tracks_are_decoded_as_the_recorder_does(self):
        counted = 0
        with sqlite3.connect(RECORDING) as database:
            for row in odograph.read_messages(RECORDING, "track").itertuples():
                recorded = database.execute(
                    "SELECT time, latitude, longitude, accuracy, altitude, speed FROM fixes"
                    " WHERE vehicle = ? AND epoch = ? AND seq = ? ORDER BY place", (row.vehicle, row.epoch, row.seq)
                ).fetchall()
                found = odograph.fixes(Track.decode(row.payload))
                self.assertEqual(
                    [(milliseconds(fix.time), fix.latitude, fix.longitude, fix.accuracy, fix.altitude, fix.speed) for fix in found],
                    recorded,
                )
                counted += len(found)
        database.close()
        self.assertGreater(counted, 10)

    def test_every_message_of_the_agent_is_decoded_without_unknown_members(self):
        kinds = set()
        for line in (WORLD / "messages.jsonl").read_text().splitlines():
            record = json.loads(line)
            found = odograph.decode(record["topic"], json.dumps(record["payload"]))
            self.assertEqual(found.message.extra, {}, record["topic"])
            kinds.add(found.kind)
        self.assertLessEqual({"attitude", "location", "motion", "region", "status", "track", "trip"}, kinds)

    def test_trips_and_events(self):
        trips = odograph.read_trips(RECORDING, vehicle="van-1")
        self.assertEqual(len(trips), 1)
        trip = Trip.decode(trips.payload.iloc[0])
        self.assertEqual((trip.phase, trip.distance), (trips.phase.iloc[0], trips.distance.iloc[0]))
        self.assertEqual(trip.start.time, trips.start_time.iloc[0])
        examples = {(one["series"], one["number"]) for one in SCHEMAS["driving-event"]["examples"]}
        events = odograph.read_driving_events(RECORDING)
        self.assertEqual(len(events), len(examples))
        self.assertEqual(list(events.time), sorted(DrivingEvent.decode(payload).time for payload in events.payload))
        self.assertEqual(len(odograph.read_trips(RECORDING, start=datetime(2100, 1, 1, tzinfo=UTC))), 0)

    def test_what_is_no_recording(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            with self.assertRaisesRegex(odograph.RecordingError, "none.sqlite: unable to open database file"):
                odograph.read_trips(folder / "none.sqlite")
            self.assertFalse((folder / "none.sqlite").exists())
            (folder / "text").write_text("no recording " * 100)
            with self.assertRaisesRegex(odograph.RecordingError, "text: file is not a database"):
                odograph.read_positions(folder / "text")
            with self.assertRaisesRegex(odograph.RecordingError, "none.parquet: "):
                odograph.read_positions(folder / "none.parquet")
            pandas.DataFrame({"a": [1]}).to_parquet(folder / "other.parquet")
            with self.assertRaisesRegex(odograph.RecordingError, "no column fleet"):
                odograph.read_positions(folder / "other.parquet")
            database = sqlite3.connect(folder / "old.sqlite")
            with self.assertRaisesRegex(odograph.RecordingError, "old.sqlite: not a recording"):
                odograph.read_positions(folder / "old.sqlite")
            database.execute(f"PRAGMA application_id = {0x6F646F67}")
            database.execute("PRAGMA user_version = 4")
            with self.assertRaisesRegex(odograph.RecordingError, "version 4; upgrade it with: odograph record --prepare"):
                odograph.read_positions(folder / "old.sqlite")
            database.close()


class ExampleTests(unittest.TestCase):
    def run_example(self, name, *arguments):
        ran = subprocess.run([sys.executable, EXAMPLES / name, *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return ran.stdout

    def test_the_page_shows_the_examples(self):
        shown = blocks("Config/python.md", "python package")
        for name in ("live_positions.py", "distance_per_day.py", "trip_geojson.py"):
            program = (EXAMPLES / name).read_text().partition('"""\n\n')[2]
            self.assertIn(program, shown, name)

    def test_distance_per_day(self):
        printed = self.run_example("distance_per_day.py", RECORDING)
        trips = odograph.read_trips(RECORDING)
        self.assertEqual(set(trips.vehicle), {"van-1", "van-2"})
        for trip in trips.itertuples():
            day, kilometres = trip.start_time.date().isoformat(), f"{trip.distance / 1000:.1f}"
            self.assertRegex(printed, rf"{trip.vehicle}\s+{day}\s+{kilometres}\n")

    def test_trip_as_geojson(self):
        feature = json.loads(self.run_example("trip_geojson.py", RECORDING, "van-1"))
        trip = Trip.decode(odograph.read_trips(RECORDING, vehicle="van-1").payload.iloc[0])
        line = feature["geometry"]["coordinates"]
        self.assertEqual((feature["type"], feature["geometry"]["type"], len(line)), ("Feature", "LineString", trip.way.count))
        for (longitude, latitude), end in ((line[0], trip.start), (line[-1], trip.end)):
            self.assertAlmostEqual(longitude, end.longitude, places=3)
            self.assertAlmostEqual(latitude, end.latitude, places=3)
        self.assertEqual(feature["properties"]["metres"], trip.distance)
        self.assertEqual(len(feature["properties"]["times"]), trip.way.count)
        ran = subprocess.run([sys.executable, EXAMPLES / "trip_geojson.py", RECORDING, "van-1", "99"], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("no such trip of van-1", ran.stderr)

    def test_live_positions(self):
        port = (WORLD / "port").read_text().strip()
        lines = queue.Queue()
        with subprocess.Popen(
            [sys.executable, EXAMPLES / "live_positions.py", "127.0.0.1", port, "live"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        ) as child:
            threading.Thread(target=lambda: [lines.put(line) for line in child.stdout], daemon=True).start()
            try:
                client = mqtt.Client(CallbackAPIVersion.VERSION2)
                client.connect("127.0.0.1", int(port))
                client.loop_start()
                # With a delay of 5 s, the vehicle is shown 10 s after its report, 100 m to the north.
                reported = datetime.now(UTC) - timedelta(seconds=10)
                message = SCHEMAS["location"]["examples"][1] | {
                    "time": reported.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                    "predict": {"velocityEast": 0, "velocityNorth": 20, "bound": 30, "delay": 5, "validity": 100},
                }
                topic = f"{odograph.ROOT}/live/van-7"
                client.publish(f"{topic}/location", json.dumps(message), qos=1, retain=True).wait_for_publish(10)
                line = lines.get(timeout=30)
                elapsed = (datetime.now(UTC) - reported).total_seconds()
                client.publish(f"{topic}/location", b"", qos=1, retain=True).wait_for_publish(10)
                client.disconnect()
                client.loop_stop()
            finally:
                child.terminate()
                child.wait(10)
        shown = re.fullmatch(r"live/van-7 (\S+) (\S+) within 32 m\n", line)
        self.assertTrue(shown, line)
        metres = (float(shown[1]) - message["latitude"]) * 111_200
        self.assertGreater(metres, 99)
        self.assertLess(metres, 20 * (elapsed - 5) + 1)
        self.assertAlmostEqual(float(shown[2]), message["longitude"], places=5)


if __name__ == "__main__":
    unittest.main()
