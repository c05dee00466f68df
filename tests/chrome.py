"""A real browser that tests can drive: Chromium, spoken to through its debugging socket."""

import base64
import contextlib
import itertools
import json
import os
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

from browser import BROWSER, FLAGS

STEADY = """async (selector) => {
  const find = () => {
    const element = document.querySelector(selector);
    if (!element) return null;
    element.scrollIntoView({ block: "center", behavior: "instant" });
    const box = element.getBoundingClientRect(), place = [box.left + box.width / 2, box.top + box.height / 2];
    return box.width && element.contains(document.elementFromPoint(...place)) ? place : null;
  };
  const before = find();
  await new Promise((done) => setTimeout(done, 30));
  const now = find();
  return before && now && before.join() === now.join() ? now : null;
}"""


class Chrome(contextlib.ExitStack):
    """A browser with one tab, or more with ``tab``."""

    def __init__(self, profile: Path, *flags: str) -> None:
        super().__init__()
        command = [BROWSER, *FLAGS, *flags, "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"]
        environment = {**os.environ, "LANG": "C.UTF-8"}
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        self.callback(self._end)
        port = profile / "DevToolsActivePort"
        wait_for(lambda: port.exists() and port.read_text().count("\n") > 0, 60.0)
        self.port = int(port.read_text().split()[0])

    def _end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def tab(self, url: str = "about:blank", **size: Any) -> "Tab":
        """A new tab at ``url``."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(request, timeout=30) as answer:
            facts = json.load(answer)
        tab = self.enter_context(Tab(facts["webSocketDebuggerUrl"]))
        tab.size(**size)
        if url != "about:blank":
            tab.go(url)
        return tab


class Tab(contextlib.ExitStack):
    """A tab: what it shows, what it says on its console, and hands for mouse and keyboard."""

    def __init__(self, address: str) -> None:
        from websockets.sync.client import connect

        super().__init__()
        self.socket = self.enter_context(connect(address, max_size=None, open_timeout=30))
        self.numbers = itertools.count(1)
        self.said: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command of the browser's protocol, and wait for its answer."""
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.recv(timeout=60))
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.said.append(str(details.get("exception", {}).get("description", details["text"])))
        elif message.get("method") == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.said.append(params["entry"]["text"] + " " + params["entry"].get("url", ""))
        elif message.get("method") == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.said.append(str([arg.get("value") for arg in params["args"]]))

    def go(self, url: str) -> None:
        self.ask("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def size(self, width: int = 1280, height: int = 900, mobile: bool = False, dark: bool = False) -> None:
        """The size of the window, and what the person prefers."""
        facts = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self.ask("Emulation.setDeviceMetricsOverride", **facts)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, expression: str, seconds: float = 180.0) -> Any:
        """The value of an expression as soon as it is true."""
        return wait_for(lambda: self.run(expression), seconds, expression)

    def click(self, selector: str) -> None:
        """A real click in the middle of an element, once it stays where it is and nothing lies over it."""
        place = self.wait(f"({STEADY})({json.dumps(selector)})")
        self.press_at(*place)

    def press_at(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, key: str) -> None:
        """Press a key: a letter, or its name."""
        text = {"Enter": "\r", " ": " "}.get(key, key if len(key) == 1 else "")
        code = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
                "ArrowDown": 40}.get(key, ord(key.upper()[0]) if len(key) == 1 else 0)  # fmt: skip
        names = {"key": key, "windowsVirtualKeyCode": code, "code": key if len(key) > 1 else ""}
        down = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
        self.ask("Input.dispatchKeyEvent", **down, **names)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **names)

    def picture(self, path: Path, full: bool = True) -> None:
        """A screenshot."""
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=full)
        path.write_bytes(base64.b64decode(shot["data"]))


def wait_for(condition: Any, seconds: float, what: str = "") -> Any:
    """What ``condition`` returns as soon as that is true."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.03)
