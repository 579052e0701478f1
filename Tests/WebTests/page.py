"""A page in the browser, with the final checks of every use, and steps that several uses share."""
import json
import os

import rules

sizes = {"phone": (390, 844), "desk": (1280, 800), "wall": (2560, 1440)}
is_full = os.environ.get("ODOGRAPH_FULL") == "1"
# Console messages of browsers about a server that has stopped, for uses that stop it.
gone = ["ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE"]


class Page:
    """A tab of a new user."""

    def __init__(self, chrome, fleet, folder, size="desk", scheme="light", motion="no-preference"):
        self.chrome, self.person = chrome, chrome.person()
        self.tab, self.fleet, self.folder = chrome.tab(self.person), fleet, folder
        self.size, self.scheme = size, scheme
        self.tab.size(*sizes[size], mobile=size == "phone")
        self.tab.prefer(scheme, motion)
        # Console lines that a use causes on purpose, and external addresses that its configuration contains.
        self.allowed, self.elsewhere = [], ()

    def open(self, route="#/map"):
        self.tab.go(self.fleet.address + route)
        self.tab.wait("document.body && !document.body.classList.contains('logged-out')", "the page has started")
        return self.tab

    def picture(self, name):
        self.tab.picture(os.path.join(self.folder, f"{name}-{self.size}-{self.scheme}.png"))

    def check(self):
        """Fails on console output, external requests, accessibility findings, and content wider than the window."""
        found = rules.findings(self.tab)
        assert not found, "accessibility: " + "\n  ".join(found)
        self.quiet()
        assert self.tab.run("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than its window"

    def quiet(self):
        self.tab.run("1")
        said = [line for line in self.tab.console if not any(word in line for word in self.allowed)]
        assert not said, "console: " + "\n  ".join(said)
        elsewhere = [url for url in self.tab.requests if not url.startswith((self.fleet.address, "data:", "blob:" + self.fleet.address, *self.elsewhere))]
        assert not elsewhere, f"requests elsewhere: {elsewhere}"

    def another(self):
        """Returns a page of another user in another browser on the same server."""
        return Page(self.chrome, self.fleet, self.folder, self.size, self.scheme)

    def close(self):
        self.chrome.leave(self.person)


def rows(tab):
    return tab.run("[...document.querySelectorAll('.vehicle-list .rows > :not([hidden])')].sort((a, b) => a.ariaPosInSet - b.ariaPosInSet)"
                   ".map((e) => e.querySelector('.name').textContent)")


def vehicles_known(tab, count):
    tab.wait(f"document.querySelector('.list-status')?.textContent.startsWith('{count:,} vehicle')", f"{count} vehicles in the list", 90)


def middle_of_map(tab):
    return tab.run("(() => { const b = document.getElementById('map').getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()")


def hash_has(tab, *parts):
    for part in parts:
        tab.wait(f"location.hash.includes({json.dumps(part)})", f"the address has {part}")


def log_in(page, name, password):
    """Logs in with the form, like a user."""
    tab = page.tab
    tab.wait("document.querySelector('.login-form input[name=name]')?.checkVisibility()", "the login's form")
    tab.set(".login-form input[name=name]", name)
    tab.set(".login-form input[name=password]", password)
    tab.click_text("Log in")


def dialog_closed(tab):
    tab.wait("!document.querySelector('dialog')", "the dialog is closed")


def painted_pixels(selector):
    """Returns an expression for the number of painted pixels of a canvas. It reads a copy, as reading the original would slow it down."""
    return ("(() => { const c = document.querySelector(%s); if (!c?.width) return 0; const copy = new OffscreenCanvas(c.width, c.height).getContext('2d', {willReadFrequently: true});"
            " copy.drawImage(c, 0, 0); const d = copy.getImageData(0, 0, c.width, c.height).data; let n = 0; for (let i = 3; i < d.length; i += 4) if (d[i]) n += 1; return n; })()" % json.dumps(selector))
