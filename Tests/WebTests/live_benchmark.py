#!/usr/bin/env python3
"""Load of a page in Chromium and of the server with a large fleet; `web-benchmark --live` runs it.

live_benchmark.py [--vehicles 10000] [--rate 2900] [--clients 50] [--seconds 60] [--loads 5] [--odograph FILE]: a broker, `odograph simulate` and
`odograph serve`, one page, and readers of streams as the other clients. Prints CSV: figure, value, unit, limit, verdict. Times include
other load of the machine, which is printed, too; on a busy machine only processor times are comparable.
"""
import argparse
import os
import random
import selectors
import socket
import statistics
import subprocess
import sys
import time

import websocket

from chrome import Chrome
from fleet import Fleet

tick = os.sysconf("SC_CLK_TCK")

# Runs before the page's own scripts: counts the vehicles in each frame of the fleet's canvas by the drawing calls, and records the times
# of frames.
watch = """
(() => {
  const told = window.benchmark = { shown: 0, paints: 0, pending: [], delays: [], wanted: VEHICLES };
  const of = (context) => context.canvas.parentElement?.classList.contains("leaflet-fleet-pane");
  const wrap = (name, body) => {
    const original = CanvasRenderingContext2D.prototype[name];
    CanvasRenderingContext2D.prototype[name] = function (...values) {
      if (of(this)) body(values);
      return original.apply(this, values);
    };
  };
  const frameDone = () => requestAnimationFrame(() => {
    const now = Date.now(), at = performance.now();
    if (told.shown > 0) told.first ??= at;
    if (told.shown >= told.wanted) told.all ??= at;
    for (const time of told.drawn) told.delays.push(now - time);
    told.drawn = [];
  });
  told.drawn = [];
  wrap("clearRect", () => {
    told.shown = 0;
    told.paints += 1;
    told.drawn.push(...told.pending.splice(0));
    frameDone();
  });
  wrap("drawImage", () => { told.shown += 1; });
  wrap("fillText", ([text]) => { told.shown += text === "10k" ? 10000 : /^\\d+$/.test(text) ? Number(text) : 0; });
})();
"""

# Delay of each change of a vehicle, from the time of its message until the frame after the one that draws it.
listen = """
import("/fleet-layer.js").then(({ FleetLayer }) => {
  const update = FleetLayer.prototype.update;
  FleetLayer.prototype.update = function (changes) {
    for (const { vehicle } of changes) if (vehicle?.position) window.benchmark.pending.push(Date.parse(vehicle.position.time));
    return update.call(this, changes);
  };
  return true;
})
"""

frames = """
window.benchmark.intervals = []; window.benchmark.paints = 0;
(() => { let last; const step = (now) => { if (last !== undefined) window.benchmark.intervals.push(now - last); last = now;
  window.benchmark.request = requestAnimationFrame(step); }; window.benchmark.request = requestAnimationFrame(step); })()
"""


def ticks(path):
    """Returns the processor time in s of a process or a thread."""
    fields = open(f"{path}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / tick


def memory(pid, name, file="status"):
    for line in open(f"/proc/{pid}/{file}"):
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0


class Renderer:
    """The process of the page: the renderer with the most memory."""

    def __init__(self, chrome):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                command = open(f"/proc/{pid}/cmdline").read()
                if "--type=renderer" in command and chrome.folder in command or (
                        "--type=renderer" in command and self.ancestor(pid, chrome.process.pid)):
                    found.append((memory(pid, "VmRSS"), pid))
            except OSError:
                continue
        self.pid = max(found)[1]
        self.main = f"/proc/{self.pid}"
        for thread in os.listdir(f"/proc/{self.pid}/task"):
            if open(f"/proc/{self.pid}/task/{thread}/comm").read().strip() == "CrRendererMain":
                self.main = f"/proc/{self.pid}/task/{thread}"
        # Without a graphics card, the GPU process draws the page, and its time counts, too.
        self.others = [pid for pid in filter(str.isdigit, os.listdir("/proc")) if self.is_gpu(pid, chrome.process.pid)]

    def is_gpu(self, pid, root):
        try:
            return "--type=gpu-process" in open(f"/proc/{pid}/cmdline").read() and self.ancestor(pid, root)
        except OSError:
            return False

    @staticmethod
    def ancestor(pid, root):
        for _ in range(8):
            if int(pid) == root:
                return True
            pid = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1]
            if int(pid) <= 1:
                return False
        return False

    def private(self):
        return memory(self.pid, "Private_Clean", "smaps_rollup") + memory(self.pid, "Private_Dirty", "smaps_rollup")


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else float("nan")


