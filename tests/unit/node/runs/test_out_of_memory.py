"""Which last words mean that there was too little memory, and which do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.builders import in_english

from roost.node.runs.out_of_memory import GPU, HOST, find_oom, judge_text
from roost.node.system.host import host_oom_kills

TRACEBACK = 'Traceback (most recent call last):\n  File "train.py", line 7, in <module>\n    step()\n'
CHAIN = "\nDuring handling of the above exception, another exception occurred:\n\n"
TORCH = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB."

ON_THE_GPU = [
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB",
    TORCH,
    "RuntimeError: CUDA out of memory. Tried to allocate 512.00 MiB (GPU 0; 10.76 GiB total capacity)",
    "RuntimeError: CUDA error: out of memory",
    "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
    "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    "E0000 cuda_driver.cc:1002] failed to allocate 2.2K: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 137438953472 bytes.",
    "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 64.00GiB.",
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with shape[256,1024]",
    "ResourceExhaustedError: {{function_node __wrapped__Mul}} failed to allocate memory [Op:Mul]",
    "2024-05-01 W bfc_allocator.cc:497] OOM when allocating tensor with shape[64,3,512,512]",
    "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,000,000,512 bytes",
    "torch.cuda.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB",
    "cudaMalloc failed: out of memory",
    "ggml_cuda_host_malloc: CUDA error 2: out of memory",
]
ON_THE_HOST = [
    "MemoryError",
    "MemoryError: Unable to allocate 745. GiB for an array with shape (100000, 1000000) and data type float64",
    "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 74.5 GiB for an array",
    "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc",
    "OSError: [Errno 12] Cannot allocate memory",
    "RuntimeError: [enforce fail at alloc_cpu.cpp:83] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 1",
]
IS_NEITHER = [
    "",
    f"{TRACEBACK}ValueError: bad value",
    "I have run out of memory lane",
    "using 12 GB of CUDA memory",
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    "grpc: RESOURCE_EXHAUSTED: quota of requests per minute",
    "caught a MemoryError, went on",
    f"CUDA out of memory, halving the batch\nstep 2\n{TRACEBACK}KeyError: 'loss'",
    f"{TRACEBACK}{TORCH}\nskipped this batch\n{TRACEBACK}TypeError: unsupported operand",
]


@pytest.mark.parametrize("text", ON_THE_GPU)
def test_these_mean_the_gpu(text: str) -> None:
    for words in (text, f"step 1\n{TRACEBACK}{text}\n"):
        found = judge_text(words.encode(), b"")
        assert found is not None and found.memory == GPU
        assert "out of memory (from the log): " in in_english(found.text) and in_english(found.text).endswith(text)


@pytest.mark.parametrize("text", ON_THE_HOST)
def test_these_mean_the_host(text: str) -> None:
    found = judge_text(f"step 1\n{TRACEBACK}{text}\n".encode(), b"")
    assert (
        found is not None
        and found.memory == HOST
        and in_english(found.text).startswith("out of host memory (from the log): ")
    )


@pytest.mark.parametrize("text", IS_NEITHER)
def test_these_mean_neither(text: str) -> None:
    assert judge_text(text.encode(), b"") is None


@pytest.mark.parametrize(
    "behind",
    [
        f"{CHAIN}{TRACEBACK}ValueError: the batch is too large",
        f"{TRACEBACK}torch.distributed.elastic.multiprocessing.errors.ChildFailedError: train.py FAILED",
        f"{TRACEBACK}torch.distributed.DistBackendError: NCCL communicator was aborted",
        "wandb: run was interrupted\nwandb: synced 5 files",
    ],
)
def test_what_follows_from_it_does_not_hide_it(behind: str) -> None:
    found = judge_text(f"{TRACEBACK}{TORCH}\n{behind}\n".encode(), b"")
    assert found is not None and found.memory == GPU


def test_standard_output_counts_unless_standard_error_ends_in_a_bug() -> None:
    said = b"CUDA out of memory, halving the batch\n"
    assert judge_text(b"a warning\n", said) is not None
    assert judge_text(f"{TRACEBACK}KeyError: 'loss'\n".encode(), said) is None


def test_only_the_end_of_the_logs_counts(tmp_path: Path) -> None:
    early, far, late = tmp_path / "early", tmp_path / "far", tmp_path / "late"
    early.write_bytes(b"CUDA out of memory, retrying\n" + b"x" * 70_000)
    far.write_bytes(b"CUDA out of memory, retrying\n" + b"x\n" * 400)
    late.write_bytes(b"x\n" * 20_000 + b"CUDA out of memory")
    for nothing in (early, far, Path("/nonexistent"), Path("/dev/null"), tmp_path):
        assert find_oom(str(nothing), str(nothing)) is None
    found = find_oom(str(early), str(late))
    assert found is not None and in_english(found.text) == "CUDA out of memory (from the log): CUDA out of memory"


def test_the_kernels_count_is_a_number() -> None:
    assert host_oom_kills() >= 0
