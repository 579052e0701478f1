"""Runs the five examples with a gpsd that replays a drive, a separate broker and vehicle, and a SQLite database.

usage: check.py EXAMPLES-DIR PROGRAMS-DIR   prints a line for each example that works; status 1 with the fault
"""

import os
import pathlib
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import tty

LIMIT = 60  # timeout in seconds
PATH = os.environ["PATH"] + ":/usr/sbin"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(condition, what):
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.05)
    raise SystemExit(f"{what}: timed out")


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


class Child:
    """A process and its printed lines."""

    def __init__(self, *words, **options):
        self.lines = []
        self.process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, **options)
        self.reader = threading.Thread(target=lambda: self.lines.extend(iter(self.process.stdout.readline, "")), daemon=True)
        self.reader.start()

    def says(self, words, count=1):
        def said():
            return sum(line.startswith(words) for line in list(self.lines)) >= count
        try:
            until(lambda: said() or self.process.poll() is not None, words)
            self.reader.join(timeout=0.2 if said() else 5)
        except SystemExit:
            pass
        if not said():
            raise SystemExit(f"{self.process.args} did not print {words!r} {count} times, but:\n{''.join(self.lines[-20:])}")

    def stop(self, kill=False):
        if self.process.poll() is None:
            self.process.kill() if kill else self.process.terminate()
        self.process.wait(LIMIT)


def drive(leads):
    """Yields the sentences of a drive: eastward at 10 m/s for 80 s, a fix each second, after sentences for gpsd's detection of the receiver."""
    def sentence(body):
        check = 0
        for byte in body.encode():
            check ^= byte
        return f"${body}*{check:02X}\r\n".encode()

    for _ in range(leads):
        yield sentence("GPTXT,01,01,02,lead-in")
    for second in range(80):
        clock = f"0900{second % 60:02d}" if second < 60 else f"0901{second % 60:02d}"
        minutes = 30 + second * 10 / 1241.6  # metres of a minute of longitude at 48° north
        place = f"4800.0000,N,011{minutes:08.5f},E"
        yield sentence(f"GPRMC,{clock}.00,A,{place},19.44,090.0,211126,,,A")
        yield sentence(f"GPGGA,{clock}.00,{place},1,10,0.9,500.0,M,46.0,M,,")


