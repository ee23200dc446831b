"""Somebody who types what a page says, with a server, jobs 1 to 30, users and files.

Before each command all of it is brought to where the command begins. What a verb
presupposes is in `_BEFORE`: `resume` a paused job, `user lock` a user who is there. `lab3` is the reader's own machine,
but for the verbs about nodes: for these it is another one, which is there while such a command is typed.
"""

from __future__ import annotations

import getpass
import http.server
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from tests.box import Box, Ran, until
from tests.docs.typed import Typed
from tests.hosts import Hosts

from roost.cli.parse.verb_table import verb_of
from roost.client.client import Roost
from roost.client.errors import ApiError

JOBS = 30
LINE = "until test -e go; do sleep 0.05; done"
PASSWORD = "four slow herons at dawn\n"
NEEDS_NO_SERVER = ("up", "restore", "install", "uninstall", "help", "version", "completion")
FILES = {
    "train.py": "import sys\nprint('step 1 loss 0.9', *sys.argv[1:])\n",
    "task.sh": '#!/bin/bash\n#ROOST -g 1 --name task\nset -e\npython train.py "$@"\n',
    "venv/bin/activate": "",
    "users.txt": "# a name a line\nana\nbob\n",
    "tasks.txt": "-g 1 --name small bash task.sh --width 64\n-g 2 --name big bash task.sh --width 512\n",
    "jobs.txt": "-g 1 --name small python train.py --width 64\n-g 1 --name large python train.py --width 512\n",
    "sweep.esy": "run_0;;out/0.txt;;python -u train.py --lr 0.1;;;\nrun_1;;out/1.txt;;python -u train.py --lr 0.01;;;\n",
    "points.csv": "lr,seed\n0.1,1\n0.01,2\n",
}
_ACTIVE = ["starting", "running", "paused", "stopping"]


FAR = "lab3"
ABOUT_NODES = tuple(f"node {action}" for action in ("add", "show", "check", "rm", "lost", "trust", "login"))


def is_about_a_node(command: Typed) -> bool:
    """Whether there must be another machine to type it."""
    return FAR in command.words and verb_of(command.words)[0] in ABOUT_NODES


