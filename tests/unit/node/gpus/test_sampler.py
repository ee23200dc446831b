"""Threads around drivers that hang, fail and heal; and whose a process is."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from roost.node.gpus import sampler as samplers
from roost.node.gpus.driver import DriverError, Gpu, GpuProcess, Reading
from roost.node.gpus.sampler import Identifier, Sampler
from roost.node.system.procfs import is_becoming

A, B = (Gpu(f"GPU-{name}", index, "x", 10, False) for index, name in enumerate("ab"))


class FakeDriver:
    """Two cards; `gate` closed makes a call for the first one hang."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.gpus = [A, B]
        self.fault: str | None = None

    def list(self) -> list[Gpu]:
        return self.gpus

    def sample(self, gpu: Gpu) -> Reading:
        if gpu == A:
            self.gate.wait()
        if gpu == B and self.fault:
            raise DriverError(self.fault)
        return Reading(1, 2, 3, 4, None, [GpuProcess(os.getpid(), 5)])


def _until(condition: Callable[[], Any]) -> Any:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.002)
    raise AssertionError("never happened")


def test_a_hung_card_is_a_fault_of_its_own_and_heals(monkeypatch: Any) -> None:
    monkeypatch.setattr(samplers, "_FAULT_AFTER_S", 0.2)
    driver = FakeDriver()
    sampler = Sampler(lambda: driver, Identifier("x"))
    assert _until(sampler.changed_gpus) == [A, B]
    assert sampler.changed_gpus() is None
    first, second = sampler.sample()
    assert (first["mem_used_mib"], first["fault"], second["procs"][0]["mem_mib"]) == (1, None, 5)
    driver.gate.clear()
    hung = _until(lambda: [gpu for gpu in sampler.sample() if gpu["fault"]])
    assert [gpu["uuid"] for gpu in hung] == [A.uuid]
    assert "driver does not answer for" in hung[0]["fault"]
    driver.fault = "lost"
    assert _until(lambda: sampler.sample()[1]["fault"]) == "lost"
    driver.gate.set()
    driver.fault = None
    _until(lambda: not [gpu for gpu in sampler.sample() if gpu["fault"]])


def test_a_driver_that_cannot_be_opened_is_no_gpu() -> None:
    def refuse() -> None:
        raise DriverError("no driver")

    sampler = Sampler(refuse, Identifier("x"))
    assert _until(lambda: sampler.changed_gpus() == [])
    assert sampler.sample() == []


def test_a_process_is_a_runs_by_its_tag_or_a_persons() -> None:
    identifier = Identifier("me")
    for tag, run in (("me:7.1", "7.1"), ("other:7.1", None), ("me:", None)):
        with subprocess.Popen(["cat"], env={"ROOST_RUN": tag}, stdin=subprocess.PIPE) as child:
            while is_becoming(child.pid):
                pass
            found = _until(partial(identifier.describe, GpuProcess(child.pid, 3)))
        assert (found["run"], found["mem_mib"], bool(found["user"])) == (run, 3, True)
    assert identifier.describe(GpuProcess(child.pid, 3)) is None