class Report:
    failed = False

    def line(self, figure, value, unit, limit=None, least=False):
        holds = None if limit is None else (value >= limit if least else value <= limit)
        # NaN fails every limit.
        verdict = "" if holds is None else "holds" if holds else "FAILS"
        self.failed |= verdict == "FAILS"
        sign = "" if limit is None else (">=" if least else "<=") + f"{limit:g}"
        print(f"{figure},{value:.4g},{unit},{sign},{verdict}", flush=True)


def read_streams(port, count):
    """Opens streams like pages, some of the whole fleet and some of a part, and reads all events."""
    chooser, generator, total = selectors.DefaultSelector(), random.Random(1), 0
    for number in range(count):
        view = ""
        if number % 2:
            west, south = 11.4 + generator.random() * 0.3, 48.05 + generator.random() * 0.15
            view = f"bounds={west:.4f},{south:.4f},{west + 0.1:.4f},{south + 0.06:.4f}&"
        stream = socket.create_connection(("127.0.0.1", port))
        stream.sendall(f"GET /api/v1/stream?{view}interval=0.25 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept-Encoding: gzip\r\n\r\n".encode())
        stream.setblocking(False)
        chooser.register(stream, selectors.EVENT_READ)
    end = time.monotonic()
    while chooser.get_map():
        for key, _ in chooser.select():
            data = key.fileobj.recv(1 << 20)
            if not data:
                chooser.unregister(key.fileobj)
            total += len(data)
        if time.monotonic() > end:
            print(total, flush=True)
            end = time.monotonic() + 1


def load_page(chrome, fleet, is_cached):
    tab = chrome.tab()
    tab.size(1280, 800)
    tab.call("Page.addScriptToEvaluateOnNewDocument", source=watch.replace("VEHICLES", str(fleet.count)))
    tab.call("Network.setCacheDisabled", cacheDisabled=not is_cached)
    tab.go(fleet.address + "#/map")
    tab.wait("window.benchmark?.all > 0", f"{fleet.count} vehicles are drawn", 60)
    told = tab.run("""(() => {
      const scripts = performance.getEntriesByType("resource").filter((e) => e.name.endsWith(".js"));
      const paint = performance.getEntriesByName("first-contentful-paint")[0];
      return { first: benchmark.first, all: benchmark.all, scripts: Math.max(...scripts.map((e) => e.responseEnd)), count: scripts.length,
        paint: paint?.startTime ?? 0 };
    })()""")
    return tab, told


def close(tab):
    try:
        tab.call("Page.close")
    except websocket.WebSocketConnectionClosedException:
        # The page closes before it answers.
        pass


def drag(tab, seconds):
    """Drags the map back and forth, 60 times a second if the page is fast enough."""
    x, y = tab.run("(() => { const b = document.getElementById('map').getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()")
    tab.mouse("mouseMoved", x, y)
    tab.mouse("mousePressed", x, y)
    end, step = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        place = 150 - abs(step * 6 % 600 - 300)
        begun = time.monotonic()
        tab.mouse("mouseMoved", x + place, y + place / 3, buttons=1)
        time.sleep(max(0, 1 / 60 - (time.monotonic() - begun)))
        step += 1
    # At rest, as the map would continue to move otherwise.
    time.sleep(0.3)
    tab.mouse("mouseReleased", x + place, y + place / 3)


def pan(report, name, tab, renderer, seconds):
    tab.run(frames)
    before, drawn, start = ticks(renderer.main), sum(ticks(f"/proc/{pid}") for pid in renderer.others), time.monotonic()
    drag(tab, seconds)
    told = tab.run("({ intervals: benchmark.intervals, paints: benchmark.paints, shown: benchmark.shown })")
    tab.run("cancelAnimationFrame(benchmark.request)")
    passed = time.monotonic() - start
    busy = ticks(renderer.main) - before
    report.line(f"pan_{name}_frames_per_second", 1000 / statistics.median(told["intervals"]), "1/s", 30, least=True)
    report.line(f"pan_{name}_slowest_5_percent", 1000 / quantile(told["intervals"], 0.95), "1/s")
    report.line(f"pan_{name}_maps_drawn_per_second", told["paints"] / passed, "1/s", 30, least=True)
    report.line(f"pan_{name}_main_thread_per_map", busy / max(1, told["paints"]) * 1000, "ms", 33.3)
    report.line(f"pan_{name}_raster_per_map", (sum(ticks(f"/proc/{pid}") for pid in renderer.others) - drawn) / max(1, told["paints"]) * 1000, "ms")
    report.line(f"pan_{name}_vehicles_shown", told["shown"], "1")


