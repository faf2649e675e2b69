"""HTTP/1.1 client without I/O: it turns requests into bytes, and bytes into responses.

Campaigns, tests and the preparation of benchmarks all use it. Responses are parsed by h11, so that bytes that
are not HTTP are never taken for an answer.
"""

import json
from base64 import b64encode
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

import h11

FORM: Final = "application/x-www-form-urlencoded"
JSON: Final = "application/json"

Fields = list[tuple[str, str]]
"""Header fields in their order."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request; `Host` and the body's length are added if they are missing."""

    method: str
    target: str
    fields: Fields = field(default_factory=list)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Response:
    """One whole response, its field names in lower case."""

    status: int
    fields: Fields
    body: bytes

    def field(self, name: str) -> str:
        """Return the first field with this lower-case name, or an empty string."""
        return next((value for each, value in self.fields if each == name), "")

    def json(self) -> dict[str, Any]:
        """Return the body's JSON object, or an empty one."""
        try:
            content = json.loads(self.body)
        except ValueError:
            return {}
        return content if isinstance(content, dict) else {}

    @property
    def error(self) -> str:
        """Code of a refusal, in RFC 6749's form or in the envelope."""
        content = self.json()
        return str(content.get("error") or content.get("code") or "")

    @property
    def data(self) -> dict[str, Any]:
        """The envelope's data; empty if that is no object."""
        content = self.json().get("data")
        return content if isinstance(content, dict) else {}


def basic(client_id: str, secret: str) -> tuple[str, str]:
    """Return the field with which a client authenticates."""
    return "Authorization", "Basic " + b64encode(f"{client_id}:{secret}".encode()).decode()


def bearer(token: str) -> tuple[str, str]:
    """Return the field that presents an access token."""
    return "Authorization", f"Bearer {token}"


def form_request(target: str, fields: Fields, form: Mapping[str, str | None]) -> Request:
    """Return the request that posts a form; parameters that are None are left out."""
    given = {name: value for name, value in form.items() if value is not None}
    return Request("POST", target, [("Content-Type", FORM), *fields], urlencode(given).encode())


def json_request(
    method: str, target: str, login: str | None = None, content: Mapping[str, object] | None = None
) -> Request:
    """Return a request to the backend's JSON interface, with the access token `login`."""
    fields = [] if login is None else [bearer(login)]
    if content is None:
        return Request(method, target, fields)
    return Request(method, target, [("Content-Type", JSON), *fields], json.dumps(content).encode())


class NotHttp(Exception):
    """The server sent bytes that are not HTTP/1.1."""


class HttpClient:
    """The client's side of one connection: requests one by one or pipelined, responses in their order."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._waiting: deque[h11.Connection] = deque()
        self._unread = b""
        self._status = 0
        self._fields: Fields = []
        self._body = b""
        self.is_kept = True
        """Whether the server keeps the connection open after the responses so far."""
        self.is_over = False
        """Whether the server has closed the connection."""

    def write(self, request: Request) -> bytes:
        """Return the bytes to send; the response follows those of all requests written before."""
        fields = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in request.fields]
        names = {name.lower() for name, _ in fields}
        if b"host" not in names:
            fields.insert(0, (b"Host", self._host.encode()))
        if (request.body or request.method in ("POST", "PUT")) and b"content-length" not in names:
            fields.append((b"Content-Length", b"%d" % len(request.body)))
        connection = h11.Connection(h11.CLIENT)
        head = h11.Request(method=request.method, target=request.target.encode("latin-1"), headers=fields)
        events = (head, h11.Data(data=request.body), h11.EndOfMessage())
        data = b"".join(connection.send(event) or b"" for event in events)
        self._waiting.append(connection)
        return data

    def receive(self, data: bytes) -> None:
        """Take bytes from the server; empty bytes mean the end of the connection."""
        self._unread += data
        self.is_over = not data

    def next_response(self) -> Response | None:
        """Return the response to the oldest request without one, or None until it is whole.

        Raises `NotHttp`.
        """
        connection = self._waiting[0]
        try:
            if self._unread:
                connection.receive_data(self._unread)
                self._unread = b""
            if self.is_over:
                connection.receive_data(b"")
            while True:
                match connection.next_event():
                    case h11.Response() as head:
                        self._status, self._body = head.status_code, b""
                        self._fields = [
                            (name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers
                        ]
                    case h11.Data() as part:
                        self._body += bytes(part.data)
                    case h11.EndOfMessage():
                        self._waiting.popleft()
                        self._unread = connection.trailing_data[0]
                        self.is_kept = connection.their_state is h11.DONE
                        return Response(self._status, self._fields, self._body)
                    case h11.InformationalResponse():
                        pass
                    case _:
                        return None
        except h11.RemoteProtocolError as error:
            raise NotHttp(str(error)) from error
