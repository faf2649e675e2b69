"""The client, field by field ("Client", READINGS 20, 37)."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given as for_all, strategies as st

from ostiary_core import Entropy, Why, events as e
from ostiary_core.model.client import is_redirect_uri
from ostiary_core.model.decision import Update
from ostiary_core.model.fields import FieldRule
from ostiary_core.model.instant import iso_time
from ostiary_core.model.records import revise
from ostiary_core.model.reply import ClientKnown, SecretIssued, TokensIssued
from ostiary_core.model.secret import draw_client_secret
from tests.rows import row
from tests.support import asks
from tests.support.asks import client_change, machine
from tests.support.story import World, client, given

TABLE = "Client"


# --- clientId


@row(TABLE, "clientId")
def test_a_client_id_is_case_sensitive() -> None:
    world = given(client("app"), client("App"), client("a" * 64))
    world.when(machine(world.basic("App"))).then(TokensIssued)
    world.when(machine(asks.credentials("APP", "x"))).then_refused(Why.CLIENT_UNKNOWN)
    mixed = e.ClientCredentials(client_id="App", secret=world.secrets["app"], method=world.basic().method)
    world.when(machine(mixed)).then_refused(Why.CLIENT_SECRET_WRONG)


@row(TABLE, "clientId")
def test_a_client_id_is_immutable(world: World) -> None:
    assert world.when(client_change(clientId="other")).then_faults() == {"clientId": FieldRule.IMMUTABLE}
    assert world.when(client_change(clientId="APP")).then_faults() == {"clientId": FieldRule.IMMUTABLE}
    world.when(client_change(clientId="app", name="Renamed")).then(ClientKnown)


# --- the secret


@row(TABLE, "client secret")
@for_all(entropy=st.binary(min_size=32, max_size=32))
def test_a_secret_has_only_letters_and_digits(entropy: bytes) -> None:
    """Keep secrets the same in every encoding that a client may apply to them (READINGS 20)."""
    text = draw_client_secret(Entropy(entropy)).reveal()
    assert len(text) == 43, "256 bits at nearly 6 bits a character"
    assert text.isascii()
    assert text.isalnum()


# --- redirectUris


REGISTRABLE = """
    https://app.example/callback https://app.example https://app.example:8443/a/b?x=1&y=%20
    https://xn--bcher-kva.example/ https://app.example/path@home https://[2001:db8::1]/cb
    https://app.example./cb https://a_b.example/ https://203.0.113.7:8443/cb https://app.example/?codes=1&x=code
    http://localhost http://localhost/cb http://localhost:3000/cb http://127.0.0.1 http://127.0.0.1:8080/cb?x
"""
NOT_REGISTRABLE = """
    http://app.example/callback http://localhost.evil.example/ http://127.0.0.1.evil.example/ http://127.0.0.2/
    http://localhost@evil.example/ http://localhost:@evil.example/ http://localhost:80:80/ http://LOCALHOST/
    http://localhost:/ http://[::1]/ HTTPS://app.example/ https:/app.example/ https:// https:///callback
    http://app.example:8080/ ftp://localhost/
    https://:443/ https://user@app.example/ https://user:password@app.example/ https://@app.example/
    https://app.example/# https://app.example/#fragment https://*.example/ https://app.example/*
    https://app.example\\@evil.example/ https://app.example/\x00 https://bücher.example/
    https://app.example:0/ https://app.example:65536/ https://app.example:port/
    https://[app.example/ https://app[::1].example/ https://[::1]app.example/ //app.example/ /callback
    https://./ https://.. https://a..b/ https://.a/ https://-a.example/ https://a-/ https://a!b/
    https://ex%2fmple/ https://%2d/
    https://{long}.example/ https://{many} https://1.2.3/ https://256.1.1.1/ https://a.0x7f/ https://[v1.x]/ https://[fe80::1%25eth0]/
    https://app.example/?code=1 https://app.example/?x=1&state https://app.example/?%63%6Fde=1 https://app.example/?error=
    https://app.example/?error_description=x https://app.example/?error_uri=x https://app.example/?is%73=x http://localhost/?code
    javascript:alert(1) com.example.app:/callback data:text/html,x
