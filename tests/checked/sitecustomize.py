"""In the servers of the end-to-end tests: every JSON answer must be what docs/openapi.json declares.

Python imports this by itself where PYTHONPATH names this folder, as `Box.up` does. An answer that is not declared becomes
status 500 with the place at which it differs, and a line of the server's log. The people of this machine are nobody there.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import logging
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

ROOT = str(Path(__file__).resolve().parents[2])
CHECKED = "roost.api.route_table"


class Checking(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Lets the module that encodes answers be loaded as usual, then puts the check before it."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Ours, for that module alone."""
        if name != CHECKED:
            return None
        sys.meta_path.remove(self)
        found = importlib.util.find_spec(name)
        assert found is not None and found.loader is not None
        self._loader, found.loader = found.loader, self
        return found

    def create_module(self, spec: Any) -> None:
        """As usual."""

    def exec_module(self, module: ModuleType) -> None:
        """Load it, and put the check before its answers."""
        self._loader.exec_module(module)
        from tests.declared import Undeclared, check_answer

        send = module.json_response

        def checked(scope: Any, value: Any, status: int = 200, headers: Any = None) -> Any:
            try:
                check_answer(scope["method"], quote(scope["path"]), status, module.encode(value))
            except Undeclared as error:
                logging.getLogger("roost.tests").error("%s", error)
                refusal = {"error": {"code": "undeclared", "message": str(error), "hint": None}}
                return send(scope, refusal, 500, headers)
            return send(scope, value, status, headers)

        module.json_response = checked  # type: ignore[attr-defined]


if "roost.server.main" in sys.orig_argv:
    sys.meta_path.insert(0, Checking())
    sys.path.append(ROOT)
    from tests.hidden_accounts import hide_people

    hide_people()
