"""A recorded day: slider, plots, trips, stops, events, playback, files; and the routes of all vehicles as a background."""
import csv
import os
import tempfile
import time
import xml.etree.ElementTree

from page import hash_has, painted_pixels
from samples import Day


def prepare(fleet):
    """Publishes a recorded day, once for all uses of this fleet."""
    if not hasattr(fleet, "day"):
        day = Day()
        day.publish(fleet, "van-9")
        fleet.day = day
    return fleet.day


def open_day(page, query=""):
    day = prepare(page.fleet)
    tab = page.open(f"#/vehicle/{page.fleet.name}/van-9/history/{day.name}{query}")
    tab.wait(f"document.querySelector('.day-summary')?.textContent.startsWith('{len(day.locations):,} positions')", "the day's positions")
    return tab, day


def clock(tab):
    return tab.text(".readout time")


def use_history(page):
    """The day with its plots and its events; each entry leads to its time."""
    tab, _ = open_day(page)
    tab.wait("document.getElementById('journal-Trips').textContent === 'Trips 2'")
    tab.wait("document.querySelector('.day-summary').textContent.includes('2 trips')", "the trips in the day's summary")
    # The charts and the slider cover the recorded time, 08:00 to 10:45 with half a minute at both ends, not 24 hours.
    span = "Number(document.querySelector('.time-slider').max)"
    tab.wait(f"Math.abs({span} - 9957) < 5", f"the span of the day: {tab.run(span)}", 5)
    painted = tab.run(painted_pixels(".plots"))
    assert painted > 3000, f"the plots are empty: {painted}"
    page.picture("history")
    page.check()
    # The map is low on a phone: its buttons are checked one by one at their lower edges.
    assert tab.run("""[...document.querySelectorAll(".map-buttons button")].every((each) => {
      const { x, width, bottom } = each.getBoundingClientRect();
      return each === document.elementFromPoint(x + width / 2, bottom - 4);
    })"""), "something lies over a button of the map"
    # The slider is moved with the keyboard.
    tab.run("document.querySelector('.time-slider').focus()")
    before = clock(tab)
    tab.key("PageUp")
    tab.wait(f"document.querySelector('.readout time').textContent !== '{before}'", "the slider moves the moment")
    hash_has(tab, "time=")
    # A trip has its own plots, and a link to the whole day.
    tab.click(".journal-items .entry")
    tab.wait("[...document.querySelectorAll('.dock button')].some((e) => e.textContent === 'Whole day' && e.checkVisibility())", "the trip's span")
    hash_has(tab, "from=", "to=")
    trips = (3660, 2760)
    tab.wait(f"{trips}.some((wanted) => Math.abs({span} - wanted) < 5)".replace("(3660, 2760)", "[3660, 2760]"), f"the span of the trip: {tab.run(span)}", 5)
    page.picture("trip")
    tab.click_text("Whole day", ".dock")
    tab.wait("!location.hash.includes('from=')")
    for name, word in (("Stops", "\u202f(min|h)"), ("Regions", "entered depot <north>.*70 % confidence.*left depot <north>"), ("Events", "harsh braking")):
        tab.click(f"#journal-{name}")
        tab.wait(f"document.querySelector('.journal-items')?.textContent.toLowerCase().match(/{word}/)", f"{name} of the day")
    tab.wait("document.getElementById('journal-Regions').textContent === 'Regions 522'", "all pages of a list")
    before = clock(tab)
    tab.click(".journal-items .entry")
    tab.wait(f"document.querySelector('.readout time').textContent !== '{before}'", "the moment of the event")
    hash_has(tab, "list=events")
    page.picture("events")
    page.check()
    # A reload shows the same.
    told = clock(tab)
    time.sleep(0.6)
    tab.reload()
    tab.wait(f"document.querySelector('.readout time')?.textContent === '{told}'", "a reload restores the moment")
    tab.wait("document.getElementById('journal-Events').getAttribute('aria-selected') === 'true'", "and the list")


def use_playback(page):
    """The day is played back, gaps are skipped, and playback stops on request."""
    tab, _ = open_day(page)
    tab.set(".dock select", "300")
    before = clock(tab)
    tab.click_text("Play", ".dock")
    tab.wait(f"document.querySelector('.readout time').textContent !== '{before}'", "playback continues")
    tab.wait("document.querySelector('.dock [aria-pressed=true]').textContent === 'Pause'")
    tab.click_text("Pause", ".dock")
    told = clock(tab)
    time.sleep(0.4)
    assert clock(tab) == told, "playback did not stop"
    # The previous day has no data, and the page reports that.
    tab.click("[aria-label='Previous day']")
    tab.wait("document.querySelector('.history-panel').textContent.includes('No positions recorded on this day')")
    page.check()


def use_download(page):
    """The whole day as GPX and CSV, created by the page, and as GeoJSON from the server."""
    with tempfile.TemporaryDirectory() as folder:
        page.chrome.download_to(folder, page.person)
        tab, day = open_day(page)
        for form in ("GPX", "CSV", "GeoJSON"):
            tab.click_text(form, ".history-panel .downloads")
        end = time.monotonic() + 20
        while time.monotonic() < end:
            names = sorted(name for name in os.listdir(folder) if not name.endswith(".crdownload"))
            if len(names) == 3:
                break
            time.sleep(0.1)
        assert len(names) == 3, names
        named = {name.rsplit(".", 1)[1]: os.path.join(folder, name) for name in names}
        root = xml.etree.ElementTree.parse(named["gpx"]).getroot()
        assert len(root.findall(".//{http://www.topografix.com/GPX/1/1}trkpt")) == len(day.locations)
        with open(named["csv"], newline="") as file:
            lines = list(csv.DictReader(file))
        assert len(lines) == len(day.locations) and lines[0]["time"] == day.locations[0]["time"], lines[0]
        assert float(lines[0]["latitude"]) == round(day.locations[0]["latitude"], 7)
        assert os.path.getsize(named["geojson"]) > 10_000


def use_ways(page):
    """Without a base map, the fleet's recorded routes are the background, on a graticule with a scale."""
    prepare(page.fleet)
    tab = page.open("#/map?at=48.137,11.575&zoom=13")
    tab.wait(painted_pixels(".leaflet-ways-pane canvas") + " > 500", "the ways are drawn")
    assert tab.run(painted_pixels(".leaflet-graticule-pane canvas")) > 500, "no graticule"
    assert tab.text(".leaflet-control-scale-line"), "no scale"
    page.picture("ways")
    page.check()


def use_figures(page):
    """The statistics of the fleet, with the totals of the recording."""
    prepare(page.fleet)
    tab = page.open("#/fleet")
    tab.wait("document.querySelector('.fleet-view table')?.textContent.includes('van-9')", "the days of the recording")
    assert "unreadable" not in tab.text(".fleet-view"), "the day has unreadable messages"
    page.picture("figures")
    page.check()
