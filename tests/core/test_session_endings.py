"""Sessions end, and other clients cannot end them ("Session and tokens", READINGS 4, 6-8, 11)."""

from collections.abc import Callable
from functools import partial

import pytest

from ostiary_core import Secret, Why, events as e, keys, load
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.permissions import ALL_PERMISSIONS
from ostiary_core.model.records import revise
from ostiary_core.model.reply import TokensIssued
from ostiary_core.oauth.inherited_endings import inherited_ending
from tests.rows import row
from tests.support import asks
from tests.support.asks import client_change, machine, profile, redeem, refresh, revoke
from tests.support.story import World, client, given, user

ENDING = ["update session"]
ERRORS = "Token-service errors"
NEW_HASH = {"new_password_hash": asks.hash_of("right")}


# --- time


@row("Session and tokens", "access token expires")
@row("Session (grant)", "access token lifetime not extended by use")
def test_an_access_token_expires_and_the_refresh_token_leads_on(world: World) -> None:
    first = world.tokens()

    world.wait(1799.999)
    assert world.is_active(first.access_token)
    world.when(profile(first.access_token))
    world.wait(0.001)

    assert not world.is_active(first.access_token)
    world.when(profile(first.access_token)).then_refused(Why.NOT_SIGNED_IN)
    assert world.all_active(world.when(refresh(world.basic(), first)).then(TokensIssued))


@row(ERRORS, "invalid_grant: refresh token expired")
@row(ERRORS, "invalid_grant: authorization at its maximum duration")
@row("Session and tokens", "maximum duration reached")
@row("Session (grant)", "maximum duration counted from the redemption")
@row("Session (grant)", "refreshing does not extend the maximum")
def test_the_maximum_duration_counts_from_the_redemption() -> None:
    world = given(client(refreshTokenTtl=3600, accessTokenTtl=300), user())
    code = world.code()
    world.wait(200)
    pair = world.when(redeem(world.basic(), code)).then(TokensIssued)
    world.given(client_change(refreshTokenTtl=2_592_000))  # a longer one is for later sessions
    for _ in range(5):
        world.wait(600)
        pair = world.when(refresh(world.basic(), pair)).then(TokensIssued)
    world.wait(599.999)
    assert world.is_active(pair.refresh_token)

    world.wait(0.001)

    assert not world.any_active(pair)
    world.when(refresh(world.basic(), pair)).then_refused(Why.MAXIMUM_REACHED, error="invalid_grant")
    assert world.the_session().ended_at is None, "time ends a session without touching it"


# --- revocation


@row("Session and tokens", "revoke with an access token")
@row("Session and tokens", "revoke with a refresh token")
@row("Revoke request", "the whole session ends")
@pytest.mark.parametrize("presented", ["access_token", "refresh_token"])
def test_revoking_either_token_ends_the_whole_session_and_no_other(world: World, presented: str) -> None:
    pair = world.tokens()
    ended, other = world.the_session(), world.tokens()
    outcome = world.when(revoke(world.basic(), getattr(pair, presented)))
    assert (outcome.changes, outcome.facts) == (ENDING, [FactKind.SESSION_ENDED])
    assert not world.any_active(pair)
    assert world.all_active(other)
    [why] = {each.ended_why for each in world.sessions() if each.session_id == ended.session_id}
    assert why is Why.REVOKED_BY_CLIENT
    world.when(refresh(world.basic(), pair)).then_refused(Why.SESSION_ENDED)
    again = world.when(revoke(world.basic(), pair.refresh_token))
    assert (again.changes, again.facts) == ([], []), "revoking twice changes nothing the second time"


@pytest.mark.parametrize("generations", [1, 2, 3])
@pytest.mark.parametrize("seconds", [0, 31])
def test_a_spent_refresh_token_still_revokes(world: World, generations: int, seconds: float) -> None:
    """Let a client sign out that lost an answer (READINGS 7)."""
    first = pair = world.tokens()
    for _ in range(generations):
        pair = world.when(refresh(world.basic(), pair)).then(TokensIssued)
    world.wait(seconds)
    assert world.when(revoke(world.basic(), first.refresh_token)).changes == ENDING
    assert not world.any_active(pair)


# --- with the user, the client or the consent


