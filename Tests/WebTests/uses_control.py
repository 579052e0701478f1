"""Changes of a vehicle: regions, commands, settings; and alerts. The vehicle is a real agent."""
import json
import time

from page import dialog_closed, hash_has, middle_of_map, painted_pixels

alert_rules = """
[rules.fast]
when = "speed"
above = 2.0
severity = "critical"
# A vehicle that stops again keeps its alert, so that one is open.
hold = "10m"
[rules.silent]
when = "offline"
for = "1s"
"""


def use_regions(page):
    """A region is drawn with the pointer, assigned to vehicles, answered, changed, and removed."""
    tab = page.open("#/regions")
    tab.wait("document.querySelector('.regions-panel [role=status]').textContent.length > 3")
    tab.click_text("New circle", ".regions-panel")
    tab.set(".regions-panel form input[type=text]", "yard 1")
    x, y = middle_of_map(tab)
    tab.click_at(x + 60, y - 40)
    tab.wait("document.querySelector('.draft-shape')", "the circle is on the map")
    tab.set(".regions-panel form input[min='1']", "250")
    # Invalid input is refused before anything is sent.
    limit = tab.run("[...document.querySelectorAll('.regions-panel form label')].find((e) => e.textContent.startsWith('Speed limit')).htmlFor")
    tab.set(f"#{limit}", "0")
    tab.wait("document.querySelector('.regions-panel form').textContent.includes('must be above 0 km/h') && document.querySelector('.regions-panel button[type=submit]').disabled", "a limit of 0")
    tab.set(f"#{limit}", "30")
    page.picture("region-drawn")
    page.check()
    give(tab, "van")
    tab.wait("document.querySelector('.answers td')?.textContent === 'accepted'", "the vehicle's answer", 40)
    page.picture("region-answered")
    page.check()
    tab.run("location.hash = '#/regions/' + encodeURIComponent('yard 1')")
    tab.click_text("Close", ".regions-panel form")
    tab.wait("document.querySelector('.region-card')?.textContent.includes('yard 1')", "the region's card")
    tab.wait("document.querySelector('.region-card .who a')?.textContent === 'van'")
    # The address of the region leads to it again.
    tab.reload()
    tab.wait("document.querySelector('.region-card')?.textContent.includes('circle of 250 m radius, at most 30 km/h')", f"the region by its address: {tab.text('.region-card')}")
    tab.click_text("Edit", ".region-card")
    assert tab.run("document.getElementById([...document.querySelectorAll('.regions-panel form label')].find((e) => e.textContent.startsWith('Speed limit')).htmlFor).value") == "30"
    tab.set(".regions-panel form input[min='1']", "400")
    tab.click_text("Assign to vehicles…", ".regions-panel")
    tab.click_text("Assign", "dialog")
    tab.wait("document.querySelector('.answers td')?.textContent === 'accepted'", "the answer to the change", 40)
    tab.click_text("Close", ".regions-panel form")
    tab.wait("document.querySelector('.region-card')?.textContent.includes('circle of 400')", "the change")
    tab.click_text("Remove…", ".region-card")
    tab.click_text("Remove", "dialog")
    tab.wait("document.querySelector('.answers td')?.textContent === 'removed'", "it is gone", 40)
    polygon_by_keys(page)


