"""Links, keyboard only, large text, reduced motion, lost server and broker, names with markup."""
import json
import signal
import time
from urllib.parse import quote

from page import dialog_closed, gone, hash_has, rows, sizes, vehicles_known


def use_links(page):
    """Filters, order and selection are in the address: a reload and another browser show the same."""
    tab = page.open("#/map")
    vehicles_known(tab, page.fleet.count)
    tab.set("#panel .search", "sim-1")
    tab.click("#panel .chip:nth-of-type(4)")
    tab.set("#panel select", "speed")
    hash_has(tab, "q=sim-1", "state=", "order=speed")
    tab.click("[aria-label='Zoom in']")
    hash_has(tab, "at=", "zoom=")
    time.sleep(0.8)
    address, state = tab.run("location.hash"), tab.text(".list-status")

    def same(seen):
        seen.wait("document.querySelector('#panel .search')?.value === 'sim-1'", "the search")
        seen.wait("document.querySelector('#panel .chip:nth-of-type(4)').getAttribute('aria-pressed') === 'true'", "the state")
        seen.wait("document.querySelector('#panel select').value === 'speed'", "the order")
        seen.wait("document.querySelector('.list-status').textContent.includes(' of ')", f"fewer, as {state}")
        seen.wait(f"location.hash.includes({json.dumps(address.split('zoom=')[1].split('&')[0])})")

    tab.reload()
    same(tab)
    page.picture("filtered")
    page.check()
    other = page.another()
    try:
        other.open(address)
        same(other.tab)
        other.quiet()
    finally:
        other.close()
    # Filters stay for a vehicle and for the table, and can be removed with one click.
    tab.click(".vehicle-list [aria-posinset='1']:not([hidden])")
    hash_has(tab, "#/vehicle/", "q=sim-1")
    tab.click("#header nav a[data-view=vehicles]")
    hash_has(tab, "#/vehicles", "q=sim-1")
    tab.click_text("Show all", "#wide")
    tab.wait(f"document.querySelector('.table-scroll').getAttribute('aria-rowcount') === '{page.fleet.count + 1}'", "all again")
    tab.wait("!location.hash.includes('q=')")
    for route, shown in (("#/regions", ".regions-panel h1"), ("#/alerts", ".alerts-view h1"), ("#/fleet", ".fleet-view h1"), ("#/vehicles?state=standing", ".vehicles-view [aria-pressed=true]"),
                         (f"#/vehicle/{page.fleet.name}/sim-2?open=share", "dialog"), ("#/map?pin=48.14,11.58", ".pin-label"), ("#/nowhere/at/all", ".vehicle-list")):
        tab.go("about:blank")
        page.open(route)
        tab.wait(f"document.querySelector({json.dumps(shown)})?.checkVisibility()", f"{route} shows {shown}")


def use_keyboard(page):
    """The keyboard only: the skip link first, always a visible focus, and a complete task without a pointer."""
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
        told = focus(tab)
        if told is None:
            break
        seen.add(told)
    assert len(seen) > 9, seen
    # To another view, to a vehicle, to a command and back.
    tab.key("v")
    tab.wait("document.activeElement.id === 'vehicles-title'", "the view's title has the focus")
    tab.key("/")
    tab.wait("document.activeElement?.matches('#wide .search')")
    tab.type("sim-2")
    tab.wait("document.querySelector('.table-scroll').ariaRowCount !== '51'")
    for _ in range(30):
        tab.key("Tab")
        if tab.run("document.activeElement.matches('.table-scroll')"):
            break
    tab.key("ArrowDown")
    tab.key("Enter")
    tab.wait("document.activeElement?.matches('.details h2')", "the vehicle has the focus")
    for _ in range(12):
        tab.key("Tab")
        assert focus(tab) is not None
        if tab.run("document.activeElement.textContent") == "Command…":
            break
    tab.key("Enter")
    tab.wait("document.activeElement?.matches('dialog select')", "the dialog has the focus")
    for _ in range(12):
        tab.key("Tab")
        assert tab.run("document.activeElement === document.body || document.activeElement.closest('dialog') !== null"), "the focus left the dialog"
    tab.key("Escape")
    dialog_closed(tab)
    assert tab.run("document.activeElement.textContent") == "Command…", "the focus did not return"
    tab.key("h")
    tab.wait("location.hash.includes('/history')")
    tab.key("Escape")
    tab.wait("!location.hash.includes('/history')")
    tab.key("Escape")
    tab.wait("location.hash.startsWith('#/map')")


