"""What can happen to a lab: each strike is one misfortune, and puts down when it will be over."""

from __future__ import annotations

from collections.abc import Callable

from tests.box import Answer, end, process
from tests.cluster import membership
from tests.cluster.membership import kill_server_in, some_moment, start_server
from tests.cluster.sky import Sky
from tests.hosts import Host

Strike = Callable[[Sky], None]
LOOK_S = 0.5
NOTICE_S = 60.0
"""How long an administrator waits for a host that is off to be noticed, before they switch it on again."""


def strike(sky: Sky) -> None:
    """One misfortune, by chance."""
    one = sky.chance.choices([each for each, _ in STRIKES], [weight for _, weight in STRIKES])[0]
    one(sky)


# -- the network and the hosts --------------------------------------------------------------------------------------


def cut(sky: Sky) -> None:
    """A cable is pulled, and put back."""
    if host := _struck(sky, "cut"):
        host.cut()
        sky.later(sky.chance.uniform(0.3, 5), lambda: _heal(sky, host))


def cut_silently(sky: Sky) -> None:
    """Packets vanish for a while, at times for longer than the server waits; and its jobs, which run, are given up."""
    if host := _struck(sky, "silent cut"):
        host.cut(silent=True)
        cut_s, is_given_up = sky.chance.choice((1, 3, 8, 25)), sky.chance.random() < 0.3
        if is_given_up and sky.gives_up_the_living:
            sky.later(LOOK_S, lambda: _give_up(sky, host, NOTICE_S, lambda: sky.later(cut_s / 5, lambda: _heal(sky, host))))
        else:
            sky.later(cut_s, lambda: _heal(sky, host))


def _heal(sky: Sky, host: Host) -> None:
    host.heal()
    sky.is_well(host)


def power_off(sky: Sky) -> None:
    """A host goes dark and comes back; at times its jobs are given up meanwhile."""
    if host := _struck(sky, "power-off"):
        host.power_off()
        off_s = sky.chance.uniform(0, 6)
        if sky.chance.random() < 0.5:
            sky.later(LOOK_S, lambda: _give_up(sky, host, NOTICE_S, lambda: sky.later(off_s, lambda: _power_on(sky, host))))
        else:
            sky.later(off_s, lambda: _power_on(sky, host))


def _give_up(sky: Sky, host: Host, left_s: float, then: Callable[[], None]) -> None:
    """`roost node lost`, as soon as the server knows that it cannot be reached. It stays like that until then."""
    node, was_moving = sky.node(host), host.name in sky.moving

    def heard(answer: Answer | None) -> None:
        if answer is None:
            sky.unheard.add(node)
        is_gone = answer is not None and answer.status == 404 and (was_moving or host.name in sky.moving)
        if answer is not None and answer.status == 200:
            sky.struck["given up"] += 1
            sky.given_up |= set(answer.json["lost"])
        elif left_s > 0 and not is_gone:
            if answer is not None and answer.status != 409:
                sky.problems.append(f"roost node lost {node}: {answer.status} {answer.body[:500]!r}")
            sky.later(LOOK_S, lambda: _give_up(sky, host, left_s - LOOK_S, then))
            return
        then()

    if left_s == NOTICE_S:
        kill_server_in(sky, some_moment(sky, 0.05))
    sky.ask_aside("POST", f"/nodes/{node}/lost", None, heard)


def _power_on(sky: Sky, host: Host) -> None:
    host.power_on()
    sky.is_well(host)


def restart_sshd(sky: Sky) -> None:
    """sshd is away for a moment; at times its sessions go with it."""
    if host := _struck(sky, "sshd restart"):
        host.stop_sshd(sessions=sky.chance.random() < 0.7)
        sky.later(sky.chance.uniform(0, 3), lambda: _start_sshd(sky, host))


def _start_sshd(sky: Sky, host: Host) -> None:
    host.start_sshd()
    sky.is_well(host)


def change_key(sky: Sky) -> None:
    """A host was installed anew, or so it seems; an administrator believes it after a while, at times for no reason."""
    if host := _struck(sky, "changed key"):
        if sky.chance.random() < 0.7:
            host.change_host_key()
            host.stop_sshd(sessions=True)
            host.start_sshd()
        kill_s = some_moment(sky, 1)
        sky.later(sky.chance.uniform(0.5, 4), lambda: trust(sky, host, kill_s))


