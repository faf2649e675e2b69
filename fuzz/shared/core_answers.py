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
from ostiary_core.model.decision import Decision
from ostiary_core.model.fact import FactKind
from ostiary_core.model.instant import whole_seconds
from ostiary_core.model.reply import (
    AccountKnown,
    AuthorizationOffered,
    BatchDone,
    BatchRefused,
    ClientKnown,
    CodeIssued,
    ConsentRefused,
    Done,
    IdentityConfirmed,
    InvitationIssued,
    LoginIssued,
    PersonalTokenIssued,
    Profile,
    RecoveryCodesDrawn,
    Refused,
    RoleKnown,
    SecondFactorAsked,
    SecondFactorOffered,
    SecretIssued,
    TextCodeDrawn,
    TokenActive,
    TokenInactive,
    TokensIssued,
    UserKnown,
)


def answer_of(call: Call, decision: Decision) -> Answer:
    """Return the answer to a call, in the specification's words."""
    match decision.reply:
        case Refused(why):
            meaning = MEANINGS[why]
            at_the_token_service = call.verb in AT_THE_TOKEN_SERVICE
            return refusal((meaning.error if at_the_token_service else None) or meaning.code)
        case TokensIssued() as issued:
            return _tokens(AnswerKind.TOKENS, issued, decision, None, must_change_password=False)
        case PersonalTokenIssued(session, token):
            return Answer(
                AnswerKind.TOKENS,
                access=token.reveal(),
                expires_in=whole_seconds(session.expires_at - session.started_at),
                scope=tuple(sorted(session.scopes)),
                session_id=session.session_id,
            )
        case LoginIssued() as login:
            return _tokens(
                AnswerKind.LOGIN, login.tokens, decision, login.user_id, login.must_change_password
            )
        case SecondFactorAsked(ticket, sets_up):
            return Answer(AnswerKind.ASKED, secret=ticket.reveal(), sets_up=sets_up)
        case SecondFactorOffered(secret, codes):
            return Answer(
                AnswerKind.FACTOR,
                secret=secret.reveal(),
                codes=canonical_codes(code.reveal() for code in codes),
            )
        case RecoveryCodesDrawn(codes):
            return Answer(AnswerKind.FACTOR, codes=canonical_codes(code.reveal() for code in codes))
        case TokenActive() as active:
            return Answer(
                AnswerKind.ACTIVE,
                client_id=active.client_id,
                scope=tuple(sorted(active.scopes)),
                bearer=active.is_access_token,
                exp=whole_seconds(active.expires_at),
                sub=active.user_id,
                username=active.username,
            )
        case TokenInactive():
            return Answer(AnswerKind.INACTIVE)
        case Profile() as profile:
            return Answer(
                AnswerKind.PROFILE,
                sub=profile.user_id,
                username=profile.username,
                profile=(profile.name, profile.avatar_url, profile.locale),
            )
        case AuthorizationOffered() as offer:
            return Answer(
                AnswerKind.OFFERED,
                client_id=offer.client_id,
                scope=tuple(sorted(each.scope for each in offer.scopes)),
                ask=offer.consent_required,
            )
        case CodeIssued(redirect_to):
            return consent_of(redirect_to.reveal())
        case ConsentRefused(redirect_to):
            return consent_of(redirect_to)
        case SecretIssued(client, secret):
            return Answer(AnswerKind.SECRET, client_id=client.client_id, secret=secret.reveal())
        case UserKnown(user):
            return Answer(AnswerKind.USER, sub=user.user_id, username=user.username)
        case RoleKnown(role):
            return Answer(AnswerKind.ROLE, permissions=tuple(sorted(role.permissions)))
        case BatchDone(replies):
            pairs = zip(call.parts, replies, strict=True)
            return Answer(
                AnswerKind.BATCH, parts=tuple(answer_of(part, Decision(reply)) for part, reply in pairs)
            )
        case BatchRefused(refusals):
            return refusal(",".join(f"{place}:{MEANINGS[refused.why].code}" for place, refused in refusals))
        case ClientKnown(client) if call.verb is Verb.SHOW_CLIENT:
            used = (client.secret_used_at, client.old_secret_used_at)
            noted = (*used, client.wrong_secrets, client.wrong_secret_at)
            return Answer(AnswerKind.DONE, client_id=client.client_id, noted=noted)
        case ClientKnown(client):
            return Answer(AnswerKind.DONE, client_id=client.client_id)
        case AccountKnown() as account:
            owner, allowed = account.user, tuple(sorted(account.permissions))
            return Answer(
                AnswerKind.PROFILE,
                sub=None if owner is None else owner.user_id,
                username=None if owner is None else owner.username,
                permissions=allowed,
            )
        case TextCodeDrawn() as drawn:
            code = drawn.code
            return Answer(AnswerKind.DONE, code=None if code is None else code.reveal())
        case InvitationIssued(_, token):
            return Answer(AnswerKind.DONE, code=token.reveal())
        case Done() | IdentityConfirmed():
            return Answer(AnswerKind.DONE)
        case _:
            return Answer(AnswerKind.FAILED, error=type(decision.reply).__name__)


def _tokens(
    kind: AnswerKind,
    issued: TokensIssued,
    decision: Decision,
    user_id: str | None,
    must_change_password: bool,
) -> Answer:
    began = (fact.session_id for fact in decision.facts if fact.kind is FactKind.SESSION_STARTED)
    return Answer(
        kind,
        access=issued.access_token.reveal(),
        refresh=None if issued.refresh_token is None else issued.refresh_token.reveal(),
        expires_in=issued.expires_in_seconds,
        scope=tuple(sorted(issued.scopes)),
        session_id=next(began, None),
        sub=user_id,
        must_change_password=must_change_password,
    )