def focus(tab):
    """Returns the focused element; none if the focus is outside of the page."""
    told = tab.run("(() => { const e = document.activeElement, s = getComputedStyle(e);"
                   " return [e === document.body, e.outerHTML.slice(0, 90), s.outlineStyle, e.checkVisibility() && !e.closest('[inert]')]; })()")
    if told[0]:
        return None
    assert told[2] != "none" and told[3], f"no visible focus at {told[1]}"
    return told[1]


def use_large_letters(page):
    """At 200 % text size nothing is cut off or outside of the window, in every view."""
    page.tab.size(640, 400, scale=2)
    tab = page.open(f"#/vehicle/{page.fleet.name}/sim-1")
    tab.wait("document.querySelector('.details .facts dd')")
    time.sleep(0.5)
    page.picture("double-size")
    page.check()
    for view in ("map", "vehicles", "regions", "alerts", "fleet"):
        tab.run(f"location.hash = '#/{view}'")
        time.sleep(0.6)
        page.picture(f"double-size-{view}")
        page.check()
    page.tab.size(*sizes[page.size])


def use_less_motion(page):
    """With reduced motion, positions are not extrapolated between reports, and the map does not glide."""
    page.tab.prefer(page.scheme, "reduce")
    tab = page.open("#/map")
    vehicles_known(tab, page.fleet.count)
    tab.run("(() => { window.animated = 0; const read = () => { window.animated = Math.max(window.animated, document.getAnimations().length); requestAnimationFrame(read); }; read(); })()")
    tab.run("document.querySelector('.vehicle-list .rows > :not([hidden])').click()")
    tab.wait("!document.querySelector('.details').hidden")
    tab.key("c")
    tab.click("[aria-label='Zoom in']")
    time.sleep(0.6)
    assert tab.run("window.animated") == 0, "something is animated"
    assert tab.run("document.querySelector('.leaflet-zoom-anim') === null"), "the map glides"
    page.check()


def use_many_tabs(page):
    """More tabs than a browser has connections: hidden tabs close theirs, and reconnect when they are shown."""
    tabs = [page.tab, *(page.chrome.tab(page.person) for _ in range(6))]
    # The limit of half a minute is reduced to some tenths of a second.
    quick = "{ const own = window.setTimeout; window.setTimeout = (run, wait, ...rest) => own(run, wait === 30_000 ? 300 : wait, ...rest); }"
    first = tabs[0]
    for tab in tabs:
        tab.call("Page.addScriptToEvaluateOnNewDocument", source=quick)
        tab.call("Page.bringToFront")
        tab.go(page.fleet.address + "#/map")
        tab.wait("document.querySelector('.live')?.textContent === 'Live'", f"tab {tabs.index(tab)} is live")
        vehicles_known(tab, page.fleet.count)
        if tab is not first:
            before = tabs[tabs.index(tab) - 1]
            before.wait("document.hidden && document.querySelector('.live').textContent === 'Paused'", "the hidden tab closes its connection")
    told = first.text("#banner")
    assert told.startswith("Paused while the tab was hidden. Reconnecting… Data as of "), told
    first.call("Page.bringToFront")
    first.wait("document.querySelector('.live').textContent === 'Live' && document.querySelector('#banner').hidden", "it is live again", 30)
    for tab in tabs[1:]:
        assert not tab.console, tab.console
        tab.call("Page.close")


