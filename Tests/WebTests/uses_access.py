"""Permissions: login, roles, scopes, logout, links to one vehicle."""
import json
import time

import page as pages
from page import dialog_closed, hash_has, log_in, vehicles_known

# The hash was created by `odograph access password` from "correct horse battery".
password = "correct horse battery"
entry = 'password = "$y$jAT$zJU17ZCYtS.qti/qVPjY7.$4u/yn0MW3n36xx0cjv6L1Ah2Ujttg34xn7/leFUq72."'
configuration = f"""
[users.ann]
role = "view"
{entry}
[users.otto]
role = "operate"
{entry}
[users.eve]
role = "view"
vehicles = ["simulation/sim-2"]
{entry}
[rules.fast]
when = "speed"
above = 2.0
severity = "critical"
"""
# Browsers print each refused login on the console.
refused = ["401 (Unauthorized)"]
buttons = "[...document.querySelectorAll('.details .actions :is(button, a)')].filter((e) => e.checkVisibility()).map((e) => e.textContent)"


def use_login(page):
    """A wrong password is refused with a message; viewers cannot change anything; operators can; logout ends the session."""
    page.allowed += refused
    tab = page.tab
    tab.go(page.fleet.address + "#/vehicle/simulation/sim-1")
    log_in(page, "ann", "wrong")
    tab.wait("document.querySelector('.login-form .outcome.bad')?.textContent.length > 12", "the message of the refusal")
    page.picture("login")
    page.check()
    log_in(page, "ann", password)
    tab.wait("document.querySelector('.details h2')?.textContent === 'sim-1' && !document.body.classList.contains('logged-out')", "the requested page")
    tab.wait("document.querySelector('.details .actions')?.checkVisibility()")
    told = tab.run(buttons)
    assert told == ["Follow", "Centre", "History", "Regions", "Settings…"], told
    tab.click_text("Settings…", ".details")
    tab.wait("document.querySelector('dialog .body')")
    assert not tab.run("document.querySelector('dialog form')"), "viewers cannot change settings"
    tab.key("Escape")
    dialog_closed(tab)
    tab.run("location.hash = '#/regions'")
    tab.wait("document.querySelector('.regions-panel')?.checkVisibility()")
    assert not tab.run("[...document.querySelectorAll('.regions-panel button')].some((e) => e.checkVisibility())"), "viewers cannot draw regions"
    tab.run("location.hash = '#/alerts'")
    tab.wait("document.querySelector('.alert-list li')", "an alert", 30)
    assert not tab.run("[...document.querySelectorAll('.alerts-view button')].some((e) => e.checkVisibility())"), "viewers cannot silence alerts"
    log_out(tab)
    page.picture("logged-out")
    page.check()
    log_in(page, "otto", password)
    tab.wait("document.querySelector('.alert-list button')?.textContent === 'Silence…'", "operators can silence alerts", 30)
    tab.run("location.hash = '#/vehicle/simulation/sim-1'")
    tab.wait(buttons + ".includes('Command…')", "operators can send commands")
    tab.run("location.hash = '#/fleet'")
    tab.wait("document.querySelector('.fleet-view dl')", "the statistics, which the view requests every two seconds")
    log_out(tab)
    before = len(tab.requests)
    # Two polling intervals: the timers of the page run in the same ticks.
    tab.run("import('/timers.js').then(({every}) => new Promise((done) => { let count = 0; const stop = every(1, () => { if ((count += 1) === 5) { stop(); done(true); } }); }))")
    later = [url for url in tab.requests[before:] if url.endswith("/statistics")]
    assert not later, f"requests after the logout: {later}"
    log_in(page, "eve", password)
    # Another user: the page starts again.
    tab.wait("document.querySelector('.list-status')?.textContent.startsWith('1 vehicle')", "the visible vehicles")
    tab.run("location.hash = '#/vehicles'")
    tab.wait("document.querySelector('.table-scroll')?.getAttribute('aria-rowcount') === '2'", "the only visible vehicle")
    assert tab.text(".vehicles-view .rows .name") == "sim-2"