def polygon_by_keys(page):
    """A polygon with the keyboard only: arrows move the map, corners are added at its middle, and arrows move them."""
    tab = page.tab
    tab.run("location.hash = '#/regions'")
    tab.wait("!document.querySelector('.region-card')")
    press(tab, "New polygon")
    tab.wait("document.activeElement.matches('.regions-panel form input')", "the name has the focus")
    tab.type("field")
    for keys in (("ArrowRight",), ("ArrowDown",), ("ArrowLeft", "ArrowLeft")):
        press(tab, "Corner at the map's centre")
        tab.run("document.getElementById('map').focus()")
        before = tab.run("location.hash")
        for key in keys:
            tab.key(key)
            tab.wait("!document.querySelector('.leaflet-pan-anim')", "the map is at rest")
    press(tab, "Corner at the map's centre")
    tab.wait("document.querySelector('.regions-panel form').textContent.includes('4 corners')", f"four corners, from {before}")
    handle = "document.querySelectorAll('.handle')[1]"
    assert tab.run(f"{handle}.tabIndex === 0 && {handle}.getAttribute('role') === 'button' && {handle}.ariaLabel.startsWith('Corner 2')")
    tab.run(f"{handle}.focus()")
    time.sleep(0.3)
    place = f"(() => {{ const b = {handle}.getBoundingClientRect(), m = document.getElementById('map').getBoundingClientRect(); return [b.x - m.x, b.y - m.y]; }})()"
    x, y = tab.run(place)
    map_at = tab.run("document.querySelector('.leaflet-map-pane').style.transform")
    for key, modifiers in (("ArrowRight", 0), ("ArrowUp", 0), ("ArrowUp", 8)):
        tab.key(key, modifiers=modifiers)
    moved = tab.run(place)
    assert abs(moved[0] - x - 10) <= 1.5 and abs(moved[1] - y + 11) <= 1.5, f"{x}, {y} to {moved}"
    assert tab.run(f"document.activeElement === {handle}"), "the corner loses the focus"
    assert tab.run("document.querySelector('.leaflet-map-pane').style.transform") == map_at, "the map moved"
    page.picture("polygon")
    page.check()
    tab.key("Delete")
    tab.wait("document.querySelectorAll('.handle').length === 3 && document.querySelector('.regions-panel form').textContent.includes('3 corners')", "the corner is gone")
    assert tab.run("document.activeElement.matches('.handle')"), "another corner has the focus"
    press(tab, "Cancel")


def press(tab, text):
    """Activates an element with the keyboard: it can have the focus, and Enter works."""
    found = tab.run("(() => { const e = [...document.querySelectorAll('.regions-panel button')].find((e) => e.checkVisibility() && e.textContent === %s);"
                    " e?.focus(); return document.activeElement === e; })()" % json.dumps(text))
    assert found, f"{text} cannot have the focus"
    tab.key("Enter")


def give(tab, vehicle):
    tab.wait("!document.querySelector('.regions-panel button[type=submit]').disabled", "the region can be assigned")
    choices = tab.run("[...document.querySelectorAll('.regions-panel form select option')].map((e) => [e.value, e.textContent])")
    assert choices[-1][0] == "shown", choices
    tab.click_text("Assign to vehicles…", ".regions-panel")
    tab.wait("document.querySelector('dialog')?.textContent.includes('1 vehicle')", "a confirmation")
    tab.click_text("Assign", "dialog")


def use_commands(page):
    """A command is selected, confirmed, answered, and in the list of commands; an empty text can be sent."""
    tab = page.open(f"#/vehicle/{page.fleet.name}/van")
    tab.wait("document.querySelector('.details .actions')?.checkVisibility()")
    tab.click_text("Command…", ".details")
    hash_has(tab, "open=command")
    tab.wait("document.querySelector('dialog select option')", "the commands")
    tab.set("dialog select", "status")
    tab.click_text("Send…", "dialog")
    tab.wait("document.querySelectorAll('dialog').length === 2", "a confirmation")
    page.picture("confirm")
    page.check()
    tab.click_text("Cancel", "dialog:last-of-type")
    tab.wait("document.querySelectorAll('dialog').length === 1")
    assert "No commands since" in tab.text("dialog .command-log"), "a command was sent without confirmation"
    tab.click_text("Send…", "dialog")
    tab.click_text("Send", "dialog:last-of-type")
    tab.wait("document.querySelector('dialog .outcome.good')?.textContent.startsWith('Answered.')", "the agent's answer", 30)
    tab.wait("document.querySelector('.command-entry.done')?.textContent.includes('status')", "the list of commands")
    page.picture("command")
    page.check()
    tab.set("dialog select", "set-trip")
    tab.click_text("Send…", "dialog")
    tab.wait("document.querySelector('dialog .outcome.bad')?.textContent.includes('At least one of these is required')", "one argument is required")
    tab.click_text("Set driver", "dialog")
    tab.click_text("Send…", "dialog")
    tab.click_text("Send", "dialog:last-of-type")
    tab.wait("document.querySelectorAll('.command-entry.done').length === 2", "an empty driver is accepted", 30)
    told = page.fleet.get(f"api/v1/vehicles/{page.fleet.name}/van/commands")["answers"][0]
    assert told["command"] == "set-trip" and told["arguments"].get("driver") == "" and "purpose" not in told["arguments"], told
    tab.key("Escape")
    dialog_closed(tab)
    tab.wait("!location.hash.includes('open=')")
    command_with_times(page)


