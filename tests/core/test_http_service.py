"""The one entrance of the token service: dispatch, rate window, lost races, and what a failure answers."""

import json
from base64 import b64encode
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import pytest

from ostiary_core import Decision, LostRace, MemoryStore, Monotonic
from ostiary_core.events import Event
from ostiary_core.http import Answer, PendingRequest, Request, TokenEndpoint
from ostiary_core.model.audit import Origin
from ostiary_core.model.decision import Insert
from ostiary_core.throttling.rate_windows import LIMITS, Operation, RateWindows
from tests.core import asks
from tests.core.story import START, given


def request(
    path: str = "/api/oauth2/token", method: str = "POST", *, secret: str = "wrong", **form: str
) -> Request:
    fields = [
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Authorization", "Basic " + b64encode(f"app:{secret}".encode()).decode()),
        ("User-Agent", "backend/1.0 \xff"),
    ]
    return Request.of(method, path, fields, urlencode(form).encode(), source="203.0.113.9")


def received(one: Request, endpoint: TokenEndpoint | None = None) -> PendingRequest | Answer:
    return (endpoint or TokenEndpoint()).receive(
        one, now=START, monotonic=Monotonic(0), entropy=asks.fresh_entropy(), trace_id="a trace"
    )


def content_of(given: PendingRequest | Answer) -> dict[str, Any]:
    assert isinstance(given, Answer)
    content: dict[str, Any] = json.loads(given.body)
    return content


def answer_of(
    one: Request,
    store: MemoryStore,
    endpoint: TokenEndpoint,
    reported: list[tuple[type[Exception], str]] | None = None,
) -> Answer:
    """The answer in one call; what is reported of it is told, and nothing may be where nobody asks."""
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
    """Loses as many races as it is told to."""

    def __init__(self, losses: int) -> None:
        super().__init__()
        self.losses = losses

    def turn(self, events: Sequence[Event], *more: Any) -> list[Decision]:
        if self.losses:
            self.losses -= 1
            raise LostRace("another was quicker")
        return super().turn(events, *more)


def test_a_request_is_read_whatever_the_case_of_its_field_names_and_keeps_every_byte() -> None:
    pending = received(request(grant_type="client_credentials"))
    assert isinstance(pending, PendingRequest)
    assert pending.origin == Origin(trace_id="a trace", source="203.0.113.9", user_agent="backend/1.0 \xff")


def test_past_the_limit_a_request_is_answered_before_it_is_read() -> None:
    endpoint = TokenEndpoint(RateWindows())
    for _ in range(LIMITS[Operation.TOKEN]):
        assert isinstance(received(request(grant_type="client_credentials"), endpoint), PendingRequest)
    refused = received(request(grant_type="client_credentials"), endpoint)
    assert content_of(refused)["code"] == "A0429"
    assert isinstance(received(request("/api/oauth2/introspect", token="t"), endpoint), PendingRequest)


@pytest.mark.parametrize("losses, status", [(0, 200), (19, 200), (20, 500)])
def test_a_lost_race_is_decided_again_and_not_for_ever(losses: int, status: int) -> None:
    world = given()
    store = LosingStore(losses)
    store.write([Insert(world.client())])
    one = request(secret=world.secrets["app"].reveal(), grant_type="client_credentials")

    reported: list[tuple[type[Exception], str]] = []
    given_answer = answer_of(one, store, TokenEndpoint(), reported)
    assert given_answer.status == status
    assert reported == ([] if status == 200 else [(LostRace, "a trace")])
    if status == 500:
        assert content_of(given_answer)["traceId"] == "a trace"


def test_a_request_shows_no_secret_when_printed() -> None:
    printed = repr(request(secret="hush", token="t" * 43))
    assert "t" * 43 not in printed
    assert "Basic" not in printed


def test_a_wrong_method_is_told_the_right_ones() -> None:
    for path, method, right in (("token", "GET", b"POST"), ("userinfo", "POST", b"GET, HEAD")):
        refused = received(request(f"/api/oauth2/{path}", method))
        assert isinstance(refused, Answer)
        assert refused.status == 405
        assert (b"allow", right) in refused.headers
