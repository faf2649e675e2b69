"""Answers that the simulation accepts: each error with its own status, a page with its reason."""

import json

import pytest

from fuzz.shared.calls import Call, Face, Verb
from fuzz.shared.http_client import Response
from fuzz.simulation.documented import PROFILE, STATUS_OF_CODE, STATUS_OF_ERROR, is_undocumented
from fuzz.simulation.forms import read_code_or_reason
from ostiary_core.http.envelope import text_of
from ostiary_core.http.meanings import MEANINGS
from ostiary_core.model.why import Why
from ostiary_core.texts import ENGLISH

NEVER_FRAMED = ("content-security-policy", "default-src 'none'; frame-ancestors 'none'")
BASIC = [("www-authenticate", 'Basic realm="oauth2"')]


def wrong(verb: Verb, status: int, content: dict[str, object], *, by_form: bool = False) -> str | None:
    response = Response(status, BASIC, json.dumps(content).encode())
    return is_undocumented(Call(verb=verb), response, by_form=by_form)


def failure(code: str) -> dict[str, object]:
    return {"code": code, "msg": "Because.", "data": None, "traceId": "1"}


def page(status: int, code: str, reason: str = "Because.") -> str | None:
    body = f'<div role="alert" autofocus>\n<p>{reason}</p></div><dd><code>{code}</code></dd>'
    return is_undocumented(Call(verb=Verb.RECALL), Response(status, [], body.encode()), by_form=False)


@pytest.mark.parametrize("code, status", STATUS_OF_CODE.items())
def test_a_code_comes_with_its_status_alone(code: str, status: int) -> None:
    assert wrong(Verb.CHANGE_USER, status, failure(code)) is None
    for other in {*STATUS_OF_CODE.values(), 418, 502} - {status}:
        assert wrong(Verb.CHANGE_USER, other, failure(code)) is not None


@pytest.mark.parametrize("error, status", STATUS_OF_ERROR.items())
def test_an_error_comes_with_its_status_alone_and_at_the_token_service(error: str, status: int) -> None:
    assert wrong(Verb.INTROSPECT, status, {"error": error}) is None
    for other in {*STATUS_OF_CODE.values(), 418, 502} - {status}:
        assert wrong(Verb.INTROSPECT, other, {"error": error}) is not None
    assert wrong(Verb.CHANGE_USER, status, {"error": error}) is not None


def test_a_client_that_fails_by_form_fields_is_answered_400_at_token_alone() -> None:
    error: dict[str, object] = {"error": "invalid_client"}
    assert wrong(Verb.REFRESH, 400, error, by_form=True) is None
    assert wrong(Verb.REFRESH, 401, error, by_form=True) is not None
    assert wrong(Verb.REVOKE, 401, error, by_form=True) is None
    assert wrong(Verb.REVOKE, 400, error, by_form=True) is not None


def test_an_answer_of_another_form_is_undocumented() -> None:
    assert wrong(Verb.CHANGE_USER, 422, failure("B4011")) is not None
    assert wrong(Verb.INTROSPECT, 400, {"error": "server_error"}) is not None
    assert wrong(Verb.INTROSPECT, 500, failure("A0500")) is None
    assert wrong(Verb.INTROSPECT, 400, failure("A0401")) is not None
    assert wrong(Verb.CHANGE_USER, 403, {**failure("A0403"), "traceId": ""}) is not None
    assert wrong(Verb.CHANGE_USER, 200, {"code": 0, "msg": "ok"}) is None
    assert wrong(Verb.CHANGE_USER, 200, {"code": "0", "msg": "ok"}) is not None


def test_user_info_has_the_documented_fields_and_no_other() -> None:
    profile: dict[str, object] = dict.fromkeys(PROFILE)
    assert wrong(Verb.USER_INFO, 200, {"code": 0, "msg": "ok", "data": profile}) is None
    for other in ({**profile, "phone": "+493012345"}, {"sub": "1", "username": "ann"}):
        assert wrong(Verb.USER_INFO, 200, {"code": 0, "msg": "ok", "data": other}) is not None


