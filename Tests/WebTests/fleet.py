"""The environment of a page: a broker, the server, and vehicles."""
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

repository = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def program(name):
    """Returns the path of the built program; ODOGRAPH_PROGRAM overrides it."""
    chosen = os.environ.get("ODOGRAPH_PROGRAM")
    if chosen:
        return chosen
    for kind in ("release", "debug") if os.environ.get("ODOGRAPH_FULL") == "1" else ("debug", "release"):
        path = os.path.join(repository, ".build", kind, name)
        if os.path.exists(path):
            return path
    raise SystemExit(f"{name} is not built: swift build")


class Fleet:
    """A broker with simulated vehicles and the server, which exit at the end of the `with` block."""

    def __init__(self, vehicles=50, recording=False, configuration="", rate=1.0, speed=1.0, arguments=(), extra=(), map_file=None, name="simulation"):
        self.folder = tempfile.mkdtemp(prefix="odograph-web-")
        self.children, self.tiles = [], None
        self.broker_port, self.port = free_port(), free_port()
        self.address = f"http://127.0.0.1:{self.port}/"
        try:
            # Retained messages survive a restart, as with a broker in production.
            self.broker_file = self.file("broker.conf", f"listener {self.broker_port} 127.0.0.1\nallow_anonymous true\nuser root\n"
                                         f"persistence true\npersistence_location {self.folder}/\nmax_queued_messages 0\nmax_inflight_messages 0\n")
            self.start_broker()
            self.recording = os.path.join(self.folder, "fleet.sqlite") if recording else None
            serve = [program("odograph"), "serve", "--broker", f"mqtt://127.0.0.1:{self.broker_port}",
                     "--listen", f"127.0.0.1:{self.port}", *extra]
            if recording:
                serve += ["--recording", self.recording, *(recording if isinstance(recording, (list, tuple)) else [])]
            if map_file:
                path = os.path.join(self.folder, "map.mbtiles")
                map_file(path)
                serve += ["--map", path]
            if configuration:
                serve += ["--config", self.file("serve.toml", configuration)]
            self.command, self.count, self.name = serve, vehicles, name
            self.start_server()
            if vehicles:
                self.simulate(vehicles, rate, speed, *arguments)
        except BaseException:
            self.__exit__()
            raise

    def start_broker(self):
        self.broker = self.start("mosquitto", [shutil.which("mosquitto") or "/usr/sbin/mosquitto", "-c", self.broker_file])
        self.wait_for_port(self.broker_port)

    def stop_broker(self):
        self.broker.terminate()
        self.broker.wait(15)
        self.children = [each for each in self.children if each[1] is not self.broker]

    def agent(self, vehicle="van", speed=5):
        """Starts a real odographd with a simulated drive and remote management; returns once it is online."""
        folder = os.path.join(self.folder, vehicle)
        os.mkdir(folder)
        configuration = self.file(f"{vehicle}.toml", f"""
[vehicle]
fleet = "{self.name}"
id = "{vehicle}"
[input]
mode = "simulation"
speed = {speed}
[iio]
rate = 20
[location]
reporting = "distance"
[heading]
interval = 1
filter = 1
[attitude]
filter = 0
[mqtt]
link = "always"
broker = "mqtt://127.0.0.1:{self.broker_port}"
[store]
path = "{folder}/outbox.sqlite"
[regions]
state = "{folder}/regions.state"
[remote]
enabled = true
keys = ["location.distance_filter", "events.speed_limit"]
path = "{folder}/remote"
""")
        self.start("odographd", [os.path.join(os.path.dirname(program("odograph")), "odographd"), "run", "--config", configuration])
        end = time.monotonic() + 60
        while time.monotonic() < end:
            told = self.get(f"api/v1/vehicles/{self.name}/{vehicle}")
            if isinstance(told, dict) and told.get("state") == "online" and told.get("status", {}).get("remote"):
                return
            time.sleep(0.1)
        raise AssertionError("the agent did not come online:\n" + self.log("odographd"))

    def start_server(self):
        self.server = self.start("serve", self.command)
        self.wait_for_port(self.port)

    def stop_server(self):
        self.server.terminate()
        self.server.wait(15)
        self.children = [each for each in self.children if each[1] is not self.server]

    def simulate(self, vehicles, rate=1.0, speed=1.0, *arguments):
        return self.start("simulate", [
            program("odograph"), "simulate", "--broker", f"mqtt://127.0.0.1:{self.broker_port}", "--vehicles", str(vehicles),
            "--rate", str(rate), "--speed", str(speed), *arguments])

    def publish(self, topic, payload, retain=False):
        """Publishes a message. An empty payload deletes the retained message."""
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        subprocess.run(
            ["mosquitto_pub", "-p", str(self.broker_port), "-t", topic, "-q", "1", "-s" if data else "-n", *(["-r"] if retain else [])],
            input=data, check=True)

    def publish_lines(self, topic, payloads):
        text = "".join(json.dumps(each) + "\n" for each in payloads)
        subprocess.run(["mosquitto_pub", "-p", str(self.broker_port), "-t", topic, "-q", "1", "-l"], input=text.encode(), check=True)

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o600)
        return path

    def start(self, name, command):
        log = open(os.path.join(self.folder, f"{name}.log"), "a")
        child = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        log.close()
        self.children.append((name, child))
        return child

    def log(self, name):
        with open(os.path.join(self.folder, f"{name}.log"), errors="replace") as file:
            return file.read()[-3000:]

    def wait_for_port(self, port):
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                for name, child in self.children:
                    if child.poll() is not None:
                        raise SystemExit(f"{name} ended with {child.returncode}:\n{self.log(name)}")
                time.sleep(0.05)
        raise SystemExit(f"nothing listens at port {port}")

    def get(self, path):
        """Returns the server's answer as JSON, or the status of an error."""
        try:
            with urllib.request.urlopen(self.address + path, timeout=20) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # The broker exits last, so that the others can disconnect.
        for name, child in reversed(self.children):
            if child.poll() is not None:
                print(f"{name} ended by itself with {child.returncode}:\n{self.log(name)}", flush=True)
            child.terminate()
            try:
                child.wait(15)
            except subprocess.TimeoutExpired:
                print(f"{name} did not end within 15 s", flush=True)
                child.kill()
                child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
