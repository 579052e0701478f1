"""Data of tests besides simulated vehicles: a recorded day and a base map."""
import http.server
import json
import math
import sqlite3
import struct
import threading
import time
import zlib

epoch = "00000000000000da"
# Area of simulated vehicles.
origin = (48.137, 11.575)


def at(moment):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(moment))


def yesterday():
    """Returns the date of yesterday, and its start in Unix time (UTC)."""
    start = (int(time.time()) // 86_400 - 1) * 86_400
    return time.strftime("%Y-%m-%d", time.gmtime(start)), start


def streets():
    """Yields courses in degrees and lengths in metres, in loops of different sizes."""
    block = [(12, 700), (102, 450), (12, 300), (102, 900), (192, 600), (102, 350), (192, 800), (282, 500), (192, 250), (282, 900), (12, 650), (282, 300)]
    while True:
        for scale in (1.0, 1.35, 0.8):
            for course, length in block:
                yield course, length * scale


class Day:
    """Two trips of yesterday with a stop of one hour between them, an event, and crossings: 08:00 to 10:45 UTC."""

    def __init__(self, driver="Ann"):
        self.name, self.start = yesterday()
        self.numbers = iter(range(1, 1_000_000))
        self.locations, self.trips = [], []
        self.place, self.driven, self.legs = origin, 0.0, streets()
        self._turn()
        first = self._drive(8 * 3600, 9 * 3600)
        for second in range(9 * 3600, 10 * 3600, 120):
            self._location(second, 0)
        second = self._drive(10 * 3600, 10 * 3600 + 2700)
        self._trip(1, 8 * 3600, 9 * 3600, first, driver)
        self._trip(2, 10 * 3600, 10 * 3600 + 2700, second, driver)
        self.event = {"time": at(self.start + 8 * 3600 + 1200), "event": "harshBraking", "series": "0c9a51f2d4e8b736", "number": 1, "severity": "high", "confidence": 0.9, "latitude": origin[0], "longitude": origin[1],
                      "speed": 12.4, **self._sequence()}

        # More than one page of the interface contains.
        stays = [(8 * 3600 + 61 + number, "dwell", 1) for number in range(520)]
        self.crossings = [
            {"time": at(self.start + second), "event": event, "region": "depot", "name": "Depot <north>", "latitude": origin[0], "longitude": origin[1], "confidence": confidence,
             **self._sequence()}
            for second, event, confidence in [(8 * 3600 + 60, "exit", 1), *stays, (10 * 3600 + 2600, "enter", 0.7)]]

    def _sequence(self):
        return {"epoch": epoch, "seq": next(self.numbers)}

    def _location(self, second, speed):
        latitude, longitude = self.place
        self.locations.append({
            "time": at(self.start + second), "latitude": round(latitude, 7), "longitude": round(longitude, 7),
            "altitude": round(515 + 9 * math.sin(self.driven / 1500) + 3 * math.sin(self.driven / 410), 1),
            "horizontalAccuracy": 3.2, "speed": round(speed, 2), "course": self.course, **self._sequence()})

    def _drive(self, begin, end):
        """Drives along streets, slower towards corners. Returns the distance in metres."""
        before = self.driven
        for second in range(begin, end, 3):
            left = self.leg_end - self.driven
            speed = 4 + 10 * min(1, left / 90, (self.driven - self.leg_begin + 10) / 90)
            self._location(second, speed)
            self._go(3 * speed)
        return round(self.driven - before, 1)

    def _go(self, metres):
        while metres > 0:
            step = min(metres, self.leg_end - self.driven)
            angle = math.radians(self.course)
            self.place = (self.place[0] + step * math.cos(angle) / 111_320, self.place[1] + step * math.sin(angle) / (111_320 * math.cos(math.radians(origin[0]))))
            self.driven += step
            metres -= step
            if self.leg_end - self.driven < 1e-6:
                self._turn()

    def _turn(self):
        self.course, length = next(self.legs)
        self.leg_begin, self.leg_end = self.driven, self.driven + length

    def _trip(self, number, begin, end, distance, driver):
        ends = {name: {"time": at(self.start + second), "latitude": origin[0], "longitude": origin[1], "horizontalAccuracy": 3.2, "odometer": 1000.0 * number}
                for name, second in (("start", begin), ("end", end))}
        self.trips.append({
            "time": at(self.start + end), "series": "0c9a51f2d4e8b736", "number": number, "revision": 2, "phase": "ended", "kind": "driven", **ends,
            "distance": distance, "moving": end - begin - 60, "standing": 60, "greatestSpeed": 14.0, "meanSpeed": 9.0, "driver": driver, **self._sequence()})

    def publish(self, fleet, vehicle):
        """Publishes the messages like a vehicle; returns once they are recorded."""
        topic = f"odograph/v1/{fleet.name}/{vehicle}"
        fleet.publish_lines(topic + "/location", self.locations)
        fleet.publish_lines(topic + "/trip", self.trips)
        fleet.publish_lines(topic + "/driving/event", [self.event])
        fleet.publish_lines(topic + "/region", self.crossings)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            told = fleet.get(f"api/v1/vehicles/{fleet.name}/{vehicle}/extent")
            trips = fleet.get(f"api/v1/trips?vehicle={vehicle}&fleet={fleet.name}")
            events = fleet.get(f"api/v1/events?vehicle={vehicle}&fleet={fleet.name}")
            if (isinstance(told, dict) and told.get("positions", 0) >= len(self.locations) and len(trips.get("trips", [])) == 2
                    and len(events.get("events", [])) == 1):
                return
            time.sleep(0.2)
        raise AssertionError(f"the day was not recorded: {told}\n{fleet.log('serve')}")


def picture(red, green, blue, side=256):
    """Returns a tile of one colour with a darker edge, as PNG."""
    line = bytes([0] + [channel // 2 for channel in (red, green, blue)] * side)
    inner = bytes([0]) + bytes([red // 2, green // 2, blue // 2]) + bytes([red, green, blue] * (side - 1))
    data = line + inner * (side - 1)

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b""))


def write_mbtiles(path, zooms=range(8, 15), around=origin, radius=6):
    """Writes tiles around the simulated streets, each with its own shade."""
    database = sqlite3.connect(path)
    database.executescript("CREATE TABLE metadata (name text, value text); CREATE TABLE tiles (zoom_level integer, tile_column integer, tile_row integer, tile_data blob);"
                           "CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row);")
    database.executemany("INSERT INTO metadata VALUES (?, ?)", [
        ("name", "Test"), ("format", "png"), ("minzoom", str(min(zooms))), ("maxzoom", str(max(zooms))), ("attribution", "<b>Drawn</b> by a test"), ("type", "baselayer")])
    for zoom in zooms:
        count = 1 << zoom
        column = int((around[1] + 180) / 360 * count)
        latitude = math.radians(around[0])
        row = int((1 - math.asinh(math.tan(latitude)) / math.pi) / 2 * count)
        for x in range(column - radius, column + radius + 1):
            for y in range(row - radius, row + radius + 1):
                if 0 <= x < count and 0 <= y < count:
                    shade = 205 + (x * 7 + y * 13) % 30
                    database.execute("INSERT INTO tiles VALUES (?, ?, ?, ?)", (zoom, x, count - 1 - y, picture(shade, shade, 190)))
    database.commit()
    database.close()


class TileServer:
    """A tile server on this machine, as an operator may configure one."""

    def __enter__(self):
        tile = picture(225, 220, 200)
        asked = self.asked = []
        referers = self.referers = set()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                referers.add(self.headers.get("Referer"))
                self.send_response(200)
                self.send_header("Content-Type", "image/png")
                self.send_header("Content-Length", str(len(tile)))
                self.end_headers()
                self.wfile.write(tile)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
