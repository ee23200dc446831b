"""Every route, tried by schemathesis against a real server: no server error, no answer that the document does not have.

Each operation gets what its schema allows and what it forbids: as an administrator at all the limits and by chance, as an
ordinary user and as nobody by chance. The chance is a seed: `SCHEMATHESIS_SEED=7` tries another. Before each operation the
ground is made even again, so that shutting down, locking and deleting are tried like everything else.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import jsonschema_rs
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import ignored_auth
from tests.box import ROOT, Box
from tests.contract.ground import Ground

from roost.api.app import TABLE, document

SEED = int(os.environ.get("SCHEMATHESIS_SEED", "4"))
CALM = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=False)
AWAIT = r"^/api/v1/jobs/(wait|[^/]*/log/follow)$"
"""They answer when jobs have ended: tried where all have."""
BRIEF = r"^/api/v1/(shutdown|jobs/actions|sweeps|defaults)$"
"""A server takes its time to start again; and a job in another body need not be tried at all its limits again."""
TYPES = {"application/json", "application/octet-stream", "application/x-ndjson", "text/event-stream", "text/plain"}
DOCUMENT = document()


Case = schemathesis.Case[Any]


def _schema(examples: int, **more: Any) -> Any:
    """The document, and how it is tried: as for the command line, and the routes that are left out there as well."""
    config = tomllib.loads((ROOT / "schemathesis.toml").read_text(encoding="utf-8"))
    config["operations"] = [row for row in config["operations"] if row.get("enabled", True)]
    for row in config["operations"]:
        if "request-timeout" in row:
            row["request-timeout"] = 0.1
    config |= {"seed": SEED, "generation": {"max-examples": examples, "no-shrink": True, "database": "none"}, **more}
    return schemathesis.openapi.from_dict(DOCUMENT, config=schemathesis.Config.from_dict(config))


THOROUGHLY = _schema(8)
BRIEFLY = _schema(6, phases={"coverage": {"enabled": False}})


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    """A server on which anything may be tried."""
    made = Ground(Box(gpus="2x24G"))
    yield made
    made.close()


@pytest.fixture
def even(ground: Ground) -> Ground:
    """The same, as if nothing had been tried yet."""
    ground.even()
    return ground


@pytest.fixture(scope="module")
def settled() -> Iterator[Ground]:
    """A server on which every job has ended."""
    made = Ground(Box(gpus="2x24G"))
    made.even()
    made.run_some()
    yield made
    made.close()


def _session() -> requests.Session:
    """One connection for many requests; what a login puts into a cookie is not kept."""
    made = requests.Session()
    made.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    return made


SESSION = _session()


def tried(case: Case, ground: Ground, who: str, **how: Any) -> schemathesis.Response:
    """One request, and all checks of its answer."""
    try:
        return case.call_and_validate(base_url=ground.url, headers=ground.headers(who), session=SESSION, **how)
    except Exception as error:
        error.add_note(f"as {who}; the same again: SCHEMATHESIS_SEED={SEED}")
        raise


@THOROUGHLY.exclude(path_regex=AWAIT).exclude(path_regex=BRIEF).parametrize()
@CALM
def test_as_an_administrator(case: Case, even: Ground) -> None:
    tried(case, even, "administrator")


@BRIEFLY.exclude(path_regex=f"^(?!{BRIEF})").parametrize()
@CALM
def test_as_an_administrator_briefly(case: Case, ground: Ground) -> None:
    ground.even()
    is_shutdown = case.path == "/api/v1/shutdown"
    answer = tried(case, ground, "administrator", excluded_checks=[ignored_auth] if is_shutdown else [])
    if is_shutdown and answer.status_code == 200:
        ground.box.stop()


@BRIEFLY.exclude(path_regex=AWAIT).parametrize()
@CALM
def test_as_a_user(case: Case, even: Ground) -> None:
    tried(case, even, "user")


@BRIEFLY.exclude(path_regex=AWAIT).parametrize()
@CALM
def test_as_nobody(case: Case, even: Ground) -> None:
    tried(case, even, "nobody")


@THOROUGHLY.exclude(path_regex=f"^(?!{AWAIT})").parametrize()
@CALM
def test_what_waits_for_jobs(case: Case, settled: Ground) -> None:
    for who in ("administrator", "user", "nobody"):
        tried(case, settled, who)


def test_every_route_is_tried_and_no_other() -> None:
    known = {f"{method.upper()} {path}" for path, methods in DOCUMENT["paths"].items() for method in methods}
    assert known == {route for route in TABLE.rights if " /api/" in route}  # pages are for people
    left_out = {label for label in known if label not in {found.ok().label for found in THOROUGHLY.get_all_operations()}}
    assert left_out == set()


def test_every_route_says_what_it_answers_with() -> None:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            good = [answer for status, answer in operation["responses"].items() if status < "300"]
            schemas = [kind["schema"] for answer in good for kind in answer["content"].values()]
            assert schemas and all(schemas), (method, path)
            assert {kind for answer in good for kind in answer["content"]} <= TYPES


# What chance would seldom find: things that are there.


@pytest.fixture(scope="module")
def busy() -> Iterator[Ground]:
    """A server with jobs in many states."""
    made = Ground(Box(gpus="2x24G"))
    made.even()
    made.run_some()
    box = made.box
    running = box.submit("-g", "2", "--name", "long", "sleep", "600")
    box.comes_to(running, "running")
    box.submit("-g", "1", "--after", running, "true")
    box.submit("--hold", "-l", "x", "true")
    box.submit("-g", "1", "--retries", "1", "true")
    yield made
    made.close()


IDS = range(1, 10)
THERE: list[tuple[str, Any]] = [
    *(
        (f"/jobs/{{job}}{more}", {"job": job})
        for job in IDS
        for more in ("", "/why", "/env", "/log", "/results", "/samples")
    ),
    *((path, {}) for path in ("/jobs", "/gpus", "/status", "/nodes", "/users", "/me", "/sweeps", "/sweeps/last", "/logins")),
    *((path, {}) for path in ("/tokens", "/audit", "/history", "/settings", "/policy", "/notice", "/defaults")),
    *((path, {}) for path in ("/samples", "/usage")),
    ("/sweeps/{sweep}", {"sweep": 1}),
    ("/users/{name}", {"name": "root"}),
]


def test_what_is_there(busy: Ground) -> None:
    for path, names in THERE:
        case = THOROUGHLY[f"/api/v1{path}"]["GET"].Case(path_parameters=names)
        assert tried(case, busy, "administrator").status_code == 200, (path, names)


def test_what_is_there_in_brief(busy: Ground) -> None:
    case = THOROUGHLY["/api/v1/jobs"]["GET"].Case(query={"brief": "true", "all": "true"})
    jobs = tried(case, busy, "administrator").json()["jobs"]
    schema = {**DOCUMENT["components"]["schemas"]["BriefJob"], "components": DOCUMENT["components"]}
    assert len(jobs) > 5 and all(jsonschema_rs.is_valid(schema, job) for job in jobs)
    assert all(set(job) == set(schema["properties"]) for job in jobs)


def test_a_stream_tells_what_happens(busy: Ground) -> None:
    with requests.get(f"{busy.url}/api/v1/events", headers=busy.headers("user"), stream=True, timeout=20) as stream:
        lines = stream.iter_lines()
        assert next(lines) == b": roost"
        busy.box.submit("--hold", "true")
        event = next(line for line in lines if line.startswith(b"event: "))
    assert (stream.headers["content-type"], event) == ("text/event-stream; charset=utf-8", b"event: Submitted")


@pytest.mark.parametrize("path", ["/backup", "/archive"])
def test_what_only_the_machine_itself_may(busy: Ground, path: str) -> None:
    """The kernel's word is not to be had over TCP, where schemathesis asks: what the socket answers fits too."""
    job = busy.box.submit("-g", "0", "true")
    busy.box.ends(job)
    more = {"select": {"ids": str(job)}} if path == "/archive" else {}
    given = busy.box.http("POST", path, {"path": str(busy.box.file(f"{job}.kept")), **more})
    (answer,) = DOCUMENT["paths"][f"/api/v1{path}"]["post"]["responses"]["200"]["content"].values()
    schema = {**answer["schema"], "components": DOCUMENT["components"]}
    assert given.status == 200 and jsonschema_rs.is_valid(schema, given.json), given
