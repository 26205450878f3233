"""Results that are no message of the protocol."""

from __future__ import annotations

import dataclasses
from typing import Any

from hansard.types import Receipt


@dataclasses.dataclass(frozen=True)
class Context:
    """What a model reads next."""

    #: The part of the provider's request that contains the context, for example `{"messages": […]}`.
    body: dict[str, Any]
    #: Enough to assemble the same bytes again, and their SHA-256.
    receipt: Receipt

    @property
    def version(self) -> int:
        """The version of the conversation."""
        return self.receipt.version
