"""A whole Roost in a directory of its own, driven the way people drive it: through the command line.

For the end-to-end tests and the storm. Starts what it is told to start and takes all of it down again, by pid.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tests.declared import check_answer

ROOT = Path(__file__).resolve().parents[1]
DEADLINE_S = 40.0
LOOK_S = 0.02
ENDED = "ended"

T = TypeVar("T")
Json = dict[str, Any]


def program() -> list[str]:
    """The command line that is `roost`: that of this clone's own environment, else of this interpreter."""
    own = ROOT / ".venv" / "bin" / "roost"
    if own.exists():
        return [str(own)]
    return [sys.executable, "-c", "import sys; from roost.cli import main; sys.exit(main())"]


class Ran(NamedTuple):
    """How a command line ended."""

    code: int
    out: str
    err: str


class Answer(NamedTuple):
    """What the server said over HTTP."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Json:
        """The body as JSON."""
        found: Json = json.loads(self.body)
        return found

    @property
    def code(self) -> str:
        """The code of the error in it."""
        return str(self.json["error"]["code"])


class Process(NamedTuple):
    """A process that cannot be mistaken for a later one of the same number."""

    pid: int
    starttime: int

    @property
    def is_alive(self) -> bool:
        """Whether it is still there; a zombie is not."""
        return process(self.pid) == self


def process(pid: int) -> Process | None:
    """The living process of that number."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else Process(pid, int(fields[19]))


def until(
    what: str, look: Callable[[], T | None], *, within_s: float = DEADLINE_S, shown: Callable[[], Any] | None = None
) -> T:
    """What `look` finds, as soon as it finds something that is true. Fails with what was last seen."""
    deadline = time.monotonic() + within_s
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s:g} s: {what}; last seen: {shown() if shown else found!r}")
        time.sleep(LOOK_S)


