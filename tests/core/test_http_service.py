"""The one entrance of the token service: dispatch, rate window, lost races, and answers to failures."""

import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pytest

from ostiary_core import Decision, Instant, LostRace, MemoryStore, Monotonic, Secret, Why, events as e
from ostiary_core.http import Answer, PendingRequest, Request, TokenEndpoint
from ostiary_core.http.envelope import text_of
from ostiary_core.http.sender import Sender, sender_of
from ostiary_core.model.audit import Origin
from ostiary_core.model.decision import Insert
from ostiary_core.model.instant import Arrival
from ostiary_core.model.reply import Refused
from ostiary_core.texts import CHINESE, ENGLISH
from ostiary_core.throttling.rate_windows import RateWindows
from tests.core.door import INTROSPECT, REVOKE, TOKEN, Response
from tests.support import asks
from tests.support.story import START, World

ENTROPY = asks.fresh_entropy()
USERINFO = "/api/oauth2/userinfo"


def request(path: str = TOKEN, method: str = "POST", *, secret: str = "wrong", **form: str) -> Request:
    fields: list[tuple[str, str]] = [
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Authorization", "Basic " + b64encode(f"app:{secret}".encode()).decode()),
        ("User-Agent", "backend/1.0 \xff"),
        ("Accept-Language", "zh-CN"),
    ]
    return Request.of(method, path, fields, urlencode(form).encode(), source="203.0.113.9")


def receive(one: Request, endpoint: TokenEndpoint | None = None, arrival: Arrival | None = None) -> Any:
    return (endpoint or TokenEndpoint()).receive(
        one, now=START, monotonic=Monotonic(0), entropy=ENTROPY, trace_id="a trace", arrival=arrival
    )


def answer_of(
    one: Request,
    store: MemoryStore,
    endpoint: TokenEndpoint,
    reported: list[tuple[type[Exception], str]] | None = None,
) -> Answer:
    """Return the answer in one call; fill `reported`, without which nothing may be reported."""
    told: list[tuple[type[Exception], str]] = [] if reported is None else reported
    answer = endpoint.answer(
        one,
        store,
        now=START,
        monotonic=Monotonic(0),
        entropy=asks.fresh_entropy(),
        trace_id="a trace",
        report=lambda error, trace_id: told.append((type(error), trace_id)),
    )
    assert reported is not None or told == []
    return answer


class LosingStore(MemoryStore):
    """Loses the given number of races."""

    def __init__(self, losses: int) -> None:
        super().__init__()
        self.losses = losses

    def turn(self, events: Sequence[e.Event], *more: Any) -> list[Decision]:
        if self.losses:
            self.losses -= 1
            raise LostRace("another was quicker")
        return super().turn(events, *more)


def test_a_request_is_read_whole_whatever_the_case_of_its_field_names_and_keeps_every_byte() -> None:
    by, arrival = asks.credentials("app", "wrong"), Arrival(Instant(START - 1), START)
    agent, source, entropy = "backend/1.0 \xff", "203.0.113.9", ENTROPY
    code = {"grant_type": "authorization_code", "code": "c", "redirect_uri": "u", "code_verifier": "v"}
    redeemed = asks.redeem(by, Secret("c"), redirect_uri="u", verifier="v", user_agent=agent)
    refresh = {"grant_type": "refresh_token", "refresh_token": "t", "scope": "b a"}
    machine = {"grant_type": "client_credentials", "scope": " "}
    for path, form, event in (
        (TOKEN, code, replace(redeemed, source=source, entropy=entropy)),
        (TOKEN, refresh, e.RefreshRequested(by, Secret("t"), ("b", "a"), agent, entropy, arrival)),
        (TOKEN, machine, e.ClientCredentialsRequested(by, None, agent, source, entropy)),
        (TOKEN, {"scope": "x"}, e.GrantUnrecognised(credentials=by, why=Why.GRANT_TYPE_MISSING)),
        (TOKEN, {"grant_type": "x"}, e.GrantUnrecognised(credentials=by, why=Why.GRANT_TYPE_UNKNOWN)),
        (INTROSPECT, {"token": "t"}, e.IntrospectionRequested(by, Secret("t"))),
        (REVOKE, {"token": ""}, e.RevocationRequested(by, None)),
    ):
        one, origin = request(path, **form), Origin("a trace", source, agent)
        pending = receive(one, arrival=arrival)
        assert pending == PendingRequest(event, origin, CHINESE, arrival)
        assert pending.may_be_stale
        known = replace(one, headers=(), sender=sender_of(one.headers).drop_secrets())
        assert receive(known, arrival=arrival) == pending, "by what is kept of its fields"
        with pytest.raises(ValueError, match="was not kept"):
            receive(known).event.credentials.secret.reveal()
    nobody = Sender(form_encoding=None, basic=None, user_agent=None, language=ENGLISH)
    assert sender_of(()) == nobody == nobody.drop_secrets()
    one = Request.of(
        "HEAD", USERINFO, [(b"Authorization", b"Bearer t"), (b"User-Agent", b"x")], source=source
    )
    profile = e.ProfileRequested(access_token=Secret("t"))
    origin = Origin("a trace", source, "x")
    assert receive(one) == PendingRequest(profile, origin, ENGLISH, Arrival(START, START))
    assert repr(one) == f"Request(method='HEAD', path='{USERINFO}', source='{source}')", "no secret shows"
    assert not receive(one).may_be_stale