def command_with_times(page):
    """Times are in the time zone that the page shows and their labels name, and are confirmed before they are sent."""
    tab = page.tab
    # The time zone of the browser is that of Berlin.
    for utc, zone, asked, sent in ((False, "Europe/Berlin", "2026-01-15 10:30:00 Europe/Berlin2026-01-15 09:30:00Z", "2026-01-15T09:30:00"), (True, "UTC", "2026-01-15 10:30:00Z", "2026-01-15T10:30:00")):
        if utc:
            tab.key("u")
            tab.wait("document.querySelector('.zone').textContent === 'UTC'")
        tab.click_text("Command…", ".details")
        tab.wait("document.querySelector('dialog select option')")
        tab.set("dialog select", "track")
        tab.wait(f"[...document.querySelectorAll('dialog .fields label')].some((e) => e.textContent === 'from ({zone})')", "the label names the zone")
        tab.set("dialog .fields .field:nth-of-type(1) input", "2026-01-15T10:30:00")
        tab.set("dialog .fields .field:nth-of-type(2) input", "2026-01-15T10:31:00")
        tab.click_text("Send…", "dialog")
        tab.wait("document.querySelectorAll('dialog').length === 2", "a confirmation")
        told = tab.text("dialog:last-of-type .facts")
        assert asked in told, told
        page.picture("confirm-times")
        page.check()
        before = len(page.fleet.get(f"api/v1/vehicles/{page.fleet.name}/van/commands")["answers"])
        tab.click_text("Send", "dialog:last-of-type")
        tab.wait(f"document.querySelectorAll('.command-entry').length === {before + 1}", "it is sent", 30)
        arguments = page.fleet.get(f"api/v1/vehicles/{page.fleet.name}/van/commands")["answers"][0]["arguments"]
        assert arguments["from"].startswith(sent), arguments
        tab.key("Escape")
        dialog_closed(tab)
    tab.key("u")


def use_attitude(page):
    """The attitude of the agent: the horizon is drawn, and described in words."""
    tab = page.open(f"#/vehicle/{page.fleet.name}/van")
    tab.wait("document.querySelector('.details .horizon')?.checkVisibility()", "the horizon", 40)
    tab.wait("document.querySelector('.horizon').ariaLabel?.match(/^Roll \\d+\\.\\d° to the (left|right), pitch \\d+\\.\\d° (up|down)/)", "the description")
    sky, earth = tab.run("['--sky', '--earth'].map((name) => getComputedStyle(document.documentElement).getPropertyValue(name))")
    assert sky and earth and sky != earth
    assert tab.run(painted_pixels(".horizon")) > 30_000, "the horizon is empty"
    tab.run("document.querySelector('.horizon').scrollIntoView({block: 'nearest'})")
    time.sleep(0.3)
    page.picture("attitude")
    page.check()


def use_without_control(page):
    """A server without management of vehicles offers no commands, settings or regions, by any address."""
    page.fleet.publish("owntracks/fleet/phone", {"_type": "location", "tst": int(time.time()), "lat": 48.1, "lon": 11.5, "acc": 10}, retain=True)
    tab = page.open("#/vehicle/fleet/phone?open=command")
    tab.wait("document.querySelector('.details .facts dd')?.textContent.includes('48.1')", "the vehicle")
    tab.wait("document.querySelector('#header nav a[data-view=regions]').hidden", "no link to regions")
    shown = tab.run("[...document.querySelectorAll('.details .actions > *')].filter((e) => e.checkVisibility()).map((e) => e.textContent)")
    assert shown == ["Follow", "Centre", "History", "Share…"], shown
    assert not tab.run("document.querySelector('dialog')"), "an address opens a command"
    tab.key("?")
    tab.wait("document.querySelector('dialog[open] .keys')")
    assert "Regions" not in tab.text("dialog .keys")
    page.picture("keys-without-control")
    tab.key("Escape")
    dialog_closed(tab)
    tab.key("r")
    time.sleep(0.3)
    assert "#/regions" not in tab.run("location.hash")
    tab.go(page.fleet.address + "#/regions")
    tab.wait("document.querySelector('.regions-panel [role=status]')?.textContent.includes('cannot assign regions')", "the reason why there are none")
    assert not tab.run("[...document.querySelectorAll('.regions-panel button')].some((e) => e.checkVisibility())")
    page.picture("without-control")
    page.check()
    assert not [url for url in tab.requests if "/api/" in url and any(word in url for word in ("regions", "commands", "settings"))], "the page requested missing routes"


