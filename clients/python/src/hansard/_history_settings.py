"""The settings of keyed histories."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence

from hansard._history_keys import CANDIDATES, CANDIDATES_MAX, TEMPLATE_BYTES_MAX

# Most messages of a history that a model reads, as the service allows.
MESSAGES_MAX = 1000
# Most attempts of a read or a record.
ATTEMPTS_MAX = 10
NAMESPACE = re.compile(r"[A-Za-z0-9_-]{0,64}")


@dataclasses.dataclass(frozen=True)
class HistorySettings:
    """How a node reads and records the history of a key."""

    #: Whether the history is read and recorded. Without it, messages pass unchanged.
    enabled: bool = False
    #: Separates histories of one agent with equal keys. Empty: `default`.
    namespace: str = ""
    #: The first candidate of the key: a literal, or a text with `{{path.to.value}}`. Empty: there is none.
    key_template: str = ""
    #: The next candidates, in order. The first valid one is the key.
    candidates: Sequence[str] = CANDIDATES
    #: The field of the state that contains the messages.
    value_field: str = "messages"
    #: Most turns of users and assistants that the node reads, the newest ones; 1 to 1,000.
    messages_max: int = 50
    #: Most attempts of a read or a record; 1 to 10.
    attempts_max: int = 3
    #: The delay before the second attempt, in seconds. It doubles with each attempt.
    backoff: float = 0.1
    #: The seconds of each attempt.
    timeout: float = 2.0

    def __post_init__(self) -> None:
        problem = next(self._problems(), None)
        if problem is not None:
            raise ValueError(problem)

    @property
    def keys(self) -> list[str]:
        """The template and the candidates."""
        return [*([self.key_template] if self.key_template else []), *self.candidates]

    def _problems(self) -> Iterator[str]:
        if not NAMESPACE.fullmatch(self.namespace):
            yield "namespace has at most 64 of A-Z a-z 0-9 _ -"
        if isinstance(self.candidates, str):
            yield "candidates is a list of texts, not one text"
        if len(self.candidates) > CANDIDATES_MAX:
            yield f"candidates has {len(self.candidates)} entries, at most {CANDIDATES_MAX} are allowed"
        if any(len(text.encode()) > TEMPLATE_BYTES_MAX for text in self.keys):
            yield f"a template or candidate has at most {TEMPLATE_BYTES_MAX} bytes"
        for name, value, bound in (
            ("messages_max", self.messages_max, MESSAGES_MAX),
            ("attempts_max", self.attempts_max, ATTEMPTS_MAX),
        ):
            if not 1 <= value <= bound:
                yield f"{name} is {value}: give 1 to {bound}"
        if self.backoff < 0 or self.timeout <= 0:
            yield "backoff is not negative, and timeout is above 0 seconds"