"""
NOT_REGISTRABLE = NOT_REGISTRABLE.replace("{long}", "x" * 64).replace("{many}", "x." * 128)
WITH_SPACES = (
    *("https://app.example/a b", "https://app.example/\t", "https://app.example/\r\nLocation: x"),
    *(" https://app.example/", "https://app.example/ ", "https://app.example/\u00a0"),
)


@row(TABLE, "redirectUris")
def test_which_redirect_uris_may_be_registered() -> None:
    for uri in REGISTRABLE.split():
        assert is_redirect_uri(uri), uri
        assert given(client(redirectUris=[uri])).client().redirect_uris == (uri,)
    longest = f"{'https://app.example/':x<2000}"
    many = [f"https://app.example/{number}" for number in range(50)]
    for uris in ([longest], many):
        assert given(client(redirectUris=uris)).client().redirect_uris == tuple(uris)
    world = given()
    too_many = world.when(client("newcomer", redirectUris=[*many, longest])).then_faults()
    assert too_many == {"redirectUris": FieldRule.TOO_LONG}
    for uri in (*NOT_REGISTRABLE.split(), *WITH_SPACES, "", f"{longest}x"):
        assert not is_redirect_uri(uri), uri
        registered = world.when(client("newcomer", redirectUris=["https://app.example/cb", uri]))
        assert registered.then_faults() == {"redirectUris.1": FieldRule.REDIRECT_URI}, uri


def test_a_redirect_uri_that_is_stored_is_not_judged_again() -> None:
    """Leave an address that is older than the rule, and change another field."""
    old, new = "https://app.example/?state=1", "https://app.example/?code=1"
    world = given(client())
    stored = world.client()
    world.store.write([Update(stored, revise(stored, redirect_uris=(old,)))])
    world.when(client_change(name="Renamed", redirectUris=[old]))
    assert (world.client().name, world.client().redirect_uris) == ("Renamed", (old,))
    refused = world.when(client_change(redirectUris=[new, old]))
    assert refused.then_faults() == {"redirectUris.0": FieldRule.REDIRECT_URI}


def test_a_client_with_the_code_grant_needs_a_redirect_uri() -> None:
    """READINGS 37."""
    world, needed = given(), {"redirectUris": FieldRule.REDIRECT_URI_NEEDED}
    assert world.when(client("newcomer", redirectUris=[])).then_faults() == needed
    assert world.when(client_change(redirectUris=[])).then_faults() == needed
    world.when(client("machine", redirectUris=[], grantTypes=["client_credentials"])).then(SecretIssued)
    assert world.when(client_change("machine", grantTypes=["authorization_code"])).then_faults() == needed


# --- grantTypes, scopes, autoApproveScopes


@row(TABLE, "grantTypes")
@row(TABLE, "scopes")
def test_a_client_may_register_any_of_three_grants_and_the_only_scope() -> None:
    for grant in ("authorization_code", "refresh_token", "client_credentials"):
        assert given(client(grantTypes=[grant])).client().grant_types == (grant,)
    for scopes in ((), ("user.read",)):
        assert given(client(scopes=list(scopes))).client().scopes == scopes


def bad(name: str, path: str, rule: FieldRule | None, *values: object) -> Any:
    """List values of a field that are refused, at this path and by this rule if there is only one."""
    return pytest.param(name, path, rule, values, marks=row(TABLE, name), id=f"{path} {rule}")


@pytest.mark.parametrize(
    "name, path, rule, values",
    [
        # Characters that Basic or a path would change.
        bad(
            *("clientId", "clientId", None),
            *("", " ", "a b", "a:b", "-a", "é", "a\x00", "a/b", "a%20", "\ud800", None, 7, ["a"]),
        ),
        bad("clientId", "clientId", FieldRule.TOO_LONG, "a" * 65),
        bad("name", "name", None, "", "  ", "x" * 101, "a\nb", "\x00", "\u202eevil", None, 7),
        bad(
            *("redirectUris", "redirectUris", FieldRule.STRINGS),
            *("https://app.example/", {"0": "https://app.example/"}, [7], [None], None, [["https://a/"]]),
        ),
        bad(
            *("grantTypes", "grantTypes.1", FieldRule.GRANT_TYPE),
            *(["refresh_token", other] for other in ("password", "implicit", "", "REFRESH_TOKEN", "urn:x")),
        ),
        bad(
            *("grantTypes", "grantTypes", None),
            *([], "refresh_token", None, ["refresh_token", "refresh_token"], [1]),
        ),
        bad(
            *("scopes", "scopes.0", FieldRule.SCOPE),
            *([scope] for scope in ("user.write", "USER.READ", "user.read ", "", "openid")),
        ),
    ],
)
def test_a_bad_value_is_named(name: str, path: str, rule: FieldRule | None, values: Sequence[object]) -> None:
    for value in values:
        faults = given().when(client("newcomer", **{name: value})).then_faults()
        assert path in faults, value
        assert rule in (None, faults[path]), value


@row(TABLE, "autoApproveScopes")
def test_auto_approved_scopes_lie_within_the_scopes_and_may_be_empty() -> None:
    world = given(client(autoApproveScopes=["user.read"]), client("asking", autoApproveScopes=[]))
    assert world.client().auto_approve_scopes == ("user.read",)
    assert world.client("asking").auto_approve_scopes == ()
    outside = {"autoApproveScopes.0": FieldRule.AUTO_APPROVE_SCOPE}
    assert world.when(client("newcomer", scopes=[], autoApproveScopes=["user.read"])).then_faults() == outside
    assert world.when(client_change(scopes=[])).then_faults() == outside


def lifetime(kind: str, *limits: int) -> Any:
    """Name a field for the lifetime of a token, with its limits and default."""
    marks = [row(TABLE, f"{kind} token lifetime"), row("Limits rules", f"4 {kind} token lifetime")]
    return pytest.param(f"{kind}TokenTtl", *limits, marks=marks)


@pytest.mark.parametrize(
    "field, least, most, default",
    [lifetime("access", 300, 86_400, 1_800), lifetime("refresh", 3_600, 2_592_000, 604_800)],
)
def test_a_lifetime_has_its_limits_and_its_default(field: str, least: int, most: int, default: int) -> None:
    def taken(world: World) -> int:
        record = world.client()
        return record.access_token_seconds if field == "accessTokenTtl" else record.refresh_token_seconds

    assert taken(given(client())) == default
    assert taken(given(client(**{field: least}))) == least
    assert taken(given(client(**{field: most}))) == most
    rules = {FieldRule.ACCESS_LIFETIME, FieldRule.REFRESH_LIFETIME, FieldRule.INTEGER}
    for value in (least - 1, most + 1, 0, -1, 10**30, float(least), f"{least}", True, None, [least]):
        assert given().when(client("newcomer", **{field: value})).then_faults()[field] in rules


# --- every bad field at once, and nothing else


def test_every_bad_field_is_named() -> None:
    assert given().when(
        e.ClientRegistered(
            caller=e.Operator(),
            fields={"clientId": "a b", "scopes": ["x"], "redirectUris": ["/"], "grantTypes": ["x"], "x": 1},
            entropy=asks.fresh_entropy(),
        )
    ).then_faults() == {
        "x": FieldRule.UNKNOWN,
        "clientId": FieldRule.CLIENT_ID,
        "name": FieldRule.REQUIRED,
        "redirectUris.0": FieldRule.REDIRECT_URI,
        "grantTypes.0": FieldRule.GRANT_TYPE,
        "scopes.0": FieldRule.SCOPE,
    }


def test_a_record_may_be_sent_back_as_it_was_shown(world: World) -> None:
    shown: dict[str, object] = {"id": "app", "builtIn": False, "wrongSecrets": 0}
    shown |= dict.fromkeys(("secretLastUsedAt", "oldSecretUntil", "oldSecretLastUsedAt", "wrongSecretLastAt"))
    shown |= dict.fromkeys(("createdAt", "updatedAt"), iso_time(world.client().created_at))
    world.when(client_change(enabled=True, lastUsedAt="another", **shown)).then(ClientKnown)
    for name in shown:
        for another in ("x", 1):
            assert world.when(client_change(**{name: another})).then_faults() == {name: FieldRule.IMMUTABLE}
    assert world.when(client_change(enabled=False)).then_faults() == {"enabled": FieldRule.IMMUTABLE}
    assert not given(client(enabled=False)).client().enabled, "a new one may be disabled"


def test_a_change_leaves_what_it_does_not_name() -> None:
    world = given(client(accessTokenTtl=900, refreshTokenTtl=7_200, autoApproveScopes=["user.read"]))
    before = world.client()
    world.given(client_change(name="Renamed"))
    assert world.client() == revise(before, name="Renamed")
