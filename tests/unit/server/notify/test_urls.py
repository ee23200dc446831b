"""Where messages may go, and what may be shown of a URL."""

from __future__ import annotations

from typing import Any

import pytest
from apprise.manager_plugins import NotificationManager

from roost.core.errors import BadRequest
from roost.messages import Message
from roost.server.notify.sender import SERVICES, cause_of, refusal_of
from roost.server.notify.urls import check, natural, shown


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("mailto://me:s3cret@smtp.lab.org?to=you@lab.org", "mailto://***@smtp.lab.org"),
        ("jsons://me:s3cret@hook.lab.org:8443/s3cret?s3cret=1", "jsons://***@hook.lab.org"),
        ("feishu://s3cret-token", "feishu://***"),
        ("tgram://s3cret:token/123", "tgram://***"),
        ("slack://s3cretA/B/C/#room", "slack://***"),
        ("ntfy://s3cret-topic", "ntfy://***"),
        ("json://[bad", "json://***"),
    ],
)
def test_no_secret_is_shown(url: str, seen: str) -> None:
    assert shown(url) == seen


@pytest.mark.parametrize(
    "url",
    [
        "dbus://",
        "syslog://",
        "macosx://",
        "WINDOWS://",
        "gnome://",
        "file:///etc/passwd",
        "vapid://me@lab.org/you@lab.org",
        "s3cret",
        "://s3cret",
        "jso n://s3cret",
        "json://s3cret\nx",
        "json://" + "s3cret" * 1000,
        "slack://s3cret/b/c?template=/etc/passwd",
        "fcm://s3cret?KeyFile=/etc/shadow",
        "mailto://s3cret@x.org?pgppub=/etc/passwd",
        "slack://s3cret/b/c?to=x;template=/etc/passwd",
        "slack://s3cret/b/c#d?template=/etc/passwd",
        "slack://s3cret/b/c?to=x&%54emplate=/etc/passwd",
        "slack://s3cret/b/c?to=x;+template=/etc/passwd",
    ],
)
def test_what_is_refused_is_refused_without_a_word_of_the_secret(url: str) -> None:
    with pytest.raises(BadRequest) as refused:
        check(url)
    assert "s3cret" not in refused.value.message and "\n" not in refused.value.message


@pytest.mark.parametrize("url", ["json://10.0.0.7/hook", "mailtos://a:b@c.org", "feishu://x", "tgram://1:2/3", "ntfy://t"])
def test_services_and_private_networks_are_taken(url: str) -> None:
    check(url)


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("https://open.feishu.cn/open-apis/bot/v2/hook/1a2b-3c", "feishu://1a2b-3c/"),
        ("https://oapi.dingtalk.com/robot/send?access_token=abc", "dingtalk://abc/"),
        ("https://hooks.slack.com/services/A/B/C", "https://hooks.slack.com/services/A/B/C"),
        ("https://open.feishu.cn/open-apis/bot/v2/hook/", "https://open.feishu.cn/open-apis/bot/v2/hook/"),
    ],
)
def test_the_address_that_a_service_gives_is_understood(given: str, url: str) -> None:
    assert natural(given) == url


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("Socket Exception: … url: /s3cret (Caused by … [Errno 111] Connection refused)", "notify.connection_refused"),
        ("Failed to send JSON notification: s3cret, error=404.", "notify.rejected_status"),
        ("Failed to resolve 's3cret.invalid' ([Errno -2] Name or service not known)", "notify.unknown_host"),
        ("(535, b'5.7.8 s3cret')", "notify.login_rejected"),
        ("Read timed out. (read timeout=4.0) s3cret", "notify.no_answer"),
        ("certificate verify failed: s3cret", "notify.certificate"),
        ("error=429 s3cret", "notify.too_many"),
        ("s3cret", "notify.rejected"),
    ],
)
def test_the_cause_is_a_code_and_nothing_of_what_the_library_said(said: str, code: str) -> None:
    cause = cause_of(said)
    assert cause["code"] == code and "s3cret" not in str(Message.of_data(cause))


library = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what the library imports
FILE_URLS = [
    "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#g?OPTION=FILE",
    "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/?to=g;OPTION=FILE",
    "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/?to=g&OPTION=FILE",
    "fcm://project@key/to?mode=oauth2;OPTION=FILE",
    "mailtos://a:b@example.org?to=x;OPTION=FILE",
]


@library
@pytest.mark.parametrize("option", ["template", "Template", "keyfile", "attach", "pgppub", "%74emplate", "nosuch"])
@pytest.mark.parametrize("url", FILE_URLS)
def test_options_are_judged_as_the_library_reads_them(url: str, option: str) -> None:
    refused = refusal_of(url.replace("OPTION", option).replace("FILE", "/etc/passwd"))
    assert refused is not None and refused["code"] in ("notify.url_reads_file", "notify.url_option"), refused


@library
@pytest.mark.parametrize("scheme", ["syslog", "dbus", "vapid", "windows", "file", "config", "memory", "macosx", "nosuch"])
def test_only_services_on_the_list_are_used(scheme: str) -> None:
    assert refusal_of(f"{scheme}://x/y") == {"code": "notify.no_service"}


@library
def test_every_service_on_the_list_is_one_of_the_library() -> None:
    services: Any = NotificationManager()  # type: ignore[no-untyped-call]
    assert [name for name in SERVICES if name not in services] == []
