"""Cases for every front door of the core: the server's and each example's.

A case knows a `Door` and nothing else: requests go in, answers come out, and time is set on by hand. Rules
are proved in tests/core; these cases show that forms, credentials, User-Agents and time reach them.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

import pytest
from first_records import REDIRECT_URI, VERIFIER, Records

Fields = list[tuple[str, str]]

AGENT: Final = "app-backend/1.0"


@dataclass(frozen=True)
class Told:
    """An answer; names of header fields are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def content(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.body)
        return content

    @property
    def error(self) -> tuple[int, str]:
        return self.status, self.content["error"]


@dataclass(frozen=True)
class Door:
    """A front door, and what stands behind it."""

    ask: Callable[[str, str, Fields, bytes], Told]
    records: Records
    code: Callable[[], str]
    """A fresh code of Anna's for `app`."""
    wait: Callable[[float], None]
    port: int = 0
    """The port on 127.0.0.1; 0 without a socket."""

    def basic(self, client_id: str = "app") -> tuple[str, str]:
        pair = f"{client_id}:{self.records.secrets[client_id]}"
        return "Authorization", "Basic " + b64encode(pair.encode()).decode()

    def post(
        self, operation: str, form: Mapping[str, str], *, by: str | None = "app", agent: str = AGENT
    ) -> Told:
        fields = [("Content-Type", "application/x-www-form-urlencoded"), ("User-Agent", agent)]
        if by is not None:
            fields.append(self.basic(by))
        return self.ask("POST", f"/api/oauth2/{operation}", fields, urlencode(form).encode())

    def redeem(self, code: str) -> Told:
        form = {"grant_type": "authorization_code", "code": code}
        return self.post("token", {**form, "redirect_uri": REDIRECT_URI, "code_verifier": VERIFIER})

    def pair(self) -> dict[str, Any]:
        return self.redeem(self.code()).content

    def refresh(self, token: str, *, agent: str = AGENT) -> Told:
        return self.post("token", {"grant_type": "refresh_token", "refresh_token": token}, agent=agent)

    def machine_token(self) -> str:
        token: str = self.post("token", {"grant_type": "client_credentials"}).content["access_token"]
        return token

    def is_active(self, token: str) -> bool:
        told = self.post("introspect", {"token": token}).content
        assert told["active"] or told == {"active": False}
        return bool(told["active"])

    def userinfo(self, token: str | None) -> Told:
        fields = [] if token is None else [("Authorization", f"Bearer {token}")]
        return self.ask("GET", "/api/oauth2/userinfo", fields, b"")


def client_credentials_give_a_token_that_represents_no_user(door: Door) -> None:
    told = door.post("token", {"grant_type": "client_credentials"})
    assert told.status == 200
    assert told.content.keys() == {"access_token", "token_type", "expires_in", "scope"}
    assert told.headers["cache-control"] == "no-store"
    assert told.headers["pragma"] == "no-cache"
    introspected = door.post("introspect", {"token": told.content["access_token"]}).content
    assert introspected["active"]
    assert "sub" not in introspected


def a_code_is_redeemed_once(door: Door) -> None:
    code = door.code()
    told = door.redeem(code)
    assert told.status == 200
    assert len(told.content["access_token"]) == len(told.content["refresh_token"]) == 43
    assert (told.content["expires_in"], told.content["scope"]) == (1800, "user.read")
    assert door.redeem(code).error == (400, "invalid_grant")
    assert door.is_active(told.content["access_token"])


def a_safe_retry_repeats_the_pair_and_another_user_agent_ends_the_session(door: Door) -> None:
    first = door.pair()
    second = door.refresh(first["refresh_token"]).content
    assert not door.is_active(first["access_token"])
    assert door.is_active(second["access_token"])
    door.wait(30)
    again = door.refresh(first["refresh_token"]).content
    assert all(again[name] == second[name] for name in ("access_token", "refresh_token"))
    assert again["expires_in"] == second["expires_in"] - 30
    assert door.refresh(first["refresh_token"], agent="a thief's").error == (400, "invalid_grant")
    assert not door.is_active(second["access_token"])


def introspection_shows_what_the_specification_lists(door: Door) -> None:
    pair = door.pair()
    access = door.post("introspect", {"token": pair["access_token"]}).content
    assert access.keys() == {"active", "client_id", "scope", "token_type", "exp", "sub", "username"}
    assert access["username"] == "anna"
    refresh = door.post("introspect", {"token": pair["refresh_token"]}).content
    assert "token_type" not in refresh
    assert refresh["exp"] > access["exp"]
    assert door.post("introspect", {}).error == (400, "invalid_request")


