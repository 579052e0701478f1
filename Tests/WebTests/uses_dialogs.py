"""Dialogs and the browser's Back, keys typed after the search key, and a fleet without rules."""
from page import dialog_closed, hash_has, vehicles_known


def use_back(page):
    """Back and every other change of the address close a dialog; closing one leaves no history entry."""
    tab = page.open("#/map")
    vehicles_known(tab, page.fleet.count)
    tab.run(f"location.hash = '#/vehicle/{page.fleet.name}/sim-1'")
    tab.wait("document.querySelector('.details h2')?.textContent === 'sim-1'")
    tab.wait("document.querySelector('.details .actions')?.checkVisibility()")
    tab.click_text("Share…", ".details")
    tab.wait("document.querySelector('dialog[open]')")
    hash_has(tab, "open=share")
    tab.run("history.back()")
    dialog_closed(tab)
    tab.wait("!location.hash.includes('open=')")
    assert "/sim-1" in tab.run("location.hash"), "Back closed the vehicle instead of the dialog"
    tab.run("history.forward()")
    tab.wait("document.querySelector('dialog[open]')", "Forward opens it again")
    # If it is closed by the user, the history entry is removed.
    tab.key("Escape")
    dialog_closed(tab)
    tab.wait("!location.hash.includes('open=')")
    tab.run("history.back()")
    tab.wait("location.hash.startsWith('#/map')", "the history entry before the vehicle")
    page.picture("back")
    # Leaving a confirmation within a dialog does not confirm it.
    tab.run(f"location.hash = '#/vehicle/{page.fleet.name}/sim-2'")
    tab.wait("document.querySelector('.details h2')?.textContent === 'sim-2'")
    tab.click_text("Command…", ".details")
    tab.wait("document.querySelector('dialog select option')")
    tab.set("dialog select", "status")
    tab.click_text("Send…", "dialog")
    tab.wait("document.querySelectorAll('dialog').length === 2", "the question")
    tab.run("location.hash = '#/vehicles'")
    dialog_closed(tab)
    assert page.fleet.get(f"api/v1/vehicles/{page.fleet.name}/sim-2/commands")["answers"] == [], "a command was sent"
    for name in ("?", "menu"):
        if name == "?":
            tab.key("?")
        else:
            tab.click("[aria-label='Page settings']")
        tab.wait("document.querySelector('dialog[open]')")
        tab.run("location.hash = location.hash.startsWith('#/fleet') ? '#/alerts' : '#/fleet'")
        dialog_closed(tab)
    page.check()


def use_slash(page):
    """Text typed directly after / is searched for, in every view, and triggers no shortcut."""
    tab = page.open("#/map")
    vehicles_known(tab, page.fleet.count)
    for route in ("#/alerts", "#/fleet", "#/regions", "#/map", "#/vehicles", f"#/vehicle/{page.fleet.name}/sim-1", f"#/vehicle/{page.fleet.name}/sim-1/history"):
        tab.run(f"location.hash = {route!r}")
        tab.wait(f"location.hash.startsWith({route!r}) && !document.activeElement.matches('.search')")
        theme = tab.run("document.documentElement.dataset.theme")
        # Without a pause between the keys.
        for key in "/mad":
            tab.key(key)
        field = "[...document.querySelectorAll('.search')].find((e) => e.checkVisibility())"
        tab.wait(f"{field}?.value === 'mad'", f"what was typed in {route}: " + str(tab.run(f"[location.hash, {field}?.value]")), 5)
        assert tab.run("document.documentElement.dataset.theme") == theme, "d changed the colours"
        assert tab.run("location.hash").split("?")[0] in ("#/map", "#/vehicles", route), tab.run("location.hash")
        tab.run(f"(() => {{ const e = {field}; e.value = ''; e.dispatchEvent(new Event('input', {{bubbles: true}})); e.blur(); }})()")
        tab.wait("!location.hash.includes('q=')")
    page.check()


def use_no_rules(page):
    """Without rules, the page does not report that everything is in order."""
    tab = page.open("#/alerts")
    tab.wait("document.querySelector('#alerts-rules').parentElement.textContent.includes('No rules configured')", "the message that there are no rules")
    tab.wait("document.querySelector('.calm')?.textContent === 'No alerts: no rules are configured.'", "that nothing is checked: " + str(tab.text(".calm")), 5)
    page.picture("no-rules")
    page.check()
