"""Who may what: every route and every verb of the command line, in one table. A test walks it with every role.

What is not listed is refused.
"""

from __future__ import annotations

import re
from enum import Enum


class Right(Enum):
    """What a route asks of whoever calls it."""

    PUBLIC = "anybody, also without a login"
    USER = "whoever is known"
    OWN = "whoever is known, for what is his own; administrators for all"
    ADMIN = "administrators"
    HERE = "the server's own account and root, on the machine itself"


ROUTES: dict[str, Right] = {
    # jobs
    "POST /api/v1/jobs": Right.USER,
    "GET /api/v1/jobs": Right.USER,
    "GET /api/v1/jobs/wait": Right.USER,
    "GET /api/v1/jobs/facets": Right.USER,
    "GET /api/v1/jobs/{job}": Right.USER,
    "GET /api/v1/jobs/{job}/env": Right.OWN,
    "GET /api/v1/jobs/{job}/spec": Right.OWN,
    "GET /api/v1/jobs/{job}/why": Right.USER,
    "GET /api/v1/jobs/{job}/log": Right.OWN,
    "GET /api/v1/jobs/{job}/log/follow": Right.OWN,
    "GET /api/v1/jobs/{job}/log/file": Right.OWN,
    "GET /api/v1/jobs/{job}/results": Right.USER,
    "POST /api/v1/jobs/{job}/results": Right.OWN,
    "GET /api/v1/jobs/{job}/samples": Right.USER,
    "POST /api/v1/jobs/actions": Right.OWN,
    # sweeps
    "POST /api/v1/sweeps": Right.USER,
    "GET /api/v1/sweeps": Right.USER,
    "GET /api/v1/sweeps/last": Right.USER,
    "GET /api/v1/sweeps/{sweep}": Right.USER,
    "POST /api/v1/sweeps/{sweep}/extend": Right.OWN,
    "POST /api/v1/sweeps/{sweep}/limit": Right.OWN,
    # the box
    "GET /api/v1/gpus": Right.USER,
    "POST /api/v1/gpus/actions": Right.ADMIN,
    "POST /api/v1/drain": Right.ADMIN,
    "GET /api/v1/status": Right.USER,
    "GET /api/v1/settings": Right.USER,
    "PUT /api/v1/settings": Right.ADMIN,
    "GET /api/v1/policy": Right.USER,
    "PUT /api/v1/policy": Right.ADMIN,
    "POST /api/v1/scheduler": Right.ADMIN,
    "POST /api/v1/archive": Right.HERE,
    "POST /api/v1/backup": Right.HERE,
    "GET /api/v1/log/server": Right.ADMIN,
    "GET /api/v1/events": Right.USER,
    "GET /api/v1/live": Right.USER,
    "GET /api/v1/history": Right.USER,
    "GET /api/v1/samples": Right.USER,
    "POST /api/v1/shutdown": Right.ADMIN,
    # nodes
    "GET /api/v1/nodes": Right.USER,
    "POST /api/v1/nodes": Right.ADMIN,
    "GET /api/v1/nodes/{node}": Right.USER,
    "DELETE /api/v1/nodes/{node}": Right.ADMIN,
    "POST /api/v1/nodes/{node}/check": Right.ADMIN,
    "POST /api/v1/nodes/{node}/lost": Right.ADMIN,
    "POST /api/v1/nodes/{node}/trust": Right.ADMIN,
    "PUT /api/v1/nodes/{node}/login": Right.OWN,
    "DELETE /api/v1/nodes/{node}/login": Right.OWN,
    "GET /api/v1/logins": Right.OWN,
    # people
    "GET /api/v1/users": Right.USER,
    "POST /api/v1/users": Right.ADMIN,
    "GET /api/v1/users/{name}": Right.USER,
    "PATCH /api/v1/users/{name}": Right.ADMIN,
    "DELETE /api/v1/users/{name}": Right.ADMIN,
    "POST /api/v1/users/{name}/link": Right.ADMIN,
    "GET /api/v1/usage": Right.USER,
    "GET /api/v1/audit": Right.ADMIN,
    "GET /api/v1/notice": Right.USER,
    "PUT /api/v1/notice": Right.ADMIN,
    "GET /api/v1/me": Right.USER,
    "POST /api/v1/me/password": Right.USER,
    "POST /api/v1/me/link": Right.USER,
    "GET /api/v1/defaults": Right.USER,
    "PUT /api/v1/defaults": Right.USER,
    "GET /api/v1/tokens": Right.OWN,
    "POST /api/v1/tokens": Right.USER,
    "DELETE /api/v1/tokens/{token}": Right.OWN,
    # being told
    "GET /api/v1/notify": Right.USER,
    "POST /api/v1/notify": Right.USER,
    "GET /api/v1/notify/failures": Right.USER,
    "DELETE /api/v1/notify/{target}": Right.OWN,
    "POST /api/v1/notify/{target}/test": Right.OWN,
    # coming in and going out
    "POST /api/v1/login": Right.PUBLIC,
    "POST /api/v1/logout": Right.USER,
    "POST /api/v1/administrator/link": Right.HERE,
    "GET /api/v1/link/{code}": Right.PUBLIC,
    "POST /api/v1/link/{code}": Right.PUBLIC,
    "GET /api/v1/openapi.json": Right.PUBLIC,
    # pages
    "GET /": Right.USER,
    "GET /wall": Right.USER,
    "GET /jobs": Right.USER,
    "GET /jobs/{id}": Right.USER,
    "GET /submit": Right.USER,
    "GET /sweeps": Right.USER,
    "GET /sweeps/{id}": Right.USER,
    "GET /nodes": Right.USER,
    "GET /nodes/{id}": Right.USER,
    "GET /users": Right.USER,
    "GET /users/{id}": Right.USER,
    "GET /settings": Right.USER,
    "GET /audit": Right.USER,
    "GET /me": Right.USER,
    "GET /assets/{name}": Right.PUBLIC,
    "GET /early.js": Right.PUBLIC,
    "GET /roost.svg": Right.PUBLIC,
    "GET /roost.webmanifest": Right.PUBLIC,
    "GET /login": Right.PUBLIC,
    "POST /login": Right.PUBLIC,
    "GET /welcome/{code}": Right.PUBLIC,
    "POST /welcome/{code}": Right.PUBLIC,
    "POST /logout": Right.USER,
    "GET /style/{name}": Right.PUBLIC,
}

