"""What one tab has going on: a run that is watched, and beside it races, bounds and results. Tabs share nothing."""

from __future__ import annotations

import contextlib
import json
import queue
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gumdp import escape
from gumdp.errors import GumdpError
from gumdp.problem import Problem
from gumdp.report.data import plain
from gumdp.studio import messages
from gumdp.studio.browse import Shelf
from gumdp.studio.home import take_home
from gumdp.studio.opening import make_problem, menu
from gumdp.studio.prove import certificate, find_bound
from gumdp.studio.race import race, side_by_side
from gumdp.studio.scene import UNNAMED
from gumdp.studio.watch import Watcher
from gumdp.zoo.painted import canonical, check_world

WAITING = 256  # messages that a page may be behind, before the session waits for it
LIVE = 8  # and before pictures of a decision that takes shape are left out
INBOX = 1000  # messages that may wait to be worked on
BESIDE = ("race", "side", "bound", "certify")  # what goes on beside the run, one of each at a time
WATCHED = ("open", "play", "pause", "step", "speed", "wheel", "choose", "back", "budget")

Stop = NDArray[np.uint8]


class Session:
    """A tab's session. ``hear`` takes what the page says; answers go to ``send``, from any thread."""

    def __init__(self, send: Callable[[str], None], settings: Settings) -> None:
        self.settings, self._send = settings, send
        self.closed = threading.Event()
        self._room = threading.Semaphore(WAITING)
        self._behind = self._tasks = 0
        self._counting = threading.Lock()
        self.allowed: set[str] = set()  # functions that were confirmed
        self.shelf = Shelf(settings.results, settings.own)
        self._stops: dict[str, Stop] = {}  # of what is going on, by kind
        self._pool = ThreadPoolExecutor(4, thread_name_prefix="studio")
        self.inbox: queue.Queue[dict[str, Any] | None] = queue.Queue(INBOX)
        self.watcher = Watcher(self)
        self._thread = threading.Thread(target=self._watch, name="studio-watch", daemon=True)
        self._thread.start()

    # --- what the page hears ---

    def say(self, message: dict[str, Any]) -> None:
        """Send a message, waiting for a page that is far behind; pictures that come too often are left out."""
        if message["say"] == "think" and self._behind > LIVE:
            return
        text = json.dumps(plain(message), allow_nan=False, ensure_ascii=False)
        while not self._room.acquire(timeout=0.2):
            if self.closed.is_set():
                return
        if not self.closed.is_set():
            with self._counting:
                self._behind += 1
            self._send(text)

    def delivered(self) -> None:
        """A message has left: there is room for another one."""
        with self._counting:
            self._behind -= 1
        self._room.release()

    def hello(self) -> None:
        """The first message: what there is to choose from."""
        self.say(
            {
                "say": "hello",
                **menu(self.settings.own),
                "given": (self.settings.given.name or UNNAMED) if self.settings.given is not None else None,
                "code": self.settings.code,
                "first": self.settings.first,
                "results": self.settings.results is not None,
                "out": str(self.settings.out),
            }
        )

    def complain(self, error: BaseException, about: str = "") -> None:
        """Say what went wrong, in a sentence."""
        words = str(error) if isinstance(error, GumdpError) else f"{type(error).__name__}: {error} (a bug)"
        self.say({"say": "error", "about": about, "text": escape.printable(" ".join(words.split()))[:1000]})

    # --- what the page says ---

    def hear(self, text: Any) -> None:
        """Act on a message of the page, or say why not. Returns at once."""
        try:
            message = messages.read(text)
        except GumdpError as error:
            self._pool_submit(self.complain, error)
            return
        kind = message["do"]
        if kind == "stop":
            self._interrupt(*([message["what"]] if message["what"] in BESIDE else BESIDE))
        elif kind in WATCHED:
            if kind == "open":
                message["stop"] = self._fresh_stop("open")
            self._enqueue(message)
        else:
            stop = self._fresh_stop(kind) if kind in BESIDE else np.zeros(1, np.uint8)
            self._pool_submit(self._serve, message, stop)

    def _enqueue(self, message: dict[str, Any]) -> None:
        try:
            self.inbox.put_nowait(message)
        except queue.Full:
            self._pool_submit(self.complain, GumdpError("that is more than can be done at a time; wait a moment."))

    def _pool_submit(self, function: Callable[..., None], *args: Any) -> None:
        with self._counting:
            if self._tasks >= INBOX:  # a page that asks for so much does not read the answers either
                return
            self._tasks += 1
        with contextlib.suppress(RuntimeError):  # the session is closed
            self._pool.submit(function, *args).add_done_callback(self._done)

    def _done(self, _: object) -> None:
        with self._counting:
            self._tasks -= 1

    def _fresh_stop(self, kind: str) -> Stop:
        """End what goes on of this kind; what begins now has a switch of its own."""
        self._interrupt(kind)
        self._stops[kind] = np.zeros(1, np.uint8)
        return self._stops[kind]

    def _interrupt(self, *kinds: str) -> None:
        for kind in kinds:
            if kind in self._stops:
                self._stops[kind][0] = 1

    def close(self) -> None:
        """The tab is gone: everything stops."""
        self.closed.set()
        self._interrupt(*self._stops)
        with contextlib.suppress(queue.Full):
            self.inbox.put_nowait(None)
        self._pool.shutdown(wait=False, cancel_futures=True)

    # --- threads ---

    def _watch(self) -> None:
        while not self.closed.is_set():
            try:
                self.watcher.go()
            except KeyboardInterrupt:  # the search was told to stop
                self.watcher.forget()
            except Exception as error:
                self.watcher.forget()
                self.complain(error, "open")

    def _serve(self, message: dict[str, Any], stop: Stop) -> None:
        try:
            self._answer(message, stop)
        except KeyboardInterrupt:
            pass
        except Exception as error:
            self.complain(error, message["do"])

    def _answer(self, message: dict[str, Any], stop: Stop) -> None:
        kind = message["do"]
        if kind in BESIDE:
            self._beside(kind, self.problem(message["problem"]), message, stop)
        elif kind == "check":
            self.say({"say": "checked", "world": canonical(check_world(message["world"]))})
        elif kind == "allow":
            if not self.settings.code:
                raise GumdpError("functions can't be typed in: the studio was started with --no-code.")
            self.allowed.add(message["code"])
            self.say({"say": "allowed"})
        elif kind == "home":
            self.say({"say": "home", **take_home(message, self.settings.source)})
        else:
            self.say(self.shelf.answer(message))

    def _beside(self, kind: str, problem: Problem, message: dict[str, Any], stop: Stop) -> None:
        say = self.say if "run" not in message else lambda facts: self.say({**facts, "run": message["run"]})
        if kind == "side":
            side_by_side(self.say, problem, message, stop)
        elif kind == "race":
            race(self.say, problem, message, stop, self.settings.out, self.settings.own)
        elif kind == "certify":
            certificate(say, problem, message, stop)
        elif (along := find_bound(say, problem, message, stop)) is not None:
            self._enqueue({"do": "floor", "problem": message["problem"], "along": along})

    def problem(self, spec: dict[str, Any]) -> Problem:
        """The problem that the page names."""
        return make_problem(spec, self.settings.given, self.allowed if self.settings.code else ())


class Settings:
    """What the studio was started with; ``own`` is the name under which the problem of a file is registered."""

    def __init__(
        self,
        *,
        given: Problem | None = None,
        source: str = "",
        own: str = "",
        first: str = "",
        results: Path | None = None,
        out: Path = Path("results/studio"),
        code: bool = True,
    ) -> None:
        self.given, self.source, self.own, self.first = given, source, own, first
        self.results, self.out, self.code = results, out, code
