"""A server that says what a test told it to say, over a UNIX socket. Keeps what it was asked."""

from __future__ import annotations

import contextlib
import json
import os
import socketserver
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl, urlsplit

Answer = tuple[int, Any] | tuple[int, Any, dict[str, str]]
Route = Callable[[dict[str, str], Any], Answer]


class Stream:
    """An answer sent line by line, chunked; a callable among the lines is called when its turn comes."""

    def __init__(self, *items: Any) -> None:
        self.items = items


class FakeServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """`routes` maps `"GET /jobs"` to a function of query and body, or to a fixed answer."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, path: str, routes: dict[str, Any] | None = None) -> None:
        self.routes = routes or {}
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        self.languages: list[str | None] = []
        super().__init__(path, _Handler)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def get_request(self) -> tuple[Any, Any]:
        request, _ = super().get_request()
        return request, ("local", 0)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves early is part of many tests."""

    def bodies(self, route: str) -> list[Any]:
        """What was sent to a route."""
        return [body for name, _, body in self.asked if name == route]

    def queries(self, route: str) -> list[dict[str, str]]:
        """What a route was asked for."""
        return [query for name, query, _ in self.asked if name == route]

    def stop(self) -> None:
        """No longer answer, and take the socket away."""
        self.shutdown()
        self._thread.join()
        self.server_close()
        with contextlib.suppress(FileNotFoundError):  # a test may stop it while the fixture does
            os.unlink(str(self.server_address))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FakeServer

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query))
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        body = json.loads(raw) if raw else None
        name = f"{self.command} {parts.path.removeprefix('/api/v1')}"
        self.server.asked.append((name, query, body))
        self.server.languages.append(self.headers.get("Accept-Language"))
        route = self.server.routes.get(name)
        if route is None:
            answer: Answer = (404, error("not_found", f"no route {name}"))
        else:
            answer = route(query, body) if callable(route) else (200, route)
        self._send(*answer)

    def _send(self, status: int, payload: Any, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        if isinstance(payload, Stream):
            self._stream(payload)
            return
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, stream: Stream) -> None:
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for item in stream.items:
            if item is None:  # the connection breaks here
                self.close_connection = True
                return
            if callable(item):
                item()
                continue
            data = item if isinstance(item, bytes) else json.dumps(item).encode() + b"\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

    def log_message(self, *_: object) -> None:
        pass


def error(code: str, message: str, hint: str | None = None, **more: Any) -> dict[str, Any]:
    """An error as the API words it."""
    return {"error": {"code": code, "message": message, "hint": hint, **more}}
