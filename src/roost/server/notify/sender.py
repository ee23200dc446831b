"""The program that sends messages: lines of JSON in, lines of JSON out. Started when there is something to send.

Runs by itself, without Roost, in an empty environment. Under a root server it becomes `nobody` before it is given anything
of a user's. Secrets come over its standard input and go to their service only: nothing that the library says is passed on,
only a code of `_CODES`.
"""

import ctypes
import importlib
import json
import logging
import os
import re
import sys
import threading
from typing import Any

_CODES = (
    (r"error=429|\b429\b", "notify.too_many"),
    (r"connection refused|errno 111", "notify.connection_refused"),
    (r"name or service not known|failed to resolve|nodename nor servname|name resolution", "notify.unknown_host"),
    (r"no route to host|network is unreachable|errno 113|errno 101", "notify.unreachable"),
    (r"certificate", "notify.certificate"),
    (r"authentication|\b535\b", "notify.login_rejected"),
    (r"timed out|timeout", "notify.no_answer"),
    (r"connection reset|connection aborted|remote end closed|unexpectedly closed", "notify.broke_off"),
)
"""All that is reported of a failure, except the number of an HTTP or SMTP status."""
_STATUS = re.compile(r"(?:error=|status[ =:]+|\()([1-5]\d\d)\b")
_READS_FILES = frozenset(("attach", "keyfile", "pgp", "pgppub", "pgpprv", "subfile", "template"))
_ANY = frozenset(("user", "pass", "password", "port"))
_ELSEWHERE = """
46elks amqp amqps apprise apprises aprs atalk azure bark barks betterstack bluesky brevo bsky bulksms bulkvs burstsms
chanify clickatell clicksend cliq d7sms dapnet dingtalk discord dot eight00com elks emby embys enigma2 enigma2s evolution
evolutions exotel fcm feishu firehydrant flock flowtriq flowtriqs fluxer fluxers form forms freemobile gchat github goalert
goalerts gorush gorushs gotify gotifys groupme growl guilded gupshup hassio hassios httpsms humhub humhubs ifttt ilert
incidentio infobip irc ircs jellyfin jellyfins jira join json jsons kakao kakaotalk kaleyra kavenegar klr kodi kodis kook
kudosity kumulos lametric lametrics lark lfg line mailersend mailgun mailto mailtos mastodon mastodons matrix matrixs
misskey misskeys mmost mmosts mobilemessage mobilemsg mqtt mqtts msg91 msgbird ncloud nclouds nctalk nctalks nexmo notica
noticas notifiarr notifico notificos notifyre ntfy ntfys o365 octopush onebot onebots onesignal opsgenie pagerduty
pagertree parsep parseps pbul pinglet pinglets pingram pjet pjets plivo postmark pover prowl psafer psafers push pushdeer
pushdeers pushed pushme pushplus pushward pushy qq reddit resend revolt ringc rocket rockets rsyslog ryver schan sendgrid
sendpulse serwersms ses session sessions seven sfr signal signalgrid signals signl4 simplepush sinch slack smpp smpps smsc
smseagle smseagles smsmanager smsmgr smstunnel smtp2go sns sparkpost spike splunk spugpush spush squadcast stackfield
strmlabs synology synologys telesign telnyx tgram threema toot toots trigv trigvs tweet twilio twist twitter viber
victorops voipms vonage webex wechat wecom wecombot whapi whatsapp workflow workflows wpush wxpusher wxteams x xbmc xbmcs
xmatters xml xmls xmpp xmpps youlmk zalo zcliq zohocliq zoom zulip"""
SERVICES = frozenset(_ELSEWHERE.split())
"""None that acts on this machine, and none that is new in the library until somebody has looked at it."""
_PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 4, 38
_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")
"""Where systems keep the certificates that they trust."""


def main() -> int:
    """Serve until standard input ends."""
    out = _own_streams()
    first = json.loads(sys.stdin.readline() or "{}")
    sys.path[:] = first.get("path") or sys.path  # import from where the server imports
    os.environ.update(first.get("proxies", {}))
    said = _Said()
    try:
        _load()
    except ImportError:
        out.say({"ready": False})
        return 0
    _become(first.get("uid"), first.get("gid"))
    logger = logging.getLogger("apprise")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.addHandler(said)
    logging.getLogger().addHandler(logging.NullHandler())
    out.say({"ready": True})
    for line in sys.stdin:
        threading.Thread(target=_serve, args=(json.loads(line), said, out), daemon=True).start()
    os._exit(0)  # the server is gone: nothing reads the answers


def _load() -> None:
    """Import all that is needed now: another user may not be able to read it, and there are no threads yet."""
    for name in ("certifi", "email.mime.multipart", "encodings.idna", "requests", "smtplib"):
        importlib.import_module(name)
    import apprise

    apprise.Apprise.instantiate("json://localhost")


