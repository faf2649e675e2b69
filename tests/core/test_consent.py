"""A user approves, denies, withdraws, or needs no question ("Browser behaviour", READINGS 26)."""

from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import example, given as for_all, settings, strategies as st

from ostiary_core import Why, events as e
from ostiary_core.model.decision import Decision, Update
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.records import revise
from ostiary_core.model.reply import AuthorizationOffered, CodeIssued, ConsentRefused, Done, Refused
from tests.rows import row
from tests.support import asks
from tests.support.asks import approve, check, deny, request_automatically
from tests.support.story import World, client, code_in, given, user

TABLE = "/sso browser behaviour"


def approve_and_follow(world: World, **asked: str | None) -> str:
    """Return the address to which alice's approval sends the browser."""
    return world.when(approve(world.login(), **asked)).then(CodeIssued).redirect_to.reveal()


def deny_and_follow(world: World, **asked: str | None) -> str:
    """Return the address to which alice's denial sends the browser."""
    return world.when(deny(world.login(), **asked)).then(ConsentRefused).redirect_to


def result_of(address: str) -> dict[str, str]:
    """Return the parameters in a redirect address."""
    return dict(parse_qsl(urlsplit(address).query, keep_blank_values=True, strict_parsing=True))


def is_asked(world: World, **asked: str | None) -> bool:
    """Whether alice is asked a question."""
    return world.when(check(world.login(), **asked)).then(AuthorizationOffered).consent_required


# --- approved and denied


@row(TABLE, "2 approved: code and state")
def test_approving_redirects_with_code_and_state_and_binds_the_code() -> None:
    uri = "https://app.example/b"
    world = given(client(redirectUris=["https://app.example/a", uri]), user())
    issued = world.when(approve(world.login(), redirect_uri=uri)).then(
        CodeIssued,
        changes=["insert consent", "insert code"],
        facts=[FactKind.CONSENT_REMEMBERED, FactKind.CODE_ISSUED],
    )
    address = issued.redirect_to.reveal()
    result = result_of(address)
    assert address.startswith(f"{uri}?code=")
    assert result == {"code": result["code"], "state": "some state"}
    assert len(result["code"]) == 43
    code = world.the_code()
    assert code.digest == code_in(issued).digest
    assert (code.client_id, code.user_id, code.scopes) == ("app", world.user_ids["alice"], ("user.read",))
    assert (code.redirect_uri, code.code_challenge, code.issued_at) == (uri, asks.CHALLENGE, world.now)


@row(TABLE, "3 denied: error=access_denied and state")
def test_denying_redirects_with_access_denied_and_changes_nothing(world: World) -> None:
    outcome = world.when(deny(world.login()))
    refused = outcome.then(ConsentRefused, changes=[])
    told = Fact(
        kind=FactKind.CONSENT_DENIED, user_id=world.user_ids["alice"], client_id="app", scopes=("user.read",)
    )
    assert outcome.decision.facts == (told,)
    assert refused.redirect_to == "https://app.example/callback?error=access_denied&state=some%20state"


@row("/sso parameters", "state")
@row(TABLE, "3 denied: error=access_denied and state")
@pytest.mark.parametrize("state", [None, ""])
def test_without_a_state_none_comes_back(world: World, state: str | None) -> None:
    """Take a parameter without a value as one that was not sent (RFC 6749 §3.1)."""
    assert set(result_of(approve_and_follow(world, state=state))) == {"code"}
    assert set(result_of(deny_and_follow(world, state=state))) == {"error"}


@row("/sso parameters", "state")
@settings(max_examples=60)
@for_all(state=st.text(st.characters(codec=None, exclude_categories=())))
@example(state="\ud800")
def test_the_state_comes_back_unchanged_and_bends_no_address(state: str) -> None:
    """Encode everything in a state, so that it adds no parameter, header field or fragment."""
    world = given()
    for address in (approve_and_follow(world, state=state), deny_and_follow(world, state=state)):
        assert address.isascii()
        assert address.isprintable()
        assert address.count("&") == (1 if state else 0)
        assert not set(address) & set("# \"'<>\\")
        is_text = not any("\ud800" <= each <= "\udfff" for each in state)
        assert not is_text or result_of(address).get("state", "") == state


