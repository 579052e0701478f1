"""Measures the delay with which programs on the same machine receive the positions of a running agent: after their time, and
after the agent has published them. The agent simulates a drive with a tunnel in real time; the tunnel starts in the third minute.

usage: program-delay.py ODOGRAPHD SECONDS [KEY=VALUE...]
"""

import datetime
import json
import socket
import subprocess
import sys
import tempfile
import threading
import time

PROGRAMS = ("agent (stdout)", "gpsd_server", "nmea", "gpsd that reads nmea")
# For each program and time in hundredths of a second: time of arrival, and true if the position is estimated.
arrivals = {name: {} for name in PROGRAMS}


def note(name, text, is_estimated=None):
    moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    arrivals[name].setdefault(round(moment * 100), (time.time(), is_estimated))


def connect(port):
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            time.sleep(0.1)


def read_agent(output):
    for line in output:
        message = json.loads(line)
        if message["topic"].endswith("/location"):
            note(PROGRAMS[0], message["payload"]["time"])


def read_gpsd(name, port):
    connection = connect(port)
    connection.sendall(b'?WATCH={"enable":true,"json":true};\n')
    for line in connection.makefile():
        report = json.loads(line)
        if report["class"] == "TPV" and "lat" in report:
            note(name, report["time"], report.get("status") == 5)


def read_nmea(name, port):
    for line in connect(port).makefile(newline="\n"):
        fields = line.split(",")
        if fields[0] == "$GNRMC" and fields[2] == "A":
            (clock, date) = (fields[1], fields[9])
            note(name, f"20{date[4:]}-{date[2:4]}-{date[:2]}T{clock[:2]}:{clock[2:4]}:{clock[4:]}0Z")


def describe(seconds):
    values = sorted(1000 * value for value in seconds)
    if not values:
        return "none"
    return " / ".join(f"{values[min(len(values) - 1, int(share * len(values)))]:.0f}" for share in (0.5, 0.95, 1))


def main():
    ports = []
    for _ in range(3):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            ports.append(probe.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder:
        settings = ["vehicle.id=v", "input.mode=simulation", f"gpsd_server.listen=127.0.0.1:{ports[0]}",
                    f"nmea.listen=127.0.0.1:{ports[1]}", "location.reporting=distance", "location.pauses_automatically=false",
                    "control.socket=none", f"store.path={folder}/store.sqlite", *sys.argv[3:]]
        agent = subprocess.Popen([sys.argv[1], "run", "--print", *[word for text in settings for word in ("--set", text)]],
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        gpsd = None
        try:
            connect(ports[1]).close()
            gpsd = subprocess.Popen(["gpsd", "-N", "-n", "-S", str(ports[2]), f"tcp://127.0.0.1:{ports[1]}"])
            for target, arguments in ((read_agent, (agent.stdout,)), (read_gpsd, (PROGRAMS[1], ports[0])),
                                      (read_nmea, (PROGRAMS[2], ports[1])), (read_gpsd, (PROGRAMS[3], ports[2]))):
                threading.Thread(target=target, args=arguments, daemon=True).start()
            time.sleep(float(sys.argv[2]))
        finally:
            for process in filter(None, (agent, gpsd)):
                process.terminate()
                process.wait()
    print("ms, median / 95 % / maximum")
    for is_estimated in (False, True):
        times = [at for at, (_, estimated) in arrivals[PROGRAMS[1]].items() if estimated == is_estimated]
        for name in PROGRAMS:
            found = [(at, arrivals[name][at][0]) for at in times if at in arrivals[name]]
            published = [arrival - arrivals[PROGRAMS[0]][at][0] for at, arrival in found if at in arrivals[PROGRAMS[0]]]
            print(f"{'tunnel' if is_estimated else 'sky'}, {name}: {len(found)} positions, "
                  f"after their time {describe(arrival - at / 100 for at, arrival in found)}, "
                  f"after the agent {describe(published)}")


if __name__ == "__main__":
    main()
