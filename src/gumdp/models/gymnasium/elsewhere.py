"""Copies of an environment in processes of their own: threads that simulate in them wait for no other.

A simulator that is written in Python keeps the interpreter to itself, so that threads which step copies of it take
turns. Here each thread has a copy in another process, ``python -P -m gumdp.models.gymnasium.elsewhere``, and talks to
it through a pipe, which takes about a tenth of a millisecond a step. The process ends when its pipe does.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from gumdp.errors import GumdpError
from gumdp.models.gymnasium.chance import Chance
from gumdp.models.gymnasium.copying import pack
from gumdp.models.gymnasium.ways import Live, Past, Way, bare_copy


class Elsewhere(Way):
    """Copies of the environment, each in a process of its own."""

    name = "process"
    text = "copies of the environment itself, in a process for each thread"
    watched = False

    def spawn(self) -> Live:
        return Live(Remote(pack(self.make()), self.chance))

    def save(self, env: Any, past: Past | None) -> Any:
        return env.save() if isinstance(env, Remote) else pack(bare_copy(env))

    def load(self, live: Live, saved: Any) -> None:
        live.env.load(saved)

    def seed(self, live: Live, bits: int) -> None:
        if isinstance(live.env, Remote):
            live.env.bits = bits  # for its next step
        else:
            super().seed(live, bits)


class Remote(gymnasium.Env[Any, Any]):  # type: ignore[misc]
    """An environment in another process, as far as one that is planned in is asked for anything."""

    def __init__(self, packed: bytes, chance: Chance) -> None:
        self.bits: int | None = None  # the chance of the next step; None: what its own generators have
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(_path()), "PYTHONSAFEPATH": "1"},
            start_new_session=True,  # Ctrl-C is for this process, which then closes the pipe
        )
        weakref.finalize(self, _end, self._process)
        self._ask("begin", packed, chance)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        return self._ask("reset", seed), {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        bits, self.bits = self.bits, None
        observation, reward, over, cut = self._ask("step", action, bits)
        return observation, reward, over, cut, {}

    def save(self) -> bytes:
        """The state that it is in."""
        packed: bytes = self._ask("save")
        return packed

    def load(self, packed: bytes) -> None:
        """Bring it into a state, which may come from another process."""
        self._ask("load", packed)

    def close(self) -> None:
        _end(self._process)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._ask("look", name)

    def _ask(self, *request: Any) -> Any:
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        try:
            pickle.dump(request, requests)
            requests.flush()
            done, answer = pickle.load(answers)
        except (EOFError, OSError, ValueError) as error:  # the last of a pipe that is closed
            raise GumdpError("the process in which a copy of an environment was simulated has ended.") from error
        if not done:
            raise answer
        return answer


class Served:
    """The other end: an environment, and what can be asked of it."""

    def begin(self, packed: bytes, chance: Chance) -> None:
        try:
            self.env = pickle.loads(packed)
        except (AttributeError, ImportError) as error:
            raise GumdpError(
                f"its class can't be imported in another process ({error}); put it into a module of its own"
            ) from error
        self.chance, self.dice = chance, np.random.Generator(np.random.PCG64(0))

    def reset(self, seed: int) -> Any:
        self.chance.before_reset(self.env, seed)
        with self.chance.borrowed(seed):
            return self.env.reset(seed=seed)[0]

    def step(self, action: Any, bits: int | None) -> tuple[Any, Any, bool, bool]:
        if bits is None:
            return self.env.step(action)[:4]  # type: ignore[no-any-return]
        self.chance.seed(self.env, self.dice, bits)
        with self.chance.borrowed(bits):
            return self.env.step(action)[:4]  # type: ignore[no-any-return]

    def save(self) -> bytes:
        return pack(self.env)

    def load(self, packed: bytes) -> None:
        self.env = pickle.loads(packed)

    def look(self, name: str) -> Any:
        return getattr(self.env.unwrapped, name)


def _path() -> list[str]:
    """Where this process imports from."""
    home = str(Path(__file__).resolve().parents[3])  # of this package
    path = [entry for entry in sys.path if entry]
    return path if home in path else [*path, home]


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def serve() -> None:
    """Answer what is asked through standard input until it ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what an environment prints must not come between the answers
    served = Served()
    while True:
        try:
            verb, *arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            ask: Callable[..., Any] = getattr(served, verb)
            answer = pickle.dumps((True, ask(*arguments)))
        except Exception as error:  # whatever an environment raises, it comes out at the other end
            answer = _failure(error)
        answers.write(answer)
        answers.flush()


def _failure(error: Exception) -> bytes:
    try:
        packed = pickle.dumps((False, error))
        pickle.loads(packed)
    except Exception:  # an error with ideas of its own about pickling
        return pickle.dumps((False, GumdpError(f"{type(error).__name__}: {error}")))
    return packed


if __name__ == "__main__":
    serve()