def test_a_session_that_ended_with_another_record_has_the_reason_of_that(world: World) -> None:
    alice, of_app = world.user_ids["alice"], {"client_id": "app"}
    of_alice: dict[str, str] = {"user_id": alice}
    world.given(asks.role("keeper", *ALL_PERMISSIONS), user("keeper", roles=("keeper",)))
    endings: tuple[tuple[Callable[..., e.Event], dict[str, str], Why], ...] = (
        (e.UserForcedOut, of_alice, Why.USER_FORCED_OUT),
        (e.ClientForcedOut, of_app, Why.CLIENT_FORCED_OUT),
        (e.ConsentWithdrawnByAdministrator, of_alice | of_app, Why.CONSENT_WITHDRAWN),
        (e.ClientDisabled, of_app, Why.CLIENT_DISABLED),
        (e.PasswordResetByAdministrator, of_alice | NEW_HASH, Why.PASSWORD_RESET_BY_ADMINISTRATOR),
    )
    for ending, asked, why in endings:
        token = world.tokens().access_token
        facts = world.decide(ending, "keeper", **asked).facts
        told = {(fact.actor_id, fact.user_id or alice) for fact in facts}
        assert told == {(world.user_ids["keeper"], alice)}
        snapshot = load([keys(revoke(world.basic(), token))], world.store.fetch)
        [session] = [each for each in world.sessions() if each.access_digest == token.digest]
        assert inherited_ending(session, snapshot) is why
        world.given(e.ClientEnabled(caller=e.Operator(), client_id="app"))


# --- the owner comes first


@row(ERRORS, "invalid_grant: refresh token of another client")
@row("Session and tokens", "refresh token used by another client")
@pytest.mark.parametrize("generations_back", [0, 1, 2])
@pytest.mark.parametrize("seconds", [0, 31])
def test_another_client_never_touches_a_session(generations_back: int, seconds: float) -> None:
    """Present the current token, and ones whose replay by their owner would end it (READINGS 4)."""
    world = given(client(), client("other"), user())
    pairs = [world.tokens()]
    for _ in range(2):
        pairs.append(world.when(refresh(world.basic(), pairs[-1])).then(TokensIssued))
    world.wait(seconds)

    stolen = pairs[-1 - generations_back]
    for scopes in (None, ("more",)):
        refused = world.when(refresh(world.basic("other"), stolen, scopes=scopes))
        refused.then_refused(Why.TOKEN_OF_ANOTHER_CLIENT, error="invalid_grant")
    assert world.when(revoke(world.basic("other"), stolen.refresh_token)).changes == []

    assert world.all_active(pairs[-1])
    world.when(refresh(world.basic(), pairs[-1])).then(TokensIssued)


@row(ERRORS, "invalid_grant: refresh token invalid")
def test_a_token_that_is_no_refresh_token_or_a_login_sessions_is_unknown_to_every_client() -> None:
    """Answer that there is no such token, not that it is another client's (READINGS 12)."""
    world = given()
    for token in (world.login().tokens.refresh_token, world.tokens().access_token, Secret("x")):
        world.when(refresh(world.basic(), token)).then_refused(Why.TOKEN_UNKNOWN, error="invalid_grant")


# --- administrators


@row("Session and tokens", "client disabled")
@row("Session and tokens", "client deleted")
@row("Client", "enabled / deleted")
@pytest.mark.parametrize(
    "ending, why", [(e.ClientDisabled, Why.CLIENT_DISABLED), (e.ClientDeleted, Why.CLIENT_DELETED)]
)
def test_disabling_or_deleting_a_client_ends_its_sessions_for_good(
    ending: Callable[..., e.Event], why: Why
) -> None:
    world = given(client(), client("other"), user())
    pair, kept, code = world.tokens(), world.tokens(client_id="other"), world.code()
    machine_token = world.machine_token()

    world.given(ending(caller=e.Operator(), client_id="app"))

    for event in (
        refresh(world.basic(), pair),
        revoke(world.basic(), pair.access_token),
        redeem(world.basic(), code),
        machine(world.basic()),
        e.IntrospectionRequested(credentials=world.basic(), token=pair.access_token),
    ):
        world.when(event).then_refused(why)
    world.when(profile(pair.access_token)).then_refused(Why.NOT_SIGNED_IN)
    assert world.all_active(kept, client_id="other")

    if ending is e.ClientDisabled:
        world.given(e.ClientEnabled(caller=e.Operator(), client_id="app"))
        assert not world.any_active(pair), "enabling brings nothing back"
        assert not world.is_active(machine_token)
        world.when(refresh(world.basic(), pair)).then_refused(Why.SESSION_ENDED)
        world.when(redeem(world.basic(), code)).then_refused(Why.CODE_VOID)
        assert world.all_active(world.tokens())