def trust(sky: Sky, host: Host, kill_s: float | None = None) -> None:
    """`roost node trust`, until it is heard."""
    node, was_moving = sky.node(host), host.name in sky.moving

    def heard(answer: Answer | None) -> None:
        if answer is None or answer.status == 503:
            sky.later(LOOK_S, lambda: trust(sky, host))
            return
        is_moved = was_moving or host.name in sky.moving
        is_gone = is_moved and answer.status == 404  # it is added again with the key that it has
        if answer.status != 200 and not is_gone:
            sky.problems.append(f"roost node trust {node}: {answer.status} {answer.body[:500]!r}")
        sky.is_well(host)

    kill_server_in(sky, kill_s)
    sky.ask_aside("POST", f"/nodes/{node}/trust", {"host_key": host.host_key}, heard)


def hang_driver(sky: Sky) -> None:
    """Calls to the driver of a host do not return."""
    if host := _struck(sky, "hung driver"):
        host.hang_driver()
        sky.later(sky.chance.uniform(1, 8), lambda: _heal_driver(sky, host))


def _heal_driver(sky: Sky, host: Host) -> None:
    host.heal_driver()
    sky.is_well(host)


def _struck(sky: Sky, name: str) -> Host | None:
    host = sky.calm_host()
    if host is not None:
        sky.struck[name] += 1
    return host


# -- Roost itself ---------------------------------------------------------------------------------------------------


def kill_server(sky: Sky) -> None:
    """SIGKILL to the server; somebody starts it again soon."""
    victims = [found for found in map(process, sky.box.servers()) if found]
    for victim in victims:
        end(victim)
    if victims:
        sky.struck["server kill"] += 1
        sky.later(sky.chance.uniform(0, 2), lambda: start_server(sky))


def kill_programs(sky: Sky) -> None:
    """SIGKILL to the node programs of a host, or of the server's own machine; the jobs run on."""
    host = sky.chance.choice([*sky.hosts, None])
    if host is None:
        sky.box.kill_all_nodes()
    else:
        pids = [pid for pid, line in host.processes().items() if " daemon --state " in line]
        for victim in filter(None, map(process, pids)):
            end(victim)
    sky.struck["node program kill"] += 1


# -- administrators -------------------------------------------------------------------------------------------------


def remove(sky: Sky) -> None:
    """A node leaves and comes back, whatever else happens to its host just now."""
    staying = [host for host in sky.hosts if host.name not in sky.moving]
    if staying:
        sky.struck["removal"] += 1
        membership.remove(sky, sky.chance.choice(staying))


def add_twice(sky: Sky) -> None:
    """A node is added that is there."""
    if host := _struck(sky, "added twice"):
        membership.add_twice(sky, host)


# -- people ---------------------------------------------------------------------------------------------------------


def kill_job(sky: Sky) -> None:
    """Somebody does not want a job any more."""
    if job := _some_job(sky, "running", "queued"):
        sky.killed.add(job)
        sky.act("kill", job)
        sky.struck["kill of a job"] += 1


def pause_job(sky: Sky) -> None:
    """Somebody lets a job rest for a while."""
    if job := _some_job(sky, "running"):
        sky.act("pause", job)
        sky.struck["pause of a job"] += 1
        sky.later(sky.chance.uniform(0.5, 5), lambda: sky.act("resume", job))


def _some_job(sky: Sky, *states: str) -> int | None:
    answer = sky.ask("GET", "/jobs?limit=1000")
    if answer is None or answer.status != 200:
        return None
    found = [job["id"] for job in answer.json["jobs"] if job["state"] in states]
    return sky.chance.choice(found) if found else None


STRIKES: tuple[tuple[Strike, float], ...] = (
    (cut, 4),
    (cut_silently, 3),
    (power_off, 3),
    (restart_sshd, 3),
    (change_key, 1),
    (hang_driver, 2),
    (kill_server, 2),
    (kill_programs, 3),
    (kill_job, 3),
    (pause_job, 3),
    (remove, 4),
    (add_twice, 1),
    (membership.drain, 2),
)
