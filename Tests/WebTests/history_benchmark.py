#!/usr/bin/env python3
"""Time to show a day of 86,400 positions, compared with another frontend's method; `web-benchmark --history` runs it.

history_benchmark.py ADDRESS PEER_JSON [ROUNDS]: a page of the server at ADDRESS loads a day of vehicle bench/van-7. For comparison, a
minimal page loads all points of that day as one JSON and draws them as a Leaflet line, like the OwnTracks frontend. Prints CSV: figure,
median and worst in ms, limit, verdict. Both times start with the click and end with the frame after the one that draws.
"""
import functools
import http.server
import os
import statistics
import sys
import tempfile
import threading

from chrome import Chrome

leaflet = "/usr/share/javascript/leaflet"

drawn = """
(async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const start = performance.now();
  const until = async (isSo) => { while (!isSo()) { if (performance.now() - start > 60_000) return "not within a minute"; await frame(); } };
  %s
  await frame(); await frame();
  return performance.now() - start;
})()
"""

ours = """
  location.hash = "#/vehicle/bench/van-7/history/2026-11-21";
  await until(() => document.querySelector(".day-summary")?.textContent.startsWith("86,400 positions"));
"""

theirs = """
  const told = await (await fetch("/peer.json", { cache: "no-store" })).json();
  const points = told.data.map((point) => [point.lat, point.lon]);
  window.line?.remove();
  window.line = L.polyline(points).addTo(map);
  map.fitBounds(line.getBounds(), { animate: false });
"""

peer_page = """<!doctype html><link rel="stylesheet" href="leaflet.css"><script src="leaflet.js"></script>
<body style="margin:0"><div id="map" style="height:800px"></div><script>const map = L.map("map").setView([48, 11], 9);</script>"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def report(figure, times, limit=None):
    median = statistics.median(times)
    verdict = "" if limit is None else "holds" if median <= limit else "FAILS"
    print(f"{figure},{median:.1f},{max(times):.1f},{limit or ''},{verdict}", flush=True)
    return verdict != "FAILS"


def timed(tab, script):
    value = tab.run(drawn % script)
    assert isinstance(value, (int, float)), value
    return value


def main(address, peer, rounds=7):
    rounds = int(rounds)
    with tempfile.TemporaryDirectory() as folder, Chrome() as chrome:
        tab = chrome.tab()
        tab.size(1280, 800)
        # The day is in UTC.
        tab.call("Emulation.setTimezoneOverride", timezoneId="UTC")
        tab.call("Network.setCacheDisabled", cacheDisabled=True)
        tab.go(address + "#/map")
        times = []
        # The first round fills the browser's caches.
        for _ in range(rounds + 1):
            tab.run("location.hash = '#/map'")
            tab.wait("!document.querySelector('.history-panel')?.checkVisibility()")
            # Removes the summary of the previous round.
            tab.run("document.querySelector('.day-summary')?.replaceChildren()")
            times.append(timed(tab, ours))
            # The next click follows the answer of the previous one.
            tab.wait("/\\d/.test(document.getElementById('journal-Stops').textContent)", "the day's stops")
        good = report("day_shown", times[1:], 500)
        report_heap(tab, "page_heap")
        assert not tab.console, "console: " + "\n".join(tab.console)

        os.symlink(os.path.abspath(peer), os.path.join(folder, "peer.json"))
        for name in ("leaflet.js", "leaflet.css"):
            os.symlink(os.path.join(leaflet, name), os.path.join(folder, name))
        with open(os.path.join(folder, "index.html"), "w") as file:
            file.write(peer_page)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        tab = chrome.tab()
        tab.size(1280, 800)
        tab.go(f"http://127.0.0.1:{server.server_port}/")
        tab.wait("typeof map === 'object' && typeof L === 'object'")
        times = [timed(tab, theirs) for _ in range(rounds + 1)][1:]
        report("peer_day_shown_without_database", times)
        report_heap(tab, "peer_page_heap")
        server.shutdown()
    return 0 if good else 1


def report_heap(tab, name):
    tab.call("HeapProfiler.collectGarbage")
    print(f"{name},{tab.metrics()['JSHeapUsedSize'] / 1e6:.1f},,MB,", flush=True)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: history_benchmark.py ADDRESS PEER_JSON [ROUNDS]")
    sys.exit(main(*sys.argv[1:]))
