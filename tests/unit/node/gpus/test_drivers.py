"""The adapters to drivers, as far as they can be known without a card: texts, sizes, simulated files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from roost.node.gpus.driver import DriverError, Gpu, GpuProcess
from roost.node.gpus.nvidia_smi import parse_gpus, parse_processes, parse_reading
from roost.node.gpus.nvml import NvmlDriver
from roost.node.gpus.simulated import SimDriver, parse_mib, parse_sim_spec
from roost.node.runs.environment import gpu_variables
from roost.node.system.procfs import read_stat


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("4x24G", [24576] * 4),
        ("4", [24576] * 4),
        ("2x80G,1x24G", [81920, 81920, 24576]),
        ("1x800M", [800]),
        ("lab:2x1G", [1024] * 2),
        ("0", []),
    ],
)
def test_specifications(text: str, sizes: list[int]) -> None:
    assert parse_sim_spec(text) == sizes


@pytest.mark.parametrize(
    "text",
    ["", "x", "24G", "4x", "4xG", "-1", "4x24G;2", "4x-1G", "99999x1G,99999x1G", ":4", "a b:4", "../x:4", "7:4", "lab:"],
)
def test_what_is_no_specification(text: str) -> None:
    if text == "4x":  # the size may be left out
        assert len(parse_sim_spec(text)) == 4
        return
    with pytest.raises(ValueError, match=r".+"):
        parse_sim_spec(text)


@pytest.mark.parametrize("text", [":4", "a b:4", "../x:4", "7:4", "lab:", "x" * 33 + ":4"])
def test_what_is_no_name_of_a_simulation(text: str) -> None:
    with pytest.raises(ValueError, match="simulat"):
        parse_sim_spec(text)


def test_sizes() -> None:
    assert [parse_mib(text) for text in ("6G", "6g", "6GiB", "1.5G", "800M", "1T", "6")] == [
        6144, 6144, 6144, 1536, 800, 1048576, 6144,
    ]  # fmt: skip


@pytest.fixture
def sim(tmp_path: Path) -> SimDriver:
    return SimDriver(str(tmp_path), "abcd", "2x24G")


def test_cards_of_a_simulation_with_a_name_are_the_same_everywhere(tmp_path: Path) -> None:
    first, second = (SimDriver(str(tmp_path / name), name, "lab:2x24G") for name in ("a", "b"))
    assert [gpu.uuid for gpu in first.list()] == ["SIM-lab-0", "SIM-lab-1"]
    assert first.list() == second.list()


def test_what_works_for_a_simulation_without_a_name_has_its_cards(tmp_path: Path) -> None:
    own = SimDriver(str(tmp_path / "own"), "0badcafe", "2x24G")
    assert own.list() == SimDriver(str(tmp_path / "login"), "12345678", "0badcafe:2x24G").list()


def _occupy(folder: Path, pid: int, starttime: int, **fields: Any) -> Path:
    use = {"pid": pid, "starttime": starttime, "gpu": "SIM-abcd-1", "mem_mib": 100, "util": 70, **fields}
    path = folder / "procs" / f"{pid}-{starttime}-1.json"
    path.write_text(json.dumps(use))
    return path


def test_simulated_processes_are_counted_and_dead_ones_dropped(sim: SimDriver, tmp_path: Path) -> None:
    me = read_stat(os.getpid())
    assert me is not None
    _occupy(tmp_path, me.pid, me.starttime)
    dead = _occupy(tmp_path, me.pid, me.starttime + 1)
    broken = tmp_path / "procs" / "broken.json"
    broken.write_text("{")
    first, second = sim.list()
    assert sim.sample(first).processes == []
    reading = sim.sample(second)
    assert (reading.mem_used_mib, reading.util, reading.processes) == (100, 70, [GpuProcess(me.pid, 100)])
    assert not dead.exists()


def test_a_simulated_fault_has_its_text(sim: SimDriver, tmp_path: Path) -> None:
    (tmp_path / "fault-0").write_text("Xid 79\n")
    with pytest.raises(DriverError, match="Xid 79"):
        sim.sample(sim.list()[0])


def test_nvidia_smi_is_understood() -> None:
    text = "1, GPU-b, NVIDIA A100-SXM4-80GB, 81920\n0, GPU-a, NVIDIA A100-SXM4-80GB, 81920\n"
    assert [gpu.uuid for gpu in parse_gpus(text)] == ["GPU-a", "GPU-b"]
    reading = parse_reading("1024, 35, 40, 71.23\n", parse_processes("123, 1000\n456, [N/A]\nNo running processes\n"))
    assert reading == (1024, 35, 40, 71, None, [GpuProcess(123, 1000), GpuProcess(456, None)])
    assert parse_reading("1024, [N/A], 40, [Not Supported]", [])[:4] == (1024, None, 40, None)
    with pytest.raises(DriverError):
        parse_reading("Unable to determine the device handle", [])


class FakeNvml:
    """NVML as its bindings show it: one whole card, one cut into two slices that tell no utilization."""

    NVML_TEMPERATURE_GPU = 0

    class NVMLError(Exception):
        pass

    def __init__(self, mig: list[int]) -> None:
        self._mig = mig

    def nvmlDeviceGetCount(self) -> int:
        return len(self._mig)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:
        return f"{index}"

    def nvmlDeviceGetMigMode(self, handle: str) -> tuple[int, int]:
        if self._mig[int(handle)] < 0:
            raise self.NVMLError("Not Supported")
        return (1 if self._mig[int(handle)] else 0, 0)

    def nvmlDeviceGetMaxMigDeviceCount(self, handle: str) -> int:
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: str, number: int) -> str:
        if number >= self._mig[int(handle)]:
            raise self.NVMLError("Not Found")
        return f"{handle}/{number}"

    def nvmlDeviceGetUUID(self, handle: str) -> bytes:
        return f"{'MIG' if '/' in handle else 'GPU'}-{handle}".encode()

    def nvmlDeviceGetMinorNumber(self, handle: str) -> int:
        return 4 + int(handle)

    def nvmlDeviceGetGpuInstanceId(self, handle: str) -> int:
        return 7 + int(handle[2:])

    def nvmlDeviceGetComputeInstanceId(self, handle: str) -> int:
        return 0

    def nvmlDeviceGetName(self, handle: str) -> str:
        return "NVIDIA H200"

    def nvmlDeviceGetMemoryInfo(self, handle: str) -> SimpleNamespace:
        return SimpleNamespace(total=16 << 30, used=3 << 20)

    def nvmlDeviceGetUtilizationRates(self, handle: str) -> SimpleNamespace:
        if "/" in handle:
            raise self.NVMLError("Not Supported")
        return SimpleNamespace(gpu=55)

    def nvmlDeviceGetTemperature(self, handle: str, kind: int) -> int:
        return 40

    def nvmlDeviceGetPowerUsage(self, handle: str) -> int:
        return 123_456

    def nvmlDeviceGetComputeRunningProcesses(self, handle: str) -> list[SimpleNamespace]:
        return [SimpleNamespace(pid=9, usedGpuMemory=None), SimpleNamespace(pid=10, usedGpuMemory=2 << 30)]


def _driver(mig: list[int]) -> NvmlDriver:
    driver = NvmlDriver.__new__(NvmlDriver)
    driver._nvml = FakeNvml(mig)
    driver._devices = {}
    return driver


def test_slices_are_gpus_and_whole_cards_keep_their_index() -> None:
    assert [(g.uuid, g.index, g.mig) for g in _driver([-1, 2, 0]).list()] == [
        ("GPU-0", 0, False),
        ("GPU-2", 2, False),
        ("MIG-1/0", 3, True),
        ("MIG-1/1", 4, True),
    ]
    assert [(g.uuid, g.index) for g in _driver([3]).list()] == [("MIG-0/0", 0), ("MIG-0/1", 1), ("MIG-0/2", 2)]


def test_a_gpu_knows_the_device_files_that_open_it(monkeypatch: pytest.MonkeyPatch) -> None:
    named = {"gpu5/gi7/access": (235, 66), "gpu5/gi7/ci0/access": (235, 67), "gpu5/gi8/access": (235, 75)}
    monkeypatch.setattr("roost.node.gpus.nvml.mig_devices", lambda: named)
    assert [gpu.devices for gpu in _driver([-1, 2]).list()] == [((195, 4),), ((195, 5), (235, 66), (235, 67)), None]


def test_what_a_slice_does_not_tell_is_unknown() -> None:
    driver = _driver([-1, 1])
    card, piece = driver.list()
    assert driver.sample(card)[:5] == (3, 55, 40, 123, None)
    assert driver.sample(piece)[:5] == (3, None, 40, None, None)
    assert driver.sample(card).processes == [GpuProcess(9, None), GpuProcess(10, 2048)]
    with pytest.raises(DriverError, match="gone"):
        driver.sample(Gpu("GPU-9", 9, "", 0, False))


def test_the_variables_of_a_slice_are_uuids() -> None:
    card, piece = Gpu("GPU-0", 0, "", 0, False), Gpu("MIG-x", 3, "", 0, True)
    assert gpu_variables([card])["CUDA_VISIBLE_DEVICES"] == "0"
    assert gpu_variables([piece])["CUDA_VISIBLE_DEVICES"] == "MIG-x"
    assert gpu_variables([piece])["ROOST_GPUS"] == "MIG-x"
    assert gpu_variables([])["CUDA_VISIBLE_DEVICES"] == ""
