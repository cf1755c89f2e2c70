"""A headless browser, driven through the DevTools protocol over a pipe."""

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find():
    """The browser's program, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """One page. Coordinates are those of the window."""

    def __init__(self, write, read, deadline=60.0):
        self._write, self._read, self._deadline = write, read, deadline
        self._numbers = itertools.count(1)
        self._left = b""
        self._session = None
        self.problems = []  # uncaught exceptions and console errors
        self.requests = []  # addresses that were asked for

    def _next(self, until):
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._read], [], [], max(until - time.monotonic(), 0))
            if not ready:
                raise TimeoutError("the browser does not answer")
            data = os.read(self._read, 1 << 16)
            if not data:
                raise EOFError("the browser is gone")
            self._left += data
        message, _, self._left = self._left.partition(b"\0")
        told = json.loads(message)
        if told.get("method") == "Runtime.exceptionThrown":
            self.problems.append(told["params"]["exceptionDetails"])
        if told.get("method") == "Log.entryAdded" and told["params"]["entry"]["level"] == "error":
            self.problems.append(told["params"]["entry"])
        if told.get("method") == "Network.requestWillBeSent":
            self.requests.append(told["params"]["request"]["url"])
        return told

    def send(self, method, **params):
        """The result of a command."""
        number, until = next(self._numbers), time.monotonic() + self._deadline
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            told = self._next(until)
            if told.get("id") == number:
                if "error" in told:
                    raise RuntimeError(f"{method}: {told['error']}")
                return told["result"]

    def open(self, url, width, height, dark):
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(domain + ".enable")
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.send(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        self.send("Page.navigate", url=url)
        until = time.monotonic() + self._deadline
        while self.value("document.readyState + location.protocol") != "completefile:":
            if time.monotonic() > until:
                raise TimeoutError(f"{url} does not load")
            time.sleep(0.05)

    def value(self, expression):
        """What a JavaScript expression gives, as JSON."""
        told = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in told:
            raise RuntimeError(f"{expression}: {told['exceptionDetails']}")
        return told["result"].get("value")

    def middle(self, selector):
        """The middle of an element, where it can be clicked."""
        x, y = self.value(
            f"(() => {{ const r = document.querySelector({json.dumps(selector)})"
            ".getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        return {"x": x, "y": y}

    def move(self, selector):
        self.send("Input.dispatchMouseEvent", type="mouseMoved", **self.middle(selector))

    def click(self, selector):
        at = self.middle(selector)
        self.send("Input.dispatchMouseEvent", type="mouseMoved", **at)
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)

    def drag(self, start, by):
        """From a point (x, y), with the left button."""
        steps = [
            ("mousePressed", 0.0),
            ("mouseMoved", 0.5),
            ("mouseMoved", 1.0),
            ("mouseReleased", 1.0),
        ]
        for kind, share in steps:
            self.send(
                "Input.dispatchMouseEvent",
                type=kind,
                button="left",
                buttons=1,
                clickCount=1,
                x=start[0] + by[0] * share,
                y=start[1] + by[1] * share,
            )

    def wheel(self, x, y, delta):
        self.send("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta)

    def key(self, key, text=""):
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, text=text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text):
        self.send("Input.insertText", text=text)

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))


@contextlib.contextmanager
def opened(path, width=1600, height=1000, dark=False):
    """A Page that shows a file, in a browser of its own."""
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()

    def hand_over():  # the browser reads from 3 and writes to 4
        first, second = os.dup(to_read), os.dup(from_write)
        os.dup2(first, 3)
        os.dup2(second, 4)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [
                find(),
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-extensions",
                "--remote-debugging-pipe",
                f"--user-data-dir={profile}",
                "about:blank",
            ],
            preexec_fn=hand_over,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(from_write)
        try:
            page = Page(to_write, from_read)
            page.open(f"file://{os.path.abspath(path)}", width, height, dark)
            yield page
        finally:
            with contextlib.suppress(OSError, EOFError, TimeoutError, RuntimeError):
                page._session = None
                page.send("Browser.close")
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            if process.poll() is None:
                process.kill()
                process.wait()
            os.close(to_write)
            os.close(from_read)
