"""Keeps what proxies call the requests that are being answered, for the lines of the log."""

from collections.abc import Iterable
from typing import Final

REQUEST_ID_FIELD: Final = b"x-request-id"
"""The front door leaves it in a head only as a trusted proxy wrote it."""

REQUEST_ID_PATTERN: Final = rb"[A-Za-z0-9._~+/=:@-]{1,128}"
"""What it may be: nothing that ends a field or a line of the log."""


class RequestIds:
    """The proxies' identifiers of the requests that are being answered, by our own."""

    def __init__(self) -> None:
        self._by_trace_id: dict[str, str] = {}

    def begin(self, trace_id: str, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Remember what a proxy calls a request, if one has named it, until it is answered."""
        for name, value in headers:
            if name == REQUEST_ID_FIELD:
                self._by_trace_id[trace_id] = value.decode("ascii")

    def end(self, trace_id: str) -> None:
        """Forget a request that was answered."""
        if self._by_trace_id:
            self._by_trace_id.pop(trace_id, None)

    def find(self, trace_id: str | None) -> str | None:
        """Return what a proxy calls a request; None where none has named it."""
        return self._by_trace_id.get(trace_id) if trace_id and self._by_trace_id else None


REQUEST_IDS: Final = RequestIds()
"""Of the one log that a process has."""
