"""Splits the bytes of server-sent events into lines. No I/O."""

from __future__ import annotations

from hansard.errors import HansardError

# The gateway sends no line that is longer.
LINE_BYTES_MAX = 32 * 1024 * 1024
LINE_ENDS = (b"\n", b"\r")


class EventLines:
    """Splits chunks as they arrive. Lines end with LF, CRLF or CR alone: other separators, such as U+2028, belong to texts."""

    def __init__(self) -> None:
        # The pieces of the line that has not ended, and their size.
        self._pieces: list[bytes] = []
        self._size_bytes = 0
        self._is_after_cr = False

    def add(self, chunk: bytes) -> list[str]:
        """Adds a chunk. Returns the lines that end in it, without their ends."""
        if not chunk:
            return []
        if self._is_after_cr:
            # The second byte of a CRLF.
            chunk = chunk.removeprefix(b"\n")
        self._is_after_cr = chunk.endswith(b"\r")
        lines: list[str] = []
        # Lines of `bytes` have these ends; lines of `str` have more.
        for piece in chunk.splitlines(keepends=True):
            self._pieces.append(piece)
            self._size_bytes += len(piece)
            if self._size_bytes > LINE_BYTES_MAX:
                raise HansardError("a line of the live stream is too long: the longest is 32 MiB", reason="ANSWER_UNREADABLE")
            if piece.endswith(LINE_ENDS):
                lines.append(b"".join(self._pieces).rstrip(b"\r\n").decode("utf-8", "replace"))
                self._pieces, self._size_bytes = [], 0
        return lines
