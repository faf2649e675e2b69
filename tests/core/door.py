"""The core's HTTP meaning as a third party sees it: bytes in, status, header fields and body out, no I/O."""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus

from ostiary_core import Secret
from ostiary_core.events import AuthorizationChecked, SignedIn
from ostiary_core.http import Answer, authorization, token_service, userinfo
from ostiary_core.http.sender import sender_of
from ostiary_core.oauth.client_authentication import is_authenticated
from ostiary_core.texts import ENGLISH
from tests.support import asks
from tests.support.story import World

TOKEN = "/api/oauth2/token"
INTROSPECT = "/api/oauth2/introspect"
REVOKE = "/api/oauth2/revoke"

FORM_TYPE = (b"content-type", b"application/x-www-form-urlencoded")

Headers = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Response:
    """An answer, read, with the header fields of every answer (READINGS 21, 45)."""

    answer: Answer

    def __post_init__(self) -> None:
        assert self.answer.headers[:5] == (
            (
                b"content-type",
                b"application/json; charset=utf-8" if self.answer.body else b"Application/JSON",
            ),
            (b"content-length", str(len(self.answer.body)).encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"cache-control", b"no-store"),
            (b"pragma", b"no-cache"),
        )

    @property
    def status(self) -> int:
        return self.answer.status

    @property
    def json(self) -> Any:
        return json.loads(self.answer.body)

    @property
    def error(self) -> tuple[int, str]:
        """Status and error code, which is what a client switches on; only a 401 has a challenge."""
        assert set(self.json) == {"error", "error_description"}
        challenge = (b"www-authenticate", b'Basic realm="oauth2", charset="UTF-8"')
        expected = {401: (challenge,), 415: ((b"accept-encoding", b"identity"),)}
        assert self.own_fields == expected.get(self.status, ())
        return self.status, self.json["error"]

    @property
    def own_fields(self) -> Headers:
        """The header fields that not every answer has."""
        return self.answer.headers[5:]


def basic_header(client_id: str, secret: Secret | str) -> tuple[bytes, bytes]:
    """Return credentials as RFC 7617 has them, without any encoding before the base64."""
    text = secret.reveal() if isinstance(secret, Secret) else secret
    return b"authorization", b"Basic " + b64encode(f"{client_id}:{text}".encode())


def form_body(fields: Mapping[str, object]) -> bytes:
    """Encode a form of texts and secrets as a careful client does; None leaves a field out."""

    def text(value: object) -> str:
        return value.reveal() if isinstance(value, Secret) else str(value)

    given = {name: text(value) for name, value in fields.items() if value is not None}
    return "&".join(f"{quote_plus(name)}={quote_plus(value)}" for name, value in given.items()).encode()


def post_raw(world: World, path: str, headers: Headers, body: bytes) -> Response:
    """Send a request as it is on the wire; the store sees it only if it can be read."""
    operation = token_service.PATHS[path]
    event = token_service.read(
        operation, sender_of(headers), body, source="198.51.100.5", entropy=asks.fresh_entropy()
    )
    if isinstance(event, Answer):
        return Response(event)
    decision = world.when(event).decision
    answer = token_service.answer(event, decision)
    assert is_authenticated(decision.reply) is (b'"invalid_client"' not in answer.body)
    return Response(answer)


def post(
    world: World,
    path: str,
    fields: Mapping[str, object],
    *,
    basic: str | tuple[str, Secret | str] | None = None,
    headers: Headers = (),
    user_agent: str | None = asks.APP,
) -> Response:
    """Send a form; `basic` names a client that authenticates so, by another secret if given."""
    sent = [FORM_TYPE, *headers]
    if isinstance(basic, str):
        sent.append(basic_header(basic, world.secrets[basic]))
    elif basic is not None:
        sent.append(basic_header(*basic))
    if user_agent is not None:
        sent.append((b"user-agent", user_agent.encode("latin-1")))
    return post_raw(world, path, sent, form_body(fields))


def get_userinfo(world: World, *headers: tuple[bytes, bytes], bearer: Secret | None = None) -> Response:
    """Ask for user-info, by a Bearer token or with other header fields."""
    sent = list(headers)
    if bearer is not None:
        sent.append((b"authorization", b"Bearer " + bearer.reveal().encode()))
    event = userinfo.read(sent, language=ENGLISH, trace_id="trace")
    if isinstance(event, Answer):
        return Response(event)
    return Response(userinfo.answer(world.when(event).decision, language=ENGLISH, trace_id="trace"))


def get_authorize(world: World, query: bytes, login_token: Secret) -> Response:
    """`GET /api/oauth2/authorize` by a signed-in user."""
    parameters = authorization.read_query(query)
    decision = world.when(
        AuthorizationChecked(caller=SignedIn(access_token=login_token), parameters=parameters)
    ).decision
    return Response(authorization.answer(decision, language=ENGLISH, trace_id="trace"))
