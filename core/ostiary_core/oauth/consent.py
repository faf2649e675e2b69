"""Authorization requests at `/sso`: their checks, what the user is asked, and the answer.

Errors here never reach a redirect URI; only `code` and `access_denied` do ("Browser behaviour", 7).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import quote, urlencode

from ostiary_core import events
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.decision import Change, Decision, Insert, Update, refuse
from ostiary_core.model.fact import Fact, FactKind
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import AuthorizationCode, Client, Consent, GrantType, User, revise
from ostiary_core.model.reply import (
    AuthorizationOffered,
    CodeIssued,
    ConsentRefused,
    Done,
    Refused,
    ScopeOffered,
)
from ostiary_core.model.secret import Entropy, Secret, draw_token
from ostiary_core.model.why import Why
from ostiary_core.oauth.callers import Person, acting_of, find_active_person, require_actor
from ostiary_core.oauth.code import issue as issue_code
from ostiary_core.oauth.inherited_endings import epochs_now
from ostiary_core.oauth.parameters import CHALLENGE_METHOD, is_challenge, parse_scope


class _ValidRequest(NamedTuple):
    """An authorization request that passed every check."""

    who: Person
    client: Client
    consent: Consent | None
    scopes: tuple[str, ...]
    redirect_uri: str
    code_challenge: str
    state: str | None

    @property
    def is_pre_approved(self) -> bool:
        """Whether every scope is auto-approved or remembered ("Browser behaviour", 4)."""
        remembered = () if self.consent is None else self.consent.scopes
        return set(self.scopes) <= {*self.client.auto_approve_scopes, *remembered}


def check(event: events.AuthorizationChecked, snapshot: Snapshot) -> Decision:
    """Check an authorization request and say what the consent page shows; nothing is recorded."""
    request = _check_request(event.caller, event.parameters, snapshot)
    if isinstance(request, Refused):
        return Decision(request)
    return Decision(_offer(request))


def approve(event: events.ConsentGiven, snapshot: Snapshot) -> Decision:
    """Issue a code after the user approved, and remember the consent if the user was asked."""
    request = _check_request(event.caller, event.parameters, snapshot)
    if isinstance(request, Refused):
        return Decision(request)
    if request.is_pre_approved:
        return _issue_code(request, event.entropy, snapshot.now, _record_entry(request, snapshot.now))
    remembered, fact = _remember(request, snapshot.now)
    return _issue_code(request, event.entropy, snapshot.now, (remembered,), (fact,))


def issue_if_preapproved(event: events.AutomaticConsentRequested, snapshot: Snapshot) -> Decision:
    """Issue a code without asking the user, if the consent is automatic or remembered; else ask."""
    request = _check_request(event.caller, event.parameters, snapshot)
    if isinstance(request, Refused):
        return Decision(request)
    if not request.is_pre_approved:
        return Decision(_offer(request))
    return _issue_code(request, event.entropy, snapshot.now, _record_entry(request, snapshot.now))


def deny(event: events.ConsentDenied, snapshot: Snapshot) -> Decision:
    """Send `access_denied` to the redirect URI after the user refused (RFC 6749 §4.1.2.1)."""
    request = _check_request(event.caller, event.parameters, snapshot)
    if isinstance(request, Refused):
        return Decision(request)
    return Decision(
        ConsentRefused(_redirect(request, error="access_denied")),
        facts=(_fact_of(FactKind.CONSENT_DENIED, request),),
    )


@require_actor(find_active_person)
def withdraw(event: events.ConsentWithdrawn, who: Person, snapshot: Snapshot) -> Decision:
    """Withdraw a consent, which ends the client's sessions and codes of this user."""
    return withdraw_from(event.client_id, who.user, None, snapshot)


def withdraw_from(client_id: str, user: User, actor_id: str | None, snapshot: Snapshot) -> Decision:
    """Withdraw what `user` lets a client do; `actor_id` is the administrator who does it for the user."""
    # Not found without a consent, whether or not there is such a client: this tells nothing of clients.
    consent = snapshot.consent(user.user_id, client_id)
    if consent is None or consent.withdrawn_at is not None:
        return refuse(Why.NOT_FOUND)
    fact = Fact(
        kind=FactKind.CONSENT_WITHDRAWN,
        actor_id=actor_id,
        user_id=user.user_id,
        client_id=client_id,
        why=Why.CONSENT_WITHDRAWN,
    )
    withdrawn = revise(consent, scopes=(), epoch=consent.epoch + 1, withdrawn_at=snapshot.now)
    return Decision(Done(), (Update(consent, withdrawn),), (fact,))


