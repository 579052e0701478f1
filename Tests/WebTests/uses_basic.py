"""Basic uses: the map, the list, a vehicle, the table, every view."""
import json
import time

from page import middle_of_map, rows, vehicles_known


def use_map(page):
    """The map shows the fleet; a click selects a vehicle; the map can be panned and zoomed."""
    tab = page.open("#/map")
    vehicles_known(tab, page.fleet.count)
    time.sleep(1)
    page.picture("map")
    page.check()
    before = tab.run("location.hash")
    x, y = middle_of_map(tab)
    tab.mouse("mouseMoved", x, y)
    tab.mouse("mousePressed", x, y)
    for step in range(10):
        tab.mouse("mouseMoved", x + 10 * step, y + 5 * step, buttons=1)
    tab.mouse("mouseReleased", x + 90, y + 45)
    tab.wait(f"location.hash !== {json.dumps(before)} && location.hash.includes('at=')", "the address has the position of the map")
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
    """The details of a vehicle, at its own address."""
    tab = page.open(f"#/vehicle/{page.fleet.name}/sim-1")
    tab.wait("document.querySelector('.details h2')?.textContent === 'sim-1'")
    tab.wait("document.querySelector('.details .facts dd')?.textContent.match(/^-?\\d+\\.\\d{5}, /)", "its position")
    text = tab.run("document.querySelector('.details').textContent")
    for word in ("Accuracy", "Measured", "Unknown"):
        assert word in text, f"{word} is not in the details"
    time.sleep(2)
    page.picture("details")
    page.check()
    # The panel covers a part of the map: the vehicle stays in the visible part.
    tab.click_text("Centre", ".details")
    time.sleep(0.6)
    for _ in range(2):
        tab.click("[aria-label='Zoom in']")
        time.sleep(0.4)
    seen = ("(() => { const c = document.querySelector('.leaflet-fleet-pane canvas').getBoundingClientRect(), d = document.querySelector('.details').getBoundingClientRect();"
            " return [d.width < c.width * 0.7 ? (d.left - c.left) / 2 : c.width / 2, d.width < c.width * 0.7 ? c.height / 2 : (d.top - c.top) / 2]; })()")
    x, y = tab.run(seen)
    halo = tab.run("(([x, y]) => { const c = document.querySelector('.leaflet-fleet-pane canvas'), s = c.width / c.clientWidth, copy = new OffscreenCanvas(c.width, c.height).getContext('2d');"
                   " copy.drawImage(c, 0, 0); const d = copy.getImageData((x - 130) * s, (y - 130) * s, 260 * s, 260 * s).data; let n = 0; for (let i = 3; i < d.length; i += 4) if (d[i] > 200) n += 1; return n; })"
                   f"([{x}, {y}])")
    assert halo > 150, f"the vehicle is not around {x}, {y}: {halo}"
    tab.click_text("Follow", ".details")
    tab.wait("document.querySelector('.details [aria-pressed=true]')", "it is followed")
    tab.click("[aria-label=\"Close the vehicle's panel\"]")
    tab.wait("document.querySelector('.details').hidden")


def use_table(page):
    """The table, which screen readers can read instead of the map. In every size, / opens a visible search."""
    tab = page.open("#/map")
    vehicles_known(tab, page.fleet.count)
    tab.key("/")
    tab.wait("document.activeElement?.matches('.search') && document.activeElement.checkVisibility()", "/ goes to a search")
    tab.run("document.activeElement.blur(); location.hash = '#/vehicles'")
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
    """Every view by its address: regions, alerts, statistics of the fleet, help and settings."""
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
