"""NVIDIA GPUs through NVML; a MIG slice is a GPU of its own. Opened only in the sampler: loading the library can hang."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from roost.node.gpus.driver import DriverError, Gpu, GpuProcess, Reading
from roost.node.system.device_filter import Device, gpu_device, mig_devices


class _Device(NamedTuple):
    handle: Any
    parent: Any
    is_mig: bool


class NvmlDriver:
    """NVML. Opening it raises `DriverError` where there is no driver or no library."""

    def __init__(self) -> None:
        try:
            import pynvml
        except ImportError as problem:
            raise DriverError(f"no NVML bindings: {problem}") from None
        self._nvml = pynvml
        self._call(pynvml.nvmlInit)
        self._devices: Dict[str, _Device] = {}

    def list(self) -> List[Gpu]:
        nvml = self._nvml
        cards: List[Tuple[int, Any]] = []
        for index in range(self._call(nvml.nvmlDeviceGetCount)):
            handle = self._try(nvml.nvmlDeviceGetHandleByIndex, index)
            if handle is not None:
                cards.append((index, handle))
        devices: Dict[str, _Device] = {}
        whole = [(index, card) for index, card in cards if not self._is_mig(card)]
        gpus = [self._describe(index, _Device(card, card, False), devices) for index, card in whole]
        # A whole card keeps the driver's index, which CUDA uses too; slices are numbered behind the cards.
        following = len(cards) if gpus else 0
        for _, card in cards:
            for slice_handle in self._slices(card):
                gpus.append(self._describe(following, _Device(slice_handle, card, True), devices))
                following += 1
        self._devices = devices
        return [gpu for gpu in gpus if gpu is not None]

    def sample(self, gpu: Gpu) -> Reading:
        nvml = self._nvml
        device = self._devices.get(gpu.uuid)
        if device is None:
            raise DriverError("the device is gone")
        memory = self._call(nvml.nvmlDeviceGetMemoryInfo, device.handle)
        rates = self._try(nvml.nvmlDeviceGetUtilizationRates, device.handle)
        power = None if device.is_mig else self._try(nvml.nvmlDeviceGetPowerUsage, device.handle)
        processes = self._call(nvml.nvmlDeviceGetComputeRunningProcesses, device.handle)
        return Reading(
            mem_used_mib=memory.used >> 20,
            util=None if rates is None else int(rates.gpu),
            temp_c=self._try(nvml.nvmlDeviceGetTemperature, device.parent, nvml.NVML_TEMPERATURE_GPU),
            power_w=None if power is None else power // 1000,
            fault=None,
            processes=[GpuProcess(int(p.pid), _mib(p.usedGpuMemory)) for p in processes],
        )

    def _describe(self, index: int, device: _Device, devices: Dict[str, _Device]) -> Optional[Gpu]:
        nvml = self._nvml
        uuid = self._try(nvml.nvmlDeviceGetUUID, device.handle)
        if uuid is None:
            return None
        memory = self._try(nvml.nvmlDeviceGetMemoryInfo, device.handle)
        name = self._try(nvml.nvmlDeviceGetName, device.handle) or "NVIDIA GPU"
        devices[_text(uuid)] = device
        mib = memory.total >> 20 if memory else 0
        return Gpu(_text(uuid), index, _text(name), mib, device.is_mig, self._files(device))

    def _files(self, device: _Device) -> Optional[Tuple[Device, ...]]:
        """The device files that open it: that of the card and, of a slice, those of its two instances."""
        nvml = self._nvml
        card = self._try(nvml.nvmlDeviceGetMinorNumber, device.parent)
        if card is None or not device.is_mig:
            return None if card is None else (gpu_device(card),)
        instance = self._try(nvml.nvmlDeviceGetGpuInstanceId, device.handle)
        compute = self._try(nvml.nvmlDeviceGetComputeInstanceId, device.handle)
        known, above = mig_devices(), f"gpu{card}/gi{instance}"
        files = [known.get(f"{above}/access"), known.get(f"{above}/ci{compute}/access")]
        return None if None in files else (gpu_device(card), *(file for file in files if file is not None))

    def _is_mig(self, card: Any) -> bool:
        mode = self._try(self._nvml.nvmlDeviceGetMigMode, card)
        return mode is not None and mode[0] == 1

    def _slices(self, card: Any) -> List[Any]:
        if not self._is_mig(card):
            return []
        count = self._try(self._nvml.nvmlDeviceGetMaxMigDeviceCount, card) or 0
        found = (self._try(self._nvml.nvmlDeviceGetMigDeviceHandleByIndex, card, n) for n in range(count))
        return [handle for handle in found if handle is not None]

    def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        try:
            return function(*args)
        except self._nvml.NVMLError as problem:
            raise DriverError(f"NVML: {problem}") from None

    def _try(self, function: Callable[..., Any], *args: Any) -> Any:
        """None for what this device does not tell (a MIG slice has no utilization): unknown, not zero."""
        try:
            return function(*args)
        except self._nvml.NVMLError:
            return None


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _mib(used: Optional[int]) -> Optional[int]:
    return None if used is None else used >> 20