def use_sleeper(page):
    """A command to a sleeping vehicle is shown as queued, and its answer when it arrives."""
    topic, now = f"odograph/v1/{page.fleet.name}/sleeper", time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    page.fleet.publish(topic + "/status", {"state": "asleep", "time": now, "sessionStart": now, "remote": True, "epoch": "00000000000000ab", "seq": 1}, retain=True)
    tab = page.open(f"#/vehicle/{page.fleet.name}/sleeper?open=command")
    tab.wait("document.querySelector('dialog .note')", "the address opens the dialog")
    tab.wait("document.querySelector('dialog').textContent.includes('The vehicle is asleep')", "a hint before sending")
    tab.set("dialog select", "locate")
    tab.click_text("Send…", "dialog")
    tab.click_text("Send", "dialog:last-of-type")
    tab.wait("document.querySelector('dialog .outcome.good')?.textContent.startsWith('Queued.')", "it is queued")
    tab.wait("document.querySelector('.command-entry.waiting')?.textContent.includes('queued: the vehicle is asleep')", "the list shows it as queued")
    page.picture("queued")
    page.check()
    told = page.fleet.get(f"api/v1/vehicles/{page.fleet.name}/sleeper/commands")["answers"][0]
    page.fleet.publish(topic + "/command/locate/response", {
        "command": "locate", "id": told["request"], "time": now, "state": "done", "result": {"latitude": 48.1}})
    tab.wait("document.querySelector('.command-entry.done')?.textContent.includes('answered')", "the answer that came later")
    page.fleet.publish(topic + "/status", b"", retain=True)


def use_settings(page):
    """A setting is changed after a confirmation; the current value, the requested one, and the agent's answer are shown together."""
    tab = page.open(f"#/vehicle/{page.fleet.name}/van?open=settings")
    tab.wait("document.querySelector('dialog form')", "the form")
    tab.set("dialog input[list]", "location.distance_filter")
    tab.wait("document.querySelector('dialog').textContent.includes('Valid: a')", "the values that the key accepts")
    tab.set("dialog form .field:nth-of-type(2) input", "25")
    tab.click_text("Change…", "dialog")
    tab.click_text("Change", "dialog:last-of-type")
    row = "[...document.querySelectorAll('dialog tbody tr')].find((e) => e.textContent.includes('location.distance_filter'))"
    tab.wait(f"{row}?.textContent.includes('accepted')", "the agent's answer", 30)
    page.picture("settings")
    page.check()
    # Invalid settings are refused before anything is sent.
    for key, value, why in (("location.distance_filter", "-1", "from 0 to 1"), ("location.distance_filter", "far", "Valid: a number"), ("location.distance", "25", "is not a remote setting"),
                            ("heading.enabled", "1", "true or false"), ("events.vehicle", "ship", "one of car")):
        tab.set("dialog input[list]", key)
        tab.set("dialog form .field:nth-of-type(2) input", value)
        tab.click_text("Change…", "dialog")
        tab.wait(f"document.querySelector('dialog .outcome.bad')?.textContent.includes({json.dumps(why)})", f"{key} = {value}: {tab.text('dialog .outcome')}", 5)
        assert tab.run("document.querySelectorAll('dialog').length") == 1, "a confirmation of an invalid setting"
    page.picture("setting-refused")
    # Speeds are read and written in km/h, whatever unit is typed.
    tab.set("dialog input[list]", "events.speed_limit")
    tab.wait("document.querySelector('dialog').textContent.includes('a number from 0 to 500 km/h')", "the unit of a speed")
    for value, shown in (("60 km/h", "60"), ("25 m/s", "90")):
        tab.set("dialog form .field:nth-of-type(2) input", value)
        tab.click_text("Change…", "dialog")
        tab.wait(f"document.querySelector('dialog:last-of-type').textContent.includes('is set to {shown}\u202fkm/h')", "the confirmation contains the unit")
        tab.click_text("Change", "dialog:last-of-type")
        row = "[...document.querySelectorAll('dialog tbody tr')].find((e) => e.textContent.includes('events.speed_limit'))"
        tab.wait(f"{row}?.textContent.includes('{shown}\u202fkm/h') && {row}.textContent.includes('accepted')", "the agent's answer", 30)
    assert page.fleet.get(f"api/v1/vehicles/{page.fleet.name}/van/settings")["wanted"]["events.speed_limit"] == 90
    page.picture("setting-speed")