def log_out(tab):
    tab.click("[aria-label='Page settings']")
    tab.click_text("Log out", "dialog")
    tab.wait("document.querySelector('.login-form')?.textContent.includes('You are logged out')", "the message of the logout")


def use_share(page):
    """A link shows one vehicle to another person, and nothing after it has been revoked."""
    page.allowed += refused
    tab = page.tab
    tab.go(page.fleet.address + "#/vehicle/simulation/sim-3")
    log_in(page, "otto", password)
    link = make_link(tab)
    page.picture("share")
    page.check()
    other = page.another()
    # The page checks immediately whether another user is logged in.
    other.allowed += refused + ["404 (Not Found)", "403 (Forbidden)"]
    try:
        seen = other.tab
        seen.go(link)
        seen.wait("document.querySelector('.details h2')?.textContent === 'sim-3'", "the vehicle of the link")
        vehicles_known(seen, 1)
        time.sleep(0.5)
        other.picture("shared")
        other.check()
        assert seen.run(buttons) == ["Follow", "Centre"], seen.run(buttons)
        # Data that a link does not show is omitted, not shown as unknown or missing.
        sections = seen.run("[...document.querySelectorAll('.details .sections h3')].filter((e) => e.checkVisibility()).map((e) => e.textContent)")
        assert [each for each in sections if each != "Power"] == ["Position", "Connection"], sections
        text = seen.run("document.querySelector('.details').textContent").lower()
        for word in ("inside", "no region", "queued", "missing", "external power", "temperature", "energy"):
            assert word not in text, f"{word} is in the details of a link: {text}"
        for route in ("#/alerts", "#/fleet", "#/regions"):
            seen.run(f"location.hash = '{route}'")
            seen.wait("location.hash.startsWith('#/map')", f"{route} shows nothing to a link")
        seen.run("location.hash = '#/vehicle/simulation/sim-3'")
        seen.wait("document.querySelector('.details h2')?.textContent === 'sim-3'")
        hash_has(seen, "/vehicle/simulation/sim-3")
        tab.click_text("Revoke", "dialog")
        tab.wait("document.querySelector('dialog .links').textContent.includes('No active links')", "no link is left")
        seen.wait("document.body.classList.contains('logged-out')", "the vehicle is hidden", 40)
        other.picture("taken-back")
        seen.go(link)
        seen.wait("document.body.textContent.includes('This link has expired')")
    finally:
        other.close()
    tab.key("Escape")
    dialog_closed(tab)
    if pages.is_full:
        expiry(page)


def make_link(tab):
    tab.wait("document.querySelector('.details .actions')?.checkVisibility()")
    tab.click_text("Share…", ".details")
    tab.click_text("Create link", "dialog")
    tab.wait("document.querySelector('dialog .outcome.good')", "the link is created")
    tab.wait("document.querySelectorAll('dialog .link-row').length === 1", "it is listed")
    return tab.run("document.querySelector('dialog input[readonly]').value")


def expiry(page):
    """The shortest link is valid for one minute, and then expires."""
    link = page.tab.run(
        "fetch('api/v1/session').then((r) => r.json()).then((s) => fetch('api/v1/shares', {method: 'POST', headers: {'Content-Type': 'application/json', 'X-CSRF-Token': s.csrf},"
        f" body: {json.dumps(json.dumps({'fleet': 'simulation', 'vehicle': 'sim-3', 'seconds': 60}))}}})).then((r) => r.json()).then((a) => new URL(a.url, location.href).href)")
    other = page.another()
    other.allowed += refused + ["404 (Not Found)"]
    try:
        other.tab.go(link)
        other.tab.wait("document.querySelector('.details h2')?.textContent === 'sim-3'")
        other.tab.wait("document.body.classList.contains('logged-out')", "the link has expired", 120)
    finally:
        other.close()
