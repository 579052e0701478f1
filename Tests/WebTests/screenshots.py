#!/usr/bin/env python3
"""Pictures of the README: a simulated fleet with an agent and a recording, in light, dark and on a phone."""
import os
import sys
import time

from chrome import Chrome
from fleet import Fleet
from samples import Day

# Seconds for trails and recorded routes.
driving = 100
rules = """
[rules.fast]
when = "speed"
above = 19.0
"""


def pictures(fleet, day):
    """Yields name, window size, colour scheme, address, and an expression that is true when the picture can be taken."""
    yield "fleet-light", (1280, 800), "light", "#/vehicle/delivery/van-7", "document.querySelector('.details .facts')"
    yield ("history-dark", (1280, 800), "dark", f"#/vehicle/delivery/truck-1/history/{day.name}?from=09:20:00&to=09:40:00&time=09:34:30",
           "document.querySelector('.journal-items')")
    yield "phone", (390, 844), "light", "#/vehicle/delivery/agent-1", "document.querySelector('.details .horizon')"


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    with Fleet(0, recording=["--record"], configuration=rules, name="delivery") as fleet, Chrome() as chrome:
        fleet.count = 40
        fleet.simulate(40, 1.0, 1.0, "--fleet", "delivery", "--prefix", "van-")
        fleet.agent("agent-1", speed=1)
        day = Day()
        day.publish(fleet, "truck-1")
        time.sleep(driving)
        for name, size, scheme, route, shown in pictures(fleet, day):
            tab = chrome.tab(chrome.person())
            tab.size(*size)
            tab.prefer(scheme)
            tab.go(fleet.address + route)
            tab.wait(shown, name, 60)
            # Time for the trail of the selected vehicle.
            time.sleep(15)
            tab.picture(os.path.join(folder, f"{name}.png"))
            tab.call("Page.close")


main()
