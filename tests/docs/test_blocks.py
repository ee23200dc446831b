"""Every line of a block of commands in the tutorial and the how-to guides is run by a test, or listed here with the reason.

Most pages are run whole, by test_commands.py, test_cluster_page.py and test_from_pages.py. The other blocks, and those
marked `skip`, are typed here line by line.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping

import pytest
from tests.box import Box
from tests.certificates import make as make_pair
from tests.docs.pages import ROOT, SKIP, blocks, read
from tests.docs.reader import Reader, a_hook
from tests.docs.test_commands import FIRST_PAGES
from tests.docs.test_from_pages import PAGES as FROM_PAGES
from tests.docs.test_pages import TWINS
from tests.docs.typed import Typed

GUIDES = sorted(
    str(path.relative_to(ROOT)) for part in ("tutorial", "how-to") for path in (ROOT / "docs" / part).glob("*.md")
)
WHOLE = {*FIRST_PAGES, *FROM_PAGES, "docs/how-to/users.md", "docs/how-to/cluster.md"}

_OLD_TOOL = "a command of the tool that the reader comes from"
_FAR = "needs a machine with that address; tests/e2e/nodes does the same with hosts of its own"
_CLONE = "installs into /opt as root; `make` in a clone is how the tests themselves begin"
_ELSEWHERE = "needs the reader's own server name and certificate; tests/unit/client/test_tls.py does the same on loopback"
NOT_RUN: Mapping[str, str] = {
    "roost up --detach": "needs an NVIDIA GPU: tests/gpu/real_gpu.py runs it, the next block has simulated ones",
    "ssh-keygen": "makes a key for the reader's account",
    "ssh-copy-id": "asks for a password of another machine",
    "roost node": _FAR,
    "sudo apt install": "installs a package; tests/packages does it in small systems of its own",
    "sudo git clone": _CLONE,
    "sudo env PATH=": _CLONE,
    "sudo ln -s": _CLONE,
    "export ROOST_": _ELSEWHERE,
    "pip install": "installs a package",
    "gpulimit ls": _OLD_TOOL,
    "sudo systemctl disable": _OLD_TOOL,
    "kill $(": _OLD_TOOL,
    "rm /tmp/gpu_scheduler_info": _OLD_TOOL,
}
"""Lines that begin so, and why they are not run."""

ANSWERS = {
    "'A100|H100'": "Simulated",
    "40G": "20G",
    "lab3,lab4": "lab3",
    "https://lab.example.org": "http://lab.example:7667",
    "--host :: ": "",
}
"""What the reader has, and what there is in its place here."""


def lines_left(page: str) -> list[str]:
    """The lines of a page that no other test runs."""
    left = [block for block in blocks(read(page)) if page not in WHOLE or SKIP in block.mark]
    return [line for block in left for line in block.commands.splitlines() if line.strip()]


def reason(line: str) -> str | None:
    """The entry of `NOT_RUN` that a line falls under."""
    return next((start for start in NOT_RUN if line.startswith(start)), None)


TO_TYPE = {page: lines for page in GUIDES if (lines := [line for line in lines_left(page) if reason(line) is None])}


@pytest.mark.parametrize("page", TO_TYPE)
def test_every_line_that_no_other_test_runs_is_typed(page: str, box: Box) -> None:
    pair = make_pair(box.work)
    (box.work / "trace.csv.gz").write_bytes(
        gzip.compress(
            b"submit_time,duration,gpus,user\n" + b"".join(b"%d,600,1,ana\n" % at for at in range(0, 180_000, 9_000))
        )
    )
    own = {**ANSWERS, "/etc/roost/chain.pem": str(pair.certificate), "/etc/roost/key.pem": str(pair.key)}
    wrong = []
    with a_hook() as hook:
        reader = Reader(box, hook)
        for line in TO_TYPE[page]:
            for theirs, ours in own.items():
                line = line.replace(theirs, ours)
            ran = reader.types(Typed(line))
            if ran.code != 0:
                wrong.append(f"{line}: exit code {ran.code}: {ran.out[-300:]}{ran.err[-500:]}")
    assert wrong == [], "\n".join(wrong)


def test_nothing_is_listed_that_would_be_run() -> None:
    needed = {reason(line) for page in GUIDES for line in lines_left(page)}
    assert set(NOT_RUN) - needed == set()


def test_the_chinese_guides_type_what_the_english_ones_type() -> None:
    twins = {chinese: english for english, chinese in TWINS}
    for path in sorted((ROOT / "docs" / "zh").rglob("*.md")):
        page = str(path.relative_to(ROOT))
        if blocks(read(page)):
            assert [block.commands for block in blocks(read(page))] == [
                block.commands for block in blocks(read(twins[page]))
            ]