def _become(uid: int | None, gid: int | None) -> None:
    """Give up root for good."""
    if uid is not None and gid is not None:
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        if os.getresuid() != (uid, uid, uid) or os.getgroups():
            os._exit(1)
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)  # no other process of this user may look into it
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    import certifi

    if not os.access(certifi.where(), os.R_OK):
        bundle = next((path for path in _BUNDLES if os.access(path, os.R_OK)), None)
        if bundle is not None:
            os.environ["REQUESTS_CA_BUNDLE"] = os.environ["SSL_CERT_FILE"] = bundle


class _Out:
    """Answers from many threads, a line each."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def say(self, answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode() + b"\n"
        with self._lock:
            while data:
                data = data[os.write(self._descriptor, data) :]


class _Said(logging.Handler):
    """What the library logs, by thread: read for the cause of a failure, then dropped."""

    def __init__(self) -> None:
        super().__init__()
        self._of = threading.local()

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if "Payload" not in text and "URL" not in text:  # those carry our own text and the secrets
            self._lines().append(text[:2000])

    def take(self) -> str:
        """All of this thread since the last time."""
        lines, self._of.lines = self._lines(), []
        return "\n".join(lines)

    def _lines(self) -> list[str]:
        if not hasattr(self._of, "lines"):
            self._of.lines = []
        found: list[str] = self._of.lines
        return found


def _own_streams() -> _Out:
    """Keep standard output for answers: what a service prints on stdout or stderr is dropped."""
    own = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (1, 2):
        os.dup2(nothing, number)
    return _Out(own)


def _serve(asked: dict[str, Any], said: _Said, out: _Out) -> None:
    try:
        error = _send(asked) if asked["op"] == "send" else _check(asked)
        if error == _REJECTED:
            error = cause_of(said.take())
    except BaseException as problem:  # a service may raise anything: the thread still answers
        error = cause_of(f"{type(problem).__name__} {problem}")
    out.say({"id": asked["id"], "error": error})


_REJECTED = {"code": "notify.rejected"}
_NO_SERVICE = {"code": "notify.no_service"}


def _check(asked: dict[str, Any]) -> dict[str, Any] | None:
    refused = refusal_of(asked["url"])
    return refused if refused is not None else None if _service(asked["url"]) is not None else _NO_SERVICE


def refusal_of(url: str) -> dict[str, Any] | None:
    """Why a URL is not used, by what the library itself reads in it: a service or an option that is not on the list.

    The options on the list are those that the service declares, and what every URL may have; none that names a file here.
    """
    from apprise.manager_plugins import NotificationManager

    services: Any = NotificationManager()  # type: ignore[no-untyped-call]
    scheme = url.partition("://")[0].lower()
    if scheme not in SERVICES or scheme not in services:
        return _NO_SERVICE
    plugin = services[scheme]
    found = plugin.parse_url(url)
    if not isinstance(found, dict) or str(found.get("schema", "")).lower() not in SERVICES:
        return _NO_SERVICE
    options = {str(name).lower() for name in found.get("qsd") or ()}
    if read := sorted(options & _READS_FILES):
        return {"code": "notify.url_reads_file", "params": {"option": read[0]}}
    return {"code": "notify.url_option"} if options - set(plugin.template_args) - _ANY else None


def _send(asked: dict[str, Any]) -> dict[str, Any] | None:
    import apprise

    if (refused := refusal_of(asked["url"])) is not None:  # it may have been added by an earlier release
        return refused
    service = _service(asked["url"])
    if service is None:
        return _NO_SERVICE
    if "overflow=" not in asked["url"].lower():
        service.overflow_mode = apprise.OverflowMode.TRUNCATE
    said = {"title": asked["subject"], "body": asked["body"], "notify_type": asked["mood"]}
    was_sent = service.notify(**said, body_format=apprise.NotifyFormat.TEXT)
    return None if was_sent else _REJECTED


def _service(url: str) -> Any:
    import apprise

    return apprise.Apprise.instantiate(url, asset=apprise.AppriseAsset(app_id="Roost", app_desc="Roost"))


def cause_of(text: str) -> dict[str, Any]:
    """Why it failed, as data of a message. Nothing of the text is passed on except a status number: it may hold a secret."""
    lower = text.lower()
    known = next((code for pattern, code in _CODES if re.search(pattern, lower)), None)
    if known is not None:
        return {"code": known}
    status = _STATUS.search(lower)
    return {"code": "notify.rejected_status", "params": {"status": int(status[1])}} if status else _REJECTED


if __name__ == "__main__":
    sys.exit(main())
