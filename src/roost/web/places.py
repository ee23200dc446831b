"""Where a browser may be sent: to a path of this server and nowhere else. Pure."""

import re
from urllib.parse import quote

HOME = "/"
MOST = 500
_PATH = re.compile(r"/[A-Za-z0-9._~!$'()*+,;=:@/%-]*(?:\?[A-Za-z0-9._~!$'()*+,;=:@/?%&-]*)?")
_NEVER = ("/login", "/logout", "/welcome", "/api")


def own_path(asked: str | None) -> str:
    """That path, when it leads to a page of this server whatever a browser makes of it; else the first page."""
    if not asked or len(asked) > MOST or not _PATH.fullmatch(asked):
        return HOME
    path = asked.partition("?")[0]
    odd = {".", ".."} & set(path.split("/")) or any(part in path.lower() for part in ("//", "%2", "%5", "%0"))
    if odd or path.startswith(_NEVER):
        return HOME
    return asked


def login_path(path: str, query: str) -> str:
    """The login page that leads back to there."""
    wanted = own_path(f"{path}?{query}" if query else path)
    return "/login" if wanted == HOME else f"/login?next={quote(wanted, safe='')}"
