"""The wheel has the built pages in it, and serves them where there is no Node."""

from __future__ import annotations

import shutil
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.box import ROOT, Box

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a clean copy of what is in the repository, as `pip wheel .` builds it."""
    clone = tmp_path_factory.mktemp("clone")
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=True
    )
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, clone / name)
    assert not (clone / "src/roost/web/built").exists()
    line = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--disable-pip-version-check", ".", "-w", "made"]
    done = subprocess.run(line, cwd=clone, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    return next((clone / "made").glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its content, where Python finds it first."""
    directory = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(directory)
    return directory


@pytest.fixture
def box(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Box]:
    """A server of that wheel, on a path where no Node is."""
    bare = installed / "bin"
    bare.mkdir(exist_ok=True)
    for name in ("sh", "cat", "env", "setsid", "nohup"):
        if not (bare / name).exists() and (found := shutil.which(name)):
            (bare / name).symlink_to(found)
    code = "import sys; from roost.cli import main; sys.exit(main())"
    monkeypatch.setattr("tests.box.program", lambda: [sys.executable, "-c", code])
    box = Box()
    box.env |= {"PYTHONPATH": str(installed), "PATH": str(bare)}
    yield box.up()
    box.close()


def test_the_wheel_serves_the_pages_with_no_node_on_the_machine(box: Box, installed: Path) -> None:
    assert shutil.which("node", path=box.env["PATH"]) is None
    page = (installed / "roost/web/built/index.html").read_text()
    script = next(part for part in page.split('"') if part.startswith("/assets/") and part.endswith(".js"))
    with urllib.request.urlopen(box.url + script, timeout=30) as answer:
        assert answer.headers["content-type"].startswith("text/javascript")
        assert answer.read() == (installed / f"roost/web/built{script}").read_bytes()
