"""A machine with whole NVIDIA cards and one that is cut into MIG slices, from the driver's library to the job and back."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from tests.box import Box, until
from tests.gpu.fake_nvml import fake_nvml

SAY = 'echo "$CUDA_VISIBLE_DEVICES|$NVIDIA_VISIBLE_DEVICES"'


@pytest.fixture
def cards() -> Iterator[Box]:
    """GPU 0 and 2 are whole, card 1 is cut into two slices: GPUs 3 and 4."""
    box = Box()
    box.env |= fake_nvml(box.work, "0,2,0")
    try:
        yield box.up("--sim", "off")
    finally:
        box.close()


def test_cards_and_slices_are_given_measured_and_guarded(cards: Box) -> None:
    gpus = cards.json("gpus")["gpus"]
    assert [(gpu["index"], gpu["uuid"], gpu["mem_mib"], gpu["mig"]) for gpu in gpus] == [
        (0, "GPU-0", 81920, False),
        (2, "GPU-2", 81920, False),
        (3, "MIG-1-0", 10240, True),
        (4, "MIG-1-1", 10240, True),
    ]
    assert "MIG 1g.10gb" in cards.do("gpus")
    for asked, names, uuids in (
        ("2", "2", "GPU-2"),
        ("4", "MIG-1-1", "MIG-1-1"),
        ("0,2", "0,2", "GPU-0,GPU-2"),
        ("MIG-1-0,MIG-1-1", "MIG-1-0,MIG-1-1", "MIG-1-0,MIG-1-1"),
    ):
        job = cards.submit("--gpu-id", asked, SAY)
        cards.ends(job, "succeeded")
        assert cards.log(job) == f"{names}|{uuids}\n"
    small = cards.submit("--min-gpu-mem", "40G", "-g", 2, SAY)
    cards.ends(small, "succeeded")
    assert cards.log(small) == "0,2|GPU-0,GPU-2\n"
    assert "the largest GPU has 80 GiB" in cards.refused(2, "submit", "-g", 1, "--mem", "90G", "true")


def test_what_runs_on_a_slice_is_measured_and_a_stranger_there_keeps_it(cards: Box) -> None:
    processes = cards.env["FAKE_NVML_PROCESSES"]
    line = f'echo "$CUDA_VISIBLE_DEVICES $$ 700" >{processes}; until [ -e go ]; do sleep 0.05; done; rm {processes}'
    job = cards.submit("--gpu-id", "3", line)

    def used() -> dict[int, int | None]:
        return {gpu["index"]: gpu["mem_used_mib"] for gpu in cards.json("gpus")["gpus"]}

    until("its memory is seen", lambda: used() == {0: 0, 2: 0, 3: 700, 4: 0}, shown=used)
    slice_ = next(gpu for gpu in cards.json("gpus")["gpus"] if gpu["index"] == 3)
    assert (slice_["state"], slice_["util"], [found["id"] for found in slice_["jobs"]]) == ("used", None, [job])
    cards.file("go").touch()
    assert cards.ends(job, "succeeded")["attempts"][0]["peak_mem_mib"] == 700
    with open(processes, "w") as file:
        file.write(f"MIG-1-1 {os.getpid()} 900\n")

    def states() -> dict[int, str]:
        return {gpu["index"]: gpu["state"] for gpu in cards.json("gpus")["gpus"]}

    until("the stranger is seen", lambda: states() == {0: "free", 2: "free", 3: "free", 4: "foreign"}, shown=states)
    held = cards.submit("--gpu-id", "4", "true")
    assert "process" in cards.do("why", held)
    os.unlink(processes)
    cards.ends(held, "succeeded")
