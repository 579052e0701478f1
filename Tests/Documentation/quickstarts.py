"""Runs the commands of one page of Config/quickstarts in the namespaces of Deploy/quickstarts-check.sh.

Blocks `sh quickstart` run with bash -e in order. Each line of a block `text printed` must occur in the output of the previous
block, and "…" matches any text. Plain `sh` blocks do not run here: not-run.txt has the reasons. `systemctl`, `apt-get` and `podman` are
replaced: they start the page's services without systemd and containers, and print steps that they skip.

usage: quickstarts.py WORK-DIR PROGRAMS-DIR PAGE   status 1 if a command fails
       quickstarts.py service WORK-DIR ARGUMENT...   runs a replaced program
"""

import datetime
import functools
import json
import operator
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import sys
import termios
import threading
import time
import tomllib
import tty

import blocks

HERE = pathlib.Path(__file__).resolve()
REPLACED = ("systemctl", "apt-get", "podman")
POSTGRESQL = "/usr/lib/postgresql/15/bin"
RUN_AS = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]


def wait_for(port, process=None):
    for _ in range(200):
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if process and process.poll() is not None:
                break
        time.sleep(0.05)
    raise SystemExit(f"no program listens on port {port}")


def receiver(device):
    """Simulates a receiver that moves north, with one fix per second, on a pseudo-terminal named DEVICE."""
    terminal, line = os.openpty()
    tty.setraw(line)
    pathlib.Path(device).symlink_to(os.ttyname(line))
    os.chmod(os.ttyname(line), 0o666)

    def drive():
        for second in range(300):
            now = datetime.datetime.now(datetime.timezone.utc)
            minutes = 8.2458 + second * 0.006
            for body in (f"GPRMC,{now:%H%M%S}.00,A,48{minutes:07.4f},N,01134.5294,E,21.6,0.0,{now:%d%m%y},,,A",
                         f"GPGGA,{now:%H%M%S}.00,48{minutes:07.4f},N,01134.5294,E,1,09,0.9,520.0,M,47.0,M,,"):
                sum_ = functools.reduce(operator.xor, body.encode())
                os.write(terminal, f"${body}*{sum_:02X}\r\n".encode())
            # Discards sentences that gpsd did not read while it had closed the receiver.
            time.sleep(1)
            if second % 20 == 19:
                termios.tcflush(line, termios.TCIFLUSH)

    threading.Thread(target=drive, daemon=True).start()


