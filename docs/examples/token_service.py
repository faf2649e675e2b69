"""The token service as every example calls it: one request in, one answer out, over whatever store."""

import logging
from collections.abc import Callable

from first_records import entropy, monotonic, now

from ostiary_core import Instant, Monotonic, Store
from ostiary_core.http import Answer, Request, TokenEndpoint

logger = logging.getLogger(__name__)


class TokenService:
    """The four operations over `store`; one object a process, as it counts requests by address."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], Instant] = now,
        monotonic_clock: Callable[[], Monotonic] = monotonic,
    ) -> None:
        self._store, self._clock, self._monotonic = store, clock, monotonic_clock
        self._endpoint = TokenEndpoint()

    def answer(self, request: Request) -> Answer:
        """The core's answer to a request, in a turn of its own."""
        return self._endpoint.answer(
            request,
            self._store,
            now=self._clock(),
            monotonic=self._monotonic(),
            entropy=entropy(),
            trace_id=entropy()[:16].hex(),
            report=report,
        )


def report(error: Exception, trace_id: str) -> None:
    """What the store raised, in the log; never the text of the error, which may quote a token."""
    logger.error("turn failed: %s, trace id %s", type(error).__name__, trace_id)
