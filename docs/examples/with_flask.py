"""The token service in a WSGI application: Flask, synchronous, with the one-call form of the core.

.venv/bin/python docs/examples/with_flask.py
"""

from threading import Lock

from first_records import make_first_records, now
from flask import Flask, Response, request
from token_service import TokenService
from werkzeug.exceptions import ClientDisconnected

from ostiary_core import MemoryStore
from ostiary_core.http import LONGEST_FORM, Request

PATHS = "/api/oauth2/<operation>"
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
"""Every method: what is not allowed is the core's to say, in the envelope."""


def make_application(service: TokenService) -> Flask:
    """The four operations."""
    application, lock = Flask(__name__), Lock()

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
            answer = service.answer(asked)
        response = Response(answer.body, answer.status)
        response.headers.clear()
        for name, value in answer.headers:
            response.headers.add(name.decode("latin-1"), value.decode("latin-1"))
        return response

    return application


if __name__ == "__main__":
    kept = MemoryStore()
    print(make_first_records(kept, now()).secrets)
    make_application(TokenService(kept)).run(port=8002)