def use_alerts(page):
    """Open alerts with their positions; one is silenced; its address shows it; the vehicle has a hint of it."""
    tab = page.open("#/alerts")
    tab.wait("document.querySelector('.alert-list li')", "an alert", 40)
    tab.wait("document.querySelector('.rules')?.textContent.includes('fast Critical: speed · above 7 km/h')", f"the rules: {tab.text('.rules')}")
    page.picture("alerts-open")
    page.check()
    told = next(each for each in page.fleet.get("api/v1/alerts")["alerts"] if each.get("place"))
    tab.run(f"location.hash = '#/alerts?alert={told['id']}'")
    tab.wait("document.querySelector('.alert[aria-current]')", "the alert in the address")
    tab.click(".alert[aria-current] button")
    tab.click_text("Silence", "dialog")
    tab.wait("document.querySelector('.alert[aria-current]')?.textContent.includes('silenced until')", "it is silenced")
    page.picture("silenced")
    page.check()
    tab.click(".alert[aria-current] a[href*='pin=']")
    tab.wait("document.querySelector('.pin-label')?.textContent.includes(',')", "the position of its beginning on the map")
    page.picture("alert-place")
    page.check()
    tab.run(f"location.hash = {json.dumps('#/vehicle/' + told['fleet'] + '/' + told['vehicle'])}")
    tab.wait("document.querySelector('.concerns a')?.textContent.startsWith('Alert:')", "the vehicle's own alert")
    tab.click(".concerns a")
    tab.wait("document.querySelector('.alert[aria-current]')?.checkVisibility()")
    tab.click(".alert[aria-current] a[href*='/history/']")
    tab.wait("document.querySelector('.day-summary')?.textContent.includes('positions')", "what it did then")
    hash_has(tab, "time=", "from=", "to=")
    tab.wait("Number(document.querySelector('.time-slider').max) < 3600", "the charts span the time around the alert")


# A browser's notifications, which a test can read and click.
recorded_notifications = """
window.shown = []; window.asked = 0;
window.Notification = class {
  static get permission() { return localStorage.getItem("test-permission") ?? "default"; }
  static async requestPermission() { window.asked += 1; localStorage.setItem("test-permission", window.answer ?? "granted"); return this.permission; }
  constructor(title, options) { Object.assign(this, options, {title}); window.shown.push(this); }
  close() { this.isClosed = true; }
};
{ const own = window.setTimeout; window.setTimeout = (run, wait, ...rest) => own(run, wait === 30_000 ? 300 : wait, ...rest); }
"""


