"""Write the chart of a job's states into docs/explanation/architecture.md, or check that it is up to date.

python tools/state_chart.py           write
python tools/state_chart.py --check   exit 1 when the page differs from the table
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from roost.core.states import chart  # noqa: E402

TARGET = ROOT / "docs" / "explanation" / "architecture.md"
BEGIN = "<!-- states: made by tools/state_chart.py from core/states.py; do not edit -->"
END = "<!-- end of states -->"


def page(text: str) -> str:
    """The page with the chart as the table has it."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{TARGET}: the lines around the chart are missing")
    return f"{before}{BEGIN}\n```mermaid\n{chart()}\n```\n{END}{after}"


def main(argv: list[str]) -> int:
    """Write, or with --check only compare."""
    old = TARGET.read_text(encoding="utf-8")
    new = page(old)
    if old == new:
        return 0
    if "--check" in argv:
        print(f"{TARGET.relative_to(ROOT)} is not what the table of states says; run: python tools/state_chart.py")
        return 1
    TARGET.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