class Services:
    """The services of a page: started without systemd, stopped by their process id."""

    def __init__(self, work):
        self.work = pathlib.Path(work)

    def start(self, name, command, port=None, **more):
        self.stop(name)
        with open(self.work / f"{name}.log", "ab") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, **more)
        (self.work / "pids" / name).write_text(str(process.pid))
        if port:
            wait_for(port, process)

    def stop(self, name):
        path = self.work / "pids" / name
        if not path.exists():
            return
        pid = int(path.read_text())
        path.unlink()
        try:
            os.kill(pid, 15)
            for _ in range(200):
                os.kill(pid, 0)
                state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
                if state == "Z":
                    break
                time.sleep(0.05)
        except OSError:
            pass

    def stop_all(self):
        for path in list((self.work / "pids").iterdir()):
            self.stop(path.name)

    def mosquitto(self, configuration="/etc/mosquitto/mosquitto.conf", port=1883):
        self.start("mosquitto", ["mosquitto", "-c", configuration], port)

    def gpsd(self):
        settings = dict(re.findall(r'^(\w+)="(.*)"$', pathlib.Path("/etc/default/gpsd").read_text(), re.M))
        # gpsd logs to syslog if it is a session leader.
        self.start("gpsd", ["sh", "-c", f"gpsd -N {settings.get('GPSD_OPTIONS', '')} {settings['DEVICES']}; true"], 2947)

    def odographd(self):
        # Replaces LoadCredential of the unit.
        for path in pathlib.Path("/etc/odographd").glob("credentials/*"):
            copy = pathlib.Path("/run/credentials/odographd.service") / f"mqtt_{path.name}"
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
        unit = (blocks.REPOSITORY / "Deploy/systemd/odographd.service").read_text()
        command = re.search(r"^ExecStart=/usr/bin/(.*)$", unit, re.M)[1].split()
        self.start("odographd", command, env={**os.environ, "RUNTIME_DIRECTORY": "/run/odographd", "STATE_DIRECTORY": "/var/lib/odographd"})

    def systemctl(self, *words):
        action, name = words[0], words[-1]
        if name in ("mosquitto", "gpsd", "odographd") and action in ("restart", "enable"):
            getattr(self, name)()
        elif (name, action) == ("mosquitto", "reload"):
            os.kill(int((self.work / "pids/mosquitto").read_text()), 1)
        elif name == "prometheus":
            self.prometheus()
        elif name == "grafana-server":
            self.grafana()
        elif name == "telegraf":
            self.telegraf()
        else:
            raise SystemExit(f"systemctl {' '.join(words)}: unknown here")

    def apt_get(self, action, *names):
        for name in names:
            state = subprocess.run(["dpkg-query", "-W", "-f", "${Status}", name], capture_output=True, text=True).stdout
            if state != "install ok installed":
                raise SystemExit(f"apt-get {action}: {name} is not installed; add it to Deploy/quickstarts-check.sh")
        print(f"not run: apt-get {action} {' '.join(names)} | the check installs these packages at its start")

    def prometheus(self):
        import yaml
        import urllib.request

        for job in yaml.safe_load(pathlib.Path("/etc/prometheus/prometheus.yml").read_text())["scrape_configs"]:
            for target in job["static_configs"][0]["targets"]:
                text = urllib.request.urlopen(f"http://{target}/metrics", timeout=10).read().decode()
                print(f"{job['job_name']}: {len(set(re.findall(r'^# TYPE (odograph_[a-z_]+)', text, re.M)))} metrics at {target}")
                (self.work / "metrics").write_text(text)
        print("not run: prometheus | one request to the target of its configuration instead")

    def grafana(self):
        """Runs each query of the dashboards, and checks that each metric exists."""
        import yaml

        for provider in yaml.safe_load(pathlib.Path("/etc/grafana/provisioning/dashboards/odograph.yaml").read_text())["providers"]:
            boards = [json.loads(path.read_text()) for path in pathlib.Path(provider["options"]["path"]).glob("*.json")]
        kinds = [source(board) for board in boards]
        if sorted(kinds) != ["postgres", "prometheus"]:
            raise SystemExit(f"Grafana finds dashboards for {kinds}")
        for kind, board in zip(kinds, boards):
            (self.queries if kind == "postgres" else self.metrics)(board)
        print("not run: grafana-server | not in Debian 12; its queries ran in PostgreSQL, its metrics were looked up in /metrics")

    def queries(self, board):
        values = {}

        def ask(text):
            for name, value in values.items():
                text = text.replace("${%s:sqlstring}" % name, value)
            text = re.sub(r"\$__timeFilter\((\w+)\)", r"\1 BETWEEN now() - interval '1 day' AND now() + interval '1 minute'", text)
            if "$" in text:
                raise SystemExit(f"unknown variable or macro: {text}")
            ran = subprocess.run(["psql", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "postgres://grafana@localhost/fleet", "-c", text],
                                 capture_output=True, text=True, env={**os.environ, "PGPASSWORD": "change me"})
            if ran.returncode:
                raise SystemExit(f"{text}: {ran.stderr}")
            return ran.stdout.splitlines()

        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                values[variable["name"]] = ", ".join(f"'{row}'" for row in ask(variable["query"]))
        for panel in board["panels"]:
            for target in panel["targets"]:
                rows = ask(target["rawSql"])
                if not rows:
                    raise SystemExit(f"the panel {panel['title']} has no rows")
                print(f"panel {panel['title']}: {len(rows)} rows")

    def metrics(self, board):
        names = set(re.findall(r"^(odograph_[a-z_]+)", (self.work / "metrics").read_text(), re.M))
        for panel in board["panels"]:
            for target in panel["targets"]:
                wanted = set(re.findall(r"odograph_[a-z_]+", target["expr"]))
                if not wanted or wanted - names:
                    raise SystemExit(f"the panel {panel['title']}: /metrics has no {wanted - names or 'metric'}")
        print(f"{len(board['panels'])} panels of metrics")

    def telegraf(self):
        path = "/etc/telegraf/telegraf.d/odograph.conf"
        subprocess.run([sys.executable, blocks.REPOSITORY / "Tests/Consumers/telegraf.py", path], check=True)
        outputs = tomllib.loads(pathlib.Path(path).read_text())["outputs"]
        if list(outputs) != ["influxdb_v2"]:
            raise SystemExit(f"Telegraf's outputs are {list(outputs)}")
        print("not run: telegraf, influxdb | not in Debian 12; the configuration was compared with the schemas")

    def podman(self, *words):
        """Starts the services of compose.yaml as processes, with its files, secrets and variables."""
        import yaml

        compose = yaml.safe_load(pathlib.Path("compose.yaml").read_text())
        with open("/etc/hosts", "a") as hosts:
            hosts.write(f"127.0.0.1 {' '.join(compose['services'])}\n")
        for name in ("broker", "gpsd", "odographd"):
            service = compose["services"][name]
            for volume in service.get("volumes", []):
                origin, place = volume.split(":")[:2]
                if origin.startswith("."):
                    pathlib.Path(place).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(origin, place)
            for secret in service.get("secrets", []):
                secret = secret if isinstance(secret, dict) else {"source": secret, "target": f"/run/secrets/{secret}"}
                pathlib.Path(secret["target"]).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(compose["secrets"][secret["source"]]["file"], secret["target"])
                shutil.chown(secret["target"], "mosquitto" if name == "broker" else "root")
            if name == "broker":
                self.mosquitto(port=8883)
            elif name == "gpsd":
                text = pathlib.Path("Containerfile").read_text()
                stage = re.search(r"^FROM base AS gpsd\n(.*)", text, re.M | re.S)[1]
                command = [word for kind in ("ENTRYPOINT", "CMD") for word in json.loads(re.search(rf"^{kind} (.*)$", stage, re.M)[1])]
                # Without -G, which is for other machines; this network has none.
                self.start("gpsd", ["sh", "-c", shlex.join(word for word in command if word != "-G") + "; true"], 2947)
            else:
                pathlib.Path("/etc/odographd/odograph.toml").write_text('preset = "car"\n')
                variables = {key: str(value) for key, value in service["environment"].items()}
                self.start("odographd", ["odographd", "run", "--config", "/etc/odographd/odograph.toml"],
                           env={**os.environ, **variables, "RUNTIME_DIRECTORY": "/run/odographd"})
        print(f"not run: podman {' '.join(words)} | no container engine; broker, gpsd and agent run with the files and variables of "
              "compose.yaml; Deploy/container-check.sh --build builds the images")


