"""Write docs/reference/settings.md from the table of settings, or check that it is up to date.

python tools/settings_page.py           write
python tools/settings_page.py --check   exit 1 when the page differs from the table
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from roost.core.settings import TABLE, Setting  # noqa: E402

TARGET = ROOT / "docs" / "reference" / "settings.md"
HEAD = """\
# Settings

Made by `tools/settings_page.py` from the table in `core/settings.py`; do not edit.

A setting holds for the whole server. A change takes effect at once, is kept in the store, and survives restarts.

    roost set                      # all of them, with their values
    roost set job.grace_s          # one
    roost set job.grace_s 60       # change it

| setting | default | takes | meaning |
|---|---|---|---|
"""
KINDS = {str: "text", int: "whole number", float: "number", bool: "true or false"}


def row(setting: Setting) -> str:
    """A line of the page."""
    takes = KINDS[setting.kind]
    low, high = setting.range
    if low is not None and high is not None:
        takes += f", {number(low)} to {number(high)}"
    return f"| `{setting.key}` | `{setting.default}` | {takes} | {setting.meaning} |\n"


def number(value: float) -> str:
    """Whole where it is whole, thousands apart."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:g}"


def page() -> str:
    """The whole page."""
    return HEAD + "".join(map(row, TABLE))


def main(argv: list[str]) -> int:
    """Write, or with --check only compare."""
    new = page()
    if TARGET.exists() and TARGET.read_text(encoding="utf-8") == new:
        return 0
    if "--check" in argv:
        print(f"{TARGET.relative_to(ROOT)} is not what the table of settings says; run: python tools/settings_page.py")
        return 1
    TARGET.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
