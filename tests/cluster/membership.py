"""Nodes that leave and come back: removed, added again under the same or another name, drained; what must hold of each.

The server may be killed in the middle of every request. The client then gets no answer, looks at the state, and repeats the
request, which must work or say clearly that it was already done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.box import Answer, Json, end, process
from tests.cluster.sky import Sky
from tests.hosts import Host

LOOK_S = 0.5
PATIENCE = 120
"""How often a client repeats a request before the test fails."""
OK, NOT_FOUND, CONFLICT, LATER = 200, 404, 409, 503


def description(sky: Sky, host: Host, name: str) -> Json:
    """What is said to add it."""
    login = {"target": host.url(sky.login["user"]), "key": str(sky.hosts.key), "sim": sky.login["sim"]}
    return {"name": name, "host_key": host.host_key, **login}


# -- the server, killed in the middle -------------------------------------------------------------------------------


def kill_server_in(sky: Sky, seconds: float | None) -> None:
    """SIGKILL to the server a moment from now; None: it is let live."""
    if seconds is not None:
        sky.later(seconds, lambda: _kill(sky))


def _kill(sky: Sky) -> None:
    sky.struck["server kill in a request"] += 1
    for victim in filter(None, map(process, sky.box.servers())):
        end(victim)
    start_server(sky)


def start_server(sky: Sky) -> None:
    """`roost up`."""
    ran = sky.box.run("up", "--detach")
    if ran.code and "already running" not in ran.err:
        sky.problems.append(f"roost up --detach: {ran}")


def some_moment(sky: Sky, longest_s: float) -> float | None:
    """When the server is killed, if it is."""
    return sky.chance.uniform(0, longest_s) if sky.chance.random() < 0.5 else None


# -- removed and added again ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Move:
    """One host that leaves and comes back."""

    host: Host
    old: str
    new: str
    is_forced: bool
    illness: str
    was_calm: bool
    """Whether it had no other trouble, of which somebody else will tell when it is over."""
    kills_s: tuple[float | None, float | None]
    """When the server is killed after the node was told to leave, and to come."""
    away_s: float
    is_unheard: bool = False
    """Whether somebody has said it before and heard nothing."""
    tries: int = 0

    @property
    def again(self) -> Move:
        """The same once more, in peace."""
        return replace(self, is_unheard=True, kills_s=(None, None), tries=self.tries + 1)


def remove(sky: Sky, host: Host) -> None:
    """A node leaves, at times by force or while it cannot be reached, and is added again, at times under another name."""
    old, chance = sky.node(host), sky.chance
    names = (old, old, _another(old))
    was_calm = sky.take(host)
    illness = chance.choice(("", "", "cut", "silent", "off")) if was_calm else ""
    kills = (some_moment(sky, 0.5), some_moment(sky, 2))
    move = Move(host, old, chance.choice(names), chance.random() < 0.7, illness, was_calm, kills, chance.uniform(0, 4))
    sky.moving.add(host.name)
    sicken = {"cut": host.cut, "silent": lambda: host.cut(silent=True), "off": host.power_off}
    if illness:
        sicken[illness]()
    sky.later(chance.uniform(0, 2), lambda: _leave(sky, move))


def _another(name: str) -> str:
    """`h1`, `h1b`, `h1`, …: names that were there before come again."""
    return name.removesuffix("b") if name.endswith("b") else f"{name}b"


def _leave(sky: Sky, move: Move) -> None:
    """`roost node rm`."""
    kill_server_in(sky, move.kills_s[0])
    path = f"/nodes/{move.old}?force={str(move.is_forced).lower()}"
    sky.ask_aside("DELETE", path, None, lambda answer: _left(sky, move, answer))


def _left(sky: Sky, move: Move, answer: Answer | None) -> None:
    if answer is None or answer.status == LATER:
        sky.unheard |= {move.old} if move.is_forced else set()
        _try_again(sky, move, "rm", answer, lambda: _leave(sky, move.again))
    elif answer.status == OK or (answer.status == NOT_FOUND and move.is_unheard):
        if answer.status == OK:
            sky.given_up |= set(answer.json["lost"])
            _must(sky, move, "rm", answer, move.is_forced or not answer.json["lost"])
        sky.struck["removed by force" if move.is_forced else "removed"] += 1
        _check_gone(sky, move)
        sky.later(move.away_s, lambda: _come_back(sky, replace(move, is_unheard=False, tries=0)))
    else:
        _must(sky, move, "rm", answer, answer.status == CONFLICT and not move.is_forced and "did not end" in _said(answer))
        _heal(move)
        _stay(sky, move)


def _stay(sky: Sky, move: Move) -> None:
    """It is a node, and nobody moves it any more."""
    sky.moving.discard(move.host.name)
    if move.was_calm:
        sky.is_well(move.host)


def _check_gone(sky: Sky, move: Move) -> None:
    answer = sky.ask("GET", "/nodes")
    if answer is not None and any(node["name"] == move.old for node in answer.json["nodes"]):
        sky.problems.append(f"{move.old} was removed and is there")


def _come_back(sky: Sky, move: Move) -> None:
    _heal(move)
    sky.drained.discard(move.host.name)
    sky.call(move.host, move.new)
    _add(sky, replace(move, illness=""))


def _add(sky: Sky, move: Move) -> None:
    """`roost node add`."""
    kill_server_in(sky, move.kills_s[1])
    asked = description(sky, move.host, move.new)
    sky.ask_aside("POST", "/nodes", asked, lambda answer: _came(sky, move, answer))


def _came(sky: Sky, move: Move, answer: Answer | None) -> None:
    if answer is None or answer.status == LATER:
        again = move.again if answer is None else replace(move, tries=move.tries + 1)
        _try_again(sky, move, "add", answer, lambda: _add(sky, again))
        return
    is_done_before = answer.status == CONFLICT and move.is_unheard and f"node {move.new} already exists" in _said(answer)
    _must(sky, move, "add", answer, answer.status == OK or is_done_before)
    sky.struck["added again" if move.new == move.old else "added under another name"] += 1
    _stay(sky, move)


def add_twice(sky: Sky, host: Host) -> None:
    """Somebody adds what is a node already, under its own name or another: it is refused, and nothing changes."""
    name, other = sky.node(host), f"{sky.node(host)}-too"
    asked = sky.chance.choice((name, other))
    move = Move(host, name, asked, False, "", True, (None, None), 0)
    expected = f"node {name} already exists" if asked == name else "that machine is already a node"

    def heard(answer: Answer | None) -> None:
        if answer is not None and answer.status != LATER and host.name not in sky.moving:
            _must(sky, move, "add", answer, answer.status == CONFLICT and expected in _said(answer))
        sky.is_well(host)

    sky.ask_aside("POST", "/nodes", description(sky, host, asked), heard)


def _try_again(sky: Sky, move: Move, verb: str, answer: Answer | None, do: Callable[[], None]) -> None:
    _must(sky, move, verb, answer, move.tries < PATIENCE)
    if move.tries < PATIENCE:
        sky.later(LOOK_S, do)


def _must(sky: Sky, move: Move, verb: str, answer: Answer | None, is_right: bool) -> None:
    if not is_right:
        said = f"{answer.status} {_said(answer)!r}" if answer is not None else "nobody answers"
        sky.problems.append(f"roost node {verb}: {said} {move}")


def _said(answer: Answer) -> str:
    return answer.body[:500].decode("utf-8", "replace")


def _heal(move: Move) -> None:
    if move.illness == "off":
        move.host.power_on()
    elif move.illness:
        move.host.heal()


# -- drained --------------------------------------------------------------------------------------------------------


def drain(sky: Sky) -> None:
    """Nothing new starts on a node for a while, whatever else happens to it; the server may be killed at once."""
    host = sky.chance.choice(list(sky.hosts))
    node = sky.node(host)
    if host.name in sky.drained:
        return
    answer = sky.ask("POST", "/drain", {"targets": [node], "undrain": False})
    if answer is None or answer.status != OK:
        if answer is not None and (host.name not in sky.moving or answer.status != NOT_FOUND):
            sky.problems.append(f"roost drain {node}: {answer.status} {_said(answer)!r}")
        return
    sky.struck["drain"] += 1
    sky.drained.add(host.name)
    kill_server_in(sky, some_moment(sky, 0.1))
    sky.later(sky.chance.uniform(0.5, 5), lambda: _undrain(sky, host, node))


def _undrain(sky: Sky, host: Host, node: str, is_first: bool = True) -> None:
    """What was answered holds, also after the server was killed."""
    if host.name not in sky.drained:
        return  # it was added again since, and is open
    answer = sky.ask("GET", "/nodes")
    shown = {each["name"]: each["state"] for each in answer.json["nodes"]} if answer is not None else {}
    if is_first and shown.get(node) == "up":
        sky.problems.append(f"{node} was drained and is open")
    answer = sky.ask("POST", "/drain", {"targets": [node], "undrain": True})
    if answer is None:
        sky.later(LOOK_S, lambda: _undrain(sky, host, node, is_first=False))
        return
    sky.drained.discard(host.name)
    if answer.status not in (OK, NOT_FOUND):
        sky.problems.append(f"roost undrain {node}: {answer.status} {_said(answer)!r}")
