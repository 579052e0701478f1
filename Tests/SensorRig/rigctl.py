#!/usr/bin/env python3
"""Controls the sensor rig over its text protocol (README.md).

rigctl.py PORT status | log | power-log | follow
rigctl.py PORT play FILE [delay=SECONDS]     loads a CSV recording ("-": stdin) and plays it
rigctl.py PORT wait                          waits until the recording has ended
rigctl.py PORT powered-down [SECONDS]        waits until every sensor is off; fails after SECONDS (default 10)
rigctl.py PORT put FILE PATH [MODE]          copies a file into the guest
rigctl.py PORT exec COMMAND...               runs a command in the guest, with its output and exit code
rigctl.py PORT sync-clock                    sets the guest's wall clock to this machine's
rigctl.py PORT OTHER...                      any other command of the protocol, e.g. remove, create bits=16
"""
import os
import socket
import sys
import time


class RigError(Exception):
    """An "error ..." response of the rig."""


class Rig:
    """A connection to the rig."""

    def __init__(self, port, timeout=60):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rwb")

    def line(self):
        """Returns the next line of the response."""
        text = self.file.readline()
        if not text:
            raise RigError("the rig closed the connection")
        return text.decode().rstrip("\n")

    def command(self, text, payload=b""):
        """Sends a command; returns the lines before the final "ok"."""
        self.file.write(text.encode() + b"\n" + payload)
        self.file.flush()
        lines = []
        while True:
            line = self.line()
            if line == "ok" or line.startswith("ok "):
                return lines
            if line.startswith("error "):
                raise RigError(line[6:])
            lines.append(line)

    def load(self, csv):
        """Loads a recording, given as bytes."""
        self.command("load", csv.rstrip(b"\n") + b"\n.\n")

    def play(self, csv, options=""):
        """Loads and plays a recording."""
        self.load(csv)
        self.command(("play " + options).strip())

    def status(self):
        """Returns lines "name key=value ..." as a list of (name, dictionary)."""
        result = []
        for line in self.command("status"):
            name, *pairs = line.split()
            result.append((name, dict(pair.split("=", 1) for pair in pairs)))
        return result

    def wait(self):
        """Waits until no recording is played."""
        while dict(self.status())["source"]["state"] != "idle":
            time.sleep(0.2)

    def powered_down(self, seconds):
        """Returns True if all sensors are off, now or within the given time."""
        deadline = time.monotonic() + seconds
        while any(v["power"] != "off" for name, v in self.status() if name == "sensor"):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        return True

    def put(self, data, path, mode):
        """Writes a file in the guest."""
        self.command(f"put {path} {mode:o} {len(data)}", data)

    def sync_clock(self):
        """Sets the guest's wall clock, accurate to about the round-trip time."""
        self.command(f"settime {time.time_ns()}")

    def execute(self, command, out=sys.stdout, err=sys.stderr):
        """Runs a command in the guest, passes its output on and returns its exit code."""
        self.socket.settimeout(None)
        self.file.write(b"exec " + command.encode() + b"\n")
        self.file.flush()
        while True:
            kind, _, text = self.line().partition(" ")
            if kind == "exit":
                return int(text)
            if kind == "error":
                raise RigError(text)
            print(text, file=out if kind == "1" else err, flush=True)


def main(arguments):
    """Runs one command; returns the exit code."""
    if len(arguments) < 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    rig = Rig(int(arguments[0]))
    command, rest = arguments[1], arguments[2:]
    if command == "play" and rest:
        if rest[0] == "-":
            csv = sys.stdin.buffer.read()
        else:
            with open(rest[0], "rb") as file:
                csv = file.read()
        rig.play(csv, " ".join(rest[1:]))
    elif command == "wait":
        rig.wait()
    elif command == "powered-down":
        return 0 if rig.powered_down(float(rest[0]) if rest else 10) else 1
    elif command == "put":
        with open(rest[0], "rb") as file:
            mode = int(rest[2], 8) if len(rest) > 2 else os.fstat(file.fileno()).st_mode & 0o777
            rig.put(file.read(), rest[1], mode)
    elif command == "exec":
        return rig.execute(" ".join(rest))
    elif command == "sync-clock":
        rig.sync_clock()
    elif command == "power-log":
        print("\n".join(line for line in rig.command("log") if " power=" in line))
    elif command == "follow":
        rig.socket.settimeout(None)
        rig.file.write(b"log follow\n")
        rig.file.flush()
        while True:
            print(rig.line(), flush=True)
    else:
        for line in rig.command(" ".join(arguments[1:])):
            print(line)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (RigError, OSError, ValueError, IndexError) as error:
        print(f"rigctl.py: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
