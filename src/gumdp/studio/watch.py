"""The run that a tab watches: play, pause, step, take the wheel, go back. One thread, one message after another."""

from __future__ import annotations

import queue
import time
from typing import TYPE_CHECKING, Any

from gumdp.bounds.along import Along
from gumdp.errors import GumdpError
from gumdp.policies.base import Planner
from gumdp.policies.fixed import Random
from gumdp.problem import Problem
from gumdp.studio.opening import make_planner
from gumdp.studio.run import Run
from gumdp.studio.scene import scene
from gumdp.studio.treetop import treetop
from gumdp.zoo.painted import EXAMPLE

if TYPE_CHECKING:
    from gumdp.studio.session import Session

IDLE = 3600.0  # seconds to wait for a message when there is nothing to do
SPEED = 4.0  # steps a second


class Watcher:
    """The run, and how it goes on."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.run: Run | None = None
        self.opened: dict[str, Any] = {}
        self.parts: tuple[Problem, Planner] | None = None
        self.playing = self.wheel = False
        self.waits = False  # for a hand at the wheel
        self.speed, self.due = SPEED, 0.0
        self.along: tuple[dict[str, Any], Along] | None = None  # the bound along a run, and of which problem

    def forget(self) -> None:
        """Drop the run: it was stopped, or it failed."""
        self._let_go()
        self.run, self.playing, self.waits = None, False, False

    def _let_go(self) -> None:
        if self.run is not None:
            self.run.listen(None)

    def go(self) -> None:
        """Work on messages and steps until the session is closed."""
        while not self.session.closed.is_set():
            message = self._next()
            if message is not None:
                try:
                    getattr(self, f"do_{message['do']}")(message)
                except GumdpError as error:
                    self.session.complain(error, message["do"])
            elif self._moving() and time.monotonic() >= self.due:
                self.advance()

    def _moving(self) -> bool:
        return self.playing and self.run is not None and not self.run.over and not self.waits

    def _next(self) -> dict[str, Any] | None:
        """The next message, or None when it is time for a step."""
        wait = max(0.0, self.due - time.monotonic()) if self._moving() else IDLE
        try:
            return self.session.inbox.get(timeout=wait) if wait > 0.0 else self.session.inbox.get_nowait()
        except queue.Empty:
            return None

    def say(self, kind: str, **facts: Any) -> None:
        """Tell the page, and which run it is about."""
        self.session.say({"say": kind, "run": self.opened.get("run"), **facts})

    # --- steps ---

    def advance(self) -> None:
        """Think, and take the step unless somebody has the wheel."""
        assert self.run is not None
        began = time.monotonic()
        if self.wheel:
            self._ask()
            return
        self._told(self.run.take())
        self.due = began + 1.0 / self.speed

    def _ask(self) -> None:
        """Show what the planner would do, and wait for a hand."""
        assert self.run is not None
        decision = self.run.think()
        self.waits = True
        self.say("asks", t=self.run.t, **self.run.evidence(decision, treetop(self.run.policy)))

    def _told(self, step: dict[str, Any]) -> None:
        assert self.run is not None
        self.say("step", **step)
        if self.run.over:
            self.playing = False
            self.say("over", **self.run.end())

    def _need(self) -> Run:
        if self.run is None:
            raise GumdpError("there is no run; choose a problem first.")
        return self.run

    # --- messages ---

    def do_open(self, message: dict[str, Any]) -> None:
        """Begin a run, and bring it to where it was."""
        self.forget()
        self.opened = message
        self.say("status", text="preparing the problem")
        problem = self.session.problem(message["problem"])
        spec = message["problem"]
        world = spec["options"].get("world", EXAMPLE) if spec["name"] == "painted" else None
        self.parts = problem, make_planner(message["planner"])
        for action in message["actions"].values():
            problem.model.check_action(action)
        self.say("scene", **scene(problem, world))
        self._begin(message["actions"], message["iterations"], min(message["until"], problem.steps), True)

    def _begin(self, actions: dict[int, int], budgets: dict[int, int], until: int, tell: bool) -> None:
        """A run from the start to step ``until``, with the same hands as before; ``tell`` the page of each step."""
        assert self.parts is not None
        self.say("status", text="preparing the planner; the first time, compiling takes some seconds")
        message = self.opened
        run = Run(*self.parts, message["seed"], message["trial"], message["stop"])
        run.along = self._bound_along()
        if tell:
            self.say("ready", next=run.place(), searches=hasattr(run.policy, "search_for"))
        told = time.monotonic()
        while run.t < until:
            if self.session.closed.is_set() or message["stop"][0]:
                raise KeyboardInterrupt
            if run.t in budgets:
                run.search_for(budgets[run.t])
            step = run.take(actions.get(run.t))
            if tell:
                self.say("step", **step)
            if time.monotonic() - told > 0.3:
                told = time.monotonic()
                self.say("status", text=f"playing the same steps again: {run.t} of {until}")
        if run.t in budgets and not run.over:
            run.search_for(budgets[run.t])
        run.listen(lambda facts: self.say(facts.pop("say"), **facts))
        self._let_go()
        self.run, self.waits = run, False
        self.say("status", text="")
        if run.over and tell:
            self.say("over", **run.end())

    def do_play(self, message: dict[str, Any]) -> None:
        self._need()
        self.playing, self.due = True, 0.0

    def do_pause(self, message: dict[str, Any]) -> None:
        self.playing = False

    def do_step(self, message: dict[str, Any]) -> None:
        run = self._need()
        self.playing = False
        if not run.over and not self.waits:
            self.advance()

    def do_speed(self, message: dict[str, Any]) -> None:
        self.speed = message["value"]
        self.due = min(self.due, time.monotonic() + 1.0 / self.speed)

    def do_wheel(self, message: dict[str, Any]) -> None:
        self.wheel = message["on"]
        if self.wheel and self.run is not None and not self.run.over and not self.waits:
            self._ask()
        self.waits = self.waits and self.wheel

    def do_choose(self, message: dict[str, Any]) -> None:
        """Somebody chose: here, or at an earlier step, from which the run goes on anew."""
        run = self._need()
        if message["step"] > run.t:
            raise GumdpError(f"the run is at step {run.t}; step {message['step']} is still to come.")
        if message["step"] < run.t:
            self._rewind(message["step"])
            run = self._need()
        if run.over:
            raise GumdpError("the run is over; start again, or go back to an earlier step.")
        if message["action"] not in run.place()["allowed"]:
            raise GumdpError("this action is not available here.")
        self.waits, self.due = False, time.monotonic() + 1.0 / self.speed
        self._told(run.take(message["action"]))
        if self.wheel and not run.over:
            self._ask()

    def do_back(self, message: dict[str, Any]) -> None:
        """Make the run what it was at an earlier step."""
        run = self._need()
        self.playing = False
        if message["step"] < run.t:
            self._rewind(message["step"])
        if self.wheel:
            self._ask()

    def _rewind(self, step: int) -> None:
        run = self._need()
        hands = {t: a for t, a in run.by_hand.items() if t < step}
        self._begin(hands, {t: n for t, n in run.budgets.items() if t <= step}, step, False)
        self.say("rewound", step=step)

    def do_floor(self, message: dict[str, Any]) -> None:
        """A bound along the run was found: it is told for the steps that were made, and with those to come."""
        self.along = message["problem"], message["along"]
        if self.run is not None and self._bound_along() is not None and self.parts is not None:
            problem, run = self.parts[0], self.run
            again = Run(problem, Random(), self.opened["seed"], self.opened["trial"], self.opened["stop"])
            again.along = run.along = self._bound_along()
            self.say("floors", values=[again.take(action)["floor"] for action in run.actions])

    def _bound_along(self) -> Along | None:
        of, along = self.along or (None, None)
        return along if of == self.opened.get("problem") else None

    def do_budget(self, message: dict[str, Any]) -> None:
        step = self._need().search_for(message["iterations"])
        self.say("budget", step=step, iterations=message["iterations"])
