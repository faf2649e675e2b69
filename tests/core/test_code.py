"""The authorization code, row by row ("Authorization code", READINGS 8, 10, 18)."""

from dataclasses import replace

import pytest

from ostiary_core import Policy, Secret, Why, events as e
from ostiary_core.loading.keys import Keys
from ostiary_core.loading.snapshot import load
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.records import AuthorizationCode, Key, Table
from ostiary_core.model.reply import Done, TokensIssued
from ostiary_core.oauth.code import state_of
from ostiary_core.oauth.state_tables import CODE_TRANSITIONS, CodeState
from tests.rows import row
from tests.support.asks import CHALLENGE, VERIFIER, client_change, credentials, redeem, refresh
from tests.support.story import World, client, given, user

VOIDED = ["update code"]
ERRORS = "Token-service errors"
VOIDS = row(ERRORS, "a failed exchange voids the code")


def state_now(world: World, of: Secret | None = None) -> CodeState:
    """Return the state of this code, or of the only one."""
    [code] = world.store.fetch(Table.CODE, [of.digest]) if of else [world.the_code()]
    assert isinstance(code, AuthorizationCode)
    snapshot = load([Keys((Key(Table.CODE, code.digest),))], world.store.fetch)
    return state_of(code, snapshot.at(world.now, world.policy))


@row("Authorization code", "issued, redeem: valid code, verifier, client, redirect URI")
@row("Session (grant)", "created when a code is redeemed")
@row("Grants", "authorization_code")
def test_a_code_is_redeemed_for_a_session_and_a_pair(world: World) -> None:
    code = world.code()
    assert state_now(world) is CodeState.ISSUED

    redeemed = world.when(redeem(world.basic(), code))
    issued = redeemed.then(
        TokensIssued,
        changes=["update code", "insert session", "insert refresh token"],
        facts=[FactKind.CODE_USED, FactKind.SESSION_STARTED],
    )

    assert state_now(world) is CodeState.USED
    assert world.all_active(issued)
    begun = world.the_session()
    used = Fact(FactKind.CODE_USED, client_id="app", user_id=begun.user_id, scopes=("user.read",))
    assert redeemed.decision.facts[0] == replace(used, session_id=begun.session_id)
    assert (begun.client_id, begun.user_id) == ("app", world.user_ids["alice"])
    assert (world.the_code().session_id, world.the_code().used_or_voided_at) == (begun.session_id, world.now)


@VOIDS
@row("Authorization code", "issued, redeem: wrong code verifier")
@row(ERRORS, "invalid_grant: code_verifier missing")
@row(ERRORS, "invalid_grant: code_verifier wrong")
@pytest.mark.parametrize(
    "verifier",
    [
        *(None, VERIFIER + " ", VERIFIER.upper(), CHALLENGE),
        # READINGS 19: one outside RFC 7636 §4.1 is a wrong one, not a malformed request.
        *("x" * 42, "x" * 43, "x" * 129, "x" * 60_000, VERIFIER[:-1], VERIFIER + "=", VERIFIER + "é"),
    ],
)
def test_a_wrong_verifier_voids_the_code(world: World, verifier: str | None) -> None:
    code = world.code()
    why = Why.VERIFIER_MISSING if verifier is None else Why.VERIFIER_WRONG

    refused = world.when(redeem(world.basic(), code, verifier=verifier))
    refused.then_refused(why, changes=VOIDED, facts=[FactKind.CODE_VOIDED], error="invalid_grant")
    assert refused.decision.facts[0].why is why

    assert state_now(world) is CodeState.VOID
    assert (world.the_code().voided_why, world.the_code().used_or_voided_at) == (why, world.now)
    world.when(redeem(world.basic(), code)).then_refused(Why.CODE_VOID)


@VOIDS
@row("Authorization code", "issued, redeem: wrong redirect URI")
@row(ERRORS, "invalid_request: redirect_uri different")
@row(ERRORS, "invalid_request: redirect_uri missing at exchange")
@pytest.mark.parametrize(
    "redirect_uri, why",
    [
        ("https://app.example/callback/", Why.REDIRECT_URI_DIFFERENT),
        ("https://APP.example/callback", Why.REDIRECT_URI_DIFFERENT),
        ("https://app.example/callback?x=1", Why.REDIRECT_URI_DIFFERENT),
        ("https://app.example/other", Why.REDIRECT_URI_DIFFERENT),
        (None, Why.REDIRECT_URI_MISSING),
    ],
)
def test_a_wrong_redirect_uri_voids_the_code(redirect_uri: str | None, why: Why) -> None:
    world = given(client(redirectUris=["https://app.example/callback", "https://app.example/other"]), user())
    code = world.code()

    world.when(redeem(world.basic(), code, redirect_uri=redirect_uri)).then_refused(
        why, changes=VOIDED, error="invalid_request"
    )

    world.when(redeem(world.basic(), code)).then_refused(Why.CODE_VOID)


@VOIDS
@row(ERRORS, "invalid_grant: code of another client")
@row("Authorization code", "issued, redeem: other failure of the exchange")
def test_a_code_presented_by_another_client_is_void() -> None:
    world = given(client(), client("other"), user())
    code = world.code()

    world.when(redeem(world.basic("other"), code, redirect_uri="https://app.example/callback")).then_refused(
        Why.CODE_OF_ANOTHER_CLIENT, changes=VOIDED, facts=[FactKind.CODE_VOIDED], error="invalid_grant"
    )

    world.when(redeem(world.basic(), code)).then_refused(Why.CODE_VOID)