def use_lost_server(page):
    """A lost server is reported with the age of the data; the page reconnects and continues."""
    tab = page.open(f"#/vehicle/{page.fleet.name}/sim-4")
    vehicles_known(tab, page.fleet.count)
    page.allowed += gone
    page.fleet.stop_server()
    tab.wait("document.getElementById('banner').checkVisibility() && document.getElementById('banner').textContent.includes('No connection to the server')", "the page reports that it is not live")
    tab.wait("document.querySelector('.live').textContent === 'Not live'")
    page.picture("lost")
    assert tab.run("document.getElementById('banner').textContent.includes('as of')"), tab.text("#banner")
    page.fleet.start_server()
    tab.wait("document.getElementById('banner').hidden && document.querySelector('.live').textContent === 'Live'", "it is live again", 60)
    vehicles_known(tab, page.fleet.count)
    tab.wait("document.querySelector('.details .facts dd')?.textContent.match(/^-?\\d+\\.\\d{5}, /)", "the selected vehicle")
    page.check()


def use_silent_server(page):
    """A server that stops without closing its connections counts as lost after 25 s without an event; the page reconnects when it responds again."""
    tab = page.open("#/map")
    vehicles_known(tab, page.fleet.count)
    # A change of the view that waited for the server is answered after its stream has ended.
    page.allowed += [*gone, "404 (Not Found) " + page.fleet.address + "api/v1/stream/"]
    page.fleet.server.send_signal(signal.SIGSTOP)
    try:
        tab.wait("document.querySelector('.live').textContent === 'Not live'", "the page reports the silence", 60)
        age = tab.run("Number(document.getElementById('banner').textContent.match(/No connection to the server for (\\d+)\u202fs/)?.[1])")
        assert age >= 20, f"the data are as old as the last event: {tab.text('#banner')}"
    finally:
        page.fleet.server.send_signal(signal.SIGCONT)
    tab.wait("document.getElementById('banner').hidden && document.querySelector('.live').textContent === 'Live'", "it is live again", 60)
    vehicles_known(tab, page.fleet.count)
    page.check()


def use_lost_broker(page):
    """A lost broker is reported with the time of the last message, and the age of each vehicle increases."""
    tab = page.open("#/map")
    vehicles_known(tab, page.fleet.count)
    page.fleet.stop_broker()
    tab.wait("document.getElementById('banner').checkVisibility() && document.getElementById('banner').textContent.includes('no connection to the broker since')", "the page reports it", 40)
    tab.wait("[...document.querySelectorAll('.vehicle-list .age')].some((e) => Number(e.textContent.match(/(\\d+)\u202fs ago/)?.[1]) > 4)", "ages grow", 30)
    page.picture("broker-lost")
    page.check()
    tab.run("location.hash = '#/fleet'")
    tab.wait("document.querySelector('.fleet-view')?.textContent.includes('disconnected: no new messages')", "the statistics report it, too")
    page.fleet.start_broker()
    tab.wait("document.getElementById('banner').hidden", "messages arrive again", 60)


hostile = "<img src=x onerror=\"window.pwned='name'\">"


def publish_hostile(fleet):
    """A vehicle whose texts all are markup, in every message that the page shows."""
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    topic, numbers = f"odograph/v1/{fleet.name}/{hostile}", iter(range(1, 100))

    def tell(kind, payload, retain=True):
        fleet.publish(f"{topic}/{kind}", {"time": now, **payload, "epoch": "00000000000000aa", "seq": next(numbers)}, retain=retain)

    script = "</script><script>window.pwned='script'</script>"
    svg = "<svg onload=\"window.pwned='svg'\">"
    place = {"latitude": 48.2, "longitude": 11.6, "horizontalAccuracy": 4}
    tell("location", {**place, "speed": 9.0, "course": 20})
    tell("status", {
        "state": "online", "sessionStart": now, "remote": True, "model": script, "version": "\u202e<b>x", "storeProblem": svg, "deliveryProblem": svg,
        "sources": [{"name": svg, "state": "failed", "reason": script}], "degraded": {svg: script}, "services": {svg: script},
        "navigation": {"state": svg, "reason": script}, "orientation": svg})
    ends = {name: {"time": now, **place, "odometer": 1} for name in ("start", "end")}
    tell("trip", {"series": "0c9a51f2d4e8b736", "number": 1, "revision": 1, "phase": "ended", "kind": "driven", **ends, "distance": 11.5, "moving": 2.5, "standing": 0,
                  "driver": svg, "purpose": script})
    tell("driving/event", {"event": "harshBraking", "severity": "high", **place}, retain=False)
    tell("motion", {"event": svg, "summary": script}, retain=False)
    tell("vehicle", {"signals": {f"Vehicle.{svg}": script}}, retain=True)
    fleet.publish(f"{topic}/regions/desired", {
        "type": "FeatureCollection", "id": "1", "features": [
            {"type": "Feature", "id": svg[:60], "geometry": {"type": "Point", "coordinates": [11.6, 48.2]}, "properties": {"radius": 200, "name": script}}]}, retain=True)
    fleet.publish(f"{topic}/config/reported", {"time": now, "settings": {svg: script}}, retain=True)
    return topic


