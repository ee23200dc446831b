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
    "GET /api/v1/jobs/{job}": Right.USER,
    "GET /api/v1/jobs/{job}/env": Right.OWN,
    "GET /api/v1/jobs/{job}/why": Right.USER,
    "GET /api/v1/jobs/{job}/log": Right.OWN,
    "GET /api/v1/jobs/{job}/log/follow": Right.OWN,
    "GET /api/v1/jobs/{job}/results": Right.USER,
    "POST /api/v1/jobs/{job}/results": Right.OWN,
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
    "GET /api/v1/nodes": Right.USER,
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
    "GET /api/v1/history": Right.USER,
    "POST /api/v1/shutdown": Right.ADMIN,
    # people
    "GET /api/v1/users": Right.USER,
    "POST /api/v1/users": Right.ADMIN,
    "GET /api/v1/users/{name}": Right.USER,
    "PATCH /api/v1/users/{name}": Right.ADMIN,
    "DELETE /api/v1/users/{name}": Right.ADMIN,
    "POST /api/v1/users/{name}/link": Right.ADMIN,
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
    # coming in and going out
    "POST /api/v1/login": Right.PUBLIC,
    "POST /api/v1/logout": Right.USER,
    "GET /api/v1/link/{code}": Right.PUBLIC,
    "POST /api/v1/link/{code}": Right.PUBLIC,
    "GET /api/v1/openapi.json": Right.PUBLIC,
}


def methods_at(path: str) -> list[str]:
    """What may be done at a path; the route of exactly that path goes before one with a name in it."""
    routes = [route.split(" ") for route in ROUTES]
    exact = {method for method, route in routes if route == path}
    return sorted(exact or {method for method, route in routes if re.fullmatch(re.sub(r"{\w+}", "[^/]+", route), path)})
