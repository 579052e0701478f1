#!/usr/bin/env python3
"""The page of `odograph serve` in a real Chromium, on a real server, broker and simulated vehicles.

page_tests.py FOLDER [NAME...] [--program PATH]: runs the uses (all of them, or those named), keeps a picture of each in FOLDER, and fails on the first line
that the browser's console says, on a request to anywhere else, on a finding of the accessibility rules, and on a use that does not work.
ODOGRAPH_FULL=1 also shows 10,000 vehicles, and every size in both colours.
"""
import argparse
import json
import os
import sys
import time
import traceback
from urllib.parse import quote

import rules
from chrome import Chrome
from fleet import Fleet

sizes = {"phone": (390, 844), "desk": (1280, 800), "wall": (2560, 1440)}
is_full = os.environ.get("ODOGRAPH_FULL") == "1"


class Page:
    """A tab at the server, with what every use demands at its end."""

    def __init__(self, chrome, fleet, folder, size="desk", scheme="light", motion="no-preference"):
        self.tab, self.fleet, self.folder = chrome.tab(), fleet, folder
        self.size, self.scheme = size, scheme
        self.tab.size(*sizes[size], mobile=size == "phone")
        self.tab.prefer(scheme, motion)
        self.allowed = []
        # What was chosen in another use does not count here.
        self.tab.call("Storage.clearDataForOrigin", origin=fleet.address.rstrip("/"), storageTypes="local_storage")

    def open(self, route="#/map"):
        self.tab.go(self.fleet.address + route)
        self.tab.wait("document.body && !document.body.classList.contains('logged-out')", "the page has begun")
        return self.tab

    def picture(self, name):
        self.tab.picture(os.path.join(self.folder, f"{name}-{self.size}-{self.scheme}.png"))

    def check(self):
        """Nothing in the console, no request elsewhere, nothing found by the rules, nothing wider than the window."""
        found = rules.findings(self.tab)
        assert not found, "accessibility: " + "\n  ".join(found)
        self.quiet()
        assert self.tab.run("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than its window"

    def quiet(self):
        self.tab.run("1")
        said = [line for line in self.tab.console if not any(word in line for word in self.allowed)]
        assert not said, "console: " + "\n  ".join(said)
        elsewhere = [url for url in self.tab.requests if not url.startswith((self.fleet.address, "data:"))]
        assert not elsewhere, f"requests elsewhere: {elsewhere}"

    def close(self):
        self.tab.call("Page.close")


def rows(tab):
    return tab.run("[...document.querySelectorAll('.vehicle-list .rows > :not([hidden]) .name')].map((e) => e.textContent)")


def vehicles_known(tab, count):
    tab.wait(f"document.querySelector('.list-status')?.textContent.startsWith('{count:,} vehicle')", f"{count} vehicles in the list", 60)


# Uses. Each takes a Page; those of one fleet share it.

def use_map(page):
    """The map shows the fleet; a click on the map chooses what is there; the map can be panned and zoomed."""
    tab = page.open("#/map")
    vehicles_known(tab, page.fleet.count)
    time.sleep(1)
    page.picture("map")
    page.check()
    before = tab.run("location.hash")
    x, y = tab.run("(() => { const b = document.getElementById('map').getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()")
    tab.mouse("mouseMoved", x, y)
    tab.mouse("mousePressed", x, y)
    for step in range(10):
        tab.mouse("mouseMoved", x + 10 * step, y + 5 * step, buttons=1)
    tab.mouse("mouseReleased", x + 90, y + 45)
    tab.wait(f"location.hash !== {json.dumps(before)} && location.hash.includes('at=')", "the address tells the map's place")
    tab.click("[aria-label='Zoom in']")
    tab.click(".legend summary")
    time.sleep(0.5)
    page.picture("legend")
    page.check()


def use_list(page):
    """Search, filters, order and keys of the list."""
    tab = page.open("#/map")
    vehicles_known(tab, page.fleet.count)
    names = rows(tab)
    natural = sorted(names, key=lambda name: int(name.split("-")[-1]))
    assert names == natural, f"natural order: {names}"
    tab.key("/")
    tab.wait("document.activeElement?.matches('#panel .search')", "/ goes to the search")
    tab.type("sim-7")
    tab.wait("document.querySelector('.list-status').textContent.includes(' of ')", "fewer are shown")
    assert all("sim-7" in name for name in rows(tab)), rows(tab)
    tab.run("document.querySelector('#panel .search').select()")
    tab.key("Backspace")
    tab.run("(() => { const e = document.querySelector('#panel .search'); e.value = ''; e.dispatchEvent(new Event('input')); })()")
    vehicles_known(tab, page.fleet.count)
    tab.run("document.querySelector('#panel [role=listbox]').focus()")
    for _ in range(3):
        tab.key("ArrowDown")
    tab.key("Enter")
    tab.wait("location.hash.startsWith('#/vehicle/')", "Enter opens a vehicle")
    tab.wait("!document.querySelector('.details').hidden")
    tab.key("Escape")
    tab.wait("location.hash.startsWith('#/map')", "Escape closes it")


def use_details(page):
    """All that is known of a vehicle, at its own address."""
    tab = page.open(f"#/vehicle/{page.fleet.name}/sim-1")
    tab.wait("document.querySelector('.details h2')?.textContent === 'sim-1'")
    tab.wait("document.querySelector('.details .facts dd')?.textContent.match(/^-?\\d+\\.\\d{5}, /)", "its place")
    text = tab.run("document.querySelector('.details').textContent")
    for word in ("Accuracy", "Source", "Measured", "not known"):
        assert word in text, f"{word} is not in the details"
    time.sleep(2)
    page.picture("details")
    page.check()
    tab.click_text("Follow", ".details")
    tab.wait("document.querySelector('.details [aria-pressed=true]')", "it is followed")
    tab.click("[aria-label=\"Close the vehicle's panel\"]")
    tab.wait("document.querySelector('.details').hidden")


def use_table(page):
    """The map's other form: a table that a screen reader reads."""
    tab = page.open("#/vehicles")
    tab.wait("document.querySelectorAll('.vehicles-view .rows > :not([hidden])').length > 0", "rows")
    tab.wait(f"document.querySelector('.table-scroll').getAttribute('aria-rowcount') === '{page.fleet.count + 1}'")
    page.picture("vehicles")
    page.check()
    tab.click_text("State", ".vehicles-view")
    tab.wait("document.querySelector('[aria-sort=ascending]').textContent.includes('State')")
    tab.run("document.querySelector('.table-scroll').focus()")
    tab.key("End")
    tab.wait("document.querySelector('.vehicles-view .cursor')", "the cursor is at the end")
    tab.key("Enter")
    tab.wait("location.hash.startsWith('#/vehicle/')")


def use_views(page):
    """Every view by its address: regions, alerts, the fleet in figures, help and settings."""
    tab = page.open("#/alerts")
    tab.wait("document.querySelector('.alerts-view h1')?.checkVisibility()")
    time.sleep(1)
    page.picture("alerts")
    tab.go(page.fleet.address + "#/fleet")
    tab.wait("document.querySelector('.tile b')?.checkVisibility()")
    time.sleep(1)
    page.picture("fleet")
    page.check()
    tab.key("?")
    tab.wait("document.querySelector('dialog[open]')")
    page.picture("keys")
    page.check()
    tab.key("Escape")
    tab.wait("!document.querySelector('dialog')")
    dark = tab.run("document.documentElement.dataset.theme")
    tab.key("d")
    tab.wait(f"document.documentElement.dataset.theme !== '{dark}'", "d changes the colours")
    tab.key("u")
    tab.wait("document.querySelector('.zone').textContent === 'UTC'", "u changes the zone")
    page.picture("other-theme")
    page.check()
    tab.key("u")
    tab.key("d")


def use_hostile(page):
    """Names and texts with markup and scripts stay text."""
    name = "<img src=x onerror=alert(1)>"
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    topic = f"odograph/v1/{page.fleet.name}/{name}"
    page.fleet.publish(topic + "/location", {"time": now, "latitude": 48.2, "longitude": 11.6, "epoch": "00000000000000aa", "seq": 1}, retain=True)
    page.fleet.publish(topic + "/status", {
        "state": "online", "time": now, "model": "</script><script>alert(2)</script>", "version": "\u202e<b>x", "epoch": "00000000000000aa", "seq": 2,
        "storeProblem": "<svg onload=alert(3)>"}, retain=True)
    tab = page.open("#/vehicle/" + page.fleet.name + "/" + quote(name, safe=""))
    tab.wait(f"document.querySelector('.details h2')?.textContent === {json.dumps(name)}", "the name as it is")
    tab.wait("document.querySelector('.details').textContent.includes('<svg onload')", "what it says, as text")
    page.picture("hostile")
    assert tab.run("document.querySelectorAll('#panel img, .details img, .details svg[onload], .details script').length") == 0
    assert tab.run("document.title").startswith("<img")
    page.fleet.publish(topic + "/location", b"", retain=True)
    page.fleet.publish(topic + "/status", b"", retain=True)
    page.check()


def use_lost_server(page):
    """A server that goes away is told, and what is shown says as of when; it is found again."""
    tab = page.open("#/map")
    vehicles_known(tab, page.fleet.count)
    page.allowed += ["ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE"]
    page.fleet.stop_server()
    tab.wait("!document.getElementById('banner').hidden", "the page says that it is not live")
    page.picture("lost")
    page.fleet.start_server()
    tab.wait("document.getElementById('banner').hidden && document.querySelector('.live').textContent === 'Live'", "it is live again", 60)
    page.quiet()


def use_keyboard(page):
    """From the first Tab on: the skip link, the views, and nothing without a visible focus."""
    tab = page.open("#/map")
    vehicles_known(tab, page.fleet.count)
    tab.run("document.body.focus(); document.activeElement.blur()")
    tab.key("Tab")
    assert tab.run("document.activeElement.className") == "skip", tab.run("document.activeElement.outerHTML")
    tab.key("Enter")
    tab.wait("document.activeElement.id === 'content'")
    seen = set()
    for _ in range(40):
        tab.key("Tab")
        told = tab.run(
            "(() => { const e = document.activeElement, s = getComputedStyle(e); return [e === document.body, e.outerHTML.slice(0, 90), s.outlineStyle, e.checkVisibility()]; })()")
        if told[0]:
            break
        assert told[2] != "none" and told[3], f"no visible focus at {told[1]}"
        seen.add(told[1])
    assert len(seen) > 9, seen


def use_large_letters(page):
    """At 200 %, nothing is cut off and nothing lies beside the window."""
    page.tab.size(640, 400)
    tab = page.open(f"#/vehicle/{page.fleet.name}/sim-1")
    tab.wait("document.querySelector('.details .facts dd')")
    time.sleep(0.5)
    page.picture("double-size")
    page.check()
    page.tab.size(*sizes[page.size])


def use_frames(page):
    """Panning with all vehicles keeps the frames coming; the page stays small."""
    tab = page.open("#/map")
    vehicles_known(tab, page.fleet.count)
    time.sleep(2)
    tab.run("window.frames0 = 0; (function count() { window.frames0 += 1; requestAnimationFrame(count); })()")
    x, y = tab.run("(() => { const b = document.getElementById('map').getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()")
    tab.mouse("mouseMoved", x, y)
    tab.mouse("mousePressed", x, y)
    first, began, step = tab.run("window.frames0"), time.monotonic(), 0
    while time.monotonic() - began < 4:
        step += 1
        tab.mouse("mouseMoved", x + (step * 7) % 200, y + (step * 3) % 100, buttons=1)
    rate = (tab.run("window.frames0") - first) / (time.monotonic() - began)
    tab.mouse("mouseReleased", x, y)
    page.picture("many")
    tab.call("HeapProfiler.collectGarbage")
    memory = tab.metrics()["JSHeapUsedSize"] / 1e6
    print(f"    {rate:.0f} frames/s while panning, {memory:.0f} MB of heap")
    assert memory < 250, f"{memory} MB"


# A vehicle that was heard stays in the list: the hostile one comes last.
small = [use_map, use_list, use_details, use_table, use_views, use_keyboard, use_large_letters, use_lost_server, use_hostile]


def plan():
    """Fleets in turn, with the uses, sizes and colours that each is shown in."""
    everywhere = [(size, scheme) for size in sizes for scheme in ("light", "dark")]
    shown = everywhere if is_full else [("phone", "dark"), ("wall", "light"), ("desk", "dark")]
    yield 50, [(use, size, scheme) for use in (use_map, use_details, use_table, use_views) for size, scheme in shown
               if (size, scheme) != ("desk", "light")] + [(use, "desk", "light") for use in small]
    yield 1, [(use_map, "desk", "light"), (use_details, "phone", "dark")]
    if is_full:
        yield 10_000, [(use_frames, "desk", "light"), (use_map, "wall", "dark"), (use_table, "desk", "light"), (use_map, "phone", "light")]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder")
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--program", help="odograph; the one in .build otherwise")
    chosen = arguments.parse_args()
    folder, wanted = chosen.folder, chosen.names
    if chosen.program:
        os.environ["ODOGRAPH_PROGRAM"] = chosen.program
    os.makedirs(folder, exist_ok=True)
    failures = done = 0
    with Chrome() as chrome:
        for count, uses in plan():
            uses = [each for each in uses if not wanted or each[0].__name__.removeprefix("use_") in wanted]
            if not uses:
                continue
            with Fleet(count, rate=1.0 if count < 1000 else 0.29) as fleet:
                for use, size, scheme in uses:
                    name = f"{use.__name__.removeprefix('use_')}, {count} vehicles, {size}, {scheme}"
                    page = Page(chrome, fleet, folder, size, scheme)
                    try:
                        use(page)
                        page.quiet()
                        print(f"ok   {name}", flush=True)
                    except Exception:
                        failures += 1
                        print(f"FAIL {name}\n{traceback.format_exc()}", flush=True)
                        try:
                            page.picture(f"failed-{use.__name__.removeprefix('use_')}")
                        except Exception:
                            pass
                    done += 1
                    try:
                        page.close()
                    except Exception:
                        pass
    print(f"{done - failures} of {done} uses work; pictures are in {folder}")
    sys.exit(1 if failures or not done else 0)


if __name__ == "__main__":
    main()
