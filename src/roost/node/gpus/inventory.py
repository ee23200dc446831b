"""The GPUs of this node, as the driver listed them last."""

from __future__ import annotations

from typing import List, Optional

from roost.node.gpus.driver import Gpu


class Inventory:
    """Which GPUs there are. The driver may take a while to answer: until then none is known."""

    def __init__(self, gpus: Optional[List[Gpu]] = None) -> None:
        self.gpus = gpus or []
        self.is_known = gpus is not None

    def set(self, gpus: List[Gpu]) -> None:
        self.gpus, self.is_known = gpus, True

    def find(self, uuid: str) -> Optional[Gpu]:
        return next((gpu for gpu in self.gpus if gpu.uuid == uuid), None)
