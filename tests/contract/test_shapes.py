"""The keys that programs rely on. One that goes breaks somebody: it takes a new version of the API."""

from __future__ import annotations

from tests.contract.conftest import GPUS, Api

from roost.links import messages as m

JOB = {
    "id", "name", "desc", "user", "state", "last_state", "outcome", "exit_code", "error", "command", "command_line",
    "script", "cwd", "gpus", "request", "labels", "node", "priority", "queue_position", "attempts", "reasons", "after",
    "begin_at", "time_limit_s", "submitted_at", "started_at", "ended_at", "stdout", "stderr", "retries", "retried",
    "retry_oom", "oom_retried", "retry", "preemptible", "submitter", "runs_as",
}  # fmt: skip
ATTEMPT = {
    "attempt", "run", "state", "outcome", "node", "gpu_uuids", "gpu_indices", "pid", "intended_at", "started_at", "ended_at",
    "exit_code", "error", "peak_mem_mib", "peak_rss_mib", "cpu_s", "util_mean",
}  # fmt: skip
GPU = {
    "uuid", "index", "node", "alias", "model", "mig", "mem_mib", "mem_used_mib", "mem_reserved_mib", "mem_free_mib", "util",
    "temp_c", "power_w", "slots", "drained", "disabled", "state", "reason", "jobs", "procs",
}  # fmt: skip
SERVER = {"pid", "version", "since", "uptime_s", "home", "url", "socket", "policy", "scheduling", "store", "log"}
NODE = {
    "name", "state", "reason", "pid", "program", "python", "boot", "state_dir", "sim_dir", "gpus", "cpus", "mem_mib",
    "hostname",
    "mem_available_mib", "load", "jobs", "target", "runs_as", "clock_ms", "since", "host_key", "enforces_gpus", "gpu_access",
}  # fmt: skip


WHY = {
    "version", "id", "state", "outcome", "reasons", "text",
    "ahead", "holders", "eta", "not_before", "instead", "predicted_run_s", "predicted_from",
}  # fmt: skip


async def run_one(api: Api) -> int:
    """A job that ran and failed."""
    job = await api.submit(env={"SECRET": "hunter2"})
    await api.tell(
        m.RunStarted(f"{job}.1", 77, 1000), m.RunExited(f"{job}.1", 2000, 3, pid=77, started_ms=1000, cpu_ms=1500)
    )
    return job


async def test_a_job(api: Api) -> None:
    job = await api.get(f"/jobs/{await run_one(api)}")
    assert set(job) >= JOB | {"version", "story"}
    assert (job["state"], job["outcome"], job["exit_code"], job["command"]) == ("ended", "failed", 3, ["true"])
    assert job["started_at"] == "1970-01-01T00:00:01.000Z"


async def test_an_attempt(api: Api) -> None:
    (attempt,) = (await api.get(f"/jobs/{await run_one(api)}"))["attempts"]
    assert set(attempt) >= ATTEMPT
    assert (attempt["run"], attempt["pid"], attempt["exit_code"], attempt["cpu_s"]) == ("1.1", 77, 3, 1.5)
    assert (attempt["gpu_uuids"], attempt["gpu_indices"]) == (["gpu0"], [0])


async def test_a_page(api: Api) -> None:
    job = await run_one(api)
    page = await api.get("/jobs?all=true&limit=1")
    assert set(page) == {"version", "jobs", "total", "total_at_least", "counts", "next", "nodes", "notice"}
    assert page["counts"] == {"ended": 1, "failed": 1} and [j["id"] for j in page["jobs"]] == [job]


async def test_a_waiting_job_says_why_with_data_and_words(api: Api) -> None:
    await api.submit(gpus=2)
    waiting = await api.submit(gpus=1)
    why = await api.get(f"/jobs/{waiting}/why")
    assert set(why) == WHY and why["outcome"] is None
    assert [r["code"] for r in why["reasons"]] == ["gpus_busy", "gpu_taken", "gpu_taken"]
    assert why["reasons"][1]["holders"] == [{"job": 1, "user": why["reasons"][1]["holders"][0]["user"], "state": "starting"}]
    assert "is in use by job 1" in why["text"]


async def test_the_gpus(api: Api) -> None:
    await api.submit(name="busy")
    gpus = await api.get("/gpus")
    assert set(gpus) == {"version", "gpus", "cpu", "notice"} and set(gpus["cpu"]) == {"slots", "used"}
    assert all(set(gpu) >= GPU for gpu in gpus["gpus"]) and len(gpus["gpus"]) == len(GPUS)
    assert [gpu["state"] for gpu in gpus["gpus"]] == ["used", "free"]
    assert set(gpus["gpus"][0]["jobs"][0]) == {"id", "user", "name", "state", "mem_mib"}


async def test_a_foreign_process_is_named(api: Api) -> None:
    stranger = m.ProcessInfo(4242, None, "eve", "python mine.py", 500)
    await api.tell(m.Sample(0, m.HostSample(60_000, 64_000), [m.GpuSample("gpu0", 500, 9, procs=[stranger])]))
    gpu = (await api.get("/gpus"))["gpus"][0]
    assert gpu["state"] == "foreign"
    assert gpu["procs"] == [{"pid": 4242, "user": "eve", "command": "python mine.py", "mem_mib": 500, "job": None}]