def test_all_users_are_forced_out_by_one_epoch_of_each_client() -> None:
    """Name a client twice, and one that is gone; login sessions are of `console` (READINGS 9)."""
    world = given(client(), client("off"), client("gone"), user())
    held, code, machine_token = world.tokens(), world.code(), world.machine_token()
    alice, root = world.caller(), world.caller("root")
    world.given(e.ClientDisabled(caller=e.Operator(), client_id="off"))
    world.given(e.ClientDeleted(caller=e.Operator(), client_id="gone"))
    names = ("app", "off", "console", "mobile", "gone")
    before = [world.client(name) for name in names]
    everybody = partial(e.EverybodyForcedOut, client_ids=(*names, "app", "nosuch"))

    world.when(everybody(caller=alice)).then_refused(Why.PERMISSION_MISSING)
    told = world.when(everybody(caller=root)).decision.facts

    why, kind, actor = Why.EVERYBODY_FORCED_OUT, FactKind.CLIENT_SESSIONS_ENDED, world.user_ids["root"]
    assert told == tuple(Fact(kind=kind, client_id=name, actor_id=actor, why=why) for name in names[:4])
    moved = [
        revise(each, epoch=each.epoch + 1, epoch_why=why, epoch_at=world.now, updated_at=world.now)
        for each in before[:4]
    ]
    assert [world.client(name) for name in names] == [*moved, before[4]]
    assert not world.any_active(held)
    assert not world.is_active(machine_token)
    world.when(redeem(world.basic(), code)).then_refused(Why.CODE_VOID)
    for caller in (alice, root):
        world.when(e.AccountRequested(caller=caller)).then_refused(Why.NOT_SIGNED_IN)


@row("Session and tokens", "client secret reset")
@row("Authentication rules", "4 a leaked secret is replaced by a reset")
def test_resetting_the_secret_leaves_issued_tokens_alone(world: World) -> None:
    pair, code, old = world.tokens(), world.code(), world.basic()

    world.given(e.ClientSecretReset(caller=e.Operator(), client_id="app", entropy=asks.fresh_entropy()))

    for event in (refresh(old, pair), revoke(old, pair.access_token), redeem(old, code), machine(old)):
        world.when(event).then_refused(Why.CLIENT_SECRET_WRONG)
    assert world.all_active(pair)
    world.when(redeem(world.basic(), code)).then(TokensIssued)
    world.when(refresh(world.basic(), pair)).then(TokensIssued)


# --- client credentials


@row("Grants", "client_credentials")
@row("Session (grant)", "created when a client-credentials token is issued")
def test_client_credentials_make_a_session_without_user_or_refresh_token(world: World) -> None:
    issued = world.when(machine(world.basic())).then(
        TokensIssued, changes=["insert session"], facts=[FactKind.SESSION_STARTED]
    )
    assert issued.refresh_token is None
    assert issued.scopes == ("user.read",)
    session = world.the_session("client_credentials")
    assert (session.user_id, session.epochs) == (None, (0, 0, 0))
    assert world.is_active(issued.access_token)


@pytest.mark.parametrize(
    "access_ttl, refresh_ttl, expires_in",
    [(1800, 604_800, 1800), (86_400, 3_600, 3_600), (3_600, 3_600, 3_600)],
)
def test_a_machine_token_lives_the_smaller_of_both_lifetimes(
    access_ttl: int, refresh_ttl: int, expires_in: int
) -> None:
    """READINGS 11."""
    world = given(client(accessTokenTtl=access_ttl, refreshTokenTtl=refresh_ttl))
    issued = world.when(machine(world.basic())).then(TokensIssued)
    assert issued.expires_in_seconds == expires_in
    world.wait(expires_in - 0.001)
    assert world.is_active(issued.access_token)
    world.wait(0.001)
    assert not world.is_active(issued.access_token)
