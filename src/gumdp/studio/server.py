"""The server of the studio: this machine only, a secret in the address, one socket for each tab.

Every address begins with a random token; without it there is nothing to see. The Host header must name this machine, so
that no other name can be made to point here. No request may come from another site's page (Origin), and a socket must
say that it comes from ours. Nothing is kept in cookies: these would go to every other server on this machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import secrets
import socket
from importlib.resources import files
from typing import Any

from gumdp.studio.messages import LARGEST
from gumdp.studio.session import Session, Settings

HOST = "127.0.0.1"
SESSIONS = 32  # tabs at a time
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def policy(port: int) -> str:
    """The content security policy: our own files and our own socket, nothing else, and nothing inline."""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
        f"connect-src ws://{HOST}:{port} ws://localhost:{port}; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )


class Studio:
    """A studio that serves its page on this machine. ``address`` is where, once ``open`` has been called."""

    def __init__(self, settings: Settings, port: int = 0) -> None:
        self.settings = settings
        self.token = secrets.token_urlsafe(24)
        self.socket = listening(port)
        self.port = int(self.socket.getsockname()[1])
        self.sessions: set[Session] = set()
        self.server: Any = None

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.port}/{self.token}/"

    def serve(self) -> None:
        """Serve until ``stop`` is called, or Ctrl-C."""
        import uvicorn

        config = uvicorn.Config(
            self.app(), log_level="error", access_log=False, ws="websockets-sansio", ws_max_size=2 * LARGEST,
            ws_ping_interval=20.0, ws_ping_timeout=20.0, timeout_graceful_shutdown=1, server_header=False,
            lifespan="off", http="h11", h11_max_incomplete_event_size=16_384, limit_concurrency=4 * SESSIONS,
        )  # fmt: skip
        self.server = uvicorn.Server(config)
        try:
            self.server.run(sockets=[self.socket])
        finally:
            for session in list(self.sessions):
                session.close()
            self.socket.close()

    def stop(self) -> None:
        """End ``serve``, from any thread."""
        if self.server is not None:
            self.server.should_exit = True

    # --- what is answered ---

    def app(self) -> Any:
        """The application, for a server that speaks ASGI."""
        from starlette.applications import Starlette
        from starlette.routing import Route, WebSocketRoute

        return Starlette(
            routes=[
                Route("/{token}/", self.page, methods=["GET"]),
                Route("/{token}/{name}", self.page, methods=["GET"]),
                WebSocketRoute("/{token}/socket", self.talk),
            ],
        )

    def welcome(self, connection: Any) -> bool:
        """Whether a request names this machine, knows the token, and comes from no other site's page."""
        hosts = connection.headers.getlist("host")
        known = hmac.compare_digest(connection.path_params["token"].encode(), self.token.encode())
        ours = {f"http://{name}" for name in self.names()}
        own_page = ours.issuperset(connection.headers.getlist("origin"))
        return known and own_page and len(hosts) == 1 and hosts[0] in self.names()

    def names(self) -> tuple[str, ...]:
        """What this server may be called."""
        return f"{HOST}:{self.port}", f"localhost:{self.port}"

    async def page(self, request: Any) -> Any:
        """A file of the page."""
        from starlette.responses import PlainTextResponse, Response

        if not self.welcome(request):
            return PlainTextResponse("There is nothing here.\n", 403, HEADERS)
        content = page_files().get(request.path_params.get("name") or "index.html")
        if content is None:
            return PlainTextResponse("There is no such file.\n", 404, HEADERS)
        body, kind = content
        headers = {**HEADERS, "Content-Security-Policy": policy(self.port)}
        return Response(body, media_type=f"{kind}; charset=utf-8", headers=headers)

    async def talk(self, websocket: Any) -> None:
        """A tab's conversation."""
        from starlette.websockets import WebSocketDisconnect

        told = len(websocket.headers.getlist("origin")) == 1
        if not self.welcome(websocket) or not told or len(self.sessions) >= SESSIONS:
            await websocket.close(1008)
            return
        await websocket.accept()
        loop, outbox = asyncio.get_running_loop(), asyncio.Queue[str]()

        def send(text: str) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(outbox.put_nowait, text)

        session = Session(send, self.settings)
        self.sessions.add(session)
        writer = asyncio.create_task(_write(websocket, outbox, session))
        try:
            await asyncio.to_thread(session.hello)
            while True:
                message = await websocket.receive()
                if message["type"] != "websocket.receive":
                    break
                session.hear(message.get("text"))
        except WebSocketDisconnect:
            pass
        finally:
            session.close()
            self.sessions.discard(session)
            writer.cancel()


async def _write(websocket: Any, outbox: asyncio.Queue[str], session: Session) -> None:
    """Send what the session says, in its order."""
    while True:
        text = await outbox.get()
        try:
            await websocket.send_text(text)
        except Exception:  # the page is gone
            session.close()
            return
        session.delivered()


def listening(port: int) -> socket.socket:
    """A socket on this machine alone, at ``port`` or at any that is free."""
    from gumdp.errors import GumdpError

    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((HOST, port))
    except OSError as error:
        made.close()
        raise GumdpError(
            f"studio: port {port} can't be used: {error.strerror}; leave --port out for a free one."
        ) from None
    return made


_files: dict[str, tuple[bytes, str]] = {}


def page_files() -> dict[str, tuple[bytes, str]]:
    """The files of the page, read once: no request ever names a path."""
    if not _files:
        for path in files("gumdp.studio").joinpath("page").iterdir():
            suffix = path.name[path.name.rfind(".") :]
            if suffix in KINDS:
                _files[path.name] = path.read_bytes(), KINDS[suffix]
    return _files
