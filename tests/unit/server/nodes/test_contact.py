"""One contact with a machine, whatever it says."""

from __future__ import annotations

from roost.links.last_words import KEPT
from roost.server.nodes.contact import run


async def test_a_flood_on_standard_error_is_read_and_only_its_end_is_kept() -> None:
    said = await run(["sh", "-c", "yes noise | head -c 1000000 >&2; echo facts; echo the end >&2; exit 3"])
    assert (said.code, said.out) == (3, b"facts\n")
    assert said.err.endswith("the end\n") and len(said.err) == KEPT


async def test_what_keeps_standard_error_open_keeps_nobody_waiting() -> None:
    said = await run(["sh", "-c", "sleep 30 </dev/null >/dev/null & echo gone >&2; exit 3"])
    assert (said.code, said.out, said.err) == (3, b"", "gone\n")