@row(ERRORS, "invalid_grant: code wrong")
@row(ERRORS, "invalid_request: a required parameter missing")
def test_an_unknown_code_or_none_changes_nothing(world: World) -> None:
    world.code()
    world.when(redeem(world.basic(), Secret("x" * 43))).then_refused(Why.CODE_UNKNOWN, error="invalid_grant")
    world.when(redeem(world.basic(), None)).then_refused(Why.CODE_MISSING, error="invalid_request")
    assert state_now(world) is CodeState.ISSUED


def test_a_failure_before_the_code_is_read_voids_nothing() -> None:
    """Let a client try both methods of authentication with one code (READINGS 13, 18)."""
    world = given(client(), client("machine", grantTypes=["client_credentials"]), user())
    code = world.code()
    world.when(redeem(credentials("app", "wrong"), code)).then_refused(Why.CLIENT_SECRET_WRONG)
    world.when(redeem(world.basic("machine"), code)).then_refused(Why.GRANT_NOT_REGISTERED)
    world.when(redeem(world.basic(), code)).then(TokensIssued)


@row(ERRORS, "invalid_grant: code expired")
@row("Authorization code", "issued, time: 300 seconds elapsed")
@row("Limits rules", "4 authorization code validity 300 s")
def test_a_code_is_good_for_300_seconds(world: World) -> None:
    early, late = world.code(), world.code()

    world.wait(299.999)
    world.when(redeem(world.basic(), early)).then(TokensIssued)
    world.wait(0.001)
    assert state_now(world, late) is CodeState.EXPIRED

    refused = world.when(redeem(world.basic(), late))
    refused.then_refused(Why.CODE_EXPIRED, changes=VOIDED, error="invalid_grant")
    [told] = refused.decision.facts
    [found] = [each for each in CODE_TRANSITIONS if each.why is Why.CODE_EXPIRED]
    assert (told.kind, told.why) == (found.fact, Why.CODE_EXPIRED)
    world.when(redeem(world.basic(), late)).then_refused(Why.CODE_VOID)


@row("Authorization code", "issued, user-level invalidation")
def test_an_ending_from_above_voids_codes_without_touching_them(world: World) -> None:
    """Try some endings; tests/web/test_endings.py has a test of each."""
    alice, operator = world.user_ids["alice"], e.Operator()
    for ending in (
        e.ConsentWithdrawn(caller=world.caller(), client_id="app"),
        e.UserForcedOut(caller=operator, user_id=alice),
        e.ConsentWithdrawnByAdministrator(caller=operator, user_id=alice, client_id="app"),
    ):
        code = world.code()
        world.given(ending)
        assert state_now(world, code) is CodeState.VOID
        world.when(redeem(world.basic(), code)).then_refused(Why.CODE_VOID)


@row(ERRORS, "invalid_grant: code already used")
@row("Authorization code", "used, redeem again")
def test_a_used_code_is_rejected_and_changes_nothing(world: World) -> None:
    code = world.code()
    issued = world.when(redeem(world.basic(), code)).then(TokensIssued)

    world.when(redeem(world.basic(), code)).then_refused(Why.CODE_USED, error="invalid_grant")

    assert state_now(world) is CodeState.USED
    assert world.all_active(issued)


@pytest.mark.parametrize("rotations", [0, 1])
def test_a_replayed_code_ends_its_session_where_the_setting_asks_for_it(rotations: int) -> None:
    """RFC 6749 §4.1.2, READINGS 10."""
    world = given(policy=Policy(revoke_on_code_replay=True))
    code = world.code()
    pairs = [world.when(redeem(world.basic(), code)).then(TokensIssued)]
    for _ in range(rotations):
        pairs.append(world.when(refresh(world.basic(), pairs[-1])).then(TokensIssued))

    world.when(redeem(world.basic(), code)).then_refused(
        Why.CODE_USED, changes=["update session"], facts=[FactKind.SESSION_ENDED]
    )

    assert not world.any_active(*pairs)
    assert world.the_session().ended_why is Why.CODE_REPLAYED
    world.when(redeem(world.basic(), code)).then_refused(Why.CODE_USED)
    world.wait(world.policy.retention_seconds)
    world.when(e.RecordExpired(key=world.the_session().key)).then(Done, changes=["delete session"])
    world.when(redeem(world.basic(), code)).then_refused(Why.CODE_USED)


def test_another_client_cannot_end_a_session_by_replaying_its_code() -> None:
    world = given(client(), client("other"), user(), policy=Policy(revoke_on_code_replay=True))
    code = world.code()
    issued = world.when(redeem(world.basic(), code)).then(TokensIssued)
    world.when(redeem(world.basic("other"), code)).then_refused(Why.CODE_OF_ANOTHER_CLIENT)
    assert world.all_active(issued)


@VOIDS
@row("Authorization code", "after consent: redirect URI no longer registered")
@row("Authorization code", "after consent: scope no longer among the client's")
@row(ERRORS, "invalid_grant: redirect URI no longer registered")
@row(ERRORS, "invalid_scope: scope in the code no longer registered")
@pytest.mark.parametrize(
    "changed, why, error",
    [
        ({"redirectUris": ["https://new.example"]}, Why.REDIRECT_URI_NO_LONGER_REGISTERED, "invalid_grant"),
        ({"scopes": []}, Why.SCOPE_UNREGISTERED, "invalid_scope"),
    ],
    ids=["redirect URI", "scope"],
)
def test_a_code_is_void_if_the_client_no_longer_registers_its_address_or_scope(
    world: World, changed: dict[str, object], why: Why, error: str
) -> None:
    code, before = world.code(), world.client()
    world.given(client_change(**changed))
    world.when(redeem(world.basic(), code)).then_refused(why, changes=VOIDED, error=error)
    world.given(client_change(redirectUris=[*before.redirect_uris], scopes=[*before.scopes]))
    world.when(redeem(world.basic(), code)).then_refused(Why.CODE_VOID)