class Box:
    """One home, perhaps with a server in it."""

    def __init__(self, *, gpus: str = "4x24G", home: Path | None = None) -> None:
        self.work = Path(tempfile.mkdtemp(prefix="roost-", dir="/tmp"))  # short: a socket's path has 107 bytes at most
        self.home = home or self.work / "home"
        self.gpus = gpus
        self.env = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("ROOST_", "PYTEST_", "COV_")) and key not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
        }
        self.env |= {"ROOST_HOME": str(self.home), "NO_COLOR": "1", "LC_ALL": "C.UTF-8", "PATH": self._path()}
        self.claims = self.work / "claims"  # tests keep out of everybody else's way
        self.claims.mkdir(0o700)
        self.env["ROOST_CLAIMS"] = str(self.claims)
        if len(program()) > 1:
            self.env["PYTHONPATH"] = str(ROOT / "src")

    def _path(self) -> str:
        """With a `roost` in it, for jobs that call it."""
        binary = self.work / "bin"
        binary.mkdir(exist_ok=True)
        line = " ".join(f"'{word}'" for word in program())
        (binary / "roost").write_text(f'#!/bin/sh\nexec {line} "$@"\n')
        (binary / "roost").chmod(0o755)
        return f"{binary}:{os.environ['PATH']}"

    # Speaking to it

    def command(self, *words: str | int) -> list[str]:
        """`roost …` as an argv."""
        return [*program(), *map(str, words)]

    def run(self, *words: str | int, env: dict[str, str] | None = None, text: str | None = None, **more: Any) -> Ran:
        """Run `roost …` to its end, whatever that is."""
        done = subprocess.run(
            self.command(*words),
            env=self.env | (env or {}),
            input=text,
            stdin=subprocess.DEVNULL if text is None else None,
            capture_output=True,
            timeout=more.pop("timeout", 120),
            cwd=more.pop("cwd", self.work),
            encoding="utf-8",
            errors="surrogateescape",
            **more,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def do(self, *words: str | int, **more: Any) -> str:
        """Run `roost …`, which must go well; what it printed."""
        ran = self.run(*words, **more)
        assert ran.code == 0, f"roost {' '.join(map(str, words))[:200]}: exit code {ran.code}\n{ran.out}{ran.err}"
        return ran.out

    def refused(self, code: int, *words: str | int, **more: Any) -> str:
        """Run `roost …`, which must end with that exit code; what it said on stderr."""
        ran = self.run(*words, **more)
        assert ran.code == code, f"roost {' '.join(map(str, words))[:200]}: exit code {ran.code}\n{ran.out}{ran.err}"
        return ran.err

    def background(self, *words: str | int, **more: Any) -> subprocess.Popen[str]:
        """Start `roost …` and go on."""
        return subprocess.Popen(
            self.command(*words),
            env=self.env | more.pop("env", {}),
            cwd=more.pop("cwd", self.work),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )

    def json(self, *words: str | int) -> Json:
        """What `roost … --json` printed."""
        found: Json = json.loads(self.do(*words, "--json"))
        return found

    def submit(self, *words: str | int, **more: Any) -> int:
        """Queue a job; its id."""
        return int(self.do("submit", "-q", *words, **more))

    def http(self, method: str, path: str, body: Any = None, *, tcp: bool = False, **headers: str) -> Answer:
        """One request, over the UNIX socket, or TCP with a token unless `Authorization` is empty; bytes go as they are."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if tcp and "Authorization" not in headers:
            headers["Authorization"] = f"Bearer {self.token}"
        headers = {name: value for name, value in headers.items() if value}
        connection = self._tcp() if tcp else _UnixConnection(str(self.home / "roost.sock"))
        with contextlib.closing(connection):
            connection.request(method, f"/api/v1{path}", data, {"Content-Type": "application/json"} | headers)
            response = connection.getresponse()
            answer = Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        if answer.headers.get("content-type") == "application/json" and "content-encoding" not in answer.headers:
            check_answer(method, f"/api/v1{path}", answer.status, answer.body)
        return answer

    def _tcp(self) -> HTTPConnection:
        host, _, port = self.url.removeprefix("http://").rpartition(":")
        return HTTPConnection(host, int(port), timeout=60)

    @cached_property
    def token(self) -> str:
        """A token for the user who runs the tests."""
        return self.do("token", "new", "for tests").strip()

    @property
    def url(self) -> str:
        """Where it listens for HTTP."""
        return str(self.json("status")["server"]["url"])

    # Its servers

    def up(self, *options: str) -> Box:
        """Start the server, with a check of all its answers in it (`tests/checked`)."""
        path = os.pathsep.join(filter(None, (str(ROOT / "tests" / "checked"), self.env.get("PYTHONPATH"))))
        self.do("up", "--detach", *(options or ("--sim", self.gpus)), env={"PYTHONPATH": path})
        return self

    @property
    def server(self) -> Process:
        """The server's process."""
        return _living(self.json("status")["server_pid"])

    @property
    def node(self) -> Process:
        """The node program's process."""
        return _living(until("a node program is attached", lambda: self.json("status")["node_pid"]))

    def kill_server(self) -> None:
        """SIGKILL, and nobody is there any more."""
        end(self.server)

    def kill_node(self) -> None:
        """SIGKILL, and nobody is there any more."""
        end(self.node)

    def kill_all_nodes(self) -> None:
        """SIGKILL to the node program without asking the server who it is."""
        for found in filter(None, map(process, self.nodes())):
            end(found)

    # Its jobs

    def job(self, job: int) -> Json:
        """`roost show --json`."""
        return self.json("show", job)

    def state(self, job: int) -> str:
        """Its state, or its outcome once it has ended."""
        found = self.job(job)
        return str(found["outcome"] or found["state"])

    def comes_to(self, job: int, *states: str, within_s: float = DEADLINE_S) -> Json:
        """Wait until the job is in one of these states or has one of these outcomes."""
        last: Json = {}

        def look() -> Json | None:
            nonlocal last
            last = self.job(job)
            return last if last["state"] in states or last["outcome"] in states else None

        shown = ("state", "outcome", "exit_code", "error", "reasons", "attempts")
        return until(
            f"job {job} is {' or '.join(states)}", look, within_s=within_s, shown=lambda: {k: last.get(k) for k in shown}
        )

    def ends(self, job: int, *outcomes: str, within_s: float = DEADLINE_S) -> Json:
        """Wait until the job has ended; with one of these outcomes if any are named."""
        self.run("wait", "-q", job, "--timeout", f"{within_s:g}s")
        found = self.comes_to(job, ENDED, within_s=5)
        if outcomes:
            assert found["outcome"] in outcomes, found
        return found

    def log(self, job: int, *options: str | int) -> str:
        """`roost log`, standard output only."""
        return self.do("log", job, "--out", *options)

    def why(self, job: int) -> str:
        """`roost why`, in words."""
        return self.do("why", job)

    def gpu(self, index: int) -> Json:
        """One GPU of `roost gpus --json`."""
        found: Json = self.json("gpus")["gpus"][index]
        return found

    def gpu_comes_to(self, index: int, *states: str, within_s: float = DEADLINE_S) -> Json:
        """Wait until the GPU is in one of these states."""
        last: Json = {}

        def look() -> Json | None:
            nonlocal last
            last = self.gpu(index)
            return last if last["state"] in states else None

        return until(f"GPU {index} is {' or '.join(states)}", look, within_s=within_s, shown=lambda: last)

    def file(self, name: str) -> Path:
        """A file of the jobs'."""
        return self.work / name

    def text_in(self, name: str, lines: int = 1) -> list[str]:
        """Wait until a file of the jobs' has that many whole lines; all of them."""
        path = self.file(name)

        def look() -> list[str] | None:
            text = path.read_text() if path.exists() else ""
            whole = text.splitlines() if text.endswith("\n") else text.splitlines()[:-1]
            return whole if len(whole) >= lines else None

        return until(f"{name} has {lines} lines", look, shown=lambda: path.read_text() if path.exists() else "no file")

    def processes_in(self, name: str, count: int) -> list[Process]:
        """Wait until that many pids stand in a file, a line each, and give those processes."""
        return [_living(int(line)) for line in self.text_in(name, count)]

    # The end

    def job_processes(self) -> list[int]:
        """Every process that carries the tag of a run of this home."""
        state = self.home / "node" / "state_id"
        if not state.exists():
            return []
        tag = f"ROOST_RUN={state.read_text().strip()}:"
        return [pid for pid in _pids() if tag in _read(pid, "environ")]

    def servers(self) -> list[int]:
        """The server's processes."""
        return [pid for pid in _pids() if f"--home\0{self.home}\0" in _read(pid, "cmdline")]

    def leftovers(self) -> list[int]:
        """Every process that belongs to this home: server, node program, and what jobs left."""
        return [*self.servers(), *self.nodes(), *self.job_processes()]

    def nodes(self) -> list[int]:
        """The node program's processes, `attach` among them."""
        return [pid for pid in _pids() if f"--state\0{self.home}/node\0" in _read(pid, "cmdline")]

    def close(self) -> None:
        """Take all of it down."""
        self.stop()
        self._remove_cgroups()
        shutil.rmtree(self.work, ignore_errors=True)

    def _remove_cgroups(self) -> None:
        """Remove the cgroups of this home: a killed server leaves them behind."""
        state = self.home / "node" / "state_id"
        name = f"roost-{state.read_text().strip()}" if state.exists() else None
        for base in (Path("/sys/fs/cgroup"), *Path("/sys/fs/cgroup").glob("unified")) if name else ():
            for path in sorted((base / str(name)).glob("**/"), reverse=True):
                with contextlib.suppress(OSError):
                    path.rmdir()

    def stop(self) -> None:
        """End jobs, server and node program, in this order, so that each sees the one before it go and tidies up."""
        for pid in self.job_processes():
            _kill(pid, signal.SIGKILL)
        for pid in self.servers():
            _kill(pid, signal.SIGCONT)
            _kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + 3
        while left := self.leftovers():
            if time.monotonic() > deadline:
                for pid in left:
                    _kill(pid, signal.SIGKILL)
            time.sleep(LOOK_S)


class _UnixConnection(HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=60)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(60)
        self.sock.connect(self._path)


def end(victim: Process) -> None:
    """SIGKILL it and see it gone."""
    _kill(victim.pid, signal.SIGKILL)
    until(f"process {victim.pid} is gone", lambda: not victim.is_alive)


def _kill(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _living(pid: int) -> Process:
    found = process(pid)
    assert found is not None, f"process {pid} is not alive"
    return found


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid())


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except OSError:
        return ""
