"""What ssh said, recorded from OpenSSH 9.2, and what a person reads instead."""

from __future__ import annotations

import pytest

from roost.links.ssh_errors import HOST_KEY, LOGIN, NO_PYTHON, PYTHON, REACHABLE, explain, understand

TARGET = "ssh://root@10.0.0.3:2222"
CHANGED = """\
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!
Someone could be eavesdropping on you right now (man-in-the-middle attack)!
It is also possible that a host key has just been changed.
The fingerprint for the ED25519 key sent by the remote host is
SHA256:czIv6kx+2yWrgZHA5u3E7fbr3Hk6uCy+s1qaCFCoM/A.
Please contact your system administrator.
Add correct host key in known to get rid of this message.
Offending ED25519 key in known:1
Host key for [10.0.0.3]:2222 has changed and you have requested strict checking.
Host key verification failed.
"""
OPEN_KEY = """\
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@         WARNING: UNPROTECTED PRIVATE KEY FILE!          @
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
Permissions 0644 for '/srv/keys/id' are too open.
It is required that your private key files are NOT accessible by others.
This private key will be ignored.
Load key "/srv/keys/id": bad permissions
root@10.0.0.3: Permission denied (publickey).
"""
UNKNOWN = """\
No ED25519 host key is known for [10.0.0.3]:2222 and you have requested strict checking.
Host key verification failed.
"""
JUMP = "kex_exchange_identification: Connection closed by remote host\nConnection closed by UNKNOWN port 65535\n"
DENIED = "root@10.0.0.3: Permission denied (publickey,password).\n"
REFUSED = "ssh: connect to host 10.0.0.3 port 2222: Connection refused\n"
KEX = "Unable to negotiate with 10.0.0.3 port 2222: no matching host key type found. Their offer: ssh-rsa\n"


@pytest.mark.parametrize(
    ("stderr", "step", "text", "hint"),
    [
        (REFUSED, REACHABLE, REFUSED.strip(), "sshd is not at port 2222"),
        (
            "ssh: connect to host 10.0.0.3 port 22: Connection timed out\r\n",
            REACHABLE,
            "ssh: connect to host 10.0.0.3 port 22: Connection timed out",
            "ping -c 3 10.0.0.3",
        ),
        (
            "ssh: connect to host 10.0.0.3 port 22: No route to host",
            REACHABLE,
            "ssh: connect to host 10.0.0.3 port 22: No route to host",
            "ip route get 10.0.0.3",
        ),
        (
            "ssh: Could not resolve hostname lab3: Name or service not known",
            REACHABLE,
            "ssh: Could not resolve hostname lab3: Name or service not known",
            "getent hosts lab3",
        ),
        (
            "ssh: Could not resolve hostname lab3: Temporary failure in name resolution",
            REACHABLE,
            "ssh: Could not resolve hostname lab3: Temporary failure in name resolution",
            "getent hosts lab3",
        ),
        (
            "Connection timed out during banner exchange\nConnection to 10.0.0.3 port 22 timed out\n",
            REACHABLE,
            "lab3 accepted the connection and did not answer: it is overloaded, or has no sshd",
            "uptime",
        ),
        (
            "kex_exchange_identification: read: Connection reset by peer\nConnection reset by 10.0.0.3 port 22\n",
            REACHABLE,
            "lab3 closed the connection before the login",
            "MaxStartups",
        ),
        (
            "Connection closed by 10.0.0.3 port 22\n",
            REACHABLE,
            "lab3 closed the connection: Connection closed by 10.0.0.3 port 22",
            "MaxStartups",
        ),
        (
            KEX,
            REACHABLE,
            "lab3 and this ssh have nothing in common: no matching host key type found (it offers ssh-rsa)",
            "~/.ssh/config",
        ),
        (REFUSED + JUMP, REACHABLE, REFUSED.strip(), "sshd is not at port"),
        (JUMP, REACHABLE, "the jump host or ProxyCommand on the way to lab3 failed", f"ssh -v {TARGET} true"),
        (
            "channel 0: open failed: connect failed: Connection refused\nstdio forwarding failed\n" + JUMP,
            REACHABLE,
            "the jump host cannot reach lab3: channel 0: open failed: connect failed: Connection refused",
            "reachable from the jump host",
        ),
        ("Timeout, server 10.0.0.3 not responding.\r\n", REACHABLE, "the connection to lab3 was lost", "tries again"),
        (UNKNOWN, HOST_KEY, "the host key of lab3 has not been confirmed yet", "roost node trust lab3"),
        (
            CHANGED,
            HOST_KEY,
            "the host key of lab3 has changed to SHA256:czIv6kx+2yWrgZHA5u3E7fbr3Hk6uCy+s1qaCFCoM/A (ED25519), "
            "so nothing was sent there",
            "roost node trust lab3",
        ),
        (
            "Host key verification failed.",
            HOST_KEY,
            "the host key of lab3 is not the confirmed one",
            "roost node trust lab3",
        ),
        (DENIED, LOGIN, DENIED.strip(), "ssh-copy-id -p 2222 root@10.0.0.3"),
        (
            "a@b: Permission denied (gssapi-with-mic,publickey).",
            LOGIN,
            "a@b: Permission denied (gssapi-with-mic,publickey).",
            "kinit",
        ),
        (
            OPEN_KEY,
            LOGIN,
            "ssh does not use the key file /srv/keys/id: others can read it (mode 0644)",
            "chmod 600 /srv/keys/id",
        ),
        (
            "Warning: Identity file /no/id not accessible: No such file or directory.\n" + DENIED,
            LOGIN,
            "there is no key file /no/id on the server's machine",
            "--key FILE",
        ),
        (
            "no such identity: /no/id: No such file or directory\n" + DENIED,
            LOGIN,
            "there is no key file /no/id on the server's machine",
            "--key",
        ),
        (
            'Load key "/srv/id": error in libcrypto\n' + DENIED,
            LOGIN,
            "the key file /srv/id cannot be used: error in libcrypto",
            "ssh-keygen -y -f /srv/id",
        ),
        (
            "Received disconnect from 10.0.0.3 port 2222:2: Too many authentication failures\nDisconnected from 10.0.0.3\n",
            LOGIN,
            "lab3 closed the connection after too many wrong keys",
            "--key FILE",
        ),
        (
            "Could not chdir to home directory /x: No such file or directory\nThis account is currently not available.\n",
            LOGIN,
            "This account is currently not available.",
            "chsh",
        ),
        (
            "channel 0: open failed: connect failed: open failed\n",
            LOGIN,
            "lab3 allows this login no more sessions",
            "MaxSessions",
        ),
        (f"roost: {NO_PYTHON} (found: 3.6.8)\n", PYTHON, "no Python 3.8 or later (found: 3.6.8)", "--python PATH"),
        (
            "/root/.ssh/config: line 3: Bad configuration option: prot\n/root/.ssh/config: terminating\n",
            None,
            "the server's ssh configuration is wrong: /root/.ssh/config, line 3: Bad configuration option: prot",
            f"ssh -G {TARGET}",
        ),
        (
            "command-line line 0: Bad port '99999'.\n",
            None,
            "the server's ssh configuration is wrong: command-line, line 0: Bad port '99999'.",
            "ssh -G",
        ),
        (
            "Bad owner or permissions on /root/.ssh/config\n",
            None,
            "ssh does not read its configuration: Bad owner or permissions on /root/.ssh/config",
            "chmod 600",
        ),
        (
            "[Errno 2] No such file or directory: 'ssh'",
            None,
            "ssh is not installed on the server's machine",
            "openssh-client",
        ),
        ("", None, "ssh ended without an error message", f"ssh -v {TARGET} true"),
    ],
)
def test_the_words_of_ssh_become_ours(stderr: str, step: str | None, text: str, hint: str) -> None:
    trouble = understand(stderr, TARGET, "lab3")
    assert (trouble.step, str(trouble.text)) == (step, text)
    assert hint in str(trouble.hint)
    assert explain(stderr, TARGET, "lab3") == (trouble.text, trouble.hint)


