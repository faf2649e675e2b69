"""How a token-service request is read: form, authentication, order of checks (READINGS 13-17, 21, 37)."""

from base64 import b64encode
from hashlib import sha256

import pytest

from ostiary_core import Secret, Why
from ostiary_core.http.form import LONGEST_FORM
from ostiary_core.http.sender import read_basic, user_agent_of
from tests.core.door import (
    FORM_TYPE,
    INTROSPECT,
    REVOKE,
    TOKEN,
    Response,
    basic_header,
    form_body,
    post,
    post_raw,
)
from tests.rows import row
from tests.support import asks
from tests.support.story import World, client, given

TABLE = "Token request"
ALL = pytest.mark.parametrize("path", [TOKEN, INTROSPECT, REVOKE])

MACHINE = {"grant_type": "client_credentials"}
FORM = FORM_TYPE[1]


def send(world: World, path: str, body: bytes, *headers: tuple[bytes, bytes]) -> Response:
    """Post a body, rightly authenticated by Basic; nothing may change unless it is understood."""
    before = world.everything()
    response = post_raw(world, path, [basic_header("app", world.secrets["app"]), *headers], body)
    if response.status != 200:
        assert world.everything() == before
    return response


# --- the form


@row(TABLE, "form-encoded only")
@row("Token-service errors", "invalid_request: body not form-encoded")
@ALL
@pytest.mark.parametrize(
    "content_type",
    [
        *(b"application/json", b"multipart/form-data; boundary=x", b"text/plain", b"", b"; " + FORM),
        *(FORM + more for more in (b", application/json", b'; charset="', b"; charset=", b"; charset")),
        *(FORM + more for more in (b"; =y", b"; x y=z", b" x=y", b"x")),
    ],
)
def test_another_content_type_is_refused(world: World, path: str, content_type: bytes) -> None:
    body = form_body({**MACHINE, "token": "x"})
    assert send(world, path, body, (b"content-type", content_type)).error == (400, "invalid_request")
    assert send(world, path, body).error == (400, "invalid_request"), "none"
    assert send(world, path, body, FORM_TYPE, FORM_TYPE).error == (400, "invalid_request"), "two"


@pytest.mark.parametrize(
    "content_type",
    [
        *(FORM, FORM.title(), FORM + b";", FORM + b" ; x=y", FORM + b"; boundary=x; q=1"),
        *(FORM + b";charset=UTF-8", FORM + b' ; charset = "utf-8" ', FORM + b"\t;\tx=y\t;\tcharset=utf-8"),
        *(FORM + b'; CHARSET="Utf-8"', FORM + b'; charset="ut\\f-8"', FORM + b";;; charset=utf8;"),
        *(FORM + b'; x="a;b, charset=utf-16"; y=z', FORM + b"; charset=utf-16; charset=utf-8"),
        *(FORM + b"; charset=ISO-8859-1", FORM + b'; charset="us-ascii"'),
    ],
)
def test_the_content_type_is_read_as_clients_write_it(content_type: bytes) -> None:
    assert send(given(), TOKEN, form_body(MACHINE), (b"content-type", content_type)).status == 200


@row(TABLE, "form-encoded only")
@ALL
@pytest.mark.parametrize("value", [b"\xe9", "é".encode()])
def test_another_charset_than_utf_8_has_only_bytes_of_ascii(world: World, path: str, value: bytes) -> None:
    """Read escapes as UTF-8 in every charset (READINGS 62)."""
    body = form_body({**MACHINE, "token": "x"})
    read = 400 if value == b"\xe9" else 200
    for charset, status in ((b"iso-8859-1", 400), (b"utf-8", read), (b'"ut\\f-8"', read)):
        content_type = (b"content-type", b"application/x-www-form-urlencoded; charset=" + charset)
        assert send(world, path, body + b"&x=" + value, content_type).status == status
        assert send(world, path, body + b"&x=%C3%A9", content_type).status == 200
        assert send(world, path, body + b"&x=%E9", content_type).error == (400, "invalid_request")


@ALL
@pytest.mark.parametrize(
    "codings", [[b"gzip"], [b"Deflate"], [b"identity, br"], [b"identity", b"gzip"], [b"x y"]]
)
def test_a_content_coding_is_refused(world: World, path: str, codings: list[bytes]) -> None:
    """Refuse an encoded body, as it is never decoded (READINGS 61)."""
    fields = [(b"content-encoding", coding) for coding in codings]
    response = send(world, path, form_body({**MACHINE, "token": "x"}), FORM_TYPE, *fields)
    assert response.error == (415, "invalid_request")
    assert (b"accept-encoding", b"identity") in response.answer.headers


@pytest.mark.parametrize("coding", [b"identity", b"", b" , Identity"])
def test_no_content_coding_may_be_named(coding: bytes) -> None:
    assert send(given(), TOKEN, form_body(MACHINE), FORM_TYPE, (b"content-encoding", coding)).status == 200


