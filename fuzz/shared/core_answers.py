"""Translate the core's decisions into answers in the specification's words."""

from fuzz.shared.calls import (
    AT_THE_TOKEN_SERVICE,
    Answer,
    AnswerKind,
    Call,
    Verb,
    canonical_codes,
    consent_of,
    refusal,
)
from ostiary_core.http.meanings import MEANINGS
from ostiary_core.model import reply
from ostiary_core.model.decision import Decision
from ostiary_core.model.fact import FactKind
from ostiary_core.model.instant import whole_seconds


def answer_of(call: Call, decision: Decision) -> Answer:
    """Return the answer to a call, in the specification's words."""
    match decision.reply:
        case reply.Refused(why):
            meaning = MEANINGS[why]
            at_the_token_service = call.verb in AT_THE_TOKEN_SERVICE
            return refusal((meaning.error if at_the_token_service else None) or meaning.code)
        case reply.TokensIssued() as issued:
            return _tokens(AnswerKind.TOKENS, issued, decision)
        case reply.PersonalTokenIssued(session, token):
            return Answer(
                AnswerKind.TOKENS,
                access=token.reveal(),
                expires_in=whole_seconds(session.expires_at - session.started_at),
                scope=tuple(sorted(session.scopes)),
                session_id=session.session_id,
            )
        case reply.LoginIssued() as login:
            tokens = _tokens(AnswerKind.LOGIN, login.tokens, decision)
            return tokens._replace(sub=login.user_id, must_change_password=login.must_change_password)
        case reply.SecondFactorAsked(ticket, sets_up):
            return Answer(AnswerKind.ASKED, secret=ticket.reveal(), sets_up=sets_up)
        case reply.SecondFactorOffered(secret, codes):
            shown = canonical_codes(code.reveal() for code in codes)
            return Answer(AnswerKind.FACTOR, secret=secret.reveal(), codes=shown)
        case reply.RecoveryCodesDrawn(codes):
            return Answer(AnswerKind.FACTOR, codes=canonical_codes(code.reveal() for code in codes))
        case reply.TokenActive() as active:
            return Answer(
                AnswerKind.ACTIVE,
                client_id=active.client_id,
                scope=tuple(sorted(active.scopes)),
                bearer=active.is_access_token,
                exp=whole_seconds(active.expires_at),
                sub=active.user_id,
                username=active.username,
            )
        case reply.TokenInactive():
            return Answer(AnswerKind.INACTIVE)
        case reply.Profile() as profile:
            fields = (profile.name, profile.avatar_url, profile.locale)
            return Answer(AnswerKind.PROFILE, sub=profile.user_id, username=profile.username, profile=fields)
        case reply.AuthorizationOffered(client_id=client_id, scopes=offered, consent_required=ask):
            scope = tuple(sorted(each.scope for each in offered))
            return Answer(AnswerKind.OFFERED, client_id=client_id, scope=scope, ask=ask)
        case reply.CodeIssued(redirect_to):
            return consent_of(redirect_to.reveal())
        case reply.ConsentRefused(redirect_to):
            return consent_of(redirect_to)
        case reply.SecretIssued(client, secret):
            return Answer(AnswerKind.SECRET, client_id=client.client_id, secret=secret.reveal())
        case reply.UserKnown(user):
            return Answer(AnswerKind.USER, sub=user.user_id, username=user.username)
        case reply.RoleKnown(role):
            return Answer(AnswerKind.ROLE, permissions=tuple(sorted(role.permissions)))
        case reply.BatchDone(replies):
            pairs = zip(call.parts, replies, strict=True)
            parts = tuple(answer_of(part, Decision(each)) for part, each in pairs)
            return Answer(AnswerKind.BATCH, parts=parts)
        case reply.BatchRefused(refusals):
            return refusal(",".join(f"{place}:{MEANINGS[refused.why].code}" for place, refused in refusals))
        case reply.ClientKnown(client) if call.verb is Verb.SHOW_CLIENT:
            used = (client.secret_used_at, client.old_secret_used_at)
            noted = (*used, client.wrong_secrets, client.wrong_secret_at)
            return Answer(AnswerKind.DONE, client_id=client.client_id, noted=noted)
        case reply.ClientKnown(client):
            return Answer(AnswerKind.DONE, client_id=client.client_id)
        case reply.AccountKnown() as account:
            owner, allowed = account.user, tuple(sorted(account.permissions))
            user_id, username = (None, None) if owner is None else (owner.user_id, owner.username)
            return Answer(AnswerKind.PROFILE, sub=user_id, username=username, permissions=allowed)
        case reply.TextCodeDrawn() as drawn:
            code = drawn.code
            return Answer(AnswerKind.DONE, code=None if code is None else code.reveal())
        case reply.InvitationIssued(_, token):
            return Answer(AnswerKind.DONE, code=token.reveal())
        case reply.Done() | reply.IdentityConfirmed():
            return Answer(AnswerKind.DONE)
        case _:
            return Answer(AnswerKind.FAILED, error=type(decision.reply).__name__)


def _tokens(kind: AnswerKind, issued: reply.TokensIssued, decision: Decision) -> Answer:
    began = (fact.session_id for fact in decision.facts if fact.kind is FactKind.SESSION_STARTED)
    return Answer(
        kind,
        access=issued.access_token.reveal(),
        refresh=None if issued.refresh_token is None else issued.refresh_token.reveal(),
        expires_in=issued.expires_in_seconds,
        scope=tuple(sorted(issued.scopes)),
        session_id=next(began, None),
    )
