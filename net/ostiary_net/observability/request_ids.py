"""Remembers the proxies' ids of running requests, for the lines of the log."""

from collections.abc import Iterable
from typing import Final

from ostiary_core.model.audit import TraceId

REQUEST_ID_FIELD: Final = b"x-request-id"
"""Field that the front door leaves in a head only if a trusted proxy wrote it."""

REQUEST_ID_PATTERN: Final = rb"[A-Za-z0-9._~+/=:@-]{1,128}"
"""Pattern of an id, in characters that end neither a field nor a line of the log."""


class RequestIds:
    """Maps the trace ids of running requests to the proxies' ids."""

    def __init__(self) -> None:
        self._by_trace_id: dict[str, str] = {}

    def begin(self, trace_id: TraceId, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Remember a proxy's id of a request, if there is one, until `end`."""
        for name, value in headers:
            if name == REQUEST_ID_FIELD:
                self._by_trace_id[str(trace_id)] = value.decode("ascii")

    def end(self, trace_id: TraceId) -> None:
        """Forget a request that was answered."""
        if self._by_trace_id:
            self._by_trace_id.pop(str(trace_id), None)

    def find(self, trace_id: str | None) -> str | None:
        """Return a proxy's id of a running request; None without one."""
        return self._by_trace_id.get(trace_id) if trace_id and self._by_trace_id else None


REQUEST_IDS: Final = RequestIds()
"""Ids for the log of this process."""