ARRAYS = b"code[]=a code[0]=a code[a]=b code[=a code%5B%5D=a code%5b0%5d=a []=a code]=a unknown[]=a code[]"
REPEATED = (
    b"grant_type=client_credentials token=x scope=&scope=user.read to%6ben=y "
    b"client_id=app&client_id=app token_type_hint=a&token_type_hint=a"
)
"""RFC 6749 §3.2; also one that is empty or spelt otherwise."""
UNDECODABLE = (
    b"x=%ff x=\xff x=%C3%28 x=%C3\xa9 x=%C3\xa9&y=\xc2\xa9 %ff=x x=%ED%A0%80 x=% x=%4 x=%zz x=%u0041 "
    b"x=%00 x=\x00 \x00=x %00"
)


@row(TABLE, "no array or object field")
@row("Token-service errors", "invalid_request: a field is an array or object")
@ALL
def test_a_malformed_field_is_refused(world: World, path: str) -> None:
    for field in (*ARRAYS.split(), *REPEATED.split(), *UNDECODABLE.split()):
        body = b"grant_type=client_credentials&token=x&" + field
        assert send(world, path, body, FORM_TYPE).error == (400, "invalid_request"), field


@ALL
def test_a_body_that_is_too_large_is_refused(path: str) -> None:
    """READINGS 37."""
    world, body = given(), form_body({**MACHINE, "token": "x", "filler": ""})
    for size in (LONGEST_FORM + 1, 1_048_576):
        response = send(world, path, body + b"x" * (size - len(body)), FORM_TYPE)
        assert response.error == (413, "invalid_request")
    assert send(world, path, body + b"x" * (LONGEST_FORM - len(body)), FORM_TYPE).status == 200


@ALL
def test_an_unknown_field_is_ignored(path: str) -> None:
    """Ignore it twice too (RFC 8693 §2.1 repeats `resource`), as `/sso` does."""
    body = form_body({**MACHINE, "token": "x", "resource": "https://api.example/"})
    for more in (b"&&", b"&resource=x", b"&unknown=1&unknown=2", b"&unknown&unknown=1", b"&=1&=2"):
        assert send(given(), path, b"&&=1&" + body + more, FORM_TYPE).status == 200, more


def test_a_body_that_says_nothing_lacks_its_parameters(world: World) -> None:
    for body in (b"", b"&&&", b"=", b"=x", b"x"):
        assert send(world, TOKEN, body, FORM_TYPE).error == (400, "invalid_request"), body
        assert send(world, INTROSPECT, body, FORM_TYPE).error == (400, "invalid_request"), body


def test_an_empty_field_counts_as_absent(world: World) -> None:
    """RFC 6749 §3.2."""
    assert post(world, TOKEN, {**MACHINE, "scope": ""}, basic="app").status == 200
    assert post(world, TOKEN, {"grant_type": ""}, basic="app").error == (400, "invalid_request")
    fields = {"grant_type": "refresh_token", "refresh_token": world.tokens().refresh_token, "scope": ""}
    assert post(world, TOKEN, fields, basic="app").json["scope"] == "user.read"


@pytest.mark.parametrize("value", ["x" * 60_000, "é" * 9_000, "a b+c%d&e=f", "\ufffd", "\n"])
def test_a_strange_value_is_a_wrong_value_and_no_error(world: World, value: str) -> None:
    assert post(world, INTROSPECT, {"token": value}, basic="app").json == {"active": False}
    assert post(world, REVOKE, {"token": value}, basic="app").status == 200
    fields = {"grant_type": "refresh_token", "refresh_token": value}
    assert post(world, TOKEN, fields, basic="app").error == (400, "invalid_grant")
    fields = {"grant_type": "authorization_code", "code": value, "redirect_uri": "x", "code_verifier": "x"}
    assert post(world, TOKEN, fields, basic="app").error == (400, "invalid_grant")


# --- one method of authentication


@row(TABLE, "authentication by Basic, not form-decoded")
@row(TABLE, "authentication by form fields")
@row("Authentication", "third-party backend at /token, /introspect, /revoke: client secret")
@ALL
def test_a_client_authenticates_by_basic_or_by_form_fields(world: World, path: str) -> None:
    fields = {**MACHINE, "token": "x"}
    assert post(world, path, fields, basic="app").status == 200
    secret = world.secrets["app"]
    assert post(world, path, {**fields, "client_id": "app", "client_secret": secret}).status == 200


@row(TABLE, "only one authentication method")
@ALL
def test_both_methods_at_once_are_refused(path: str) -> None:
    """Refuse both even if both are right; tolerate the same `client_id` alone beside Basic (READINGS 15)."""
    world = given(client(), client("other"))
    secret = world.secrets["app"]
    right = basic_header("app", secret)
    for headers, more, status in (
        ([right], {"client_id": "app", "client_secret": secret}, 400),
        ([right], {"client_secret": secret}, 400),
        ([right], {"client_id": "other"}, 400),
        ([right], {"client_id": "app"}, 200),
        ([right, right], {}, 400),
    ):
        response = post(world, path, {**MACHINE, "token": "x", **more}, headers=headers)
        assert response.status == status, more
        assert status == 200 or response.error == (400, "invalid_request")


