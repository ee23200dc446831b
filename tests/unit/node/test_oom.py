"""Which last words mean that a GPU had too little memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from roost.node.oom import find_gpu_oom, gpu_oom_line, host_oom_kills

IS_OOM = [
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.",
    "RuntimeError: CUDA out of memory. Tried to allocate 512.00 MiB (GPU 0; 10.76 GiB total capacity)",
    "RuntimeError: CUDA error: out of memory",
    "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
    "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    "E0000 cuda_driver.cc:1002] failed to allocate 2.2K: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 137438953472 bytes.",
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with shape[256,1024]",
    "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,000,000,512 bytes",
    "torch.cuda.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB",
    "cudaMalloc failed: out of memory",
    "ggml_cuda_host_malloc: CUDA error 2: out of memory",
]
IS_NOT = [
    "",
    "Traceback (most recent call last):\nValueError: bad value",
    "MemoryError",
    "I have run out of memory lane",
    "using 12 GB of CUDA memory",
    "RuntimeError: CUDA error: an illegal memory access was encountered",
]


@pytest.mark.parametrize("text", IS_OOM)
def test_these_are(text: str) -> None:
    assert gpu_oom_line(f"step 1\n{text}\n".encode()) == text


@pytest.mark.parametrize("text", IS_NOT)
def test_these_are_not(text: str) -> None:
    assert gpu_oom_line(text.encode()) is None


def test_only_the_end_of_the_logs_counts(tmp_path: Path) -> None:
    early, late = tmp_path / "early", tmp_path / "late"
    early.write_bytes(b"CUDA out of memory, retrying\n" + b"x\n" * 20_000)
    late.write_bytes(b"x\n" * 20_000 + b"CUDA out of memory")
    assert find_gpu_oom([str(early), "/nonexistent", "/dev/null", str(tmp_path)]) is None
    assert find_gpu_oom([str(early), str(late)]) == "CUDA out of memory"


def test_the_kernels_count_is_a_number() -> None:
    assert host_oom_kills() >= 0