_SUBMIT = ("POST /jobs",)
_FOLLOW = ("GET /jobs/{job}/log/follow", "GET /jobs/{job}", "GET /jobs", "GET /jobs/{job}/log", "GET /jobs/wait")
_ACT = ("POST /jobs/actions",)
_CHANGE_USER = ("PATCH /users/{name}", "GET /users/{name}")
_ROUTES_OF: dict[str, tuple[str, ...]] = {
    "run": (*_SUBMIT, *_FOLLOW, *_ACT),
    "submit": _SUBMIT,
    "ls": ("GET /jobs", "GET /status"),
    "show": ("GET /jobs/{job}", "GET /jobs", "GET /jobs/{job}/env"),
    "log": (*_FOLLOW, "GET /log/server"),
    "why": ("GET /jobs/{job}/why", "GET /jobs", "GET /jobs/{job}"),
    "wait": ("GET /jobs/wait", "GET /jobs", "GET /jobs/{job}"),
    **dict.fromkeys(
        ("pause", "resume", "hold", "release", "rerun", "preempt", "move", "start", "edit", "clone", "rm"), _ACT
    ),
    "kill": (*_ACT, "GET /jobs", "GET /jobs/wait"),
    "clean": (*_ACT, "GET /jobs"),
    "archive": ("POST /archive", "GET /jobs"),
    "sweep": ("POST /sweeps",),
    "sweep show": ("GET /sweeps/{sweep}", "GET /sweeps/last"),
    "sweep ls": ("GET /sweeps",),
    "sweep extend": ("POST /sweeps/{sweep}/extend",),
    "sweep limit": ("POST /sweeps/{sweep}/limit",),
    "sweep kill": _ACT,
    "sweep rerun": (*_ACT, "GET /sweeps/{sweep}", "GET /jobs"),
    "report": ("POST /jobs/{job}/results",),
    **dict.fromkeys(("notify", "notify ls"), ("GET /notify",)),
    "notify add": ("POST /notify",),
    "notify test": ("POST /notify/{target}/test", "GET /notify"),
    "notify rm": ("DELETE /notify/{target}", "GET /notify"),
    "notify failures": ("GET /notify/failures",),
    "gpus": ("GET /gpus",),
    "top": ("GET /gpus", "GET /jobs", "GET /status"),
    "gpu": ("POST /gpus/actions", "GET /gpus"),
    **dict.fromkeys(("nodes", "node"), ("GET /nodes", "GET /gpus")),
    "node show": ("GET /nodes/{node}", "GET /gpus"),
    "node add": ("POST /nodes", "GET /gpus"),
    "node check": ("POST /nodes/{node}/check", "GET /nodes"),
    "node rm": ("DELETE /nodes/{node}",),
    "node lost": ("POST /nodes/{node}/lost",),
    "node trust": ("POST /nodes/{node}/trust",),
    "node login": (
        "GET /logins",
        "PUT /nodes/{node}/login",
        "DELETE /nodes/{node}/login",
        "GET /nodes/{node}",
        "GET /me",
    ),
    **dict.fromkeys(("drain", "undrain"), ("POST /drain",)),
    "scheduler": ("POST /scheduler", "GET /status"),
    "policy": ("GET /policy", "PUT /policy"),
    "simulate": ("GET /history", "GET /gpus", "GET /users", "GET /settings", "GET /status"),
    "set": ("GET /settings", "PUT /settings"),
    **dict.fromkeys(("user", "user show"), ("GET /users/{name}", "GET /me")),
    "defaults": ("GET /defaults",),
    **dict.fromkeys(("defaults set", "defaults unset", "defaults clear"), ("GET /defaults", "PUT /defaults")),
    "login": ("POST /login", "GET /me"),
    "logout": ("POST /logout", "GET /me", "GET /tokens", "DELETE /tokens/{token}"),
    "web": ("POST /me/link",),
    "password": ("POST /me/password", "GET /me"),
    **dict.fromkeys(("token", "token ls"), ("GET /tokens",)),
    "token new": ("POST /tokens",),
    "token revoke": ("DELETE /tokens/{token}",),
    "users": ("GET /users",),
    "user add": ("POST /users",),
    "user del": ("DELETE /users/{name}", "GET /users/{name}"),
    **dict.fromkeys(("user lock", "user unlock", "user admin", "user set"), _CHANGE_USER),
    "user link": ("POST /users/{name}/link", "GET /users/{name}"),
    "usage": ("GET /usage",),
    "notice": ("GET /notice", "PUT /notice"),
    "audit": ("GET /audit",),
    "up": ("GET /status", "POST /administrator/link"),
    "down": ("POST /shutdown", "GET /status"),
    "status": ("GET /status", "GET /me"),
    "backup": ("POST /backup",),
    "bench": (*_SUBMIT, *_FOLLOW, *_ACT, "GET /status", "GET /gpus"),
    **dict.fromkeys(("install", "uninstall", "restore"), ("GET /status",)),
    **dict.fromkeys(("sim-job", "sim-gpu"), ("GET /status", "GET /gpus")),
    **dict.fromkeys(("help", "completion", "version"), ()),
}
VERBS: dict[str, tuple[str, ...]] = {
    verb: tuple(route.replace(" ", " /api/v1", 1) for route in routes) for verb, routes in _ROUTES_OF.items()
}
"""The routes that a verb may ask for: whoever may ask for them may type it."""


def methods_at(path: str) -> list[str]:
    """What may be done at a path; the route of exactly that path goes before one with a name in it."""
    routes = [route.split(" ") for route in ROUTES]
    exact = {method for method, route in routes if route == path}
    return sorted(exact or {method for method, route in routes if re.fullmatch(re.sub(r"{\w+}", "[^/]+", route), path)})