def measure(options, report):
    fleet = Fleet(options.vehicles, rate=options.rate / options.vehicles)
    with fleet:
        end = time.monotonic() + 60
        while fleet.get("api/v1/statistics")["vehicles"]["online"] < options.vehicles:
            assert time.monotonic() < end, "the server does not learn of the whole fleet"
            time.sleep(0.2)
        readers = subprocess.Popen([sys.executable, __file__, "--readers", str(fleet.port), "--clients", str(options.clients - 1)],
                                   stdout=subprocess.PIPE, text=True)
        try:
            time.sleep(3)
            with Chrome() as chrome:
                run(options, report, fleet, chrome)
        finally:
            readers.terminate()
            sent = readers.communicate()[0].split()
    report.line("clients_read", int(sent[-1]) / max(1, len(sent) - 1) / 1e6, "MB/s")


def run(options, report, fleet, chrome):
    server = f"/proc/{fleet.server.pid}"
    # The first page starts a process, and fills caches that a browser in use has.
    close(load_page(chrome, fleet, True)[0])
    for name, is_cached in (("without_cache", False), ("with_cache", True)):
        loads = []
        for _ in range(options.loads):
            tab, told = load_page(chrome, fleet, is_cached)
            close(tab)
            loads.append(told)
        for part, limit in (("scripts", None), ("paint", None), ("first", None), ("all", 1000)):
            report.line(f"view_{name}_{part}", statistics.median(each[part] for each in loads), "ms", limit)
        report.line(f"view_{name}_all_worst", max(each["all"] for each in loads), "ms")
    tab, _ = load_page(chrome, fleet, True)
    tab.run(listen)
    renderer = Renderer(chrome)
    time.sleep(2)
    # DevTools would receive each event, unlike in a user's browser.
    tab.call("Network.disable")
    tab.run("benchmark.delays = []; benchmark.since = performance.now()")
    before, main, start, load = ticks(server), ticks(renderer.main), time.monotonic(), os.getloadavg()
    time.sleep(options.seconds)
    delays, pictured = tab.run("[benchmark.delays, (performance.now() - benchmark.since) / 1000]")
    passed = time.monotonic() - start
    report.line("load_before", load[0], "1")
    report.line("load_after", os.getloadavg()[0], "1")
    report.line("messages", fleet.get("api/v1/statistics")["messages"]["perSecond"], "1/s", options.rate * 0.95, least=True)
    report.line("clients", fleet.get("api/v1/statistics")["server"]["streams"], "1", options.clients, least=True)
    report.line("pixels_drawn", len(delays) / pictured, "1/s", options.rate * 0.9, least=True)
    report.line("message_to_pixel_median", statistics.median(delays), "ms")
    report.line("message_to_pixel_95_percent", quantile(delays, 0.95), "ms", 500)
    report.line("message_to_pixel_99_percent", quantile(delays, 0.99), "ms")
    report.line("server_processor", (ticks(server) - before) / passed, "cores", 0.5)
    report.line("page_main_thread", (ticks(renderer.main) - main) / passed, "cores")
    pan(report, "fleet", tab, renderer, options.seconds / 4)
    for _ in range(4):
        tab.click("[aria-label='Zoom in']")
        time.sleep(0.6)
    time.sleep(1)
    pan(report, "streets", tab, renderer, options.seconds / 4)
    report.line("page_memory_peak", memory(renderer.pid, "VmHWM"), "MB")
    report.line("page_memory_private", renderer.private(), "MB", 250)
    tab.call("HeapProfiler.collectGarbage")
    report.line("page_heap", tab.metrics()["JSHeapUsedSize"] / 1e6, "MB", 250)
    report.line("server_memory_own", memory(fleet.server.pid, "Anonymous", "smaps_rollup"), "MB")
    report.line("server_memory", memory(fleet.server.pid, "VmRSS"), "MB", 100)
    report.line("server_memory_peak", memory(fleet.server.pid, "VmHWM"), "MB", 100)
    assert not tab.console, "console: " + "\n".join(tab.console)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vehicles", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=2900)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--loads", type=int, default=5)
    parser.add_argument("--odograph")
    parser.add_argument("--readers", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.readers:
        return read_streams(options.readers, options.clients)
    if options.odograph:
        os.environ["ODOGRAPH_PROGRAM"] = options.odograph
    report = Report()
    print("figure,value,unit,limit,verdict", flush=True)
    measure(options, report)
    sys.exit(report.failed)


main()