def source(board):
    return next(variable["query"] for variable in board["templating"]["list"] if variable["type"] == "datasource")


class Given:
    """The prerequisites of each page."""

    def __init__(self, services):
        self.services = services
        self.conf = pathlib.Path("/etc/mosquitto/conf.d")
        pathlib.Path("/etc/default/gpsd").write_text('DEVICES=""\nGPSD_OPTIONS=""\nUSBAUTO="true"\n')

    def broker(self):
        (self.conf / "given.conf").write_text("listener 1883 127.0.0.1\nallow_anonymous true\n")
        self.services.mosquitto()

    def running_receiver(self):
        receiver("/dev/ttyACM0")
        pathlib.Path("/etc/default/gpsd").write_text('DEVICES="/dev/ttyACM0"\n')
        self.services.gpsd()

    def receiver(self):
        receiver("/dev/ttyACM0")
        self.broker()

    def raspberry_pi(self):
        receiver("/dev/serial0")
        pathlib.Path("/boot/firmware/config.txt").write_text("[all]\n")
        pathlib.Path("/boot/firmware/cmdline.txt").write_text("console=serial0,115200 console=tty1 root=PARTUUID=1 rootwait\n")
        self.broker()

    def container(self):
        receiver("/dev/ttyACM0")

    def mosquitto_password(self):
        (self.conf / "given.conf").write_text(
            "listener 1883 127.0.0.1\nallow_anonymous false\npassword_file /etc/mosquitto/passwd\nacl_file /etc/mosquitto/acl\n")
        subprocess.run(["mosquitto_passwd", "-c", "-b", "/etc/mosquitto/passwd", "lamp", "secret"], check=True, capture_output=True)
        pathlib.Path("/etc/mosquitto/acl").write_text("user lamp\ntopic readwrite lamp/#\n")
        for name in ("passwd", "acl"):
            shutil.chown(f"/etc/mosquitto/{name}", "mosquitto")
        self.services.mosquitto()
        self.running_receiver()

    def home_assistant(self):
        self.broker()
        self.running_receiver()

    owntracks = home_assistant

    def dashboards(self):
        self.broker()
        self.services.start("van-1", ["odographd", "run", "--set", "vehicle.id=van-1", "--set", "input.mode=simulation", "--set",
                                      "mqtt.broker=mqtt://localhost", "--set", "state.path=/run/van-1", "--set",
                                      "location.reporting=distance", "--set", "location.distance_filter=0"])
        threading.Thread(target=self.journal, daemon=True).start()
        data = self.services.work / "database"
        data.mkdir()
        shutil.chown(data, "nobody", "nogroup")
        subprocess.run([*RUN_AS, f"{POSTGRESQL}/initdb", "-D", data, "-U", "fleet", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"],
                       check=True, capture_output=True)
        self.services.start("postgresql", [*RUN_AS, f"{POSTGRESQL}/postgres", "-D", data, "-c", "fsync=off", "-c", "listen_addresses=127.0.0.1",
                                           "-c", f"unix_socket_directories={data}"], 5432)
        for _ in range(100):
            if not subprocess.run(["psql", "postgres://fleet@localhost/postgres", "-c", "CREATE DATABASE fleet"], capture_output=True).returncode:
                break
            time.sleep(0.1)
        pathlib.Path("/etc/prometheus/prometheus.yml").write_text("global: {scrape_interval: 15s}\nscrape_configs:\n")


    def journal(self):
        """Publishes messages that a drive of seconds lacks: the schemas' examples of trips and events, and a status with a battery."""
        for _ in range(60):
            now = f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%dT%H:%M:%S.000Z}"
            for schema, topic in (("trip", "trip"), ("driving-event", "driving/event"), ("status", "status")):
                text = (blocks.REPOSITORY / f"Config/schemas/{schema}.json").read_text()
                for example in json.loads(text)["examples"]:
                    example |= {"battery": {"level": 0.8}} if schema == "status" else {}
                    payload = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", now, json.dumps(example))
                    subprocess.run(["mosquitto_pub", "-q", "1", "-t", f"odograph/v1/default/van-1/{topic}", "-m", payload],
                                   capture_output=True)
            time.sleep(1)


