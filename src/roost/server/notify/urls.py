"""Where a message may go, as a URL of a service: which are refused, and what may be shown of one.

Pure. Whether a service understands its URL, the sender says.
"""

import re
from urllib.parse import parse_qsl, urlsplit

from roost.core.errors import BadRequest

MAX_URL = 2000
_LOCAL = re.compile("blink1|config|dbus|file|gio|glib|gnome|kde|macosx|memory|qt|syslog|vapid|windows")
"""What acts on the machine of the server instead of telling somebody, or lives in files there."""
_READS_FILES = frozenset(("attach", "keyfile", "pgppub", "pgpprv", "subfile", "template"))
_PLAIN = ("apprise", "form", "gotify", "json", "mailto", "mmost", "rocket", "xml")
_WITH_HOST = frozenset((*_PLAIN, *(f"{scheme}s" for scheme in _PLAIN)))
"""Services whose URL names a host; in those of others that place may hold a token."""


def check(url: str) -> None:
    """Raise `BadRequest`, without a word of the URL in it, when no message may go there."""
    scheme = scheme_of(url)
    if len(url) > MAX_URL or any(ord(c) < 33 or ord(c) == 127 for c in url):
        raise BadRequest(f"a URL has at most {MAX_URL:,} characters, no space and no control character", _HINT)
    if _LOCAL.fullmatch(scheme):
        raise BadRequest(f"{scheme}:// acts on the server's own machine: nobody would be told", _HINT)
    try:
        names = {name.lower() for name, _ in parse_qsl(urlsplit(url).query, keep_blank_values=True)}
    except ValueError:
        raise BadRequest("this is not a URL", _HINT) from None
    if read := sorted(names & _READS_FILES):
        raise BadRequest(f"{read[0]}= would read a file of the server's machine: it is not taken", _HINT)


def natural(url: str) -> str:
    """The URL of a service for the address that it gives people to copy, where only we know that one."""
    for start, scheme in _GIVEN:
        if url.startswith(start) and (token := url.removeprefix(start)).isascii() and token:
            return f"{scheme}://{token}/"
    return url


def scheme_of(url: str) -> str:
    """The service that a URL names."""
    scheme, found, _ = url.partition("://")
    if not found or not scheme.isascii() or not scheme.replace("+", "").replace("-", "").isalnum() or len(scheme) > 30:
        raise BadRequest("a URL of a service is meant, like mailto:// or json://", _HINT)
    return scheme.lower()


def shown(url: str) -> str:
    """What may be shown of it to anybody: the service, and the host where that is no secret."""
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
_HINT = "ready ones for mail, Feishu, DingTalk, WeCom, Slack, Telegram, ntfy: docs/how-to/notify.md"