def _check_request(
    caller: events.SignedIn, asked: events.AuthorizationParameters, snapshot: Snapshot
) -> _ValidRequest | Refused:
    """Check the parameters of an authorization request; refuse for the first fault in the order of `Why`."""
    who = find_active_person(caller, snapshot)
    if isinstance(who, Why):
        return Refused(who)
    if asked.undecodable:
        return Refused(Why.QUERY_UNDECODABLE)
    if asked.repeated:
        return Refused(
            Why.PARAMETER_REPEATED, tuple(FieldFault(name, Why.PARAMETER_REPEATED) for name in asked.repeated)
        )
    faults = tuple(_find_malformed(asked))
    # Without a fault there is a challenge, which the type checker does not see.
    if faults or asked.code_challenge is None:
        return Refused(Why.PARAMETERS_MALFORMED, faults=faults)
    client = snapshot.client(asked.client_id or "")
    if client is None or not client.enabled or GrantType.AUTHORIZATION_CODE not in client.grant_types:
        return Refused(Why.CLIENT_NOT_AUTHORIZABLE)
    if asked.redirect_uri not in client.redirect_uris:
        return Refused(Why.REDIRECT_URI_NOT_REGISTERED)
    if asked.response_type != "code":
        return Refused(Why.RESPONSE_TYPE_UNSUPPORTED)
    scopes = client.scopes if asked.scope is None else parse_scope(asked.scope)
    if not scopes or not set(scopes) <= set(client.scopes):
        return Refused(Why.SCOPE_NOT_ALLOWED)
    return _ValidRequest(
        who=who,
        client=client,
        consent=snapshot.consent(who.user.user_id, client.client_id),
        scopes=scopes,
        redirect_uri=asked.redirect_uri,
        code_challenge=asked.code_challenge,
        state=asked.state or None,
    )


def _find_malformed(asked: events.AuthorizationParameters) -> Iterator[FieldFault]:
    """Find the malformed parameters ("Consent endpoint errors", `A0401`)."""
    if not asked.redirect_uri:
        yield FieldFault("redirect_uri", FieldRule.REQUIRED)
    if asked.code_challenge is None:
        yield FieldFault("code_challenge", FieldRule.REQUIRED)
    elif not is_challenge(asked.code_challenge):
        yield FieldFault("code_challenge", FieldRule.CODE_CHALLENGE)
    if asked.code_challenge_method is None:
        yield FieldFault("code_challenge_method", FieldRule.REQUIRED)
    elif asked.code_challenge_method != CHALLENGE_METHOD:
        yield FieldFault("code_challenge_method", FieldRule.CODE_CHALLENGE_METHOD)


def _offer(request: _ValidRequest) -> AuthorizationOffered:
    return AuthorizationOffered(
        client_id=request.client.client_id,
        client_name=request.client.name,
        scopes=tuple(
            ScopeOffered(scope=scope, auto_approved=scope in request.client.auto_approve_scopes)
            for scope in request.scopes
        ),
        username=request.who.user.username,
        user_name=request.who.user.name,
        consent_required=not request.is_pre_approved,
    )


def _remember(request: _ValidRequest, now: Instant) -> tuple[Change, Fact]:
    """Add the scopes just approved to the remembered consent (READINGS 26)."""
    before = () if request.consent is None else request.consent.scopes
    scopes = tuple(dict.fromkeys((*before, *request.scopes)))
    return _write_consent(request, scopes, now), _fact_of(FactKind.CONSENT_REMEMBERED, request)


def _record_entry(request: _ValidRequest, now: Instant) -> tuple[Change, ...]:
    """Record that the client was let in without a question, so that the user can withdraw it."""
    consent = request.consent
    if consent is not None and consent.withdrawn_at is None:
        return ()
    return (_write_consent(request, (), now),)


def _write_consent(request: _ValidRequest, scopes: tuple[str, ...], now: Instant) -> Change:
    """Write the consent with these scopes, given now."""
    if request.consent is None:
        return Insert(
            Consent(
                user_id=request.who.user.user_id,
                client_id=request.client.client_id,
                scopes=scopes,
                granted_at=now,
            )
        )
    given = revise(request.consent, scopes=scopes, granted_at=now, withdrawn_at=None)
    return Update(request.consent, given)


def _issue_code(
    request: _ValidRequest,
    entropy: Entropy,
    now: Instant,
    changes: tuple[Change, ...] = (),
    facts: tuple[Fact, ...] = (),
) -> Decision:
    """Issue a code for the request, and say where to send the browser with it."""
    secret = draw_token(entropy, "authorization code")
    write, fact = issue_code(
        AuthorizationCode(
            digest=secret.digest,
            client_id=request.client.client_id,
            user_id=request.who.user.user_id,
            redirect_uri=request.redirect_uri,
            code_challenge=request.code_challenge,
            scopes=request.scopes,
            issued_at=now,
            epochs=epochs_now(request.who.user, request.client, request.consent),
        )
    )
    told = (*facts, replace(fact, acting=acting_of(request.who)))
    return Decision(CodeIssued(Secret(_redirect(request, code=secret.reveal()))), (*changes, write), told)


def _redirect(request: _ValidRequest, **result: str) -> str:
    """Add the result to the query of the redirect URI ("Browser behaviour", 6).

    The registered address goes out as it is, character by character; only what follows is encoded.
    """
    if request.state is not None:
        result["state"] = request.state
    base = request.redirect_uri
    joint = "?" if "?" not in base else "" if base.endswith(("?", "&")) else "&"
    return base + joint + urlencode(result, quote_via=quote, errors="surrogatepass")


def _fact_of(kind: FactKind, request: _ValidRequest) -> Fact:
    return Fact(
        kind=kind,
        user_id=request.who.user.user_id,
        client_id=request.client.client_id,
        scopes=request.scopes,
        acting=acting_of(request.who),
    )