class Extra:
    """Checks of a page's text beyond its commands; each function raises an error if the text is wrong."""

    def mosquitto_password(self):
        password = pathlib.Path("van-1.password").read_text().strip()
        for vehicle, is_allowed in (("van-1", True), ("van-2", False)):
            ran = subprocess.run(["mosquitto_pub", "-V", "5", "-q", "1", "-u", "default/van-1", "-P", password, "-t",
                                  f"odograph/v1/default/{vehicle}/motion", "-m", "{}"], capture_output=True, text=True)
            if ("Not authorized" in ran.stderr) == is_allowed:
                raise SystemExit(f"default/van-1 publishes for {vehicle}: {ran.stderr or 'accepted'}")
        lamp = subprocess.run(["mosquitto_pub", "-V", "5", "-q", "1", "-u", "lamp", "-P", "secret", "-t", "lamp/1", "-m", "on"],
                              capture_output=True, text=True)
        if lamp.stderr:
            raise SystemExit(f"the existing user: {lamp.stderr}")
        print("the vehicle publishes in its own topics only, and existing users publish as before")


def reasons():
    """Returns the reasons for commands that do not run, by the beginning of the line."""
    text = (HERE.parent / "not-run.txt").read_text()
    return [line.split(" | ") for line in text.splitlines() if " | " in line]


