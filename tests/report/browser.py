"""The operating system's Chromium, headless, over its own DevTools pipe."""

import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",  # WebGL without a graphics card
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
PATIENCE = 60.0


def find_browser() -> str | None:
    """Where a Chromium is installed."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One browser with one page; commands in, answers and events out."""

    def __init__(self, path: str, profile: Path) -> None:
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()

        def place_pipes() -> None:
            # The protocol lives on descriptors 3 and 4; copies make room for both.
            spare = [os.dup(fd) for fd in (to_browser, from_browser)]
            os.dup2(spare[0], 3)
            os.dup2(spare[1], 4)

        self._process = subprocess.Popen(
            [path, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=place_pipes,
            pass_fds=(3, 4),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._last = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        found = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait(timeout=20)
        os.close(self._out)
        os.close(self._in)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One command; its result."""
        self._last += 1
        message: dict[str, Any] = {
            "id": self._last, "method": method, "params": params,
        }  # fmt: skip
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == message["id"]:
                assert "error" not in answer, answer
                return dict(answer["result"])
            self.events.append(answer)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], PATIENCE)
            assert ready, "the browser does not answer"
            chunk = os.read(self._in, 1 << 16)
            assert chunk, "the browser has gone"
            self._buffer += chunk
        text, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(text))

    def run(self, script: str) -> Any:
        """The value of an expression in the page; promises are awaited."""
        found = self.call(
            "Runtime.evaluate",
            expression=script,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait_for(self, script: str) -> None:
        """Until the expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.run(f"Boolean({script})"):
            assert time.monotonic() < end, f"never came true: {script}"
            time.sleep(0.05)

    def open(self, path: Path, width: int = 1280, height: int = 900) -> None:
        """Load a file at a window size, with no events from before."""
        self.resize(width, height)
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        self.wait_for(
            f"location.href === {json.dumps(path.as_uri())} && "
            "document.readyState === 'complete'"
        )

    def resize(self, width: int, height: int) -> None:
        """The size of the window, in CSS pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """A mouse event at a place of the window."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, and uncaught exceptions."""
        self.run("0")
        found = []
        for event in self.events:
            params = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"]))
            if event["method"] == "Runtime.consoleAPICalled":
                if params["type"] in ("error", "warning", "assert"):
                    found.append(str(params["args"]))
            if event["method"] == "Log.entryAdded":
                if params["entry"]["level"] in ("error", "warning"):
                    found.append(str(params["entry"]))
        return found

    def requests(self) -> list[str]:
        """Addresses the page asked for, besides itself and what it holds."""
        self.run("0")
        asked = [
            e["params"]["request"]["url"]
            for e in self.events
            if e["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]

    def picture(self, path: Path, *, whole: bool = True) -> None:
        """A screenshot of the page."""
        import base64

        found = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))
