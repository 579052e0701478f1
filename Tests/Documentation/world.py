"""Environment in which the documented commands run unchanged: a broker with and without TLS, a vehicle that accepts commands,
and the files of the examples. The name broker.example is replaced by the address of the broker."""

import base64
import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import socket
import sqlite3
import struct
import subprocess
import time
import urllib.request
import zlib

# Commands that run until they are stopped, unless they have a time limit. This test stops them.
ENDLESS = "watch tail stats record serve simulate run replay trips events"
PATIENCE = 3  # seconds that these commands run
LIMIT = 120  # seconds for all others
TOKEN = "a-token-of-the-documentation-123"
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class World:
    def __init__(self, folder, programs, postgres):
        self.folder = pathlib.Path(folder)
        self.programs = pathlib.Path(programs)
        self.postgres = postgres
        self.children = []
        # The last port refuses all clients.
        self.port, self.tls_port, self.closed_port = free_port(), free_port(), free_port()
        for name in ("bin", "config/odograph", "etc", "run", "state"):
            (self.folder / name).mkdir(parents=True)
        self._certificates()
        self._broker()
        self._files()
        self._shims()
        self._vehicle()
        self._server()
        self._receiver()
        self._alerts()

    def _alerts(self):
        """Creates the alerts' database with the alert of the documentation."""
        (self.folder / "etc/alerts.toml").write_text(f'[alerts]\nstore = "{self.folder}/state/alerts.sqlite"\n[rules.low]\nwhen = "battery"\nbelow = 0.2\n')
        self._start([self.programs / "odograph", "serve", "--config", self.folder / "etc/alerts.toml", "--listen", "127.0.0.1:0",
                     "--host", "127.0.0.1", "--port", str(self.port)], "alerts.log")
        self._until(lambda: "the page is at" in (self.folder / "alerts.log").read_text(), "the server of alerts")
        server = self.children.pop()
        server.terminate()
        server.wait(60)
        with contextlib.closing(sqlite3.connect(self.folder / "state/alerts.sqlite")) as database, database:
            database.execute("UPDATE meta SET value = '9d0f6b1c22a4e871' WHERE name = 'epoch'")
            database.execute(
                "INSERT INTO alerts (number, rule, fleet, vehicle, subject, severity, summary, began)"
                " VALUES (17, 'battery-low', 'delivery', 'van-1', '', 'warning', 'battery at 14 %', 1763932446000000000)")

    def _server(self):
        """Starts a server of the recorded fleet with the token of the documentation."""
        shutil.copy(self.folder / "state/fleet.sqlite", self.folder / "state/served.sqlite")
        # The examples of backups require the tables.
        subprocess.run([self.programs / "odograph", "record", self.postgres, "--prepare"], check=True, timeout=60)
        digest = hashlib.sha256(TOKEN.encode()).hexdigest()
        (self.folder / "etc/api.toml").write_text(f'[tokens.backend]\nrole = "operate"\nsha256 = "{digest}"\n')
        self.server_port = free_port()
        self._start([self.programs / "odograph", "serve", "--config", self.folder / "etc/api.toml", "--host", "127.0.0.1",
                     "--port", str(self.port), "--listen", f"127.0.0.1:{self.server_port}", "--recording",
                     self.folder / "state/served.sqlite"], "server.log")
        ready = f"http://127.0.0.1:{self.server_port}/health/ready"
        self._until(lambda: urllib.request.urlopen(ready, timeout=5).status == 200, "the server")

    def _receiver(self):
        """Starts a receiver of alerts that never fails."""
        script = REPOSITORY / "Tests/Alerts/receiver.py"
        self._start(["/usr/bin/python3", script, self.folder / "received", "0"], "receiver.log")
        self._until(lambda: (self.folder / "receiver.log").read_text().startswith("ready"), "the receiver of alerts")
        self.receiver_port = (self.folder / "receiver.log").read_text().split()[1]

    def _certificates(self):
        subprocess.run(
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
            " -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout ca.key -out ca.pem".split(),
            cwd=self.folder, check=True, capture_output=True,
        )

    def _broker(self):
        (self.folder / "mosquitto.conf").write_text(
            f"per_listener_settings true\npersistence false\nuser root\n"
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\n"
            f"listener {self.tls_port} 127.0.0.1\nallow_anonymous true\n"
            f"certfile {self.folder}/ca.pem\nkeyfile {self.folder}/ca.key\n"
            f"listener {self.closed_port} 127.0.0.1\nallow_anonymous false\n"
        )
        program = shutil.which("mosquitto", path=os.environ["PATH"] + ":/usr/sbin")
        self._start([program, "-c", self.folder / "mosquitto.conf"], "mosquitto.log")
        self._until(lambda: socket.create_connection(("127.0.0.1", self.port), 1).close() or True, "the broker")

    def _files(self):
        def vehicle(name, fleet="delivery", **more):
            keys = {
                "vehicle": {"fleet": fleet, "id": name},
                "input": {"mode": "simulation"},
                "location": {"reporting": "distance"},
                "attitude": {"filter": 0},
                "heading": {"interval": 1, "filter": 1},
                "mqtt": {"broker": f"mqtt://127.0.0.1:{self.port}", "link": "always"},
                "store": {"path": f"{self.folder}/state/{name}/outbox.sqlite"},
                "log": {"level": "warning"},
                **more,
            }
            tables = (
                f"[{table}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in pairs.items())
                for table, pairs in keys.items()
            )
            return "\n".join(tables)

        remote = {"enabled": True, "path": f"{self.folder}/state/van-1/remote"}
        (self.folder / "etc/van-1.toml").write_text(vehicle("van-1", remote=remote, recorder={"enabled": True},
                                                            trace={"enabled": True, "after": 1}))
        (self.folder / "etc/odograph.toml").write_text(vehicle("van-2", "service"))
        (self.folder / "config/odograph/profile.toml").write_text(
            f'[default]\nbroker = "mqtt://127.0.0.1:{self.port}"\n\n'
            f'[work]\nbroker = "mqtt://127.0.0.1:{self.port}"\nfleet = "delivery"\n'
        )
        # mosquitto's clients read default options from files.
        for client in ("mosquitto_pub", "mosquitto_sub", "mosquitto_rr"):
            (self.folder / f"config/{client}").write_text(f"-p {self.port}\n")

    def _shims(self):
        """Creates wrappers of the programs that record their statuses and stop endless commands after a while."""
        for program in ("odograph", "odographd"):
            shim = self.folder / "bin" / program
            shim.write_text(
                f"#!/bin/bash\nlimit={LIMIT} stopped=124\n"
                f'for word in {ENDLESS}; do [ "$1" = "$word" ] && limit={PATIENCE} stopped=0; done\n'
                f'case "$1 $2" in "beacons serve" | "trace wait") limit={PATIENCE} stopped=0 ;; esac\n'
                # A drive with a duration ends automatically.
                f'[ -n "$ODOGRAPH_SIMULATION_DURATION" ] && limit={LIMIT} stopped=124\n'
                # Several servers run in parallel.
                f'[ "$1" = serve ] && set -- "$@" --listen 127.0.0.1:0\n'
                # These commands query the running vehicle; others use their own folders.
                f'case "$1" in status | support) export RUNTIME_DIRECTORY="${{RUNTIME_DIRECTORY:-{self.folder}/run}}" ;; esac\n'
                # Longer than any command waits for acknowledgements at its end.
                f'timeout -k 40 -s INT "$limit" "{self.programs}/{program}" "$@"\nstatus=$?\n'
                f'[ "$status" -eq 124 ] && status=$stopped\n'
                f'echo "$status {program} $*" >>"$STATUS_LOG"\nexit "$status"\n'
            )
            shim.chmod(0o755)
        # Values that jq selects must exist: it prints null for a wrong name. An empty selection is permitted.
        shim = self.folder / "bin/jq"
        shim.write_text(
            f'#!/bin/bash\n"{shutil.which("jq")}" -e "$@"\nstatus=$?\n'
            f'[ "$status" -eq 1 ] && echo "1 jq $*: null" >>"$STATUS_LOG"\nexit 0\n'
        )
        shim.chmod(0o755)

    def _vehicle(self):
        # An earlier drive creates the store of van-2.
        subprocess.run(
            [self.programs / "odographd", "run", "--config", self.folder / "etc/odograph.toml", "--set", "input.speed=0",
             "--set", "simulation.duration=5"],
            check=True, timeout=300,
        )
        self._start([self.programs / "odographd", "run", "--config", self.folder / "etc/van-1.toml"], "van-1.log")
        self._until(self._is_online, "the vehicle")
        self._trips()
        self._trace()
        # The vehicle already has a region, a changed setting and a recording.
        for words in (
            ["regions", "push", "-"],
            ["config", "set", "location.distance_filter=0"],
            ["record", self.folder / "state/fleet.sqlite", "--count", "5"],
        ):
            subprocess.run(
                [self.programs / "odograph", *words, "--host", "127.0.0.1", "--port", str(self.port), "--fleet", "delivery",
                 "--vehicle", "van-1"],
                input="yard: POLYGON ((11.5 48.1, 11.6 48.1, 11.6 48.2, 11.5 48.1))", text=True, capture_output=True,
                check=True, timeout=300,
            )

    def _trace(self):
        """Records trace 3 of van-1 in two pieces: two seconds of an accelerometer at rest."""
        def column(numbers):
            # A column of runs of 128 values: differences to the previous value, each as an escape and eight bytes.
            codes, last = b"", 0
            for number in numbers:
                codes += struct.pack("<Q", (2 * (number - last) if number >= last else 2 * (last - number) - 1))
                last = number
            return bytes(-(-len(numbers) // 128)) + b"\xff" * len(numbers) + codes

        count, moment, offset = 200, 16_000_000_000, 1_795_334_585_340_000_000
        block = b"\x01" + struct.pack("<11d", *[0.01] * 11) + struct.pack("<HH", 0, 1)
        block += struct.pack("<BIHI", 0, 7, 0xFFFF, count) + column([15_000_000 + 10_000 * row for row in range(count)])
        block += column([0] * count) + column([0] * count) + column([981] * count)
        head = b"ODOTRACE\x01" + struct.pack("<qq", offset, moment)
        trace = head + struct.pack("<I", zlib.crc32(head)) + struct.pack("<II", len(block), zlib.crc32(block)) + block
        pieces = [trace[:5000], trace[5000:]]
        journal = {"time": "2026-11-22T08:03:21.340Z", "series": "0c9a51f2d4e8b736", "number": 3, "epoch": "e"}
        said = [("trace/piece", {**journal, "piece": number + 1, "pieces": len(pieces), "seq": 2 + number,
                                 "bytes": base64.b64encode(piece).decode()}) for number, piece in enumerate(pieces)]
        said.append(("trace", {**journal, "revision": 2, "cause": "impact", "state": "complete", "before": 1, "after": 1,
                               "size": len(trace), "pieces": len(pieces), "checksum": f"{zlib.crc32(trace):08x}", "seq": 4}))
        recorder = subprocess.Popen(
            [self.programs / "odograph", "record", self.folder / "state/fleet.sqlite", "--host", "127.0.0.1", "--port", str(self.port),
             "--topic", "odograph/v1/delivery/van-1/trace/#", "--count", str(len(said)), "--timeout", "60"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while recorder.poll() is None:
            for path, payload in said:
                subprocess.run(["mosquitto_pub", "-p", str(self.port), "-q", "1", "-t", f"odograph/v1/delivery/van-1/{path}",
                                "-m", json.dumps(payload)], check=True)
        if recorder.returncode:
            raise SystemExit("no trace was recorded")

    def _trips(self):
        """Records the schemas' examples of trips and driving events as messages of van-1."""
        recorder = subprocess.Popen(
            [self.programs / "odograph", "record", self.folder / "state/fleet.sqlite", "--host", "127.0.0.1", "--port", str(self.port),
             "--fleet", "delivery", "--vehicle", "van-1", "--kind", "trip", "--kind", "driving/event", "--count", "4", "--timeout", "60"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while recorder.poll() is None:
            for schema, path in (("trip", "trip"), ("driving-event", "driving/event")):
                for example in json.loads((REPOSITORY / f"Config/schemas/{schema}.json").read_text())["examples"]:
                    subprocess.run(["mosquitto_pub", "-p", str(self.port), "-q", "1", "-t", f"odograph/v1/delivery/van-1/{path}",
                                    "-m", json.dumps(example)], check=True)
        if recorder.returncode:
            raise SystemExit("no trips were recorded")

    def _is_online(self):
        status = subprocess.run(
            f"mosquitto_sub -p {self.port} -t odograph/v1/delivery/van-1/status -C 1 -W 5".split(),
            capture_output=True, text=True,
        )
        return '"online"' in status.stdout

    def _start(self, command, log):
        environment = {**os.environ, "RUNTIME_DIRECTORY": f"{self.folder}/run"}
        with open(self.folder / log, "w") as output:
            self.children.append(subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment))

    def _until(self, condition, name):
        for _ in range(600):
            try:
                if condition():
                    return
            except OSError:
                pass
            time.sleep(0.1)
        raise SystemExit(f"{name} did not start:\n" + "".join(p.read_text() for p in self.folder.glob("*.log")))

    def here(self, text):
        """Replaces the addresses in an example by those of this environment."""
        plain, tls = f"127.0.0.1:{self.port}", f"localhost:{self.tls_port}"
        for name, place in (
            ("mqtt://broker.example:1883", f"mqtt://{plain}"),
            ("mqtt://broker.example", f"mqtt://{plain}"),
            ("mqtt://10.0.0.5", f"mqtt://{plain}"),
            ("mqtt://closed.example", f"mqtt://127.0.0.1:{self.closed_port}"),
            ("mqtt://silent.example", "mqtt://127.0.0.1:1"),
            # The system does not trust the certificate of this test.
            ("mqtts://ann@broker.example", f"mqtts://ann@{tls} --ca {self.folder}/ca.pem"),
            ("mqtts://broker.example", f"mqtts://{tls}"),
            ("postgres://fleet@db.example/fleet", self.postgres),
            ("postgres://fleet@db.example/restored", self.postgres.rpartition("/")[0] + "/restored"),
            ("/etc/odographd/odograph.toml", f"{self.folder}/etc/odograph.toml"),
            ("postgres://…", self.postgres),
            ("localhost:1883", plain),
            ("http://fleet.example:8080", f"http://127.0.0.1:{self.server_port}"),
            ('host: "localhost", port: 1883', f'host: "127.0.0.1", port: {self.port}'),
        ):
            text = text.replace(name, place)
        return text

    def room(self, name, beside=None):
        """Creates the folder of a page or of a command's help, with the files of the examples, and those beside the page."""
        room = self.folder / "rooms" / name
        room.mkdir(parents=True)
        for path in beside.iterdir() if beside else []:
            if path.is_file():
                shutil.copy(path, room)
        for recording in ("fleet.sqlite", "odograph.sqlite"):
            shutil.copy(self.folder / "state/fleet.sqlite", room / recording)
        # The alert is open at the start of each example.
        shutil.copy(self.folder / "state/alerts.sqlite", room / "alerts.sqlite")
        # Recordings of the examples have the same path as in the source.
        shutil.copytree(REPOSITORY / "Config/examples", room / "Config/examples")
        (room / "odograph.toml").write_text((self.folder / "etc/odograph.toml").read_text())
        square = [[11.5, 48.1], [11.6, 48.1], [11.6, 48.2], [11.5, 48.2], [11.5, 48.1]]
        regions = {"type": "FeatureCollection", "features": [
            {"type": "Feature", "id": "yard", "properties": {}, "geometry": {"type": "Polygon", "coordinates": [square]}}]}
        for file in ("depots.geojson", "fences.geojson"):
            (room / file).write_text(json.dumps(regions))
        (room / "stops.kml").write_text(
            '<kml xmlns="http://www.opengis.net/kml/2.2"><Document><Placemark><name>stop</name><Point><coordinates>'
            "11.5755,48.1374</coordinates></Point></Placemark></Document></kml>")
        (room / "serve.toml").write_text(
            (REPOSITORY / "Config/serve.toml").read_text()
            + f'[webhooks.ops]\nurl = "http://127.0.0.1:{self.receiver_port}/alerts"\n')
        (room / "winter.json").write_text('{"location.distance_filter": 25}')
        (room / "drive.nmea").write_text("".join(sentence(second) for second in range(60)))
        return room

    def environment(self, room):
        return {
            **os.environ,
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}:/usr/sbin",
            "XDG_CONFIG_HOME": f"{self.folder}/config",
            "HOME": str(room),
            "STATUS_LOG": str(room / ".statuses"),
            "NO_COLOR": "1",
            "WORLD": str(self.folder),
            "TOKEN": TOKEN,
        }

    def close(self):
        for child in reversed(self.children):
            child.terminate()
        for child in self.children:
            try:
                child.wait(60)
            except subprocess.TimeoutExpired:
                child.kill()


def sentence(second):
    """Returns the NMEA sentence of a second of a drive to the north."""
    minutes = 8.2458 + second * 0.006
    body = f"GPRMC,0800{second:02},A,48{minutes:07.4f},N,01134.5294,E,21.6,0.0,211126,,,A"
    check = 0
    for character in body:
        check ^= ord(character)
    return f"${body}*{check:02X}\r\n"