def use_notifications(page):
    """New alerts are shown as notifications, once permitted by a click: not the alerts before, not the silenced ones, also in a hidden tab."""
    fleet, tab = page.fleet, page.tab
    state = f"odograph/v1/{fleet.name}/away/status"

    def leave():
        now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
        fleet.publish(state, {"state": "offline", "time": now, "sessionStart": now}, retain=True)

    def forget():
        fleet.publish(state, b"", retain=True)
        end = time.monotonic() + 30
        while alerts_of("away"):
            assert time.monotonic() < end, "the alert does not end"
            time.sleep(0.2)

    def alerts_of(vehicle):
        return fleet.get(f"api/v1/alerts?vehicle={vehicle}")["alerts"]

    shown = "window.shown.filter((e) => e.title.startsWith('away'))"
    box = ".alerts-view > div input[type=checkbox]"
    tab.call("Page.addScriptToEvaluateOnNewDocument", source=recorded_notifications)
    page.open("#/alerts")
    tab.wait("document.querySelector('.alert-list li')", "an earlier alert", 40)
    earlier = [each["id"] for each in fleet.get("api/v1/alerts")["alerts"]]
    assert tab.run(f"!document.querySelector('{box}').checked && window.asked === 0"), "a permission is requested without a click"
    # A refusal is reported.
    tab.run("window.answer = 'denied'")
    tab.click(box)
    tab.wait(f"window.asked === 1 && !document.querySelector('{box}').checked && document.querySelector('.alerts-view > div').textContent.includes('The browser blocks')",
             "the refusal")
    page.picture("notifications-blocked")
    page.check()
    tab.run("window.answer = 'granted'")
    tab.click(box)
    tab.wait(f"window.asked === 2 && document.querySelector('{box}').checked && !document.querySelector('.alerts-view > div').textContent.includes('The browser blocks')",
             "the permission")
    leave()
    tab.wait(f"{shown}.length === 1", "the notification", 30)
    [told] = alerts_of("away")
    assert tab.run(f"(({{title, body, tag}}) => [title, body, tag])({shown}[0])") == ["away: offline", "Rule silent, warning", f"odograph-{told['id']}"]
    assert not tab.run(f"window.shown.filter((e) => {json.dumps(earlier)}.some((id) => e.tag.endsWith(id))).length"), "an earlier alert is shown"
    tab.run(f"location.hash = '#/map'; {shown}[0].onclick()")
    tab.wait("document.querySelector('.alert[aria-current]')", "the alert of the notification")
    assert told["id"] in tab.run("location.hash") and tab.run(f"{shown}[0].isClosed")
    # The setting is stored. The alert exists already when the page is opened again.
    tab.reload()
    tab.wait(f"document.querySelector('{box}')?.checked && document.querySelector('.alert[aria-current]')", "the setting after a reload")
    assert tab.run(f"window.asked === 0 && {shown}.length === 0")
    # A hidden tab stays connected. Another tab shows nothing while this one does.
    other = page.chrome.tab(page.person)
    other.call("Page.addScriptToEvaluateOnNewDocument", source=recorded_notifications)
    other.call("Page.bringToFront")
    other.go(fleet.address + "#/alerts")
    other.wait(f"document.querySelector('{box}')?.checked && document.querySelector('.live').textContent === 'Live'", "the other tab")
    tab.wait("document.hidden", "the tab is hidden")
    time.sleep(1)
    forget()
    leave()
    tab.wait(f"{shown}.length === 1", "the notification of the hidden tab", 30)
    assert tab.run("document.querySelector('.live').textContent") == "Live" and other.run(f"{shown}.length") == 0
    # After the first tab was closed or has the setting off, the other one shows the notifications.
    tab.call("Page.bringToFront")
    tab.click(box)
    tab.wait(f"!document.querySelector('{box}').checked")
    forget()
    leave()
    other.wait(f"{shown}.length === 1", "the notification of the other tab", 30)
    # Silenced alerts are not shown.
    other.call("Page.bringToFront")
    other.run(f"location.hash = '#/alerts?alert={alerts_of('away')[0]['id']}'")
    other.wait("document.querySelector('.alert[aria-current] button')", "the alert")
    other.click(".alert[aria-current] button")
    other.click_text("Silence", "dialog")
    dialog_closed(other)
    forget()
    leave()
    end = time.monotonic() + 30
    while not alerts_of("away"):
        assert time.monotonic() < end, "no alert"
        time.sleep(0.2)
    identifier = alerts_of("away")[0]["id"]
    other.run(f"location.hash = '#/alerts?alert={identifier}'")
    other.wait("document.querySelector('.alert[aria-current]')?.textContent.includes('silenced until')", "the silenced alert")
    assert other.run(f"{shown}.length") == 1 and tab.run(f"{shown}.length") == 1
    assert not other.console, other.console
    other.call("Page.close")
    forget()


def use_late_alert(page):
    """An alert of a delayed message shows when it was reported; other alerts do not."""
    fleet, topic = page.fleet, f"odograph/v1/{page.fleet.name}/late"
    written = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() - 600))
    fleet.publish(f"{topic}/location", {"time": written, "latitude": 48.1, "longitude": 11.5, "speed": 10}, retain=True)
    tab = page.open("#/alerts")
    texts = "[...document.querySelectorAll('.alert-list')[0].children].map((e) => e.textContent)"
    tab.wait(f"document.querySelector('.alert-list li') && {texts}.some((e) => e.includes('late') && e.includes(' · reported '))", "the time of the report", 40)
    tab.wait(f"{texts}.some((e) => e.includes('van'))", "the alert of another vehicle", 40)
    assert not tab.run(f"{texts}.some((e) => e.includes('van') && e.includes('reported'))")
    page.picture("reported")
    page.check()
    for kind in ("location", "status"):
        fleet.publish(f"{topic}/{kind}", b"", retain=True)
