#!/usr/bin/env python3
"""README's pictures: the same simulated fleet in light, in dark and on a phone."""
import os
import sys
import time

from chrome import Chrome
from fleet import Fleet

pictures = [
    ("fleet-light", (1280, 800), "light", "#/map"),
    ("vehicle-dark", (1280, 800), "dark", "#/vehicle/simulation/sim-7"),
    ("phone", (390, 844), "light", "#/vehicle/simulation/sim-7"),
]


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    with Fleet(50) as fleet, Chrome() as chrome:
        # Trails have to be driven first.
        time.sleep(45)
        for name, size, scheme, route in pictures:
            tab = chrome.tab()
            tab.size(*size)
            tab.prefer(scheme)
            tab.go(fleet.address + route)
            tab.wait("document.querySelector('.list-status')?.textContent.startsWith('50')", "the fleet", 60)
            time.sleep(4)
            tab.picture(os.path.join(folder, f"{name}.png"))
            tab.call("Page.close")


main()
