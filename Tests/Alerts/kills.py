"""Kills `odograph serve` repeatedly while alerts are pending, and checks which ones the receivers have processed.

usage: kills.py ODOGRAPH BROKER_PORT FOLDER VEHICLES ROUNDS KILLS [SEED]
Each of VEHICLES has ROUNDS alerts of two rules, which begin and end: VEHICLES * ROUNDS * 4 transitions. One rule sends each alert
immediately to a webhook. The other groups alerts for the webhook and a mail server. Alerts are raised while both receivers are down,
with some of the KILLS. Then the receivers start, and the other kills happen during delivery. Prints "name,number" lines; faults go to
standard error, with status 1.
"""

import base64
import collections
import concurrent.futures
import json
import pathlib
import random
import re
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
# Alerts per rule and transition.
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
            FAULTS.append(f"the server has exited: {self.child.returncode}")
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()
        self.kills += 1
        self.start()

    def takes_signals(self):
        """True if the server handles SIGTERM: it blocks the signal after its start, and reads it."""
        status = pathlib.Path(f"/proc/{self.child.pid}/status").read_text()
        blocked = next(line for line in status.splitlines() if line.startswith("SigBlk"))
        return int(blocked.split()[1], 16) >> (signal.SIGTERM - 1) & 1

    def stop(self):
        until(self.takes_signals, "the server's start")
        self.child.terminate()
        if (status := self.child.wait(timeout=60)) != 143:
            FAULTS.append(f"the server exits with {status}")


def configure(url, mail):
    (FOLDER / "secret").write_text(SECRET + "\n")
    (FOLDER / "serve.toml").write_text(f"""
[alerts]
store = "alerts.sqlite"
group = "none"
[rules.battery-low]
when = "battery"
below = 0.2
until = 0.3
receivers = ["ops"]
[rules.behind]
when = "queue"
above = 1000
group = "1s"
severity = "critical"
[webhooks.ops]
url = "{url}"
secret_file = "secret"
timeout = "1s"
connections = 16
[mail.desk]
server = "{mail}"
starttls = false
from = "odograph@example.org"
to = ["ann@example.org"]
""")


def status(level, seq):
    now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + f".{seq % 1000:03}Z"
    return json.dumps({"state": "online", "time": now, "sessionStart": "2026-01-01T00:00:00.000Z", "epoch": "0123456789abcdef",
                       "seq": seq, "battery": {"level": level}, "counters": {"queue.records": 0 if level > 0.5 else 2000}})


def tell(level, seq):
    """Publishes a status with a battery level for all vehicles."""
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
            raise SystemExit(f"seed {SEED}: {what}: timed out; {FAULTS}\n" + (FOLDER / "serve.log").read_text()[-3000:])
        time.sleep(0.05)


def main():
    print(f"seed,{SEED}")
    configure("http://127.0.0.1:9/alerts", "smtp://127.0.0.1:9")  # closed port
    begun = time.monotonic()
    server = Server()
    for turn in range(ROUNDS * 2):
        tell(0.1 if turn % 2 == 0 else 0.9, turn + 1)
        if RANDOM.random() < 0.5 and server.kills < KILLS // 5:
            server.kill()
        until(lambda: count("SELECT count(*) + count(ended) FROM alerts") >= VEHICLES * 2 * (turn + 1), f"round {turn}")
    until(lambda: count("SELECT count(*) FROM gathered") == 0, "the last group")
    decided = time.monotonic()
    due = count("SELECT count(*) FROM messages")
    receivers = [subprocess.Popen(["/usr/bin/python3", HERE / words[0], *words[1:]], stdout=subprocess.PIPE, text=True)
                 for words in (["receiver.py", FOLDER / "received", "0.3333", SECRET], ["smtp.py", FOLDER / "letters", "failing"])]
    try:
        ports = [receiver.stdout.readline().split()[1] for receiver in receivers]
        server.stop()
        configure(f"http://127.0.0.1:{ports[0]}/alerts", f"smtp://127.0.0.1:{ports[1]}")
        server.start()
        left = KILLS - server.kills
        for number in range(left):
            # Kills are spread over the remaining deliveries, so that each one interrupts some of them.
            goal = due * (left - number) // (left + 1)
            until(lambda: count("SELECT count(*) FROM messages") <= goal or server.child.poll() is not None, f"kill {number}")
            time.sleep(RANDOM.random() * 0.1)
            server.kill()
        until(lambda: count("SELECT count(*) FROM messages") == 0, "the end")
        server.stop()
    finally:
        for child in [*receivers, server.child]:
            child.kill()
    judge(server, due, decided - begun, time.monotonic() - decided)


def mailed():
    """Returns the alerts of unique letters as (number, transition) by vehicle, their number, and the number of repeated letters."""
    order, seen, total, again = collections.defaultdict(list), set(), 0, 0
    for line in (FOLDER / "letters").read_text().splitlines():
        head, body = json.loads(line)["text"].split("\r\n\r\n", 1)
        name = re.search(r"^Message-ID: (.*)$", head, re.M)[1]
        if name in seen:
            again += 1
            continue
        seen.add(name)
        text = base64.b64decode(body).decode()
        for vehicle, number, transition in re.findall(r"  behind: demo/(\S+?): .*\[[0-9a-f]+-(\d+):(\w+)\]$", text, re.M):
            order[vehicle].append((int(number), transition))
            total += 1
        # A letter lists 500 alerts and counts the others.
        total += sum(int(number) for number in re.findall(r"^and (\d+) more$", text, re.M))
    return order, total, again


def check_order(order, wanted):
    """Checks that each vehicle's alerts of a rule began and ended alternately, and once each."""
    transitions = {"began": 0, "ended": 1}
    for name, told in order.items():
        if told != sorted(told, key=lambda item: (item[0], transitions[item[1]])):
            FAULTS.append(f"{name}: out of order: {told}")
        if len(told) != wanted or len(set(told)) != wanted:
            FAULTS.append(f"{name}: {len(told)} instead of {wanted}")


def judge(server, due, deciding, delivering):
    messages, times, order = collections.Counter(), collections.Counter(), collections.defaultdict(list)
    again = 0
    for line in (FOLDER / "received").read_text().splitlines():
        entry = json.loads(line)
        if "problem" in entry:
            FAULTS.append(entry["problem"])
            continue
        again += entry["again"]
        if entry["again"]:
            continue
        messages[entry["key"]] += 1
        for alert in entry["body"]["alerts"]:
            told = (int(alert["id"].split("-")[1]), alert["transition"])
            times[told] += 1
            order[alert["rule"], alert["vehicle"]].append(told)
    if len(times) != 2 * EXPECTED:
        FAULTS.append(f"{len(times)} of {2 * EXPECTED} were processed")
    if any(number != 1 for counts in (messages, times) for number in counts.values()):
        FAULTS.append("an alert or its end was processed more than once")
    check_order(order, ROUNDS * 2)
    letters, lines, letters_again = mailed()
    if lines != EXPECTED:
        FAULTS.append(f"letters contain {lines} of {EXPECTED}")
    if VEHICLES <= 500:
        check_order(letters, ROUNDS * 2)
    for name, number in [("kills", server.kills), ("messages due", due), ("processed", len(times)), ("again", again),
                         ("mailed", lines), ("letters again", letters_again), ("seconds deciding", round(deciding)), ("seconds delivering", round(delivering))]:
        print(f"{name},{number}")
    for fault in FAULTS[:20]:
        print(f"seed {SEED}: {fault}", file=sys.stderr)
    sys.exit(1 if FAULTS else 0)


main()
