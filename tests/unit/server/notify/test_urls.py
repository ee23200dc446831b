"""Where messages may go, and what may be shown of a URL."""

from __future__ import annotations

import pytest

from roost.core.errors import BadRequest
from roost.server.notify.sender import words_for
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
    ("said", "words"),
    [
        ("Socket Exception: … url: /s3cret (Caused by … [Errno 111] Connection refused)", "connection refused"),
        ("Failed to send JSON notification: s3cret, error=404.", "the service refuses it (404)"),
        ("Failed to resolve 's3cret.invalid' ([Errno -2] Name or service not known)", "its host is not known"),
        ("(535, b'5.7.8 s3cret')", "the service refuses the login"),
        ("Read timed out. (read timeout=4.0) s3cret", "no answer in time"),
        ("certificate verify failed: s3cret", "its TLS certificate is not accepted"),
        ("error=429 s3cret", "too many messages for the service (429)"),
        ("s3cret", "the service refuses it"),
    ],
)
def test_why_it_failed_is_said_in_words_of_our_own(said: str, words: str) -> None:
    assert words_for(said) == words