def test_requests_that_are_not_decided_are_answered_whole() -> None:
    endpoint = TokenEndpoint(RateWindows(scale=2 / 600))
    for path in (TOKEN, TOKEN, INTROSPECT):
        assert isinstance(receive(request(path), endpoint), PendingRequest)
    past_the_limit = receive(request(), endpoint)
    ask = Request.of("GET", USERINFO, [("Authorization", "Bearer t"), ("Accept-Language", "zh")], source="x")
    pending, asked = receive(request()), receive(ask)
    unknown_arrival = Decision(Refused(Why.ARRIVAL_UNKNOWN))
    signed_out = asked.answer(Decision(Refused(Why.NOT_SIGNED_IN)))
    invalid = (b"www-authenticate", b'Bearer realm="oauth2", error="invalid_token"')
    errors: dict[str, object] = {"errors": []}
    failed = Why.INTERNAL_ERROR
    for answer, status, code, why, more, *fields in (
        (receive(request("/api/oauth2/tokens")), 404, "A0404", Why.ROUTE_UNKNOWN, errors),
        (receive(request(USERINFO)), 405, "A0405", Why.METHOD_NOT_ALLOWED, errors, (b"allow", b"GET, HEAD")),
        (past_the_limit, 429, "A0429", Why.TOO_MANY_REQUESTS, {}, (b"retry-after", b"15")),
        (endpoint.failure(request(), "a trace"), 500, "A0500", failed, {}),
        (endpoint.failure(ask, "a trace"), 500, "A0500", failed, errors),
        (pending.failure(), 500, "A0500", failed, {}),
        (asked.failure(), 500, "A0500", failed, errors),
        (pending.answer(unknown_arrival), 500, "A0500", failed, {}),
        (asked.answer(unknown_arrival), 500, "A0500", failed, errors),
        (signed_out, 401, "A1001", Why.NOT_SIGNED_IN, errors, invalid),
    ):
        content = {"code": code, "msg": CHINESE.text(f"refusal.{why}"), "data": None, **more}
        text = json.dumps({**content, "traceId": "a trace"}, ensure_ascii=False, separators=(",", ":"))
        response = Response(answer)
        assert (response.status, answer.body.decode(), response.own_fields) == (status, text, tuple(fields))
    nobody = Request.of("POST", TOKEN, request().headers[:1], b"client_secret=x", source="x")
    for one, status, error, why, *fields in (
        (request(method="GET"), 405, "invalid_request", Why.METHOD_NOT_ALLOWED, (b"allow", b"POST")),
        (nobody, 400, "invalid_client", Why.CREDENTIALS_MISSING),
    ):
        response = Response(receive(one))
        assert response.json == {"error": error, "error_description": text_of(why, ENGLISH)}
        assert (response.status, response.own_fields) == (status, tuple(fields))


@pytest.mark.parametrize("losses, status", [(0, 200), (19, 200), (20, 500)])
def test_a_lost_race_is_decided_again_and_not_for_ever(world: World, losses: int, status: int) -> None:
    store = LosingStore(losses)
    store.write([Insert(world.client())])
    one = request(secret=world.secrets["app"].reveal(), grant_type="client_credentials")

    reported: list[tuple[type[Exception], str]] = []
    assert answer_of(one, store, TokenEndpoint(), reported).status == status
    assert reported == ([] if status == 200 else [(LostRace, "a trace")])
