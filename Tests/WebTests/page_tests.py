#!/usr/bin/env python3
"""The page of `odograph serve` in a real Chromium, on a real server, broker, agent and simulated vehicles.

page_tests.py FOLDER [NAME...] [--program PATH]: runs all uses or the named ones, and writes pictures of each to FOLDER. Fails on console
output of the browser, on external requests, on findings of the accessibility rules, and on uses that do not work. ODOGRAPH_FULL=1 runs
every use in every size and both colour schemes.
"""
import argparse
import contextlib
import os
import sys
import time
import traceback

import uses_access as access
import uses_alerts as alerts
import uses_basic as basic
import uses_control as control
import uses_dialogs as dialogs
import uses_history as history
import uses_many as many
import uses_modules as modules
import uses_robust as robust
import uses_signs as signs
from chrome import Chrome
from fleet import Fleet
from page import Page, is_full, sizes
from samples import TileServer, write_mbtiles

everywhere = [(size, scheme) for size in sizes for scheme in ("light", "dark")]
# Without ODOGRAPH_FULL, each size, each colour scheme and each use occur at least once.
bounded = [("phone", "dark"), ("wall", "light"), ("desk", "dark")]


def shown(uses, *bounded_looks, among=everywhere):
    looks = among if is_full else bounded_looks
    return [(use, size, scheme) for use in uses for size, scheme in looks]


# Sizes with the list beside the map; a phone shows only one of them.
beside = [(size, scheme) for size, scheme in everywhere if size != "phone"]


@contextlib.contextmanager
def tiles_of_a_file():
    with Fleet(12, map_file=write_mbtiles) as fleet:
        yield fleet


@contextlib.contextmanager
def tiles_of_an_address():
    with TileServer() as tiles:
        text = f'[map]\ntiles = "{tiles.origin}/{{z}}/{{x}}/{{y}}.png"\nattribution = "© A test"\n'
        with Fleet(12, configuration=text) as fleet:
            fleet.tiles = tiles
            yield fleet


@contextlib.contextmanager
def managed():
    with Fleet(0, recording=["--record"], configuration=control.alert_rules) as fleet:
        fleet.agent()
        yield fleet


def plan():
    """Yields fleets with their uses, and the sizes and colour schemes of each use."""
    basics = (basic.use_map, basic.use_details, basic.use_table, basic.use_views)
    desk, phone, dark = ("desk", "light"), ("phone", "light"), ("desk", "dark")
    yield lambda: Fleet(50), [
        *shown(basics, *bounded), *shown((basic.use_list,), desk, among=beside), *shown((robust.use_links,), desk, among=beside),
        # These uses set their own window size, or do not depend on it.
        (modules.use_modules, *desk), (robust.use_many_tabs, *desk),
        *shown((dialogs.use_back,), desk), *shown((dialogs.use_slash,), desk, ("phone", "dark")), *shown((dialogs.use_no_rules,), desk),
        *[(use, *desk) for use in (robust.use_keyboard, robust.use_large_letters, robust.use_less_motion, robust.use_lost_server, robust.use_silent_server, robust.use_lost_broker)],
        # A vehicle stays in the list after its first message, so the hostile one comes last.
        (robust.use_hostile, *desk)]
    yield lambda: Fleet(1), [*shown((basic.use_map,), desk), *shown((basic.use_details,), ("phone", "dark"))]
    yield lambda: Fleet(5, configuration=access.configuration), [*shown((access.use_login,), phone), *shown((access.use_share,), dark)]
    yield lambda: Fleet(2, recording=["--record"]), [
        *shown((history.use_history,), desk, ("phone", "dark")), *shown((history.use_playback,), dark), (history.use_download, *desk),
        *shown((history.use_ways,), ("wall", "dark")), *shown((history.use_figures,), phone)]
    yield lambda: Fleet(0), [(signs.use_labels, *desk)]
    yield lambda: Fleet(0), [(signs.use_signs, *desk), (signs.use_promise, *desk), *shown((signs.use_sections,), dark)]
    yield lambda: Fleet(0, extra=["--message-profile", "owntracks"]), [(control.use_without_control, *desk)]
    yield managed, [
        *shown((control.use_attitude,), phone),
        *shown((control.use_alerts,), phone, ("wall", "dark")), *shown((control.use_regions,), desk, ("phone", "dark")), *shown((control.use_commands,), ("phone", "dark")),
        *shown((control.use_settings,), desk), *shown((control.use_sleeper,), dark), (control.use_notifications, *desk), *shown((control.use_late_alert,), dark)]
    yield lambda: Fleet(alerts.vehicles, rate=0.1, configuration=alerts.configuration), [*shown((alerts.use_many_alerts,), desk), *shown((alerts.use_retired,), ("phone", "dark"))]
    yield tiles_of_a_file, shown((robust.use_base_map,), dark)
    yield tiles_of_an_address, shown((robust.use_base_map,), phone)
    # One report of each vehicle per minute: the limit of a debug build beside a browser on two cores.
    yield lambda: Fleet(10_000, rate=0.29 if is_full else 0.017), [
        *shown((many.use_many_map,), ("wall", "dark")), *shown((many.use_many_list,), desk, among=beside), *shown((many.use_many_table,), phone), (many.use_frames, *desk)]


# Uses that leave something behind which a second run would find: a link, an ended alert, earlier commands.
changing = (access.use_share, alerts.use_many_alerts, alerts.use_retired, control.use_commands)


def by_fleet(uses):
    """Groups uses that share a fleet; each repetition of a use that changes something has its own fleet."""
    shared, own = [], []
    for each in uses:
        (own if each[0] in changing and any(each[0] == one[0] for one in shared) else shared).append(each)
    return [shared, *([each] for each in own)]


def run(chrome, fleet, folder, use, size, scheme):
    """Returns true if the use works."""
    name, began = use.__name__.removeprefix("use_"), time.monotonic()
    page = Page(chrome, fleet, folder, size, scheme)
    with contextlib.suppress(FileNotFoundError):
        # The picture of a failure in an earlier run.
        os.remove(os.path.join(folder, f"failed-{name}-{size}-{scheme}.png"))
    try:
        use(page)
        page.quiet()
        print(f"ok   {name}, {fleet.count} vehicles, {size}, {scheme} ({time.monotonic() - began:.1f} s)", flush=True)
        return True
    except Exception:
        print(f"FAIL {name}, {fleet.count} vehicles, {size}, {scheme}\n{traceback.format_exc()}", flush=True)
        with contextlib.suppress(Exception):
            print(f"     at {page.tab.run('location.hash')}, the console: {page.tab.console}", flush=True)
            page.picture(f"failed-{name}")
        return False
    finally:
        with contextlib.suppress(Exception):
            page.close()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder")
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--program", help="odograph; the one in .build otherwise")
    chosen = arguments.parse_args()
    if chosen.program:
        os.environ["ODOGRAPH_PROGRAM"] = os.path.abspath(chosen.program)
    os.makedirs(chosen.folder, exist_ok=True)
    results = []
    with Chrome() as chrome:
        for start, uses in plan():
            uses = [each for each in uses if not chosen.names or each[0].__name__.removeprefix("use_") in chosen.names]
            if not uses:
                continue
            for together in by_fleet(uses):
                with start() as fleet:
                    results += [run(chrome, fleet, chosen.folder, *each) for each in together]
    print(f"{sum(results)} of {len(results)} uses work; pictures are in {chosen.folder}")
    sys.exit(0 if results and all(results) else 1)


if __name__ == "__main__":
    main()
