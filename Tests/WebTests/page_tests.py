#!/usr/bin/env python3
"""The page of `odograph serve` in a real Chromium, on a real server, broker, agent and simulated vehicles.

page_tests.py FOLDER [NAME...] [--program PATH]: runs the uses (all of them, or those named), keeps pictures of each in FOLDER, and fails on the first line
that the browser's console says, on a request to anywhere else, on a finding of the accessibility rules, and on a use that does not work.
ODOGRAPH_FULL=1 shows every use in every size and both colours.
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
# Without ODOGRAPH_FULL each size and each colour is seen, and each use once at least.
bounded = [("phone", "dark"), ("wall", "light"), ("desk", "dark")]


def shown(uses, *bounded_looks, among=everywhere):
    looks = among if is_full else bounded_looks
    return [(use, size, scheme) for use in uses for size, scheme in looks]


# Where the list stands beside the map; a phone shows one thing at a time.
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
    """Fleets in turn, with the uses, sizes and colours that each is shown in."""
    basics = (basic.use_map, basic.use_details, basic.use_table, basic.use_views)
    desk, phone, dark = ("desk", "light"), ("phone", "light"), ("desk", "dark")
    yield lambda: Fleet(50), [
        *shown(basics, *bounded), *shown((basic.use_list,), desk, among=beside), *shown((robust.use_links,), desk, among=beside),
        # Their windows are their own, or what they do is about no window.
        (modules.use_modules, *desk), (robust.use_many_tabs, *desk),
        *shown((dialogs.use_back,), desk), *shown((dialogs.use_slash,), desk, ("phone", "dark")), *shown((dialogs.use_no_rules,), desk),
        *[(use, *desk) for use in (robust.use_keyboard, robust.use_large_letters, robust.use_less_motion, robust.use_lost_server, robust.use_silent_server, robust.use_lost_broker)],
        # A vehicle that was heard stays in the list: the hostile one comes last.
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
        *shown((control.use_settings,), desk), *shown((control.use_sleeper,), dark)]
    yield lambda: Fleet(alerts.vehicles, rate=0.1, configuration=alerts.configuration), [*shown((alerts.use_many_alerts,), desk), *shown((alerts.use_retired,), ("phone", "dark"))]
    yield tiles_of_a_file, shown((robust.use_base_map,), dark)
    yield tiles_of_an_address, shown((robust.use_base_map,), phone)
    # A report of each in a minute: what a build for debugging takes beside a browser on two cores.
    yield lambda: Fleet(10_000, rate=0.29 if is_full else 0.017), [
        *shown((many.use_many_map,), ("wall", "dark")), *shown((many.use_many_list,), desk, among=beside), *shown((many.use_many_table,), phone), (many.use_frames, *desk)]


# What they leave behind, a second look would take for its own: a link, an ended alert, commands that were given.
changing = (access.use_share, alerts.use_many_alerts, alerts.use_retired, control.use_commands)


def by_fleet(uses):
    """Uses that share a fleet; each further look of what changes it has one of its own."""
    shared, own = [], []
    for each in uses:
        (own if each[0] in changing and any(each[0] == one[0] for one in shared) else shared).append(each)
    return [shared, *([each] for each in own)]


def run(chrome, fleet, folder, use, size, scheme):
    """@returns whether the use works."""
    name, began = use.__name__.removeprefix("use_"), time.monotonic()
    page = Page(chrome, fleet, folder, size, scheme)
    with contextlib.suppress(FileNotFoundError):
        # Of an earlier run.
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
