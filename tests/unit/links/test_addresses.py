"""Words of people about nodes: what is no address, name or key is refused in one short line, and nothing is run."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from roost.links import addresses, ssh
from roost.links.addresses import BadTarget, Target, parse
from roost.links.bootstrap import Pushed, RemoteProgram, remote_line

GOOD = {
    "lab3": Target("lab3"),
    "root@lab3": Target("lab3", "root"),
    "ssh://lab3": Target("lab3"),
    "ssh://root@10.0.0.3:2222/": Target("10.0.0.3", "root", 2222),
    "ssh://[fe80::1%eth0]:22": Target("fe80::1%eth0", None, 22),
    "ada@lab.org@lab3": Target("lab3", "ada@lab.org"),
}
BAD = [
    "",
    "-oProxyCommand=touch /tmp/x",
    "-oProxyCommand=x",
    "ssh://-oProxyCommand=x",
    "ssh://-oProxyCommand@h",
    "ssh://-h",
    "-l@h",
    "ssh://h:99999",
    "ssh://h:0",
    "ssh://h:-1",
    "ssh://h:",
    "ssh://h:22x",
    "ssh://h:\u0662\u0662",
    "ssh://h:" + "9" * 5000,
    "ssh://u@h/path",
    "ssh://h?x",
    "ssh://",
    "ssh://@h",
    "http://h",
    "h\nProxyCommand x",
    "h\0",
    "h h",
    "h;id",
    "$(id)",
    "`id`",
    "h'",
    'h"',
    "lab\u0430",
    "h:22",
    "a" * 300,
    "x://\x1b[2J\n",
    "pipe:",
    "~/x",
    "a,b",
]


@pytest.mark.parametrize("text", GOOD)
def test_an_address(text: str) -> None:
    assert parse(text) == GOOD[text]


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_address_is_refused_in_a_short_line(text: str) -> None:
    with pytest.raises(BadTarget) as refused:
        parse(text)
    said = str(refused.value)
    assert said.isprintable() and len(said) < 250


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../../x", "all", "12", "a:b", "a,b", "a b", "a/b", "-a", ".a", "a-", "a" * 65, "a" * 1000, "a\n", "\0",
     "\u00e9", "a'b", "$(id)", "~", "@a"],
)  # fmt: skip
def test_what_is_no_name_for_a_node(name: str) -> None:
    with pytest.raises(BadTarget) as refused:
        addresses.check_name(name)
    assert str(refused.value).isprintable() and len(str(refused.value)) < 250


@pytest.mark.parametrize(
    "text", ["", "x", "MD5:aa:bb", "SHA256:", "SHA256:" + "A" * 42, "SHA256:" + "A" * 44, "SHA256:" + "A" * 42 + "\n"]
)
def test_what_is_no_fingerprint(text: str) -> None:
    with pytest.raises(BadTarget):
        addresses.check_fingerprint(text)


# -- the command line -------------------------------------------------------------------------------------------------

ODD = [
    "/opt/my python/bin/python3",
    '/opt/it\'s/"python"',
    "/opt/$(touch MARK)/python",
    "/opt/`touch MARK`;touch MARK/python",
    "/opt/!history $HOME ~ * ? [a] {a,b} %h \\ # & | < > / python",
    "/opt/pyth\u00f6n",
]
SHELLS = ["sh", "dash", "bash", "zsh", "tcsh", "csh", "fish", "ksh", "busybox"]


def test_nothing_of_what_people_say_becomes_an_option_or_a_shells_word() -> None:
    program = Pushed(b"x", "0" * 64)
    for odd in ODD:
        wanted = RemoteProgram("id", "lab3", ["attach", odd], odd, odd)
        line = remote_line(wanted, program)
        assert odd not in line and "\n" not in line and line.count("'") == 2 and "!" not in line
        words = ssh.command(ssh.Way("lab3", "ssh://u@h:22", Path("/k n/%h"), odd), wanted, program)
        assert words[words.index("--") :] == ["--", "h", line] and words[words.index("-i") + 1] == odd
        assert 'UserKnownHostsFile="/k n/%%h"' in words


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("odd", ODD)
def test_whatever_shell_a_login_has_runs_that_python_and_no_more(shell: str, odd: str, tmp_path: Path) -> None:
    """With a Python and a directory whose names are full of what shells act on."""
    binary = shutil.which(shell)
    if binary is None:
        pytest.skip(f"NOT TESTED, there is no {shell} on this machine")
    mark = tmp_path / "mark"
    place = tmp_path / odd.replace("MARK", "mark").lstrip("/")
    place.parent.mkdir(parents=True)
    place.write_text('#!/bin/sh\nexec python3 "$@"\n')
    place.chmod(0o755)
    base = tmp_path / odd.replace("/", " ").replace("MARK", "mark")
    wanted = RemoteProgram("id", "lab3", ["{BASE}"], str(base), str(place))
    data = b"import sys\nopen(sys.argv[1] + '/ran', 'w').write(sys.argv[1])\n"
    line = remote_line(wanted, Pushed(data, hashlib.sha256(data).hexdigest()))
    words = [binary, "sh", "-c", line] if shell == "busybox" else [binary, "-c", line]
    ran = subprocess.run(words, input=data, capture_output=True, cwd=tmp_path, timeout=60, check=False)
    assert ran.stdout == b"push\n" and ran.returncode == 0, ran
    assert (base / "ran").read_text() == str(base)
    assert not mark.exists()
