"""Mistakes around the authorization code, its exchange and the consent page."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final
from unittest.mock import patch

from fuzz.faults.planting import Fault, wrapped
from ostiary_core.model.decision import Update, refused
from ostiary_core.model.records import revised
from ostiary_core.model.reply import Refused, TokensIssued
from ostiary_core.model.secret import draw_token
from ostiary_core.model.why import Why
from ostiary_core.oauth import consent, pkce
from ostiary_core.oauth.code import CodeState

Original = Callable[..., Any]


def redeemable_twice(original: Original) -> Original:
    def state_of(*asked: Any) -> CodeState:
        state = original(*asked)
        return CodeState.ISSUED if state is CodeState.USED else state

    return state_of


def good_again(original: Original) -> Original:
    def checked(event: Any, code: Any, *rest: Any) -> Any:
        found = original(event, code, *rest)
        return code if found is Why.CODE_USED else found

    return checked


def good_at_300_s(original: Original) -> Original:
    return lambda code, snapshot, now, policy: original(code, snapshot, now - 1, policy)


def long_lived(original: Original) -> Original:
    return lambda code, snapshot, now, policy: original(
        code, snapshot, now, replace(policy, code_seconds=600)
    )


def of_another_client(original: Original) -> Original:
    def checked(event: Any, code: Any, client: Any, snapshot: Any, *rest: Any) -> Any:
        owner = None if code is None else snapshot.client(code.client_id)
        return original(event, code, owner or client, snapshot, *rest)

    return checked


def any_redirect_uri(original: Original) -> Original:
    def checked(event: Any, code: Any, *rest: Any) -> Any:
        if code is not None and event.redirect_uri is not None:
            event = replace(event, redirect_uri=code.redirect_uri)
        return original(event, code, *rest)

    return checked


def redirect_uri_optional(original: Original) -> Original:
    def checked(event: Any, code: Any, *rest: Any) -> Any:
        if code is not None and event.redirect_uri is None:
            event = replace(event, redirect_uri=code.redirect_uri)
        return original(event, code, *rest)

    return checked


def unregistered_uri(original: Original) -> Original:
    def checked(event: Any, code: Any, client: Any, *rest: Any) -> Any:
        if code is not None:
            client = replace(client, redirect_uris=(*client.redirect_uris, code.redirect_uri))
        return original(event, code, client, *rest)

    return checked


def unregistered_scope(original: Original) -> Original:
    def checked(event: Any, code: Any, client: Any, *rest: Any) -> Any:
        if code is not None:
            client = replace(client, scopes=(*client.scopes, *code.scopes))
        return original(event, code, client, *rest)

    return checked


def verifier_optional(original: Original) -> Original:
    def checked(event: Any, *rest: Any) -> Any:
        found = original(event, *rest)
        if found is Why.VERIFIER_MISSING:
            with patch.object(pkce, "proves", lambda *_: True):
                return original(replace(event, code_verifier="x" * 43), *rest)
        return found

    return checked


def failure_voids_nothing(original: Original) -> Original:
    return lambda why, *rest: refused(why)


def replay_ends_by_default(original: Original) -> Original:
    return lambda why, code, client, snapshot, now, policy: original(
        why, code, client, snapshot, now, replace(policy, revoke_on_code_replay=True)
    )


def void_before_authentication(original: Original) -> Original:
    def redeem(event: Any, snapshot: Any, now: Any, policy: Any) -> Any:
        decision = original(event, snapshot, now, policy)
        code = None if event.code is None else snapshot.code(event.code.digest)
        if code is not None and code.session_id is None and not decision.changes and code.voided_why is None:
            voided = revised(code, voided_why=Why.CODE_VOID, settled_at=now)
            return replace(decision, changes=(Update(code, voided),))
        return decision

    return redeem


def grant_unregistered(original: Original) -> Original:
    def registered(grant: Any, credentials: Any, snapshot: Any, now: Any) -> Any:
        client = snapshot.client(credentials.client_id)
        if client is not None:
            open_to_all = replace(client, grant_types=(*client.grant_types, grant))
            snapshot = snapshot.after((Update(client, open_to_all),))
        return original(grant, credentials, snapshot, now)

    return registered


def refresh_token_for_machines(original: Original) -> Original:
    def issue(event: Any, *rest: Any) -> Any:
        decision = original(event, *rest)
        if isinstance(decision.reply, TokensIssued):
            token = draw_token(event.entropy, "refresh token")
            return replace(decision, reply=replace(decision.reply, refresh_token=token))
        return decision

    return issue


def nobody_is_asked() -> AbstractContextManager[Any]:
    return patch.object(consent._Request, "is_pre_approved", property(lambda request: True))


def with_parameters(**values: Callable[[Any], Any]) -> Callable[[Original], Original]:
    """The consent page reads its parameters more kindly than it should."""

    def wrap(original: Original) -> Original:
        def examined(caller: Any, asked: Any, *rest: Any) -> Any:
            kinder = {name: make(getattr(asked, name)) for name, make in values.items()}
            return original(caller, replace(asked, **kinder), *rest)

        return examined

    return wrap


def must_change_unchecked(original: Original) -> Original:
    def examined(caller: Any, asked: Any, snapshot: Any, now: Any) -> Any:
        found = original(caller, asked, snapshot, now)
        if isinstance(found, Refused) and found.why is Why.PASSWORD_MUST_CHANGE:
            user = snapshot.user(snapshot.session_by_access_token(caller.access_token.digest).user_id)
            content = snapshot.after((Update(user, replace(user, must_change_password=False)),))
            return original(caller, asked, content, now)
        return found

    return examined


FAULTS: Final = (
    Fault(
        "code-redeemable-twice", "a used code is used again", wrapped("code", "state_of", redeemable_twice)
    ),
    Fault(
        "used-code-good-again",
        "its client may redeem a code again",
        wrapped("code", "_check_exchange", good_again),
    ),
    Fault(
        "code-good-at-300-s", "a code lives one instant longer", wrapped("code", "state_of", good_at_300_s)
    ),
    Fault("code-lives-600-s", "a code lives twice as long", wrapped("code", "state_of", long_lived)),
    Fault(
        "code-of-any-client",
        "any client may redeem a code",
        wrapped("code", "_check_exchange", of_another_client),
    ),
    Fault(
        "redirect-uri-unchecked",
        "the exchange takes any redirect_uri",
        wrapped("code", "_check_exchange", any_redirect_uri),
    ),
    Fault(
        "redirect-uri-optional",
        "the exchange needs no redirect_uri",
        wrapped("code", "_check_exchange", redirect_uri_optional),
    ),
    Fault(
        "uri-no-longer-registered",
        "a code for an address that was taken back is good",
        wrapped("code", "_check_exchange", unregistered_uri),
    ),
    Fault(
        "scope-no-longer-registered",
        "a code for a scope that was taken back is good",
        wrapped("code", "_check_exchange", unregistered_scope),
    ),
    Fault(
        "verifier-unchecked",
        "any verifier will do",
        wrapped("pkce", "proves", lambda original: lambda *_: True),
    ),
    Fault("verifier-optional", "no verifier will do", wrapped("code", "_check_exchange", verifier_optional)),
    Fault(
        "failed-exchange-voids-nothing",
        "a code survives a failed exchange",
        wrapped("code", "_refuse_exchange", failure_voids_nothing),
    ),
    Fault(
        "used-code-ends-session",
        "a used code ends its session by default",
        wrapped("code", "_refuse_used_code", replay_ends_by_default),
    ),
    Fault(
        "stranger-voids-code",
        "a code is void before its client is known",
        wrapped("oauth.token_service", "redeem", void_before_authentication),
    ),
    Fault(
        "grant-unregistered",
        "a client uses grants that it does not register",
        wrapped("authentication", "authenticate_for_grant", grant_unregistered),
    ),
    Fault(
        "machine-refreshes",
        "client credentials come with a refresh token",
        wrapped("oauth.token_service", "issue_to_client", refresh_token_for_machines),
    ),
    Fault("nobody-is-asked", "no user is asked for consent", nobody_is_asked),
    Fault(
        "plain-challenge",
        "the challenge may be plain",
        wrapped("consent", "_check_request", with_parameters(code_challenge_method=lambda given: "S256")),
    ),
    Fault(
        "trailing-slash",
        "an address may end in one more slash",
        wrapped(
            "consent",
            "_check_request",
            with_parameters(redirect_uri=lambda given: None if given is None else given.rstrip("/")),
        ),
    ),
    Fault(
        "must-change-unchecked",
        "consent before the password is changed",
        wrapped("consent", "_check_request", must_change_unchecked),
    ),
)
