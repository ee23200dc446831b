"""The dashboard: files that were built from `web/` in the repository, served from memory. It asks the API, nothing else.

The names of the files under `assets` change with what is in them, so browsers keep those for ever; the page that names
them is looked at again each time.
"""

import gzip
import hashlib
import mimetypes
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from roost.api.calls import Call
from roost.api.edge.authentication import Right
from roost.api.route_table import Routes
from roost.core.errors import NotFound
from roost.web.layout import FOREVER

routes = Routes("pages", prefix="")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
PLACES = (
    "/", "/wall", "/jobs", "/jobs/{id}", "/submit", "/sweeps", "/sweeps/{id}", "/nodes", "/nodes/{id}",
    "/users", "/users/{id}", "/settings", "/audit", "/me",
)  # fmt: skip
"""Where there is a page of it."""
TOP = ("early.js", "roost.svg", "roost.webmanifest")
"""Files beside the page whose names never change."""
NOT_BUILT = b"""<!doctype html><meta charset="utf-8"><title>Roost</title>
<h1>The pages are not built</h1><p>In the clone: <code>make pages</code>. The command line and the API work without them.</p>
"""
_SMALL = 500


class File(msgspec.Struct, frozen=True):
    """A file as it is sent: plain, and packed where that is smaller."""

    kind: str
    plain: bytes
    packed: bytes | None
    tag: str


@cache
def files() -> dict[str, File]:
    """Every built file, by its path; nothing where nothing was built."""
    root = resources.files("roost.web").joinpath("built")
    return dict(_read(root, "")) if root.is_dir() else {}


def _read(folder: Traversable, prefix: str) -> list[tuple[str, File]]:
    found: list[tuple[str, File]] = []
    for item in folder.iterdir():
        if item.is_dir():
            found += _read(item, f"{prefix}{item.name}/")
        else:
            found.append((prefix + item.name, _file(item.name, item.read_bytes())))
    return found


def _file(name: str, data: bytes) -> File:
    kind = "application/manifest+json" if name.endswith(".webmanifest") else mimetypes.guess_type(name)[0]
    kind = kind or "application/octet-stream"
    if kind.startswith("text/") or kind == "application/javascript":
        kind += "; charset=utf-8"
    packed = gzip.compress(data, 9, mtime=0) if len(data) > _SMALL else None
    tag = f'"{hashlib.sha256(data).hexdigest()[:20]}"'
    return File(kind, data, packed if packed is not None and len(packed) < len(data) else None, tag)


def answer(request: Request, file: File, keep: str) -> Response:
    """The file, packed for a browser that can unpack it; nothing when the browser has it already."""
    headers = {"Cache-Control": keep, "ETag": file.tag, "Vary": "Accept-Encoding", "Content-Security-Policy": POLICY}
    if file.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if file.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.packed, media_type=file.kind, headers={**headers, "Content-Encoding": "gzip"})
    return Response(file.plain, media_type=file.kind, headers=headers)


async def page(call: Call, id: str = "") -> Response:
    """The page, for whatever place of it."""
    found = files().get("index.html")
    if found is None:
        return Response(NOT_BUILT, 503, media_type="text/html; charset=utf-8")
    return answer(call.request, found, "no-cache")


@routes.get("/assets/{name}", Right.PUBLIC)
async def asset(call: Call, name: str) -> Response:
    """A part of it."""
    found = files().get(f"assets/{name}")
    if found is None:
        raise NotFound("page.old_file")
    return answer(call.request, found, FOREVER)


async def top(call: Call) -> Response:
    """A file beside the page."""
    found = files().get(call.request.url.path.removeprefix("/"))
    if found is None:
        raise NotFound("page.not_built")
    return answer(call.request, found, "no-cache")


for _place in PLACES:
    routes.get(_place, Right.USER)(page)
for _name in TOP:
    routes.get(f"/{_name}", Right.PUBLIC)(top)
