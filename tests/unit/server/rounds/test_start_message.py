"""The words with which a node is told to start a run."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.builders import Server

from roost.links import messages as m


def started_spec(server: Server, **asked: Any) -> dict[str, Any]:
    """What the node hears of such a job."""
    server.submit(**asked)
    (message,) = (message for _, message in server.sent if message["op"] == "start")
    line = m.encode(message)
    spec: dict[str, Any] = msgspec.json.decode(line)["spec"]
    return spec


def test_a_shell_line_an_argv_and_a_script_stay_what_they_are(server: Server) -> None:
    assert started_spec(server)["shell"] == "true"


def test_the_environment_is_the_submitters_and_the_variables_are_ours(server: Server) -> None:
    spec = started_spec(server, env={"A": "1"}, name="x", labels=("l", "k"), time_limit_s=60)
    assert spec["env"] == {"A": "1"}
    names = {"ROOST_JOB_ID": "1", "ROOST_JOB_NAME": "x", "ROOST_ATTEMPT": "1", "ROOST_LABELS": "l,k"}
    assert names.items() <= spec["vars"].items() and spec["vars"]["ROOST_END_TIME"].endswith("Z")


def test_times_come_from_the_job_else_from_the_settings(server: Server) -> None:
    spec = started_spec(server, grace_s=3, time_limit_s=60)
    assert (spec["grace_ms"], spec["warn_ms"], spec["time_limit_ms"]) == (3000, 90_000, 60_000)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("out-%j-%a.log", "/work/out-1-1.log"),
        ("/tmp/%x/%%", "/tmp/a_b/%"),
        ("../%z.log", "/%z.log"),
        ("100%", "/work/100%"),
    ],
)
def test_an_output_file_is_named_by_its_pattern(server: Server, pattern: str, path: str) -> None:
    assert started_spec(server, stdout=pattern, cwd="/work", name="a/b")["stdout"] == path


def test_what_the_kernel_is_to_allow_is_said_with_the_start(server: Server) -> None:
    spec = started_spec(server)
    assert (spec["enforce_devices"], spec["max_processes"], spec["no_new_privs"]) == (True, 32_768, False)
    server.cluster.settings.update({"job.enforce_devices": False, "job.max_processes": 0, "job.no_new_privs": True})
    server.submit()
    *_, spec = (message["spec"] for _, message in server.sent if message["op"] == "start")
    assert (spec["enforce_devices"], spec["max_processes"], spec["no_new_privs"]) == (False, None, True)