@ALL
def test_a_token_beside_form_fields_is_refused_with_advice_to_leave_it_out(world: World, path: str) -> None:
    """Explain it to programs that send their access token with every request."""
    fields = {**MACHINE, "token": "x", "client_id": "app", "client_secret": world.secrets["app"]}
    response = post(world, path, fields, headers=[(b"authorization", b"Bearer stale")])
    assert response.error == (400, "invalid_request")
    assert "Do not send an Authorization header" in response.json["error_description"]
    both = post(world, path, fields, headers=[basic_header("app", world.secrets["app"])])
    assert "not by both" in both.json["error_description"]
    alone = post(world, path, {**MACHINE, "token": "x"}, headers=[(b"authorization", b"Bearer stale")])
    assert alone.error == (401, "invalid_client")


@row(TABLE, "authentication by Basic, not form-decoded")
def test_basic_is_split_at_the_first_colon_and_not_form_decoded(world: World) -> None:
    """Set secrets by hand, as drawn ones never hold such characters (READINGS 17)."""
    for secret in ("a:b", "a+b", "a%2Bb", "100%", "ä", " "):
        asks.set_secret(world.store, world.client(), Secret(secret))
        assert post(world, TOKEN, MACHINE, basic=("app", secret)).status == 200
    for secret in ("a%", "a b%+", "a b"):
        asks.set_secret(world.store, world.client(), Secret(secret))
        fields = {**MACHINE, "client_id": "app", "client_secret": secret}
        assert post(world, TOKEN, fields).status == 200, "form fields are decoded"
    for secret in ("a+b", "a%20b"):
        assert post(world, TOKEN, MACHINE, basic=("app", secret)).error == (401, "invalid_client")


@pytest.mark.parametrize("scheme", [b"Basic ", b"basic ", b"BASIC ", b"Basic   "])
def test_the_scheme_is_read_in_any_case(world: World, scheme: bytes) -> None:
    value = scheme + b64encode(f"app:{world.secrets['app'].reveal()}".encode())
    assert post(world, TOKEN, MACHINE, headers=[(b"authorization", value)]).status == 200


@ALL
@pytest.mark.parametrize(
    "value",
    [
        *(b"", b"Basic", b"Digest username=app", b"Bearer " + b64encode(b"app:secret")),
        *(b"Basic " + each for each in (b"", b"YXBw", b"\xff\xff", b"YXBwOng= YXBwOng=", b"A" * 100_000)),
        *(b"Basic !!!!" + b64encode(b"app:secret"), b"Basic " + b64encode(b"app:secret")[:-1]),
        *(b"Basic " + b64encode(each) for each in (b"app:", b":secret", b"\xff\xfe:x", b"a\x00pp:x")),
        b"Basic " + b64encode(b"app:secre") + b"=",
    ],
)
def test_a_malformed_authorization_header_is_invalid_client(path: str, value: bytes) -> None:
    header = (b"authorization", value)
    assert isinstance(read_basic([header]), Why), "nobody is looked for"
    assert post(given(), path, {**MACHINE, "token": "x"}, headers=[header]).error == (401, "invalid_client")


# --- the order of checks


def test_the_first_fault_in_the_order_of_checks_wins() -> None:
    """Check form, method, client, known grant, registered grant, parameters, code (READINGS 13)."""
    world = given(client(grantTypes=["client_credentials"]), client("coding"))
    malformed = (b"authorization", b"Basic !!!")
    for kind, body in ((FORM_TYPE, b"scope=1&scope=2"), ((b"content-type", b"application/json"), b"{}")):
        assert post_raw(world, TOKEN, [malformed, kind], body).error == (400, "invalid_request")
    both = {**MACHINE, "client_id": "app", "client_secret": "wrong"}
    assert post(world, TOKEN, both, basic=("app", "wrong")).error == (400, "invalid_request")
    for grant in ("client_credentials", "refresh_token", "password", "", None):
        for path in (TOKEN, INTROSPECT, REVOKE):
            response = post(world, path, {"grant_type": grant}, basic=("app", "wrong"))
            assert response.error == (401, "invalid_client")
    assert post(world, TOKEN, {"grant_type": "password"}, basic="app").error == (
        400,
        "unsupported_grant_type",
    )
    for grant in ("refresh_token", "authorization_code"):
        assert post(world, TOKEN, {"grant_type": grant}, basic="app").error == (400, "unauthorized_client")
    fields = {"grant_type": "authorization_code", "code": "unknown"}
    assert post(world, TOKEN, fields, basic="coding").error == (400, "invalid_request")


def test_of_a_user_agent_of_more_than_512_bytes_a_digest_stands_for_the_rest() -> None:
    whole, longer = b"x" * 512, b"x" * 513
    assert user_agent_of([(b"user-agent", whole)]) == whole.decode()
    assert (
        user_agent_of([(b"user-agent", longer)])
        == f"{whole.decode()}... (sha256 {sha256(longer).hexdigest()})"
    )
