"""Which threads are compiling right now."""

from __future__ import annotations

import threading

from numba.core import event


class Compiling:
    """The threads that are compiling now, as Numba tells."""

    def __init__(self) -> None:
        self._depth: dict[int, int] = {}
        self._listener: object = None

    @property
    def threads(self) -> set[int]:
        """Identities of threads."""
        return {thread for thread, depth in list(self._depth.items()) if depth > 0}

    def __enter__(self) -> Compiling:
        depth = self._depth

        class Listener(event.Listener):  # type: ignore[misc]
            def on_start(self, event: object) -> None:
                me = threading.get_ident()
                depth[me] = depth.get(me, 0) + 1

            def on_end(self, event: object) -> None:
                depth[threading.get_ident()] -= 1

        self._listener = Listener()
        event.register("numba:compile", self._listener)
        return self

    def __exit__(self, *_: object) -> None:
        event.unregister("numba:compile", self._listener)
