"""Write docs/openapi.json, the document that the server serves, or check that it is up to date.

python tools/openapi_file.py           write
python tools/openapi_file.py --check   exit 1 when the file differs from the code
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from roost.api.app import document  # noqa: E402

TARGET = ROOT / "docs" / "openapi.json"


def text() -> str:
    """The whole file."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


def main(argv: list[str]) -> int:
    """Write, or with --check only compare."""
    new = text()
    if TARGET.exists() and TARGET.read_text(encoding="utf-8") == new:
        return 0
    if "--check" in argv:
        print(f"{TARGET.relative_to(ROOT)} is not what the server serves; run: python tools/openapi_file.py")
        return 1
    TARGET.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
