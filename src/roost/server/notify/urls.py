"""URLs of services that messages go to: which are refused, and what may be shown of one.

Pure. Whether a service accepts its URL is checked by the sender.
"""

import re
from urllib.parse import parse_qsl, urlsplit

from roost.core.errors import BadRequest
from roost.messages import Message

MAX_URL = 2000
_LOCAL = re.compile("blink1|config|dbus|file|gio|glib|gnome|kde|macosx|memory|qt|syslog|vapid|windows")
"""Schemes that act on the server's own machine, or keep state in files there."""
_READS_FILES = frozenset(("attach", "keyfile", "pgp", "pgppub", "pgpprv", "subfile", "template"))
_PLAIN = ("apprise", "form", "gotify", "json", "mailto", "mmost", "rocket", "xml")
_WITH_HOST = frozenset((*_PLAIN, *(f"{scheme}s" for scheme in _PLAIN)))
"""Services whose URL has a host; other services may have a token in that place."""


def check(url: str) -> None:
    """Raise `BadRequest`, without quoting the URL, when no message may go there."""
    scheme = scheme_of(url)
    if len(url) > MAX_URL or any(ord(c) < 33 or ord(c) == 127 for c in url):
        raise BadRequest("notify.url_form", _HELP, limit=MAX_URL)
    if _LOCAL.fullmatch(scheme):
        raise BadRequest("notify.url_local", _HELP, scheme=scheme)
    try:
        query = url.partition("?")[2].replace(";", "&")  # as the library reads it; it also looks behind a #
        names = {name.strip().lower() for name, _ in parse_qsl(query, keep_blank_values=True)}
    except ValueError:
        raise BadRequest("notify.not_a_url", _HELP) from None
    if read := sorted(names & _READS_FILES):
        raise BadRequest("notify.url_reads_file", _HELP, option=read[0])


def natural(url: str) -> str:
    """The URL of a service for the web address that the service shows, where the library does not know that address."""
    for start, scheme in _GIVEN:
        if url.startswith(start) and (token := url.removeprefix(start)).isascii() and token:
            return f"{scheme}://{token}/"
    return url


def scheme_of(url: str) -> str:
    """The service that a URL names."""
    scheme, found, _ = url.partition("://")
    if not found or not scheme.isascii() or not scheme.replace("+", "").replace("-", "").isalnum() or len(scheme) > 30:
        raise BadRequest("notify.not_a_url", _HELP)
    return scheme.lower()


def shown(url: str) -> str:
    """What may be shown of it: the service, and the host where that is no secret."""
    scheme = scheme_of(url)
    if scheme not in _WITH_HOST:
        return f"{scheme}://***"
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        host = ""
    return f"{scheme}://***@{host}" if host else f"{scheme}://***"


_GIVEN = (
    ("https://open.feishu.cn/open-apis/bot/v2/hook/", "feishu"),
    ("https://open.larksuite.com/open-apis/bot/v2/hook/", "lark"),
    ("https://oapi.dingtalk.com/robot/send?access_token=", "dingtalk"),
)
_HELP = Message("notify.url_help")
