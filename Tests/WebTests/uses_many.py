"""10,000 vehicles: search, order, scrolling, selection, and panning of the map."""
import time

from page import is_full, middle_of_map, rows, vehicles_known


def use_many_map(page):
    """The map shows clusters with their counts, and a click opens them."""
    tab = page.open("#/map")
    vehicles_known(tab, page.fleet.count)
    time.sleep(2)
    page.picture("many")
    page.check()
    zoom = tab.run("Number(new URLSearchParams(location.hash.split('?')[1]).get('zoom'))")
    # While positions arrive, the cluster under the pointer may move before the click.
    for _ in range(6):
        tab.click_at(*cluster(tab))
        time.sleep(1.5)
        if tab.run("Number(new URLSearchParams(location.hash.split('?')[1]).get('zoom'))") > zoom:
            break
    else:
        raise AssertionError("no cluster opens")
    time.sleep(1)
    page.picture("cluster-open")
    page.quiet()


def cluster(tab):
    """Returns a point of the map where the page reports several vehicles."""
    x, y = middle_of_map(tab)
    tab.mouse("mouseMoved", x, y)
    for step in range(-160, 200, 24):
        tab.mouse("mouseMoved", x + step, y + step / 3)
        time.sleep(0.08)
        if tab.run("!document.querySelector('.map-tip').hidden && document.querySelector('.map-tip').textContent.includes('vehicles:')"):
            return x + step, y + step / 3
    raise AssertionError("no cluster under the pointer")


def use_many_list(page):
    """Search, order, the end of the list, and a vehicle from the middle."""
    tab = page.open("#/map")
    count = page.fleet.count
    vehicles_known(tab, count)
    tab.run("document.querySelector('#panel [role=listbox]').focus()")
    tab.key("End")
    tab.wait(f"[...document.querySelectorAll('.vehicle-list .rows > :not([hidden])')].some((e) => e.ariaPosInSet === '{count}')", "the last one")
    assert rows(tab)[-1] == f"sim-{count}", rows(tab)
    made = tab.run("document.querySelectorAll('.vehicle-list .vehicle-row').length")
    assert made < 80, f"{made} rows exist"
    tab.set("#panel select", "speed")
    tab.run("document.querySelector('.vehicle-list .scroll').scrollTop = 0")
    tab.wait("Number(document.querySelector('.vehicle-list [aria-posinset=\"1\"]:not([hidden]) .speed')?.textContent.split('\\u202f')[0]) >= 50", "the fastest first")
    tab.set("#panel select", "name")
    tab.set("#panel .search", "sim-77")
    tab.wait("document.querySelector('.list-status').textContent.startsWith('111 of')", "the matching vehicles")
    tab.run("document.querySelector('.vehicle-list .scroll').scrollTop = 0")
    tab.wait("document.querySelector('.vehicle-list .rows > :not([hidden]) .name')?.textContent.startsWith('sim-77')")
    tab.click(".vehicle-list [aria-posinset='1']:not([hidden])")
    tab.wait("document.querySelector('.details h2')?.textContent.startsWith('sim-77')", "its details")
    tab.wait("document.querySelector('.details .facts dd')?.checkVisibility()")
    page.picture("many-selected")
    page.check()


def use_many_table(page):
    """The table of all vehicles, scrolled to its end."""
    tab = page.open("#/vehicles")
    tab.wait(f"document.querySelector('.table-scroll')?.getAttribute('aria-rowcount') === '{page.fleet.count + 1}'", "all vehicles", 90)
    tab.run("document.querySelector('.table-scroll').scrollTop = 1e9")
    tab.wait(f"[...document.querySelectorAll('.vehicles-view .rows .name')].some((e) => e.textContent === 'sim-{page.fleet.count}')", "the last one")
    page.picture("many-table")
    page.check()


def use_frames(page):
    """Panning with all vehicles keeps the frame rate, and the page's memory is bounded."""
    tab = page.open("#/map")
    vehicles_known(tab, page.fleet.count)
    time.sleep(2)
    tab.run("window.frames0 = 0; (function count() { window.frames0 += 1; requestAnimationFrame(count); })()")
    x, y = middle_of_map(tab)
    tab.mouse("mouseMoved", x, y)
    tab.mouse("mousePressed", x, y)
    first, began, step = tab.run("window.frames0"), time.monotonic(), 0
    while time.monotonic() - began < 4:
        step += 1
        tab.mouse("mouseMoved", x + (step * 7) % 200, y + (step * 3) % 100, buttons=1)
    rate = (tab.run("window.frames0") - first) / (time.monotonic() - began)
    tab.mouse("mouseReleased", x, y)
    tab.call("HeapProfiler.collectGarbage")
    memory = tab.metrics()["JSHeapUsedSize"] / 1e6
    print(f"    {rate:.0f} frames/s while panning, {memory:.0f} MB of heap")
    assert memory < 250, f"{memory} MB"
    if is_full:
        assert rate > 5, f"{rate} frames/s"