class Reader:
    """One person before one machine, perhaps with another to reach."""

    def __init__(self, box: Box, hook: str, hosts: Hosts | None = None) -> None:
        self.box = box
        self._hook, self._hosts = hook, hosts
        for name, text in FILES.items():
            (box.work / name).parent.mkdir(parents=True, exist_ok=True)
            (box.work / name).write_text(text)
        (box.work / "bin" / "python").symlink_to(sys.executable)
        (box.work / "bin" / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
        (box.work / "bin" / "sudo").chmod(0o755)
        box.env |= {"XDG_CONFIG_HOME": str(box.work / "config"), "HOME": str(box.work)}
        box.up()
        self._node = str(box.json("status")["nodes"][0]["name"])
        for _ in range(JOBS):
            self._submit(LINE, hold=True, grace_s=1)

    @property
    def roost(self) -> Roost:
        """The server, asked without the command line."""
        return Roost(str(self.box.home / "roost.sock"))

    def types(self, command: Typed) -> Ran:
        """Bring everything to where the command begins, then type it."""
        verb = verb_of(command.words)[0] if command.line.removeprefix("sudo ").startswith("roost ") else ""
        if verb not in NEEDS_NO_SERVER:
            self._serve()
        if command.code == 0:
            _BEFORE.get(verb, Reader.calm)(self, command.words)
        done = subprocess.run(
            ["bash", "-c", self._here(command.line, verb)],
            env=self.box.env,
            cwd=self.box.work,
            input=PASSWORD,
            capture_output=True,
            text=True,
            timeout=60,
        )
        self._go.unlink(missing_ok=True)
        if verb in ABOUT_NODES:
            self.node_gone([])  # later jobs of the page begin in directories that are here alone
        if verb == "defaults set":
            self.box.do("defaults", "clear")  # they are for the next lines of the page, not for ours
        return Ran(done.returncode, done.stdout, done.stderr)

    def _here(self, line: str, verb: str) -> str:
        """The same line for this machine: what a page says of its reader's is said of ours."""
        if verb in ABOUT_NODES:
            return self._there(line, verb)
        for theirs, ours in (
            ("http://lab.example:7667", self.roost.status()["server"]["url"] if verb == "login" else ""),
            ("0.0.0.0", "127.0.0.1"),
            ("lab3", self._node),
        ):
            line = line.replace(theirs, ours)
        line = re.sub(r"--port \d+", "--port 0", line)
        line = re.sub(r"--unix \w+", f"--unix {getpass.getuser()}", line)
        line = re.sub(r"(?:mailtos?|feishu|ntfy|dingtalk|wecombot)://[^\s']+", self._hook, line)
        return line + " --dry-run" if verb in ("install", "uninstall") and "--dry-run" not in line else line

    def _there(self, line: str, verb: str) -> str:
        """The same line for the machine that we have: its address and its key. Its disk is small, and a check says so."""
        if self._hosts is not None:
            line = line.replace("~/.ssh/lab", str(self._hosts.key))
            line = re.sub(r"ssh://\w+@10\.0\.0\.3(:\d+)?", self._hosts[0].url(), line)
        return line + {"node add": self._adding, "node check": " || test $? = 1"}.get(verb, "")

    @property
    def _adding(self) -> str:
        return f" --yes --sim 1x8G --key {self._hosts.key}" if self._hosts is not None else ""

    @property
    def _go(self) -> Path:
        """While this is there, jobs end."""
        return self.box.work / "go"

    def _serve(self) -> None:
        if not self.box.servers():
            self.box.up("--port", "0")
            until("a node program is attached", lambda: self.roost.status()["node_pid"])

    def _submit(self, line: str, **spec: object) -> int:
        return self.roost.submit(line, cwd=str(self.box.work), env={"PATH": self.box.env["PATH"]}, **spec)

    # Where commands begin

    def calm(self, words: list[str]) -> None:
        """Room for what is to start, and a last job to name."""
        if not self.box.servers():
            return
        self.roost.pause_scheduling(False)
        self.roost.gpu_action("release", ["all"])
        if words and words[0] in ("run", "bench", "sweep"):
            self._make_room()
        if "@" in words:
            self._submit(LINE, gpus=0, hold=True)

    def down(self, _: list[str]) -> None:
        """No server."""
        self.box.run("down", "--kill")
        until("the server is gone", lambda: not self.box.servers())

    def backed_up(self, words: list[str]) -> None:
        """A backup, and no server."""
        if not (self.box.work / words[1]).exists():
            self._serve()
            self.box.do("backup", words[1])
        self.down(words)

    def users_there(self, words: list[str]) -> None:
        """The users that it names."""
        known = {str(user["user"]) for user in self.roost.users()}
        missing = [word for word in words[2:] if re.fullmatch(r"[a-z][a-z-]*", word) and word not in known]
        if missing:
            self.box.do("user", "add", "--unix", "none", *missing)
        if "--unix" in words:
            self._untie()

    def users_gone(self, words: list[str]) -> None:
        """None of the users that it names."""
        named = words[2:] + (["ana", "bob"] if "--from" in words else [])
        known = [str(user["user"]) for user in self.roost.users() if user["added"] and user["user"] in named]
        if known:
            self.box.do("user", "del", "-y", *known)
        self._untie()

    def _untie(self) -> None:
        """Nobody has our UNIX account: the only one that is surely there."""
        for user in self.roost.users():
            if user["added"] and user["unix"] == getpass.getuser():
                self.box.do("user", "set", str(user["user"]), "--unix", "none")

    def node_gone(self, _: list[str]) -> None:
        """No other machine."""
        if any(node["name"] == FAR for node in self.roost.nodes()["nodes"]):
            self.box.do("node", "rm", "--force", FAR)

    def node_there(self, words: list[str]) -> None:
        """Another machine, with a login of ours when one is to be taken back."""
        if FAR in words and self._hosts is not None:
            url, key = self._hosts[0].url(), str(self._hosts.key)
            self.box.do("node", "add", FAR, url, *self._adding.split())
            if "--rm" in words:
                self.box.do("node", "login", FAR, url, "--key", key)

    def password_set(self, _: list[str]) -> None:
        """A password to log in with, under our own name."""
        self._untie()
        self.box.do("password", text=PASSWORD)

    def logged_in(self, _: list[str]) -> None:
        """A login to forget."""
        self.password_set([])
        self.box.do("login", self.roost.status()["server"]["url"], text=PASSWORD)

    def target_there(self, _: list[str]) -> None:
        """A target numbered 1."""
        if not self.roost.notify_targets():
            self.box.do("notify", "add", self._hook)

    def history_there(self, words: list[str]) -> None:
        """A job with a GPU that has ended, when the past is asked for."""
        if "--history" in words:
            self._comes_to(self._submit("sleep 1"), "ended")

    def sweep_there(self, _: list[str]) -> None:
        """A sweep numbered 1, with a point that failed."""
        if not self.roost.sweeps():
            self.box.do("sweep", "-g", "0", "-p", "lr=1,2", "exit {lr}")
        self._let_end()

    def bring(self, words: list[str], *states: str) -> None:
        """The jobs that the command names or selects, in one of these states."""
        if "--user" not in words:
            self._untie()
        said = (
            words[words.index("--state") + 1]
            if "--state" in words
            else words[1]
            if words[0] == "clean" and words[1:]
            else ""
        )
        if said.split(",")[0] in _TO:
            states = (said.split(",")[0],)
        if states[0] in ("queued", "held"):
            self.roost.pause_scheduling(True)
        else:
            self.roost.pause_scheduling(False)
            self.roost.gpu_action("release", ["all"])
            self._make_room()
        for job in self._named(words):
            if not self._is(job, states):
                _TO[states[0]](self, job)

    def ending(self, words: list[str]) -> None:
        """Something that ended, or runs and soon does."""
        self.bring(words, "succeeded", "failed", "killed")
        self._go.touch()

    def cleaned(self, words: list[str]) -> None:
        """Something that ended, and nothing of what later commands name."""
        self.bring(words, "succeeded")
        if not self._named_ids(words):
            self.roost.pause_scheduling(True)
            for job in self.roost.all_jobs(f"1-{JOBS}", state=["ended"], all=True):
                self._held(int(job["id"]))

    def _named_ids(self, words: list[str]) -> list[int]:
        """The ids that stand in the command."""
        ids: list[int] = []
        for before, word in pairwise(words):
            if word == "--":
                break
            if span := re.fullmatch(r"(\d+)-(\d+)", word):
                ids += range(int(span[1]), int(span[2]) + 1)
            elif re.fullmatch(r"\d+", word) and not before.startswith("-"):
                ids.append(int(word))
        return ids[:1] if words[0] == "move" else ids

    def _named(self, words: list[str]) -> list[int]:
        """The jobs that the command names; a new one that it selects, when it names none."""
        if ids := self._named_ids(words):
            return ids
        spec: dict[str, object] = {"gpus": 0, "grace_s": 1}
        if "--user" in words:
            user = words[words.index("--user") + 1]
            self.users_there(["", "", user, "--unix"])
            self.box.do("user", "set", user, "--unix", getpass.getuser())
            spec |= {"user": user}
        if "--label" in words:
            spec |= {"labels": [words[words.index("--label") + 1]]}
        return [self._submit(LINE, **spec)]

    def _make_room(self) -> None:
        try:
            self.roost.act("kill", {"states": _ACTIVE}, grace_s=0)
        except ApiError:
            return
        until("nothing runs", lambda: not self.roost.jobs(state=_ACTIVE)["jobs"])

    def _let_end(self) -> None:
        self._go.touch()
        self.roost.pause_scheduling(False)
        until("all that ran has ended", lambda: not self.roost.jobs(state=_ACTIVE)["jobs"])

    def _waiting(self, job: int) -> None:
        state = self.roost.job(job)["state"]
        if state in _ACTIVE:
            self.roost.act("kill", {"ids": str(job)}, grace_s=0)
            self._comes_to(job, "ended")
        if state != "held":
            if state != "queued":
                self.roost.rerun(str(job))
        else:
            self.roost.release(str(job))

    def _held(self, job: int) -> None:
        self._waiting(job)
        self.roost.hold(str(job))

    def _running(self, job: int) -> None:
        self._waiting(job)
        self._comes_to(job, "running")

    def _paused(self, job: int) -> None:
        self._running(job)
        self.roost.pause(str(job))
        self._comes_to(job, "paused")

    def _killed(self, job: int) -> None:
        self._running(job)
        self.roost.act("kill", {"ids": str(job)}, grace_s=0)
        self._comes_to(job, "killed")

    def _succeeded(self, job: int) -> None:
        self._go.touch()
        self._waiting(job)
        self._comes_to(job, "ended")

    def _failed(self, job: int) -> None:
        self._comes_to(self._submit("exit 3", gpus=0), "failed")

    def _is(self, job: int, states: tuple[str, ...]) -> bool:
        """As lists select, which is how commands do."""
        return bool(self.roost.jobs(str(job), state=states, all=True)["jobs"])

    def _comes_to(self, job: int, *states: str) -> None:
        until(f"job {job} is {' or '.join(states)}", lambda: self._is(job, states), shown=lambda: self.roost.job(job))


_TO: dict[str, Callable[[Reader, int], None]] = {
    "queued": Reader._waiting,
    "held": Reader._held,
    "running": Reader._running,
    "paused": Reader._paused,
    "killed": Reader._killed,
    "ended": Reader._succeeded,
    "succeeded": Reader._succeeded,
    "failed": Reader._failed,
}


def _in(*states: str) -> Callable[[Reader, list[str]], None]:
    return lambda reader, words: reader.bring(words, *states)


_BEFORE: dict[str, Callable[[Reader, list[str]], None]] = {
    "up": Reader.down,
    "restore": Reader.backed_up,
    "user add": Reader.users_gone,
    **{f"user {action}": Reader.users_there for action in ("del", "admin", "lock", "unlock", "set", "link", "show")},
    **dict.fromkeys(ABOUT_NODES, Reader.node_there),
    "node add": Reader.node_gone,
    "login": Reader.password_set,
    "logout": Reader.logged_in,
    "notify test": Reader.target_there,
    "notify rm": Reader.target_there,
    "simulate": Reader.history_there,
    **{f"sweep {action}": Reader.sweep_there for action in ("show", "ls", "extend", "limit", "rerun")},
    "kill": _in("running"),
    "pause": _in("running"),
    "resume": _in("paused"),
    "hold": _in("queued"),
    "release": _in("held"),
    "move": _in("queued"),
    "start": _in("queued"),
    "edit": _in("queued"),
    "why": _in("queued"),
    "wait": Reader.ending,
    "log": _in("succeeded", "failed", "killed"),
    "rerun": _in("killed", "failed", "succeeded"),
    "rm": _in("succeeded", "failed", "killed"),
    "clean": Reader.cleaned,
    "archive": Reader.cleaned,
}


@contextmanager
def a_hook() -> Iterator[str]:
    """Somebody who takes every message; the URL of a target that leads there."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Taking)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"json://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Taking(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        """Yes."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""