def test_a_token_is_a_bearer_token_that_no_cache_keeps() -> None:
    def wrong_token(kind: str, field: str) -> str | None:
        body = json.dumps({"access_token": "a" * 43, "token_type": kind}).encode()
        response = Response(200, [("cache-control", field)], body)
        return is_undocumented(Call(verb=Verb.REFRESH), response, by_form=False)

    assert wrong_token("Bearer", "no-store") is None
    assert wrong_token("bearer", "no-store") is not None
    assert wrong_token("Bearer", "private") is not None


def test_cookies_after_a_form_are_for_this_server_alone() -> None:
    def wrong_cookie(cookie: str) -> str | None:
        fields = [("location", "/"), ("set-cookie", cookie), NEVER_FRAMED]
        call = Call(verb=Verb.SIGN_IN, face=Face.PAGE)
        return is_undocumented(call, Response(303, fields, b""), by_form=False)

    assert wrong_cookie("ostiary_access=1; HttpOnly; Path=/; SameSite=Lax") is None
    assert wrong_cookie("__Host-ostiary_access=1; Secure; HttpOnly; Path=/; SameSite=Lax") is None
    assert wrong_cookie("__Host-ostiary_access=1; HttpOnly; Path=/; SameSite=Lax") is not None
    assert wrong_cookie("ostiary_access=1; Path=/; SameSite=Lax") is not None
    assert wrong_cookie("ostiary_access=1; HttpOnly; Path=/") is not None


def test_the_page_at_sso_says_why_by_code_and_in_words() -> None:
    assert page(400, "B4001") is None
    assert page(403, "B4001") is not None
    assert page(404, "A0404") is not None
    assert page(400, "") is not None
    assert page(400, "B4001", reason="") is not None
    assert page(200, "") == "the page is answered 200 without the question"


def after_form(
    verb: Verb, status: int, location: str = "", reason: str = "", *, framed: bool = False
) -> str | None:
    fields = [("location", location)] if framed else [("location", location), NEVER_FRAMED]
    response = Response(status, fields, f'<div role="alert" autofocus>\n<p>{reason}</p></div>'.encode())
    shown = read_code_or_reason(response)
    return is_undocumented(Call(verb=verb, face=Face.PAGE), response, by_form=False, shown=shown)


def test_after_a_form_comes_a_page_of_here_or_a_reason() -> None:
    assert after_form(Verb.DELETE_USER, 303, "/admin/people") is None
    assert after_form(Verb.DELETE_USER, 303, "https://elsewhere.example/") is not None
    assert after_form(Verb.DELETE_USER, 303, "//elsewhere.example/") is not None
    assert after_form(Verb.APPROVE, 303, "https://client.example/?code=1") is None
    assert after_form(Verb.RESET_SECRET, 200) is None
    assert after_form(Verb.DELETE_USER, 200) is not None
    assert after_form(Verb.DELETE_USER, 403, reason=text_of(Why.PERMISSION_MISSING, ENGLISH)) is None
    assert after_form(Verb.DELETE_USER, 404, reason=text_of(Why.PERMISSION_MISSING, ENGLISH)) is not None
    assert after_form(Verb.DELETE_USER, 403, reason="Because.") is not None
    assert after_form(Verb.RESET_SECRET, 200, framed=True) is not None


def test_the_server_has_each_of_them_with_the_same_status() -> None:
    """Check that the restated lists are whole, as they are not taken from the server."""
    codes = {(meaning.code, meaning.status) for meaning in MEANINGS.values() if meaning.code != "A0400"}
    assert codes == set(STATUS_OF_CODE.items())
    errors = {(meaning.error, meaning.status) for meaning in MEANINGS.values() if meaning.error is not None}
    assert errors - set(STATUS_OF_ERROR.items()) <= {
        ("invalid_request", 413),
        ("invalid_request", 415),
        ("invalid_grant", 401),
    }
    assert set(STATUS_OF_ERROR.items()) <= errors


def test_a_page_may_say_behind_its_reason_how_long_to_wait() -> None:
    problem = text_of(Why.SIGN_INS_TOO_FREQUENT, ENGLISH)
    waits = f"{problem} You can try again in 5 seconds."
    for reason, code in ((problem, "A1003"), (waits, "A1003"), (f"Because. {problem}", "")):
        body = f'<div role="alert">\n<p>{reason}</p></div>'
        assert read_code_or_reason(Response(429, [], body.encode())) == code
