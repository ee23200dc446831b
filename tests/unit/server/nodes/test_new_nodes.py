"""What a new node's description may hold: everything else is refused in one line, before anything is run."""

from __future__ import annotations

import pytest

from roost.core.accounts import Account
from roost.core.errors import BadRequest, NotPermitted
from roost.server.identity.people import Caller
from roost.server.nodes.new_node import NewNode, check_new, check_pipe

BAD = [
    NewNode("../../x"),
    NewNode("all"),
    NewNode("lab3", "-oProxyCommand=x"),
    NewNode("lab3", "ssh://h:99999"),
    NewNode("lab3", "ssh://h", host_key="yes"),
    NewNode("lab3", sim="lots"),
    NewNode("lab3", sim="9999x1G,9999x1G"),
    NewNode("lab3", sim="$(id)"),
    *(NewNode("lab3", key=text) for text in ("", "id", "-F/etc/passwd", "../id", "/a\nb", "/a\0", "/" + "a" * 2000)),
    *(NewNode("lab3", dir=text) for text in ("", "x", "-x", "/a\nb", "/\x1b[2J", "~root", "$HOME/x")),
    *(NewNode("lab3", python=text) for text in ("", "-c", "python3 -c x", "$(id)", "a;b", "/a\nb", "./python", "a" * 2000)),
]


@pytest.mark.parametrize("asked", BAD, ids=repr)
def test_what_is_refused(asked: NewNode) -> None:
    with pytest.raises(BadRequest) as refused:
        check_new(asked)
    said = str(refused.value)
    assert said.isprintable() and len(said) < 300


@pytest.mark.parametrize(
    "asked",
    [
        NewNode("lab3", "ssh://root@lab3", key="~/.ssh/it's a $(key)", dir="/data/of 'x'", python="/opt/my python/python3"),
        NewNode("lab3", python="python3.11"),
        NewNode("lab3", sim="4x24G"),
    ],
)  # fmt: skip
def test_what_is_odd_and_right(asked: NewNode) -> None:
    assert check_new(asked) == (asked.target or "lab3")


@pytest.mark.parametrize("caller", [Caller("ada", True, "token"), Caller("ada", True, "socket", account=Account("ada"))])
def test_only_the_servers_own_account_adds_a_program_of_its_own_machine(caller: Caller) -> None:
    with pytest.raises(NotPermitted):
        check_pipe(caller, NewNode("x", "pipe:", dir="/x"))
