"""Any bytes are read: never an exception, and nothing malformed becomes an event that changes anything.

Forms and languages by themselves: fuzz/parsers/of_requests.py.
"""

from itertools import product
from typing import get_args

import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

from ostiary_core import Entropy, Why
from ostiary_core.events import GrantUnrecognised
from ostiary_core.http import Answer, Language, preferred_language, token_service, userinfo
from ostiary_core.http.envelope import failure, service_failure
from ostiary_core.http.sender import sender_of
from ostiary_core.throttling.rate_windows import Operation
from tests.core import asks
from tests.core.door import (
    FORM_TYPE,
    INTROSPECT,
    REVOKE,
    TOKEN,
    basic_header,
    form_body,
    get_userinfo,
    post_raw,
)
from tests.core.story import World, client, given, user

PATHS = st.sampled_from([TOKEN, INTROSPECT, REVOKE])

NAMES = [b"authorization", b"content-type", b"user-agent", b"accept-language", b"x"]
VALUES = [
    b"application/x-www-form-urlencoded",
    b"application/x-www-form-urlencoded; charset=utf-8",
    b"application/json",
    b"Basic",
    b"Basic YXBwOng=",
    b"Bearer x",
    b"\xff\x00",
]
PIECES = [
    b"grant_type=client_credentials",
    b"grant_type=refresh_token",
    b"grant_type=authorization_code",
    b"client_id=app",
    b"client_secret=x",
    b"code=x",
    b"code[]=x",
    b"token=x",
    b"%00",
    b"%zz",
    b"\xff",
    b"=",
    b"",
]

headers = st.lists(
    st.tuples(st.sampled_from(NAMES), st.one_of(st.sampled_from(VALUES), st.binary(max_size=60))), max_size=5
)
bodies = st.one_of(st.binary(max_size=300), st.lists(st.sampled_from(PIECES), max_size=6).map(b"&".join))


@settings(max_examples=150)
@for_all(operation=st.sampled_from(list(token_service.PATHS.values())), headers=headers, body=bodies)
def test_any_request_is_read_as_an_event_or_answered_with_a_4xx(
    operation: Operation, headers: list[tuple[bytes, bytes]], body: bytes
) -> None:
    read = token_service.read(operation, sender_of(headers), body, source="", entropy=Entropy(b"x" * 32))
    if isinstance(read, Answer):
        assert read.status in {400, 401, 413}
    else:
        assert isinstance(read, get_args(token_service.TokenServiceEvent))


@pytest.fixture(scope="module")
def world() -> World:
    return given(client(), user())


@settings(max_examples=80)
@for_all(path=PATHS, headers=headers, body=bodies)
def test_a_request_without_the_right_secret_changes_nothing(
    world: World, path: str, headers: list[tuple[bytes, bytes]], body: bytes
) -> None:
    before = world.everything()
    response = post_raw(world, path, headers, body)
    assert response.status in {400, 401, 413}
    assert world.everything() == before


MALFORMED = [
    b"code[]=x",
    b"x=%00",
    b"x=%ff",
    b"x=%",
    b"scope=a&scope=b",
    b"client_secret=x",
    b"client_id=other",
    b"x=" + b"y" * 70_000,
]


@settings(max_examples=50)
@for_all(path=PATHS, malformed=st.sampled_from(MALFORMED), data=st.data())
def test_a_malformed_request_of_an_authenticated_client_changes_nothing(
    path: str, malformed: bytes, data: st.DataObject
) -> None:
    """Whatever else it holds: a code, a refresh token, a token to revoke."""
    world = given()
    pair, code = world.tokens(), world.code()
    requests: list[dict[str, object]] = [
        {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": "https://app.example/callback",
            "code_verifier": asks.VERIFIER,
        },
        {"grant_type": "refresh_token", "refresh_token": pair.refresh_token},
        {"grant_type": "client_credentials"},
        {"token": pair.access_token},
    ]
    fields = data.draw(st.sampled_from(requests))
    before = world.everything()
    pieces = data.draw(st.permutations([form_body(fields), malformed]))
    response = post_raw(
        world, path, [FORM_TYPE, basic_header("app", world.secrets["app"])], b"&".join(pieces)
    )
    assert response.json["error"] == "invalid_request"
    assert world.everything() == before


def test_a_request_without_a_known_grant_is_an_event_that_changes_nothing() -> None:
    """Its client is authenticated before it is refused."""
    world = given()
    for why in (Why.GRANT_TYPE_MISSING, Why.GRANT_TYPE_UNKNOWN):
        world.when(GrantUnrecognised(credentials=world.basic(), why=why)).then_refused(why)
        stranger = asks.credentials("app", "wrong")
        world.when(GrantUnrecognised(credentials=stranger, why=why)).then_refused(Why.CLIENT_SECRET_WRONG)


@settings(max_examples=40)
@for_all(values=st.lists(st.one_of(st.binary(max_size=80), st.just(b"Bearer x")), max_size=3))
def test_any_authorization_header_is_answered_at_userinfo(values: list[bytes]) -> None:
    response = get_userinfo(given(), *((b"authorization", value) for value in values))
    assert (response.status, response.json["code"]) == (401, "A1001")
    header = response.header("www-authenticate")
    assert header is not None
    assert header.startswith("Bearer")


@pytest.mark.parametrize(
    "header, language",
    [
        (None, Language.EN),
        ("", Language.EN),
        ("zh-CN", Language.ZH),
        ("zh", Language.ZH),
        ("ZH-hant;q=0.5", Language.ZH),
        ("en;q=0.5, zh;q=0.6", Language.ZH),
        ("en, zh", Language.EN),
        ("zh;q=0, en;q=0.1", Language.EN),
        ("fr", Language.EN),
        ("zh;q=nonsense", Language.EN),
        ("*;q=0.1, zh;q=0.2", Language.ZH),
    ],
)
def test_messages_follow_accept_language(header: str | None, language: Language) -> None:
    assert preferred_language(header) is language


def test_every_reason_can_be_told_in_the_envelope() -> None:
    for why, language in product(Why, Language):
        for answer in (failure(why, language, "trace"), service_failure(why, language, "trace")):
            assert 400 <= answer.status < 600, why
            assert answer.body, why


@for_all(text=st.text(st.characters(codec=None, exclude_categories=())))
def test_bearer_tokens_keep_to_their_grammar(text: str) -> None:
    """RFC 6750 §2.1."""
    token = userinfo.bearer_token([(b"authorization", f"Bearer {text}".encode("utf-8", "replace"))])
    if token is not None:
        revealed = token.reveal()
        assert revealed
        assert revealed.isascii()
        assert not set(revealed) & set(' ,;"')
