"""Kills `odograph serve` again and again while alerts are due, and looks at what the receiver has processed.

usage: kills.py ODOGRAPH BROKER_PORT FOLDER VEHICLES ROUNDS KILLS [SEED]
VEHICLES have ROUNDS alerts each, which begin and end: VEHICLES * ROUNDS * 2 messages. They are decided while the receiver is away, with
some kills; then it comes, and the rest of the KILLS are sent while they are delivered. Prints "name,number" lines; faults go to
standard error, status 1.
"""

import collections
import concurrent.futures
import json
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import time

PROGRAM, PORT, FOLDER = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
VEHICLES, ROUNDS, KILLS = (int(word) for word in sys.argv[4:7])
SEED = int(sys.argv[7]) if len(sys.argv) > 7 else random.randrange(1 << 32)
RANDOM = random.Random(SEED)
SECRET = "a secret of some length"
HERE = pathlib.Path(__file__).parent
EXPECTED = VEHICLES * ROUNDS * 2
FAULTS = []


class Server:
    """The program under test."""

    def __init__(self):
        self.child = None
        self.kills = 0
        self.start()

    def start(self):
        self.child = subprocess.Popen(
            [PROGRAM, "serve", "--config", FOLDER / "serve.toml", "--listen", "127.0.0.1:0", "--broker",
             f"mqtt://127.0.0.1:{PORT}"], stdout=subprocess.DEVNULL, stderr=open(FOLDER / "serve.log", "a"))

    def kill(self):
        if self.child.poll() is not None:
            FAULTS.append(f"the server has ended by itself: {self.child.returncode}")
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()
        self.kills += 1
        self.start()

    def takes_signals(self):
        """Whether it has come so far that it ends in order: it reads SIGTERM itself, and so blocks it."""
        status = pathlib.Path(f"/proc/{self.child.pid}/status").read_text()
        blocked = next(line for line in status.splitlines() if line.startswith("SigBlk"))
        return int(blocked.split()[1], 16) >> (signal.SIGTERM - 1) & 1

    def stop(self):
        until(self.takes_signals, "the server's start")
        self.child.terminate()
        if (status := self.child.wait(timeout=60)) != 143:
            FAULTS.append(f"the server ends with {status}")


def configure(url):
    (FOLDER / "secret").write_text(SECRET + "\n")
    (FOLDER / "serve.toml").write_text(f"""
[alerts]
store = "alerts.sqlite"
group = "none"
[rules.battery-low]
when = "battery"
below = 0.2
until = 0.3
[webhooks.ops]
url = "{url}"
secret_file = "secret"
timeout = "1s"
connections = 16
""")


def status(level, seq):
    now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + f".{seq % 1000:03}Z"
    return json.dumps({"state": "online", "time": now, "sessionStart": "2026-01-01T00:00:00.000Z", "epoch": "0123456789abcdef",
                       "seq": seq, "battery": {"level": level}})


def tell(level, seq):
    """All vehicles tell their battery."""
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda number: subprocess.run(
            ["mosquitto_pub", "-p", PORT, "-q", "1", "-r", "-t", f"odograph/v1/demo/v{number}/status", "-m", status(level, seq)],
            check=True), range(VEHICLES)))


def count(sql):
    path = FOLDER / "alerts.sqlite"
    if not path.exists():
        return 0
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10) as database:
            return database.execute(sql).fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def until(condition, what, limit=600):
    end = time.monotonic() + limit
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"seed {SEED}: {what} did not come about; {FAULTS}\n" + (FOLDER / "serve.log").read_text()[-3000:])
        time.sleep(0.05)


def main():
    print(f"seed,{SEED}")
    away = "http://127.0.0.1:9/alerts"  # nobody listens there
    configure(away)
    begun = time.monotonic()
    server = Server()
    for turn in range(ROUNDS * 2):
        tell(0.1 if turn % 2 == 0 else 0.9, turn + 1)
        if RANDOM.random() < 0.5 and server.kills < KILLS // 5:
            server.kill()
        until(lambda: count("SELECT count(*) FROM messages") >= VEHICLES * (turn + 1), f"round {turn}")
    decided = time.monotonic()
    receiver = subprocess.Popen(["/usr/bin/python3", HERE / "receiver.py", FOLDER / "received", "0.3333", SECRET],
                                stdout=subprocess.PIPE, text=True)
    try:
        port = receiver.stdout.readline().split()[1]
        server.stop()
        configure(f"http://127.0.0.1:{port}/alerts")
        server.start()
        left = KILLS - server.kills
        for number in range(left):
            # Spread over what is left to deliver, so that each kill meets some of it.
            goal = EXPECTED * (left - number) // (left + 1)
            until(lambda: count("SELECT count(*) FROM messages") <= goal or server.child.poll() is not None, f"kill {number}")
            time.sleep(RANDOM.random() * 0.1)
            server.kill()
        until(lambda: count("SELECT count(*) FROM messages") == 0, "the end")
        server.stop()
    finally:
        receiver.kill()
        server.child.kill()
    judge(server, decided - begun, time.monotonic() - decided)


def judge(server, deciding, delivering):
    times, order = collections.Counter(), collections.defaultdict(list)
    again = 0
    for line in (FOLDER / "received").read_text().splitlines():
        entry = json.loads(line)
        if "problem" in entry:
            FAULTS.append(entry["problem"])
            continue
        again += entry["again"]
        if entry["again"]:
            continue
        times[entry["key"]] += 1
        for alert in entry["body"]["alerts"]:
            order[alert["vehicle"]].append((int(alert["id"].split("-")[1]), alert["transition"]))
    if len(times) != EXPECTED:
        FAULTS.append(f"{len(times)} of {EXPECTED} were processed")
    if any(number != 1 for number in times.values()):
        FAULTS.append("a key was processed twice")
    transitions = {"began": 0, "ended": 1}
    for vehicle, told in order.items():
        wanted = sorted(told, key=lambda item: (item[0], transitions[item[1]]))
        if told != wanted:
            FAULTS.append(f"{vehicle}: out of order: {told}")
        if len(told) != ROUNDS * 2:
            FAULTS.append(f"{vehicle}: {len(told)} in place of {ROUNDS * 2}")
    for name, number in [("kills", server.kills), ("processed", len(times)), ("again", again),
                         ("seconds deciding", round(deciding)), ("seconds delivering", round(delivering))]:
        print(f"{name},{number}")
    for fault in FAULTS[:20]:
        print(f"seed {SEED}: {fault}", file=sys.stderr)
    sys.exit(1 if FAULTS else 0)


main()
