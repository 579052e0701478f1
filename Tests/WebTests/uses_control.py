"""What changes a vehicle: regions, commands, settings; and alerts. The vehicle is a real agent."""
import json
import time

from page import dialog_closed, hash_has, middle_of_map

alert_rules = """
[rules.fast]
when = "speed"
above = 2.0
severity = "critical"
# A vehicle that stops again keeps its alert, so that there is one to look at.
hold = "10m"
[rules.silent]
when = "offline"
for = "1s"
"""


def use_regions(page):
    """A region is drawn with the pointer, given to vehicles, answered, changed, and taken away."""
    tab = page.open("#/regions")
    tab.wait("document.querySelector('.regions-panel [role=status]').textContent.length > 3")
    tab.click_text("New circle", ".regions-panel")
    tab.set(".regions-panel form input[type=text]", "yard 1")
    x, y = middle_of_map(tab)
    tab.click_at(x + 60, y - 40)
    tab.wait("document.querySelector('.draft-shape')", "the circle is on the map")
    tab.set(".regions-panel form input[min='1']", "250")
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
    # Its own address leads back to it.
    tab.reload()
    tab.wait("document.querySelector('.region-card')?.textContent.includes('circle of 250')", "the region by its address")
    tab.click_text("Edit", ".region-card")
    tab.set(".regions-panel form input[min='1']", "400")
    tab.click_text("Give to vehicles…", ".regions-panel")
    tab.click_text("Give", "dialog")
    tab.wait("document.querySelector('.answers td')?.textContent === 'accepted'", "the answer to the change", 40)
    tab.click_text("Close", ".regions-panel form")
    tab.wait("document.querySelector('.region-card')?.textContent.includes('circle of 400')", "the change")
    tab.click_text("Take away…", ".region-card")
    tab.click_text("Take away", "dialog")
    tab.wait("document.querySelector('.answers td')?.textContent === 'no longer watched'", "it is gone", 40)
    # A polygon with the keyboard alone: corners at the map's middle.
    tab.run("location.hash = '#/regions'")
    tab.wait("!document.querySelector('.region-card')")
    tab.click_text("New polygon", ".regions-panel")
    tab.set(".regions-panel form input[type=text]", "field")
    for by_x, by_y in ((0, 0), (90, 0), (90, 70)):
        tab.click_at(x + by_x - 60, y + by_y - 40)
        time.sleep(0.35)
    tab.wait("document.querySelector('.regions-panel form')?.textContent.includes('3 corners')", "three corners")
    page.picture("polygon")
    page.check()
    tab.click_text("Cancel", ".regions-panel")


def give(tab, vehicle):
    tab.wait("!document.querySelector('.regions-panel button[type=submit]').disabled", "the region may be given")
    choices = tab.run("[...document.querySelectorAll('.regions-panel form select option')].map((e) => [e.value, e.textContent])")
    assert choices[-1][0] == "shown", choices
    tab.click_text("Give to vehicles…", ".regions-panel")
    tab.wait("document.querySelector('dialog')?.textContent.includes('1 vehicle')", "it is asked before")
    tab.click_text("Give", "dialog")


def use_commands(page):
    """A command is chosen, confirmed, answered, and stands in the list of what was given; an empty text can be sent."""
    tab = page.open(f"#/vehicle/{page.fleet.name}/van")
    tab.wait("document.querySelector('.details .actions')?.checkVisibility()")
    tab.click_text("Command…", ".details")
    hash_has(tab, "open=command")
    tab.set("dialog select", "status")
    tab.click_text("Send…", "dialog")
    tab.wait("document.querySelectorAll('dialog').length === 2", "it is asked before")
    page.picture("confirm")
    page.check()
    tab.click_text("Cancel", "dialog:last-of-type")
    tab.wait("document.querySelectorAll('dialog').length === 1")
    assert "None since" in tab.text("dialog .command-log"), "nothing was sent without confirmation"
    tab.click_text("Send…", "dialog")
    tab.click_text("Send", "dialog:last-of-type")
    tab.wait("document.querySelector('dialog .outcome.good')?.textContent.startsWith('It answered.')", "the agent's answer", 30)
    tab.wait("document.querySelector('.command-entry.done')?.textContent.includes('status')", "the list of commands")
    page.picture("command")
    page.check()
    tab.set("dialog select", "set-trip")
    tab.click_text("Send…", "dialog")
    tab.wait("document.querySelector('dialog .outcome.bad')?.textContent.includes('One of these is needed')", "one argument is needed")
    tab.click_text("Set driver", "dialog")
    tab.click_text("Send…", "dialog")
    tab.click_text("Send", "dialog:last-of-type")
    tab.wait("document.querySelectorAll('.command-entry.done').length === 2", "a driver who is nobody is taken", 30)
    told = page.fleet.get(f"api/v1/vehicles/{page.fleet.name}/van/commands")["answers"][0]
    assert told["command"] == "set-trip" and told["arguments"].get("driver") == "" and "purpose" not in told["arguments"], told
    tab.key("Escape")
    dialog_closed(tab)
    tab.wait("!location.hash.includes('open=')")


