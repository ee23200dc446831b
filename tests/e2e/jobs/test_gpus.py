"""Who gets which GPU: sharing, strangers, faults, and what is written down about it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.box import Box, until


def test_more_than_there_are_is_refused_in_one_line(box: Box) -> None:
    ran = box.run("submit", "-g", 99, "true")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "roost: 99 GPUs requested; this machine has 4\n"
    assert box.json("ls", "--all")["jobs"] == []


def test_a_job_sees_the_gpus_that_it_was_given(box: Box) -> None:
    names = (
        "CUDA_DEVICE_ORDER CUDA_VISIBLE_DEVICES NVIDIA_VISIBLE_DEVICES ROOST_JOB_ID ROOST_ATTEMPT ROOST_GPUS ROOST_JOB_NAME"
    )
    job = box.submit("--gpu-id", "3,1", "--name", "look", f'for n in {names}; do eval echo "$n=\\$$n"; done; pwd')
    found = box.ends(job, "succeeded")["attempts"][0]
    assert sorted(found["gpu_indices"]) == [1, 3]
    given = ",".join(map(str, found["gpu_indices"]))
    assert box.log(job).splitlines() == [
        "CUDA_DEVICE_ORDER=PCI_BUS_ID",
        f"CUDA_VISIBLE_DEVICES={given}",
        f"NVIDIA_VISIBLE_DEVICES={','.join(found['gpu_uuids'])}",
        f"ROOST_JOB_ID={job}",
        "ROOST_ATTEMPT=1",
        f"ROOST_GPUS={given}",
        "ROOST_JOB_NAME=look",
        str(box.work),
    ]


def test_places_in_the_command_are_filled_in_on_request(box: Box) -> None:
    line = "echo {gpus} {gpu} {job} {port}"
    plain = box.submit(line)
    filled = box.submit("--fill", "--gpu-id", "2,0", line)
    other = box.submit("--fill", "-g", 1, "echo", "a {job} b", "{port}")
    box.ends(plain, "succeeded")
    assert box.log(plain) == line.removeprefix("echo ") + "\n"
    box.ends(filled, "succeeded")
    gpus, gpu, job, port = box.log(filled).split()
    assert set(gpus.split(",")) == {"0", "2"}
    assert (gpu, job) == (gpus.split(",")[0], str(filled))
    assert 1024 < int(port) < 65536
    box.ends(other, "succeeded")
    assert box.log(other).startswith(f"a {other} b ")


def test_jobs_without_a_gpu_see_none(box: Box) -> None:
    job = box.submit("-g", 0, 'echo "[$CUDA_VISIBLE_DEVICES] [$ROOST_GPUS]"')
    box.ends(job, "succeeded")
    assert box.log(job) == "[] []\n"


# Waiting and passing


def test_zero_gpu_jobs_neither_wait_for_gpus_nor_jump_their_own_line(box: Box) -> None:
    slots = box.json("gpus")["cpu"]["slots"]
    box.submit("-g", 4, "sleep", 1000)
    waiting = box.submit("-g", 1, "true")
    running = [box.submit("-g", 0, "sleep", 1000) for _ in range(slots)]
    for job in running:
        box.comes_to(job, "running")
    behind = [box.submit("-g", 0, f"echo {n} >> order") for n in range(3)]
    assert [box.state(job) for job in (waiting, *behind)] == ["queued"] * 4
    assert "CPU" in box.why(behind[0])
    box.do("kill", "--now", running[0])
    for job in behind:
        box.ends(job, "succeeded")
    assert box.text_in("order", 3) == ["0", "1", "2"]
    assert box.state(waiting) == "queued"


def test_a_small_job_passes_a_big_one_that_cannot_run_and_why_says_who_holds_what(box: Box) -> None:
    holder = box.submit("--gpu-id", 0, "--name", "holder", "sleep", 1000)
    box.comes_to(holder, "running")
    big = box.submit("-g", 4, "true")
    why = box.why(big)
    assert "4" in why
    assert "3" in why
    assert str(holder) in why
    reasons = box.job(big)["reasons"]
    assert reasons
    assert all(reason["text"] and reason["code"] for reason in reasons)
    box.do("kill", "--now", holder)
    box.ends(big, "succeeded")


def test_a_freed_gpu_is_refilled_at_once(box: Box) -> None:
    """By what the jobs themselves wrote; the bound is generous, a timer would show."""
    box.do("scheduler", "pause")
    jobs = [box.submit("--gpu-id", 0, "date +%s%N >> times; date +%s%N >> times") for _ in range(8)]
    box.do("scheduler", "resume")
    for job in jobs:
        box.ends(job, "succeeded")
    times = [int(line) for line in box.text_in("times", 16)]
    gaps = sorted((begin - end) / 1e6 for end, begin in zip(times[1::2], times[2::2], strict=False))
    assert gaps[len(gaps) // 2] < 250, gaps


# Sharing


def test_jobs_share_a_gpu_by_memory(box: Box) -> None:
    sharing = [box.submit("--gpu-id", 0, "--mem", "10G", "sleep", 1000) for _ in range(3)]
    for job in sharing[:2]:
        box.comes_to(job, "running")
    assert box.state(sharing[2]) == "queued"
    why = box.why(sharing[2])
    assert "10" in why
    gpu = box.gpu(0)
    assert gpu["mem_reserved_mib"] == 20 * 1024
    assert [job["id"] for job in gpu["jobs"]] == sharing[:2]
    whole = box.submit("--gpu-id", 0, "true")
    box.do("kill", "--now", sharing[0])
    box.comes_to(sharing[2], "running")
    assert box.state(whole) == "queued"


def test_a_reservation_counts_before_the_job_uses_any_of_it(box: Box) -> None:
    """Two that start at the same moment must not both see the same free memory."""
    box.do("scheduler", "pause")
    jobs = [box.submit("--mem", "20G", "roost sim-job --mem 20G --seconds 0.5") for _ in range(6)]
    box.do("scheduler", "resume")
    for job in jobs:
        box.ends(job, "succeeded")


def test_slots_let_whole_jobs_share(box: Box) -> None:
    box.do("gpu", "set", 0, "--slots", 2)
    jobs = [box.submit("--gpu-id", 0, "sleep", 1000) for _ in range(3)]
    for job in jobs[:2]:
        box.comes_to(job, "running")
    assert box.state(jobs[2]) == "queued"
    exclusive = box.submit("--gpu-id", 0, "--exclusive", "-p", 5, "true")
    box.do("kill", "--now", jobs[0], jobs[2])
    box.ends(jobs[0])
    assert box.state(exclusive) == "queued"
    box.do("kill", "--now", jobs[1])
    box.ends(exclusive, "succeeded")


def test_forced_and_preferred_gpus(box: Box) -> None:
    box.do("gpu", "set", 2, "--alias", "quiet")
    preferred = box.submit("--prefer-gpu", "quiet", "sleep", 1000)
    assert box.comes_to(preferred, "running")["attempts"][0]["gpu_indices"] == [2]
    second = box.submit("--prefer-gpu", 2, "sleep", 1000)
    assert box.comes_to(second, "running")["attempts"][0]["gpu_indices"] != [2]
    forced = box.submit("--gpu-id", "quiet", "true")
    assert box.state(forced) == "queued"
    assert "there is no GPU 7" in box.refused(2, "submit", "--gpu-id", 7, "true")
    box.do("kill", "--now", preferred)
    assert box.ends(forced, "succeeded")["attempts"][0]["gpu_indices"] == [2]
    box.do("gpu", "set", 2, "--alias", "")


def test_max_util_keeps_away_from_busy_gpus(box: Box) -> None:
    busy = box.submit("--gpu-id", 0, "--mem", "4G", "roost sim-job --mem 1G --util 90 --seconds 1000")
    box.comes_to(busy, "running")
    until("the load is seen", lambda: box.gpu(0)["util"] == 90, shown=lambda: box.gpu(0))
    picky = box.submit("--gpu-id", 0, "--mem", "4G", "--max-util", 30, "true")
    assert box.state(picky) == "queued"
    assert "90" in box.why(picky)
    anywhere = box.submit("--mem", "4G", "--max-util", 30, "true")
    assert box.ends(anywhere, "succeeded")["attempts"][0]["gpu_indices"] != [0]
    box.do("kill", "--now", busy)
    box.ends(picky, "succeeded")


# Strangers


@contextmanager
def stranger(box: Box, gpu: int, mem: str) -> Iterator[int]:
    """A process on a simulated GPU that Roost did not start."""
    process = box.background("sim-job", "--gpu", gpu, "--mem", mem, "--seconds", 1000)
    try:
        box.gpu_comes_to(gpu, "foreign")
        yield process.pid
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_a_foreign_process_is_named_and_holds_its_gpu(box: Box) -> None:
    box.do("drain", "1", "2", "3")
    with stranger(box, 0, "6G") as pid:
        waiting = box.submit("true")
        fits = box.submit("--mem", "12G", "sleep", 1000)
        too_big = box.submit("--mem", "20G", "true")
        box.comes_to(fits, "running")
        seen = box.gpu(0)["procs"]
        assert [(p["pid"], p["mem_mib"], p["job"]) for p in seen] == [(pid, 6 * 1024, None)]
        assert "sim-job" in seen[0]["command"]
        assert str(pid) in box.do("gpus")
        for job in (waiting, too_big):
            assert box.state(job) == "queued"
        why = box.why(waiting)
        assert str(pid) in why
        assert "sim-job" in why
        box.do("kill", "--now", fits)
        box.ends(fits, "killed")
        assert box.state(waiting) == "queued"
    box.ends(waiting, "succeeded")
    box.ends(too_big, "succeeded")


# Faults


def test_a_faulty_gpu_is_set_aside_and_the_others_go_on(box: Box) -> None:
    box.do("sim-gpu", 2, "--fault", "ECC error")
    gpu = box.gpu_comes_to(2, "fault")
    assert "ECC error" in gpu["reason"]
    forced = box.submit("--gpu-id", 2, "true")
    assert "ECC error" in box.why(forced)
    three = box.submit("-g", 3, "true")
    assert box.ends(three, "succeeded")["attempts"][0]["gpu_indices"] == [0, 1, 3]
    box.do("sim-gpu", 2, "--ok")
    box.ends(forced, "succeeded")


def test_a_hung_driver_stalls_nobody(box: Box) -> None:
    box.do("sim-gpu", 2, "--hang")
    began = time.monotonic()
    jobs = [box.submit("--gpu-id", gpu, "true") for gpu in (0, 1, 3)]
    for job in jobs:
        box.ends(job, "succeeded")
    box.json("status")
    assert time.monotonic() - began < 10
    gpu = box.gpu_comes_to(2, "fault")
    assert "not answer" in gpu["reason"]
    waiting = box.submit("--gpu-id", 2, "true")
    assert "not answer" in box.why(waiting)
    box.do("sim-gpu", 2, "--ok")
    box.ends(waiting, "succeeded")


def test_a_driver_that_hangs_while_the_server_starts(own: Box) -> None:
    own.do("sim-gpu", 1, "--hang")
    own.kill_server()
    own.kill_all_nodes()
    own.up()
    job = own.submit("--gpu-id", 0, "true")
    own.ends(job, "succeeded")
    own.do("sim-gpu", 1, "--ok")
    own.gpu_comes_to(1, "free")


def test_disabled_and_drained_gpus_take_nothing_new(box: Box) -> None:
    running = box.submit("--gpu-id", 0, "sleep", 1000)
    box.comes_to(running, "running")
    box.do("gpu", "drain", 0, 1)
    box.do("gpu", "disable", 3)
    assert box.state(running) == "running"
    assert [box.gpu(gpu)["state"] for gpu in (1, 3)] == ["drained", "disabled"]
    two = box.submit("-g", 2, "true")
    assert box.state(two) == "queued"
    assert "drained" in box.why(two)
    assert "3" in box.refused(2, "submit", "-g", 4, "true")
    box.do("gpu", "undrain", 1)
    assert box.ends(two, "succeeded")["attempts"][0]["gpu_indices"] == [1, 2]


# What is written down


def test_the_peak_of_memory_is_recorded(box: Box) -> None:
    job = box.submit("roost sim-job --mem 6G --seconds 2")
    found = box.ends(job, "succeeded")["attempts"][0]
    assert found["peak_mem_mib"] == 6 * 1024
    assert found["cpu_s"] > 0


def test_out_of_memory_is_an_outcome_of_its_own(box: Box) -> None:
    job = box.submit("roost sim-job --mem 6G --oom")
    found = box.ends(job, "out_of_memory")
    assert found["exit_code"] == 1
    assert "out of memory" in box.do("log", job, "--err")
    assert box.run("wait", job).code == 1


def test_a_simulated_job_exits_as_it_is_told(box: Box) -> None:
    assert box.run("run", "roost sim-job --seconds 0 --exit 3").code == 3
