"""Headless Chromium, controlled with its DevTools protocol."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

import websocket


class PageError(Exception):
    """An exception of a script in the page."""


class Chrome:
    """A browser with a fresh profile, which exits at the end of the `with` block."""

    def __init__(self, size=(1280, 800)):
        self.folder = tempfile.mkdtemp(prefix="odograph-chrome-")
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        if not program:
            raise SystemExit("chromium is not installed: apt-get install chromium")
        self.log = open(os.path.join(self.folder, "log"), "w")
        # No sandbox, as tests run as root in a container and the page comes from this machine. Features with requests to other hosts are
        # disabled, so that the network log contains the requests of the page only.
        self.process = subprocess.Popen(
            [program, "--headless=new", "--remote-debugging-port=0", f"--user-data-dir={self.folder}/profile",
             f"--window-size={size[0]},{size[1]}", "--no-first-run", "--no-default-browser-check", "--no-sandbox",
             "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
             "--disable-dev-shm-usage", "--disable-breakpad", "--enable-precise-memory-info",
             "--force-color-profile=srgb", "--hide-scrollbars", "--lang=en-GB", "about:blank"],
            stdout=self.log, stderr=subprocess.STDOUT, env={**os.environ, "TZ": "Europe/Berlin"})
        self.port, path = self._port()
        self.socket = websocket.create_connection(f"ws://127.0.0.1:{self.port}{path}", timeout=60, suppress_origin=True)
        self.number = 0

    def call(self, method, **parameters):
        """Calls a method of the whole browser."""
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == self.number:
                if "error" in message:
                    raise PageError(f"{method}: {message['error']}")
                return message["result"]

    def person(self):
        """Creates a separate profile in the browser, with its own cookies and settings."""
        return self.call("Target.createBrowserContext")["browserContextId"]

    def leave(self, person):
        self.call("Target.disposeBrowserContext", browserContextId=person)

    def download_to(self, folder, person):
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder, browserContextId=person)

    def _port(self):
        path = os.path.join(self.folder, "profile", "DevToolsActivePort")
        for _ in range(600):
            if os.path.exists(path):
                text = open(path).read().split("\n")
                if len(text) > 1 and text[1]:
                    return int(text[0]), text[1]
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise SystemExit("chromium did not start:\n" + open(os.path.join(self.folder, "log")).read()[-2000:])

    def tab(self, person=None):
        target = self.call("Target.createTarget", url="about:blank", **({"browserContextId": person} if person else {}))["targetId"]
        return Tab(f"ws://127.0.0.1:{self.port}/devtools/page/{target}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Tab:
    """A page with its requests and console output, and the input of a user."""

    def __init__(self, address):
        self.socket = websocket.create_connection(address, timeout=60, suppress_origin=True)
        self.number = 0
        self.requests = []
        self.console = []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        number = self.number
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == number:
                if "error" in message:
                    raise PageError(f"{method}: {message['error']}")
                return message["result"]
            self._event(message)

    def _event(self, message):
        method, told = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.console.append(f"{told['type']}: " + " ".join(str(each.get("value", each.get("description"))) for each in told["args"]))
        elif method == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.console.append("exception: " + details.get("exception", {}).get("description", details.get("text", "")))
        elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.console.append(f"{told['entry']['level']}: {told['entry']['text']} {told['entry'].get('url', '')}")

    def run(self, expression, wait=True):
        """Returns the value of an expression; a promise is awaited."""
        told = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=wait, userGesture=True)
        if "exceptionDetails" in told:
            details = told["exceptionDetails"]
            raise PageError(details.get("exception", {}).get("description", details.get("text")))
        return told["result"].get("value")

    def wait(self, expression, what=None, seconds=20):
        """Waits until an expression is true, and returns its value."""
        end = time.monotonic() + seconds
        while True:
            value = self.run(expression)
            # Elements are returned as empty objects.
            if value or value == {}:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"not within {seconds} s: {what or expression}")
            time.sleep(0.05)

    def size(self, width, height, scale=1, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=mobile)

    def prefer(self, scheme="light", motion="no-preference"):
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": motion}])

    def go(self, address):
        self.call("Page.navigate", url=address)

    def reload(self):
        self.call("Page.reload")

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)})?.textContent")

    def set(self, selector, value):
        """Fills in a field or selects from a list, with the events of a user's input."""
        self.wait(f"document.querySelector({json.dumps(selector)})", f"{selector} is there")
        self.run(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.focus(); e.value = {json.dumps(value)};"
                 " e.dispatchEvent(new Event('input', {bubbles: true})); e.dispatchEvent(new Event('change', {bubbles: true})); })()")

    def key(self, key, text=None, modifiers=0):
        codes = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39,
                 "End": 35, "Home": 36, "PageDown": 34, "PageUp": 33, " ": 32, "Delete": 46}
        if text is None and len(key) == 1:
            text = key
        if key == "Enter":
            text = "\r"
        code = codes.get(key, ord(key.upper()) if len(key) == 1 else 0)
        down = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        if text:
            down["text"] = text
        self.call("Input.dispatchKeyEvent", type="keyDown", **down)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code, modifiers=modifiers)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def mouse(self, kind, x, y, button="left", count=1, buttons=None):
        pressed = {"mousePressed": 1, "mouseReleased": 0, "mouseMoved": 0}[kind] if buttons is None else buttons
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button if kind != "mouseMoved" or pressed else "none",
                  buttons=pressed, clickCount=count)

    def click_at(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y)

    def click(self, selector):
        """Clicks the middle of an element like a user: an element above it receives the click, and a moving element is waited for."""
        middle = (f"(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return null;"
                  " e.scrollIntoView({block: 'nearest'}); const b = e.getBoundingClientRect();"
                  " return b.width ? [b.x + b.width / 2, b.y + b.height / 2] : null; })()")
        place = self.wait(middle, f"{selector} is there")
        for _ in range(40):
            time.sleep(0.05)
            before, place = place, self.wait(middle, f"{selector} is there")
            if before == place:
                break
        self.click_at(*place)

    def click_text(self, text, within="body"):
        """Clicks the button or link with this text."""
        found = json.dumps(text)
        self.wait(
            f"(() => {{ const e = [...document.querySelectorAll({json.dumps(within)} + ' :is(button, a, summary, label)')]"
            f".find((e) => e.checkVisibility() && e.textContent.trim() === {found}); if (!e) return false;"
            " document.querySelectorAll('[data-test]').forEach((o) => delete o.dataset.test); e.dataset.test = '1'; return true; })()",
            f"“{text}” is to be seen")
        self.click("[data-test='1']")
        self.run("document.querySelectorAll('[data-test]').forEach((o) => delete o.dataset.test)")

    def picture(self, path):
        told = self.call("Page.captureScreenshot", format="png")
        with open(path, "wb") as file:
            file.write(base64.b64decode(told["data"]))

    def metrics(self):
        self.call("Performance.enable")
        return {each["name"]: each["value"] for each in self.call("Performance.getMetrics")["metrics"]}