def test_a_key_that_is_not_there_is_not_to_blame_where_nothing_answered() -> None:
    stderr = "Warning: Identity file /no/id not accessible: No such file or directory.\n" + REFUSED
    assert understand(stderr, TARGET, "lab3").step == REACHABLE


def test_what_is_not_known_is_the_last_line_that_says_anything() -> None:
    noise = "Welcome to lab3\nsomething odd happened\n** WARNING: not post-quantum\nWarning: Permanently added 'x'\n"
    assert str(explain(noise, TARGET, "lab3")[0]) == "something odd happened"
    said = str(explain("/etc/profile: line 3: conda: command not found\n", "lab3", "lab3")[0])
    assert said.startswith("/etc/profile: line 3")


def test_one_line_that_steers_no_terminal() -> None:
    for said in ("\x1b[2Jgone\x07", "a\x00b@c: Permission denied (publickey).", 'Load key "\x1b]0;x": bad\n' + DENIED):
        text, hint = explain(said, TARGET, "lab3")
        assert str(text).isprintable() and str(hint).isprintable()


def test_a_flood_is_cut_and_costs_no_time() -> None:
    flood = "REMOTE HOST IDENTIFICATION HAS CHANGED\n" * 100_000
    assert str(explain(flood, TARGET, "lab3")[0]) == "the host key of lab3 has changed"
    assert len(str(explain("x" * 1_000_000, TARGET, "lab3")[0])) <= 300


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ("lab3", "ssh-copy-id lab3"),
        ("ssh://ana@lab3", "ssh-copy-id ana@lab3"),
        ("ssh://ana@lab3:22/", "ssh-copy-id -p 22 ana@lab3"),
    ],
)
def test_the_command_that_brings_a_key_there(target: str, line: str) -> None:
    assert str(explain(DENIED, target, "lab3")[1]).endswith(f": {line}")