class World:
    def __init__(self, examples, programs, folder):
        self.examples, self.programs, self.folder = examples, programs, folder
        self.children = []

    def start(self, *words, **environment):
        # Unbuffered lines arrive in time.
        child = Child("stdbuf", "-oL", *words, env={**os.environ, "PATH": PATH, **environment})
        self.children.append(child)
        return child

    def gpsd(self, seconds, leads):
        """Starts a gpsd and replays a drive once, with a pause in seconds after each sentence. Returns the process and its port.

        gpsfake polls gpsd continuously after the end of its log, and a SIGTERM during a poll can block it forever: 5 of 12 runs
        did not exit.
        """
        master, slave = os.openpty()
        tty.setraw(slave)
        terminal, port = os.ttyname(slave), free_port()
        # A gpsd that was started by root opens its receiver as another user.
        os.chmod(terminal, 0o666)
        # Separate shared memory, as in gpsfake: by default all gpsd processes of root share it.
        daemon = self.start("gpsd", "-N", "-b", "-S", port, terminal, GPSD_SHM_KEY=hex(0x47700000 + port))
        until(lambda: listens(port), "gpsd")

        def opened():
            return any(os.path.realpath(file) == terminal for file in pathlib.Path(f"/proc/{daemon.process.pid}/fd").iterdir())

        def play():
            # Waits for the first client, since gpsd opens the receiver then.
            while not opened():
                time.sleep(0.05)
            for line in drive(leads):
                os.write(master, line)
                time.sleep(seconds)

        threading.Thread(target=play, daemon=True).start()
        return daemon, port

    def location(self):
        gpsd, port = self.gpsd(0.005, leads=400)
        example = self.start(self.examples / "location-example", f"gpsd://127.0.0.1:{port}")
        # 800 m with a line every 25 m. gpsd may need some of the first sentences to detect the receiver.
        example.says("at 48.0", count=20)
        gpsd.stop()
        example.says("no location: the receiver is not available")
        example.stop()

    def begin_regions(self):
        """Starts the regions example in real time, since the receiver may sleep between fixes. It runs in parallel with the others."""
        _, port = self.gpsd(0.5, leads=10)
        center = 11.5 + 300 / 74496.0
        return self.start(self.examples / "regions-example", 48, center, 60, f"gpsd://127.0.0.1:{port}")

    @staticmethod
    def regions(example):
        example.says("entered depot")
        example.says("left depot")
        example.stop()

    def motion(self):
        example = self.start(self.examples / "motion-example", "simulation")
        example.says("pitch", count=3)
        example.stop()

    def broker(self):
        self.port = free_port()
        configuration = self.folder / "mosquitto.conf"
        configuration.write_text(f"listener {self.port} 127.0.0.1\nallow_anonymous true\npersistence false\n")
        self.start("mosquitto", "-c", configuration)
        until(lambda: listens(self.port), "the broker")
        configuration = self.folder / "van-1.toml"
        configuration.write_text(
            f'[vehicle]\nfleet = "examples"\nid = "van-1"\n[input]\nmode = "simulation"\n'
            f'[mqtt]\nbroker = "mqtt://127.0.0.1:{self.port}"\n[location]\nreporting = "distance"\ndistance_filter = 0\n'
            f'[store]\npath = "{self.folder}/van-1.sqlite"\n')
        environment = {**os.environ, "RUNTIME_DIRECTORY": str(self.folder)}
        self.children.append(Child(self.programs / "odographd", "run", "--config", configuration, env=environment))
        return f"mqtt://127.0.0.1:{self.port}"

    def fleet(self, broker):
        example = self.start(self.examples / "fleet-example", broker, "examples")
        example.says("examples/van-1 is online at Coordinate", count=2)
        example.stop()

    def backend(self, broker):
        path = self.folder / "fleet.sqlite"
        words = (self.examples / "backend-example", broker, "examples", path)
        example = self.start(*words)
        example.says("stored", count=3)
        # Unacknowledged messages are delivered again.
        example.stop(kill=True)
        before = self.stored(path)
        time.sleep(2)
        example = self.start(*words)
        example.says("stored", count=3)
        example.stop()
        after = self.stored(path)
        if len(after) <= len(before) or after[:len(before)] != before:
            raise SystemExit(f"the backend had {len(before)} rows and has {len(after)}")
        numbers = [seq for _, seq in after]
        if len(set(after)) != len(after) or numbers != sorted(numbers):
            raise SystemExit("the backend stored a message twice or out of order")

    @staticmethod
    def stored(path):
        with sqlite3.connect(path) as database:
            return database.execute("SELECT epoch, seq FROM location ORDER BY time, seq").fetchall()

    def close(self):
        for child in reversed(self.children):
            child.stop()


def main(examples, programs):
    with tempfile.TemporaryDirectory(prefix="odograph-swift-") as folder:
        world = World(pathlib.Path(examples), pathlib.Path(programs).resolve(), pathlib.Path(folder))
        try:
            watcher = world.begin_regions()
            for name in ("motion", "location"):
                getattr(world, name)()
                print(f"{name}: runs")
            broker = world.broker()
            for name in ("fleet", "backend"):
                getattr(world, name)(broker)
                print(f"{name}: runs")
            world.regions(watcher)
            print("regions: runs")
        finally:
            world.close()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: check.py EXAMPLES-DIR PROGRAMS-DIR")
    for program in ("gpsd", "mosquitto", "stdbuf"):
        if not shutil.which(program, path=PATH):
            sys.exit(f"{program} is missing")
    main(*sys.argv[1:])