def use_sleeper(page):
    """A command to a vehicle that sleeps is shown as queued, and its answer when it comes."""
    topic, now = f"odograph/v1/{page.fleet.name}/sleeper", time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    page.fleet.publish(topic + "/status", {"state": "asleep", "time": now, "sessionStart": now, "remote": True, "epoch": "00000000000000ab", "seq": 1}, retain=True)
    tab = page.open(f"#/vehicle/{page.fleet.name}/sleeper?open=command")
    tab.wait("document.querySelector('dialog .note')", "the address opens the dialog")
    tab.wait("document.querySelector('dialog').textContent.includes('The vehicle sleeps')", "it is told before")
    tab.set("dialog select", "locate")
    tab.click_text("Send…", "dialog")
    tab.click_text("Send", "dialog:last-of-type")
    tab.wait("document.querySelector('dialog .outcome.good')?.textContent.startsWith('Queued.')", "it is queued")
    tab.wait("document.querySelector('.command-entry.waiting')?.textContent.includes('queued: the vehicle sleeps')", "the list says so")
    page.picture("queued")
    page.check()
    told = page.fleet.get(f"api/v1/vehicles/{page.fleet.name}/sleeper/commands")["answers"][0]
    page.fleet.publish(topic + "/command/locate/response", {
        "command": "locate", "id": told["request"], "time": now, "state": "done", "result": {"latitude": 48.1}})
    tab.wait("document.querySelector('.command-entry.done')?.textContent.includes('answered')", "the answer that came later")
    page.fleet.publish(topic + "/status", b"", retain=True)


def use_settings(page):
    """A setting is changed after a question; what is in force, what is wanted, and the agent's answer stand side by side."""
    tab = page.open(f"#/vehicle/{page.fleet.name}/van?open=settings")
    tab.wait("document.querySelector('dialog form')", "the form")
    tab.set("dialog input[list]", "location.distance_filter")
    tab.wait("document.querySelector('dialog').textContent.includes('It takes a')", "what the key takes")
    tab.set("dialog form .field:nth-of-type(2) input", "25")
    tab.click_text("Change…", "dialog")
    tab.click_text("Change", "dialog:last-of-type")
    row = "[...document.querySelectorAll('dialog tbody tr')].find((e) => e.textContent.includes('location.distance_filter'))"
    tab.wait(f"{row}?.textContent.includes('accepted')", "the agent's answer", 30)
    page.picture("settings")
    page.check()
    tab.set("dialog form .field:nth-of-type(2) input", "-1")
    tab.click_text("Change…", "dialog")
    tab.click_text("Change", "dialog:last-of-type")
    # The refusal is an answer with status 422, which browsers write into the console themselves.
    page.allowed += ["422 (Unprocessable"]
    tab.wait("document.querySelector('dialog .outcome.bad')?.textContent.includes('0 to 1')", "what is refused, and why")


def use_alerts(page):
    """Open alerts with where they began; one is silenced; its address shows it; the vehicle says that it has one."""
    tab = page.open("#/alerts")
    tab.wait("document.querySelector('.alert-list li')", "an alert", 40)
    tab.wait("document.querySelector('.rules')?.textContent.includes('fast')", "the rules")
    page.picture("alerts-open")
    page.check()
    told = next(each for each in page.fleet.get("api/v1/alerts")["alerts"] if each.get("place"))
    tab.run(f"location.hash = '#/alerts?alert={told['id']}'")
    tab.wait("document.querySelector('.alert[aria-current]')", "the alert that the address names")
    tab.click(".alert[aria-current] button")
    tab.click_text("Silence", "dialog")
    tab.wait("document.querySelector('.alert[aria-current]')?.textContent.includes('silent until')", "it is silent")
    page.picture("silenced")
    page.check()
    tab.click(".alert[aria-current] a[href*='pin=']")
    tab.wait("document.querySelector('.pin-label')?.textContent.includes(',')", "where it began, on the map")
    page.picture("alert-place")
    page.check()
    tab.run(f"location.hash = {json.dumps('#/vehicle/' + told['fleet'] + '/' + told['vehicle'])}")
    tab.wait("document.querySelector('.concerns a')?.textContent.startsWith('Alert:')", "the vehicle's own alert")
    tab.click(".concerns a")
    tab.wait("document.querySelector('.alert[aria-current]')?.checkVisibility()")
    tab.click(".alert[aria-current] a[href*='/history/']")
    tab.wait("document.querySelector('.day-summary')?.textContent.includes('positions')", "what it did then")
    hash_has(tab, "time=")