def a_revocation_ends_the_session_with_an_empty_answer(door: Door) -> None:
    pair = door.pair()
    told = door.post("revoke", {"token": pair["refresh_token"]})
    assert (told.status, told.body, told.headers["content-length"]) == (200, b"", "0")
    assert told.headers["content-type"].lower() == "application/json"
    assert not door.is_active(pair["access_token"])
    assert door.post("revoke", {"token": "unknown"}).status == 200


def user_info_shows_the_profile_and_why_there_is_none(door: Door) -> None:
    told = door.userinfo(door.pair()["access_token"])
    assert told.status == 200
    assert told.content["code"] == 0
    assert told.content["data"].keys() == {"sub", "username", "name", "avatarUrl", "locale"}
    assert told.content["data"]["name"] == "Anna"
    for token in (None, "unknown"):
        refused = door.userinfo(token)
        assert (refused.status, refused.content["code"]) == (401, "A1001")
        assert refused.headers["www-authenticate"].startswith("Bearer")
    machine = door.userinfo(door.machine_token())
    assert (machine.status, machine.content["code"]) == (403, "B4003")


def a_client_that_does_not_prove_itself_is_refused_as_its_method_asks(door: Door) -> None:
    wrong = {"client_id": "app", "client_secret": "wrong", "token": "t", "grant_type": "client_credentials"}
    assert door.post("token", wrong, by=None).error == (400, "invalid_client")
    assert door.post("introspect", wrong, by=None).error == (401, "invalid_client")
    fields = [
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Authorization", "Basic " + b64encode(b"app:wrong").decode()),
    ]
    told = door.ask("POST", "/api/oauth2/token", fields, b"grant_type=client_credentials")
    assert told.error == (401, "invalid_client")
    assert told.headers["www-authenticate"].startswith("Basic")
    both = {"client_secret": door.records.secrets["app"], "grant_type": "client_credentials"}
    assert door.post("token", both).error == (400, "invalid_request")
    right = {**wrong, "client_secret": door.records.secrets["app"]}
    assert door.post("token", right, by=None).status == 200


def a_request_that_is_no_form_is_refused(door: Door) -> None:
    path, basic = "/api/oauth2/token", door.basic()
    as_json = door.ask("POST", path, [basic, ("Content-Type", "application/json")], b"{}")
    assert as_json.error == (400, "invalid_request")
    form = ("Content-Type", "application/x-www-form-urlencoded")
    for body in (
        b"grant_type=client_credentials&grant_type=client_credentials",
        b"grant_type=authorization_code&code[]=x",
        b"grant_type=%zz",
        b"",
    ):
        assert door.ask("POST", path, [basic, form], body).error == (400, "invalid_request")
    assert door.ask("POST", path, [basic, form], b"grant_type=password").error == (
        400,
        "unsupported_grant_type",
    )


def a_body_past_the_limit_is_refused(door: Door) -> None:
    fields = [door.basic(), ("Content-Type", "application/x-www-form-urlencoded")]
    told = door.ask("POST", "/api/oauth2/token", fields, b"a=" + b"b" * 70_000)
    assert told.error == (413, "invalid_request")


def an_unknown_path_and_a_wrong_method_are_refused_in_their_form(door: Door) -> None:
    missing = door.ask("POST", "/api/oauth2/nothing", [], b"")
    assert (missing.status, missing.content["code"]) == (404, "A0404")
    refused = door.ask("GET", "/api/oauth2/token", [], b"")
    assert (refused.status, refused.content["error"]) == (405, "invalid_request")
    assert "POST" in refused.headers["allow"]


def past_its_rate_a_source_waits_until_the_minute_is_over(door: Door) -> None:
    """Run last, as it uses the minute up."""
    told = Told(0, {}, b"")
    for _ in range(601):
        told = door.post("token", {}, by=None)
    assert (told.status, told.content["code"]) == (429, "A0429")
    assert 0 < int(told.headers["retry-after"]) <= 60
    door.wait(60)
    assert door.post("token", {"grant_type": "client_credentials"}).status == 200


Case = Callable[[Door], None]

_CASES: Final[tuple[Case, ...]] = (
    client_credentials_give_a_token_that_represents_no_user,
    a_code_is_redeemed_once,
    a_safe_retry_repeats_the_pair_and_another_user_agent_ends_the_session,
    introspection_shows_what_the_specification_lists,
    a_revocation_ends_the_session_with_an_empty_answer,
    user_info_shows_the_profile_and_why_there_is_none,
    a_client_that_does_not_prove_itself_is_refused_as_its_method_asks,
    a_request_that_is_no_form_is_refused,
    a_body_past_the_limit_is_refused,
    an_unknown_path_and_a_wrong_method_are_refused_in_their_form,
    past_its_rate_a_source_waits_until_the_minute_is_over,
)

every_case = pytest.mark.parametrize("case", _CASES, ids=lambda case: case.__name__)
