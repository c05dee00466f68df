"""Ctrl-C and SIGTERM: a command ends in order if it can, and within two seconds if it can't.

Python tells of a signal when the main thread is back in Python. A compiler that runs there, or that others wait for,
can take a minute. So the signal is also written to a pipe, and a thread that reads it ends the process if nobody else
does. Nothing is lost: a store has every trial that ended.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

from gumdp.cli.output import say

PATIENCE = 1.2  # seconds for ending in order
WORDS = {signal.SIGINT: ("interrupted.", 130), signal.SIGTERM: ("terminated.", 143)}


_words: list[str] = []  # to be said before the process ends, by whoever ends it


@contextlib.contextmanager
def last_words(words: str) -> Iterator[None]:
    """If a signal ends what is done inside, ``words`` are said, also if it has to be ended from outside."""
    _words.append(words)
    try:
        yield
    except KeyboardInterrupt:
        _say_last_words()
        raise
    finally:
        _words.clear()


def _say_last_words() -> None:
    with contextlib.suppress(IndexError):  # they have been said
        say(_words.pop())


class Terminated(KeyboardInterrupt):
    """SIGTERM."""

    word = "terminated"  # how a run's end is noted


def leave(code: int) -> None:
    """End the process at once, with what was printed."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


class Signals:
    """While a command runs: SIGTERM ends it like Ctrl-C, and neither waits for what can't be stopped."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._pipe: tuple[int, int] | None = None

    def __enter__(self) -> Signals:
        if threading.current_thread() is not threading.main_thread() or os.name != "posix":
            return self
        if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _terminate)
        reading, writing = self._pipe = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        threading.Thread(target=self._wait, args=(reading,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._pipe is not None:
            signal.set_wakeup_fd(-1)

    def _wait(self, reading: int) -> None:
        """See signals come, and end the process if they are not heeded in time."""
        while True:
            number = os.read(reading, 1)
            if number and number[0] in WORDS and signal.getsignal(number[0]) != signal.SIG_IGN:
                if not self._over.wait(PATIENCE):
                    words, code = WORDS[signal.Signals(number[0])]
                    _say_last_words()
                    say(f"gumdp: {words}")
                    leave(code)
                return


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated
