"""The token service in a WSGI application: Flask, synchronous, with the one-call form of the core.

.venv/bin/python docs/examples/with_flask.py
"""

from collections.abc import Callable
from threading import Lock

from first_records import entropy, make_first_records, monotonic, now
from flask import Flask, Response, request
from werkzeug.exceptions import ClientDisconnected

from ostiary_core import Instant, MemoryStore, Monotonic, Store
from ostiary_core.http import LONGEST_FORM, Request, TokenEndpoint

PATHS = "/api/oauth2/<operation>"
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
"""Every method: what is not allowed is the core's to say, in the envelope."""


def make_application(
    store: Store,
    clock: Callable[[], Instant] = now,
    monotonic_clock: Callable[[], Monotonic] = monotonic,
) -> Flask:
    """The four operations over `store`."""
    application = Flask(__name__)
    endpoint, lock = TokenEndpoint(), Lock()

    def report(error: Exception, trace_id: str) -> None:
        """What the store raised, in the log; never the text of the error, which may quote a token."""
        application.logger.error("turn failed: %s, trace id %s", type(error).__name__, trace_id)

    @application.route(PATHS, methods=METHODS, provide_automatic_options=False)
    def token_service(operation: str) -> Response:
        body = request.stream.read(LONGEST_FORM + 1)
        if len(body) < min(request.content_length or 0, LONGEST_FORM + 1):
            raise ClientDisconnected  # half a request is not to be decided
        asked = Request.of(
            request.method,
            request.path,
            request.headers.items(),
            body,
            source=request.remote_addr or "",
        )
        # Servers of WSGI bring threads, and the in-memory store is for one caller at a time.
        with lock:
            answer = endpoint.answer(
                asked,
                store,
                now=clock(),
                monotonic=monotonic_clock(),
                entropy=entropy(),
                trace_id=entropy()[:16].hex(),
                report=report,
            )
        response = Response(answer.body, answer.status)
        response.headers.clear()
        for name, value in answer.headers:
            response.headers.add(name.decode("latin-1"), value.decode("latin-1"))
        return response

    return application


if __name__ == "__main__":
    kept = MemoryStore()
    print(make_first_records(kept, now()).secrets)
    make_application(kept).run(port=8002)
