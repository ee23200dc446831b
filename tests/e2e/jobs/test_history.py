"""What was: a real server with simulated GPUs shows it while it happens, after it, and after a restart."""

from __future__ import annotations

from typing import Any

from tests.box import Box, until

Json = dict[str, Any]


def course(box: Box, job: int) -> Json:
    answer = box.http("GET", f"/jobs/{job}/samples")
    assert answer.status == 200, answer
    return answer.json


def test_a_job_shows_what_it_uses_and_a_restart_forgets_nothing(own: Box) -> None:
    job = own.submit("-g", 2, "roost sim-job --mem 6G --util 70 --seconds 1000")
    until("both GPUs show it", lambda: all(70 in gpu["util"] for gpu in course(own, job)["gpus"]))
    until("and its memory", lambda: any(course(own, job)["rss_mib"]))
    going = course(own, job)
    assert [gpu["index"] for gpu in going["gpus"]] == [0, 1]
    assert all(max(filter(None, gpu["mem_mib"])) == 6144 for gpu in going["gpus"])
    uuid = going["gpus"][0]["uuid"]

    def sampled() -> Json | None:
        found = own.http("GET", f"/samples?scope=gpu:{uuid}").json
        return found if any(v is not None and v > 50 for v in found["util"]) else None

    before = until("a step of the GPU is over", sampled)
    own.do("down")
    own.up()
    after = sampled()
    assert after is not None
    seen = {at: util for at, util in zip(before["at"], before["util"], strict=True) if util is not None}
    assert seen.items() <= dict(zip(after["at"], after["util"], strict=True)).items()
    assert after["mem_used_mib"][after["util"].index(max(filter(None, after["util"])))] > 0
    length = len(going["at"])
    until("it goes on", lambda: len(course(own, job)["at"]) > length)
    assert course(own, job)["at"][:length] == going["at"]
    own.do("kill", "--now", job)
    own.ends(job, "killed")
    assert len(course(own, job)["at"]) >= length
    assert own.json("usage")["users"][0]["jobs"][-1] == 1
    hours = own.json("usage")["users"][0]["gpu_hours"][-1]
    assert 0 < hours < 2
    assert own.do("usage").splitlines()[0].split()[-3:] == ["TOTAL", "JOBS", "WAITED"]
    own.do("rm", job)
    assert own.http("GET", f"/jobs/{job}/samples").status == 404
    assert own.json("usage")["users"][0]["gpu_hours"][-1] == hours


def test_no_usage_is_said_plainly(own: Box) -> None:
    ran = own.run("usage")
    assert (ran.code, ran.out, ran.err) == (0, "", "no GPU usage in this time\n")
    assert own.refused(2, "usage", "--weeks", "none") == (
        "roost: --weeks none: must be a whole number\nhint: roost usage --help\n"
    )
    assert own.refused(2, "usage", "--weeks", 1000) == "roost: weeks must be at most 520, not 1000\n"
    assert own.refused(2, "usage", "--user", "a/b").startswith("roost: invalid user name 'a/b'\n")