def use_hostile(page):
    """Names and texts with markup and scripts remain text, in every view."""
    topic = publish_hostile(page.fleet)
    # Names without data are answered with 404, and so are settings of unknown vehicles.
    page.allowed += ["404 (Not Found)", "422 (Unprocessable", "409 (Conflict)"]
    vehicle = f"#/vehicle/{page.fleet.name}/" + quote(hostile, safe="")
    tab = page.open(vehicle)
    tab.wait(f"document.querySelector('.details h2')?.textContent === {json.dumps(hostile)}", "the unchanged name")
    tab.wait("document.querySelector('.details').textContent.includes('<svg onload')", "its texts as text")
    tab.wait("document.querySelector('.details').textContent.includes('</script>')")
    page.picture("hostile")
    page.check()
    assert tab.run("document.title").startswith("<img")
    tab.click(".details .raw summary")
    for route in (vehicle + "?open=settings", vehicle + "?open=command", vehicle + "?open=share", vehicle + "/history", "#/map?q=%3Cimg", "#/vehicles?q=%3Cimg", "#/regions",
                  "#/regions/" + quote("<svg onload=\"window.pwned='svg'\">", safe=""), "#/alerts", "#/fleet", "#/map?pin=<b>,<i>&at=<u>", "#/vehicles?fleet=<b>&state=<i>&order=<u>"):
        tab.go("about:blank")
        page.open(route)
        time.sleep(0.5)
        found = tab.run("document.querySelectorAll('main img:not(.leaflet-tile), dialog img, main svg[onload], dialog svg[onload], main script, dialog script, main b b').length")
        assert found == 0, f"{route}: markup became elements"
        assert tab.run("window.pwned === undefined"), f"{route}: {tab.run('window.pwned')} ran"
    page.picture("hostile-filter")
    for kind in ("location", "status", "trip", "vehicle", "regions/desired", "config/reported"):
        page.fleet.publish(f"{topic}/{kind}", b"", retain=True)


def use_base_map(page):
    """Tiles from a file or a configured address: with attribution, below the vehicles, light and dark."""
    if page.fleet.tiles is not None:
        page.elsewhere = (page.fleet.tiles.origin,)
    tab = page.open("#/map")
    vehicles_known(tab, page.fleet.count)
    tab.wait("[...document.querySelectorAll('.base-tiles img')].filter((e) => e.complete && e.naturalWidth === 256).length > 3", "tiles", 30)
    if page.fleet.tiles is None:
        assert tab.text(".attribution") == "Drawn by a test", tab.text(".attribution")
    else:
        assert tab.text(".attribution") == "© A test" and page.fleet.tiles.asked, tab.text(".attribution")
        # The referrer contains the origin, as providers require, and not the viewed position.
        assert page.fleet.tiles.referers == {page.fleet.address}, page.fleet.tiles.referers
    time.sleep(0.5)
    page.picture("tiles-file" if page.fleet.tiles is None else "tiles-address")
    page.check()
