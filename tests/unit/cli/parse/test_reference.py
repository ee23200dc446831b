from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from roost.cli.parse.verb_table import VERBS

ROOT = Path(__file__).resolve().parents[4]


def test_the_reference_is_made_from_the_tables() -> None:
    ran = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "cli_reference.py"), "--check"], capture_output=True, text=True, timeout=60
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_every_verb_is_in_it() -> None:
    text = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    assert [verb for verb in VERBS if f"\n### roost {verb}\n" not in text] == []
