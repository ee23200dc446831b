"""A root server and users of its machine: throw-away accounts that use, and misuse, one Roost.

For tests of what users may see and do to each other. `Person` is a user at the command line; `Person.http` is a request over
the server's socket, made by a process of their account.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.accounts import PATH, Account, Reach, reachable_roost, throw_away_accounts
from tests.box import Answer, Box, Ran, until

PERMISSION = 77

# Requests in, answers out, a line each: starting a process for every request would take longer than the request.
_AGENT = r"""
import http.client, json, socket, sys
class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(sys.argv[1])
for line in sys.stdin:
    method, path, body = json.loads(line)
    connection = Unix("localhost")
    data = None if body is None else body.encode("utf-8", "surrogatepass") if isinstance(body, str) else json.dumps(body)
    connection.request(method, "/api/v1" + path, data, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    head = {key.lower(): value for key, value in answer.getheaders()}
    print(json.dumps([answer.status, head, answer.read().decode("latin-1")]), flush=True)
    connection.close()
"""


class Person:
    """A user at the command line of the machine."""

    def __init__(self, account: Account, reach: Reach, box: Box) -> None:
        self.account, self.name, self.reach, self._box = account, account.name, reach, box
        self._program = str(reach.program)
        self._env = {**reach.environment, "ROOST_HOME": str(box.home), "ROOST_AUTOSTART": "0"}
        self._agent: subprocess.Popen[str] | None = None

    def run(self, *words: str | int, env: dict[str, str] | None = None, **more: Any) -> Ran:
        """`roost …` as this account, to its end."""
        argv = [self._program, *map(str, words)]
        return self.account.run(argv, env={"PATH": PATH, **self._env, **(env or {})}, **more)

    def do(self, *words: str | int, **more: Any) -> str:
        """The same, which must go well; what it printed."""
        ran = self.run(*words, **more)
        assert ran.code == 0, f"{words}: {ran}"
        return ran.out

    def refused(self, *words: str | int, code: int = PERMISSION, **more: Any) -> str:
        """The same, which must be refused with that exit code, in a line and a hint; what it said."""
        ran = self.run(*words, **more)
        assert ran.code == code, (words, ran)
        assert "Traceback" not in ran.err and len(ran.err.strip().splitlines()) <= 2, (words, ran)
        return ran.err

    def submit(self, *words: str | int, **more: Any) -> int:
        """A job; its id."""
        return int(self.do("submit", "-q", *words, **more))

    def sh(self, script: str, *options: str | int, **more: Any) -> tuple[int, str]:
        """A job that is a line of shell, to its end; its id and what it wrote."""
        job = self.submit("-g", 0, *options, "--", "sh", "-c", script, **more)
        assert self.run("wait", "-q", job).code == 0, self.run("log", job)
        return job, self.do("log", job)

    def shell(self, script: str, **more: Any) -> Ran:
        """Run a line of shell as this account, without Roost."""
        return self.account.run(["sh", "-c", script], **more)

    def python(self, script: str, *words: str, **more: Any) -> Ran:
        """Run a Python script as this account, without Roost."""
        return self.account.run([self.reach.python, "-I", "-c", script, *words], **more)

    def http(self, method: str, path: str, body: Any = None) -> Answer:
        """One request over the server's socket; a text goes as it is, all else as JSON."""
        if self._agent is None or self._agent.poll() is not None:
            argv = [self.reach.python, "-I", "-c", _AGENT, str(self._box.home / "roost.sock")]
            self._agent = self.account.popen(argv, stdin=subprocess.PIPE)
        assert self._agent.stdin is not None and self._agent.stdout is not None
        self._agent.stdin.write(json.dumps([method, path, body]) + "\n")
        self._agent.stdin.flush()
        line = self._agent.stdout.readline()
        assert line, self._agent.stderr and self._agent.stderr.read()
        status, headers, text = json.loads(line)
        return Answer(status, headers, text.encode("latin-1"))

    def close(self) -> None:
        """End the process that makes this person's requests."""
        if self._agent is not None:
            self._agent.kill()
            self._agent.communicate()

    @property
    def state(self) -> Path:
        """The state directory of this person's node program on the server's machine."""
        return self._box.home / "accounts" / self.name

    def end_processes(self) -> None:
        """Send SIGKILL to all processes of this account."""
        self.close()
        self.account.end_processes()

    def end_program(self) -> None:
        """Send SIGKILL to this person's node program; their jobs continue."""
        for pid in self.account.processes():
            with contextlib.suppress(OSError):
                if b"--state\0%b\0" % str(self.state).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)


class Lab:
    """A root server and two users."""

    def __init__(self, box: Box, ana: Person, bob: Person) -> None:
        self.box, self.ana, self.bob = box, ana, bob

    def person(self, account: Account) -> Person:
        """One more user."""
        return Person(account, self.ana.reach, self.box)

    def root(self, *words: str | int, **more: Any) -> str:
        """`roost …` as root, which must go well."""
        return self.box.do(*words, **more)

    @contextlib.contextmanager
    def set(self, **values: Any) -> Iterator[None]:
        """Settings, for a while; a dot is written as two underscores."""
        values = {key.replace("__", "."): value for key, value in values.items()}
        known = {row["key"]: row["value"] for row in self.box.http("GET", "/settings").json["settings"]}
        assert self.box.http("PUT", "/settings", values).status == 200
        try:
            yield
        finally:
            self.box.http("PUT", "/settings", {key: known[key] for key in values})

    @contextlib.contextmanager
    def administrator(self, person: Person) -> Iterator[None]:
        """Make the person an administrator for a while."""
        assert self.box.http("PATCH", f"/users/{person.name}", {"admin": True}).status == 200
        try:
            yield
        finally:
            self.box.http("PATCH", f"/users/{person.name}", {"admin": False})

    def is_well(self) -> None:
        """The server answers, its own node program is attached, and jobs of everybody start and end."""
        for person in (self.ana, self.bob):
            assert person.sh("id -u")[1].strip() == str(person.account.uid)
        until("the node is up", lambda: self.box.http("GET", "/nodes").json["nodes"][0]["state"] == "up")


@contextlib.contextmanager
def laboratory(gpus: str = "4x24G") -> Iterator[Lab]:
    """A root server with ana, who is in one group more, and bob."""
    with reachable_roost() as reach, throw_away_accounts("ana", "bob") as (ana, bob):
        extra = f"x{ana.name}"
        subprocess.run(["groupadd", extra], env={"PATH": PATH}, check=True, timeout=60)
        subprocess.run(["usermod", "-aG", extra, ana.name], env={"PATH": PATH}, check=True, timeout=60)
        box = Box(gpus=gpus)
        box.work.chmod(0o755)
        lab = Lab(box, Person(ana, reach, box), Person(bob, reach, box))
        try:
            box.up()
            box.do("set", "cpu.slots", 100)  # what sleeps in a test keeps no other from running
            yield lab
        finally:
            lab.ana.close()
            lab.bob.close()
            box.close()
            subprocess.run(["groupdel", extra], env={"PATH": PATH}, timeout=60)