async def test_the_status(api: Api) -> None:
    status = await api.get("/status")
    assert set(status) >= {"version", "server_pid", "node_pid", "server", "nodes", "jobs", "gpus", "health"}
    assert set(status["server"]) >= SERVER and set(status["nodes"][0]) >= NODE
    assert status["gpus"]["total"] == 2


async def test_the_settings(api: Api) -> None:
    (row, *_) = (await api.get("/settings"))["settings"]
    assert set(row) == {"key", "value", "default", "meaning", "type", "minimum", "maximum", "unit", "choices", "was"}


async def test_an_environment_is_shown_nowhere_but_where_it_is_asked_for(api: Api) -> None:
    job = await run_one(api)
    for path in (f"/jobs/{job}", "/jobs?all=true", "/status", "/gpus", f"/jobs/{job}/why"):
        assert b"hunter2" not in (await api.call("GET", path)).body
    assert (await api.get(f"/jobs/{job}/env"))["env"] == {"SECRET": "hunter2"}


async def test_a_dry_run_says_what_would_happen_and_queues_nothing(api: Api) -> None:
    body = {"jobs": [{"command": ["true"]}, {"command": ["true"], "gpus": 2, "hold": True}], "dry_run": True}
    answer = await api.call("POST", "/jobs", body)
    assert [job["would"] for job in answer.json["jobs"]] == ["start", "wait"]
    assert (await api.get("/jobs"))["jobs"] == []


async def test_a_dry_run_of_several_gives_nothing_away_twice(api: Api) -> None:
    jobs = [{"command": ["true"]}, {"command": ["true"], "gpus": 2}, {"command": ["true"]}, {"command": ["true"]}]
    said = (await api.post("/jobs", {"jobs": jobs, "dry_run": True}))["jobs"]
    assert [job["would"] for job in said] == ["start", "wait", "start", "wait"]
    assert sorted(said[0]["gpus"] + said[2]["gpus"]) == [0, 1]
    assert [job["reasons"][0]["text"] for job in (said[1], said[3])] == [
        "1 job ahead in the queue",
        "2 jobs ahead in the queue",
    ]


async def test_what_was_asked_for_can_be_asked_for_again(api: Api) -> None:
    asked = {"command": ["go.sh", "a b"], "script": "echo $1", "gpus": 1, "mem_mib": 800, "notify": ["fail"], "grace_s": 5}
    job = await api.submit(**asked, env={"SECRET": "hunter2"})
    spec = (await api.get(f"/jobs/{job}/spec"))["spec"]
    assert {key: spec.get(key, 1) for key in asked} == asked and "env" not in spec
    again = await api.submit(**spec)
    assert (await api.get(f"/jobs/{again}/spec"))["spec"] == spec


async def test_a_point_of_a_sweep_asked_for_again_is_a_job_of_its_own(api: Api) -> None:
    made = await api.post("/sweeps", {"job": {"command": "echo {x}"}, "params": {"x": "1,2"}})
    spec = (await api.get(f"/jobs/{made['ids'][0]}/spec"))["spec"]
    assert spec["command"] == "echo 1" and not {"sweep", "point"} & set(spec)


async def test_a_submit_that_is_asked_twice_under_one_key_is_made_once(api: Api) -> None:
    body = {"jobs": [{"command": ["true"]}] * 2, "key": "made-once"}
    assert (await api.post("/jobs", body))["ids"] == (await api.post("/jobs", body))["ids"] == [1, 2]


async def test_the_openapi_document_describes_every_route(api: Api) -> None:
    document = await api.get("/openapi.json")
    assert {"/api/v1/jobs", "/api/v1/jobs/actions", "/api/v1/gpus", "/api/v1/status"} <= set(document["paths"])
    assert "JobSpec" in document["components"]["schemas"]


async def test_every_answer_carries_a_version_or_is_plain(api: Api) -> None:
    for path in ("/jobs", "/gpus", "/status", "/settings", "/policy", "/nodes", "/users", "/users/ana"):
        assert (await api.get(path))["version"] == 1


async def test_lines_are_read_as_submit_reads_them(api: Api) -> None:
    job = await api.submit(name="first")
    text = "# a comment\n\n-g 2 --env A=1 -C sub python t.py --lr 1\n--after @ echo $A\n--after nobody echo\n-g many echo\n"
    read = await api.post("/jobs/lines", {"text": text, "job": {"cwd": "/work", "labels": ["x"], "env": {"B": "2"}}})
    known = [(line["line"], line["problem"] is None) for line in read["lines"]]
    assert known == [(3, True), (4, True), (5, False), (6, False)]
    first, second = (line["job"] for line in read["lines"][:2])
    assert (first["gpus"], first["command"], first["cwd"]) == (2, ["python", "t.py", "--lr", "1"], "/work/sub")
    assert first["labels"] == ["x"] and read["envs"][first["env"]] == {"A": "1", "B": "2"}
    assert (second["after"], second["command"], read["envs"][second["env"]]) == ([job], "echo $A", {"B": "2"})
    assert (await api.post("/jobs", {"jobs": [second], "envs": read["envs"]}))["ids"] == [job + 1]


async def test_what_lines_may_wait_for_is_bounded(api: Api) -> None:
    text = "\n".join(["--after 1-90000 true"] * 1000)
    read = await api.post("/jobs/lines", {"text": text})
    assert sum(len(line["job"]["after"]) for line in read["lines"] if line["job"]) <= 200_000
    assert "more than" in read["lines"][-1]["problem"]
