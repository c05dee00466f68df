"""A studio to test, and somebody who talks to it."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gumdp.studio.server import Studio
from gumdp.studio.session import Settings


@contextlib.contextmanager
def open_studio(folder: Path, **settings: Any) -> Iterator[Studio]:
    """A studio that is being served, with its results in ``folder``."""
    studio = Studio(Settings(**{"out": folder / "results", "results": folder / "results", **settings}))
    thread = threading.Thread(target=studio.serve)
    thread.start()
    try:
        deadline = time.monotonic() + 30
        while not (studio.server and studio.server.started):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        yield studio
    finally:
        studio.stop()
        thread.join(20)
        assert not thread.is_alive()


class Client(contextlib.ExitStack):
    """A tab without a browser."""

    def __init__(self, studio: Studio, **options: Any) -> None:
        from websockets.sync.client import connect

        super().__init__()
        address = studio.address.replace("http", "ws") + "socket"
        options.setdefault("origin", f"http://127.0.0.1:{studio.port}")
        self.socket = self.enter_context(connect(address, max_size=None, **options))
        self.hello = self.hear("hello")

    def do(self, kind: str, **facts: Any) -> None:
        self.socket.send(json.dumps({"do": kind, **facts}))

    def hear(self, *kinds: str, seconds: float = 180.0) -> dict[str, Any]:
        """The next message of one of these kinds; an error is one unless it was expected."""
        while True:
            message = json.loads(self.socket.recv(timeout=seconds))
            if message["say"] in kinds:
                return message
            assert message["say"] != "error", message["text"]

    def open(self, problem: Any, planner: Any, **facts: Any) -> None:
        """Begin a run, as fast as it can go."""
        spec = problem if isinstance(problem, dict) else {"name": problem}
        self.do("open", run=1, problem=spec, planner=planner, **facts)
        self.do("speed", value=1000)
        self.hear("ready")

    def play(self) -> tuple[float, list[dict[str, Any]]]:
        """Play to the end: the value, and the steps."""
        self.do("play")
        steps = []
        while (message := self.hear("step", "over"))["say"] == "step":
            steps.append(message)
        return message["value"], steps


def mcts(iterations: int, name: str = "mcts") -> dict[str, Any]:
    """A search, as the page names it."""
    return {"name": name, "options": {"iterations": iterations}}
