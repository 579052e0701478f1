"""Thousands of open alerts: counted, filtered by rule, paged, and never all in the page; a removed vehicle disappears with its alerts."""
import json
import time
import urllib.request

from page import dialog_closed, vehicles_known

vehicles = 1500
# One or two alerts of each vehicle.
configuration = """
[alerts]
group = "none"
[rules.moving]
when = "speed"
above = 0.1
[rules.vague]
when = "accuracy"
above = 0.001
severity = "critical"
[rules.offline]
when = "offline"
severity = "info"
"""


def told_by_the_stream(page):
    """Returns the first event with alerts, and its size in bytes."""
    with urllib.request.urlopen(page.fleet.address + "api/v1/stream", timeout=60) as stream:
        name = ""
        for line in stream:
            if line.startswith(b"event: "):
                name = line[7:].strip()
            elif line.startswith(b"data: ") and name == b"alerts":
                return json.loads(line[6:]), len(line)
    raise AssertionError("the stream contains no alerts")


def use_many_alerts(page):
    """Counts, the most severe alerts first, a single rule, the next page, and the alert of a vehicle at the end."""
    fleet, tab = page.fleet, page.open("#/alerts")
    # One alert of each vehicle stays open; those of speed come and go.
    end = time.monotonic() + 120
    while (count := fleet.get("api/v1/alerts?rule=vague&limit=1")["count"]) < fleet.count or not fleet.get("api/v1/alerts?rule=moving")["count"]:
        assert time.monotonic() < end, f"{count} alerts are open"
        time.sleep(0.5)
    event, size = told_by_the_stream(page)
    assert len(event["alerts"]) == 300 and event["more"] == event["count"] - 300, event["count"]
    assert size < 150_000, f"an event of alerts has {size} bytes"
    assert {each["severity"] for each in event["alerts"]} == {"critical"}
    tab.wait("document.querySelector('.alerts-view [role=status]')?.textContent.includes('alerts are open')", "the number of alerts", 30)
    shown = "document.querySelectorAll('#alerts-open ~ div .alert-list > li').length"
    tab.wait(f"{shown} === 300", "the first alerts")
    page.picture("many-alerts")
    page.check()
    # The focus stays where it is while alerts come and go.
    moving = "[...document.querySelectorAll('.alerts-view button')].find((e) => e.textContent.startsWith('moving'))?.textContent"
    tab.run("(window.held = [...document.querySelectorAll('.alerts-view button')].find((e) => e.textContent.startsWith('vague'))).focus()")
    before = tab.run(moving)
    tab.wait(f"{moving} !== {json.dumps(before)}", "other alerts come and go", 30)
    assert tab.run("document.activeElement === window.held"), "the focus is lost"
    tab.click_text(f"vague: {count:,} alerts", ".alerts-view")
    tab.wait("document.querySelector('.alerts-view [role=status]')?.textContent.startsWith('Shown: vague, 300 of')", "the alerts of a rule")
    before = tab.run("document.querySelector('.alert-list a').textContent")
    tab.click_text("Next page", ".alerts-view")
    tab.wait(f"document.querySelector('.alert-list a')?.textContent !== {json.dumps(before)}", "the next alerts")
    assert tab.run(shown) == 300
    page.picture("many-alerts-of-a-rule")
    page.check()
    tab.click_text("Show the most severe", ".alerts-view")
    tab.wait("document.querySelector('.alerts-view [role=status]')?.textContent.includes('alerts are open')")
    # The oldest alert is in no event of the stream, but its address and its vehicle show it.
    last, after = None, None
    while True:
        told = fleet.get("api/v1/alerts?order=severity&rule=vague&limit=1000" + (f"&after={after}" if after else ""))
        last, after = told["alerts"][-1], told.get("next")
        if not after:
            break
    tab.run(f"location.hash = '#/alerts?alert={last['id']}'")
    tab.wait("document.querySelector('.alert[aria-current]')", "the alert in the address")
    tab.run(f"location.hash = {json.dumps('#/vehicle/' + last['fleet'] + '/' + last['vehicle'])}")
    tab.wait("[...document.querySelectorAll('.concerns a')].some((e) => e.href.includes(%s))" % json.dumps(last["id"]), "the vehicle's own alert", 30)
    page.check()
    # It can be ended where it can be silenced.
    tab.run(f"location.hash = '#/alerts?alert={last['id']}'")
    tab.wait("document.querySelector('.alert[aria-current] button')", "its button")
    tab.click(".alert[aria-current] button")
    tab.click_text("End alert…", "dialog")
    tab.click_text("End alert", "dialog")
    dialog_closed(tab)
    end = time.monotonic() + 30
    while not (ended := fleet.get(f"api/v1/alerts?state=ended&id={last['id']}")["alerts"]):
        assert time.monotonic() < end, "the alert does not end"
        time.sleep(0.2)
    assert ended[0]["reason"] == "operator", ended


def use_retired(page):
    """The retained messages of a vehicle are deleted: it disappears from the list, its details and the alerts."""
    fleet, tab = page.fleet, page.open("#/map")
    topic, now = f"odograph/v1/{fleet.name}/retired", time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    fleet.publish(topic + "/status", {"state": "offline", "time": now, "sessionStart": now}, retain=True)
    fleet.publish(topic + "/location", {"time": now, "latitude": 48.1, "longitude": 11.5}, retain=True)
    vehicles_known(tab, fleet.count + 1)
    tab.run(f"location.hash = '#/vehicle/{fleet.name}/retired'")
    tab.wait("document.querySelector('.details h2')?.textContent === 'retired'", "its details")
    tab.wait("document.querySelector('.concerns a')?.textContent.includes('offline')", "its alert", 30)
    for kind in ("location", "status"):
        fleet.publish(f"{topic}/{kind}", b"", retain=True)
    vehicles_known(tab, fleet.count)
    tab.wait("document.querySelector('.details')?.textContent.includes('No message received')", "the message that the vehicle is unknown")
    page.picture("retired")
    page.check()
    ended = fleet.get("api/v1/alerts?state=ended&vehicle=retired")["alerts"]
    assert [each.get("reason") for each in ended] == ["forgotten"], ended