@row(TABLE, "6 registered query stays in front")
@pytest.mark.parametrize(
    "registered, joint",
    [
        ("https://app.example/cb", "?"),
        ("https://app.example/cb?", ""),
        ("https://app.example/cb?tenant=1", "&"),
        ("https://app.example/cb?tenant=1&", ""),
        ("https://app.example/cb?a=%20&b=%26&c", "&"),
        ("https://app.example", "?"),
    ],
)
def test_the_registered_query_stays_in_front(registered: str, joint: str) -> None:
    world = given(client(redirectUris=[registered]), user())
    assert approve_and_follow(world, redirect_uri=registered).startswith(f"{registered}{joint}code=")
    assert deny_and_follow(world, redirect_uri=registered) == (
        f"{registered}{joint}error=access_denied&state=some%20state"
    )


# --- without a question


@row(TABLE, "4 auto-approved: no question")
@row("Client", "autoApproveScopes")
def test_auto_approved_scopes_ask_no_question() -> None:
    world = given(client(autoApproveScopes=["user.read"]), user())
    assert not is_asked(world)
    for ask, kept in ((request_automatically, ["insert consent"]), (approve, [])):
        world.when(ask(world.login())).then(
            CodeIssued, changes=["insert code", *kept], facts=[FactKind.CODE_ISSUED]
        )
    assert [one.scopes for one in world.consents()] == [()], "nobody said yes, so nothing is remembered"


@row(TABLE, "4 remembered consent: no question")
def test_a_remembered_consent_asks_no_question(world: World) -> None:
    assert is_asked(world)
    outcome = world.when(request_automatically(world.login()))
    assert outcome.then(AuthorizationOffered, changes=[]).consent_required, "no code without the question"
    approve_and_follow(world)
    assert not is_asked(world)
    world.when(request_automatically(world.login())).then(CodeIssued, changes=["insert code"])
    assert "error=access_denied" in deny_and_follow(world), "it can still be denied"


def test_a_scope_beyond_the_remembered_ones_asks_again(world: World) -> None:
    """Narrow the remembered consent by hand, as there is only one scope today."""
    approve_and_follow(world)
    [consent] = world.consents()
    world.store.write([Update(consent, revise(consent, scopes=("another",)))])
    world.wait(1)

    assert is_asked(world)
    world.when(approve(world.login())).then(CodeIssued, changes=["update consent", "insert code"])
    [consent] = world.consents()
    assert (consent.scopes, consent.granted_at) == (("another", "user.read"), world.now)


# --- withdrawn


def test_withdrawing_forgets_the_scopes_and_begins_an_epoch() -> None:
    world = given(client(), client("other", autoApproveScopes=["user.read"]), client("never"), user())
    alice, caller = world.user_ids["alice"], world.caller()
    approve_and_follow(world)
    world.given(request_automatically(world.login(), "other"))
    for consent in world.consents():
        fact = Fact(
            FactKind.CONSENT_WITHDRAWN, user_id=alice, client_id=consent.client_id, why=Why.CONSENT_WITHDRAWN
        )
        change = Update(consent, revise(consent, scopes=(), epoch=1, withdrawn_at=world.now))
        withdrawn = world.when(e.ConsentWithdrawn(caller=caller, client_id=consent.client_id))
        assert withdrawn.decision == Decision(Done(), (change,), (fact,))
    for client_id in ("app", "other", "never", "nobody", "console"):
        decision = world.when(e.ConsentWithdrawn(caller=caller, client_id=client_id)).decision
        assert decision == Decision(Refused(Why.NOT_FOUND)), "nothing is written"
    world.when(request_automatically(world.login(), "other")).then(
        CodeIssued, changes=["insert code", "update consent"]
    )
    assert [one.withdrawn_at is None for one in world.consents()] == [False, True]