def follow(work, page):
    os.chdir(pathlib.Path(work) / "clone")
    services, name = Services(work), page.replace("-", "_")
    path = blocks.REPOSITORY / f"Config/quickstarts/{page}.md"
    if len(path.read_text().splitlines()) > 40:
        raise SystemExit(f"{page}.md has more than 40 lines")
    found, faults = blocks.of_page(path)
    if faults:
        raise SystemExit("\n".join(faults))
    getattr(Given(services), name)()
    output, began = "", time.monotonic()
    try:
        for block in found:
            kind = f"{block.language} {block.detail}".strip()
            if kind == "sh quickstart":
                for line in block.text.splitlines():
                    print(f"{page}: {time.monotonic() - began:4.0f} s  {line}", flush=True)
                # Programs in the background would keep a pipe open, so that their output goes to a file.
                with open(services.work / "printed", "w+") as printed:
                    ran = subprocess.run(["bash", "-e", "-c", block.text], stdin=subprocess.DEVNULL, stdout=printed,
                                         stderr=subprocess.STDOUT, timeout=90)
                    printed.seek(0)
                    output = printed.read()
                for line in output.splitlines():
                    if line.startswith(("not run:", "panel ")) or " panels " in line or " metrics " in line:
                        print(f"{page}: {line}", flush=True)
                if ran.returncode:
                    logs = "".join(f"== {log.name}\n{log.read_text()[-2000:]}" for log in services.work.glob("*.log"))
                    raise SystemExit(f"{block.place}: status {ran.returncode}\n{output}\n{logs}")
            elif kind == "text printed":
                for line in block.text.splitlines():
                    if not re.search(".*".join(re.escape(part) for part in line.split("…")), output):
                        raise SystemExit(f"{block.place}: not printed: {line}\n{output}")
                print(f"{page}: the output has these lines: {block.text.splitlines()}")
            elif kind == "sh":
                for line in filter(None, block.text.splitlines()):
                    reason = [reason for begin, reason in reasons() if line.startswith(begin)]
                    print(f"{page}: not run: {line} | {reason[0] if reason else 'DocumentationTests runs it'}")
            else:
                raise SystemExit(f"{block.place}: unknown block {kind}")
        if check := getattr(Extra(), name, None):
            check()
    finally:
        services.stop_all()
    print(f"passed {page} in {time.monotonic() - began:.0f} s", flush=True)


def main(arguments):
    if arguments[0] == "service":
        _, work, name, *words = arguments
        return getattr(Services(work), name.replace("-", "_"))(*words)
    work, programs, page = arguments
    for name in REPLACED:
        shim = pathlib.Path(work) / "bin" / name
        shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{HERE}" service "{work}" {name} "$@"\n')
        shim.chmod(0o755)
    os.environ.update(PATH=f"{work}/bin:{programs}:{os.environ['PATH']}:/usr/sbin", HOME=f"{work}/home", NO_COLOR="1")
    for name in ("XDG_CONFIG_HOME", "RUNTIME_DIRECTORY", "STATE_DIRECTORY"):
        os.environ.pop(name, None)
    return follow(work, page)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit("usage: quickstarts.py WORK-DIR PROGRAMS-DIR PAGE")
    main(sys.argv[1:])
