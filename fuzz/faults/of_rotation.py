"""Mistakes in the rotation of pairs, their retries and replays, their scope and their lifetimes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from fuzz.faults.planting import Fault, wrapped
from ostiary_core.model.decision import Decision, Insert, Update, refused
from ostiary_core.model.instant import SECOND_MS, whole_seconds
from ostiary_core.model.records import Session, revised
from ostiary_core.model.reply import TokensIssued
from ostiary_core.model.secret import draw_token
from ostiary_core.model.why import Why
from ostiary_core.oauth import session as machine
from ostiary_core.oauth.scopes import is_beyond, narrow_scopes
from ostiary_core.oauth.session import SessionState

Original = Callable[..., Any]


def changed(decision: Decision, **values: Any) -> Decision:
    """The decision with other values in the session that it writes."""

    def other(change: Any) -> Any:
        if isinstance(change, Update) and isinstance(change.after, Session):
            return Update(change.before, replace(change.after, **values))
        if isinstance(change, Insert) and isinstance(change.record, Session):
            return Insert(replace(change.record, **values))
        return change

    return replace(decision, changes=tuple(other(change) for change in decision.changes))


def presented(asked: dict[str, Any]) -> tuple[Any, Any]:
    """The token and the session of a call of `session.refresh`."""
    token = asked["snapshot"].refresh_token(asked["spent"].digest)
    session = None if token is None else asked["snapshot"].session(token.session_id)
    return token, session


def is_refresh_of(asked: dict[str, Any]) -> bool:
    _, session = presented(asked)
    return session is not None


def grace_slides(original: Original) -> Original:
    def repeat(session: Any, salt: Any, spent: Any, scopes: Any, user_agent: Any, now: Any) -> Any:
        decision = original(session, salt, spent, scopes, user_agent, now)
        return replace(decision, changes=(Update(session, revised(session, rotated_at=now)),))

    return repeat


def spent_access_lives(original: Original) -> Original:
    def rotate(session: Any, *rest: Any) -> Any:
        return changed(original(session, *rest), access_digest=session.access_digest)

    return rotate


def predecessor_unchecked(original: Original) -> Original:
    def refresh(**asked: Any) -> Any:
        token, session = presented(asked)
        if is_refresh_of(asked) and session.client_id == asked["client"].client_id:
            active = machine.state_of(session, asked["snapshot"], asked["now"]) is SessionState.ACTIVE
            late = session.generation - token.generation
            if active and late > 1 and session.salt and asked["now"] - session.rotated_at <= 30_000:
                return machine._repeat(
                    session,
                    session.salt,
                    asked["spent"],
                    asked["scopes"],
                    asked["user_agent"],
                    asked["now"],
                )
        return original(**asked)

    return refresh


def owner_too_late(original: Original) -> Original:
    def refresh(**asked: Any) -> Any:
        _, session = presented(asked)
        if is_refresh_of(asked) and session.client_id != asked["client"].client_id:
            owner = asked["snapshot"].client(session.client_id)
            if owner is not None:
                decision = original(**{**asked, "client": owner})
                if any(fact.why is not None for fact in decision.facts):
                    return decision
        return original(**asked)

    return refresh


def owner_unchecked(original: Original) -> Original:
    def refresh(**asked: Any) -> Any:
        _, session = presented(asked)
        owner = asked["snapshot"].client(session.client_id) if is_refresh_of(asked) else None
        return original(**{**asked, "client": owner or asked["client"]})

    return refresh


def user_agent_unchecked(original: Original) -> Original:
    def refresh(**asked: Any) -> Any:
        token, session = presented(asked)
        if is_refresh_of(asked) and token.generation < session.generation:
            asked["user_agent"] = session.rotated_user_agent
        return original(**asked)

    return refresh


def scope_before_rotation(original: Original) -> Original:
    def rotate(session: Any, spent: Any, client: Any, scopes: Any, *rest: Any) -> Any:
        if is_beyond(scopes, session.scopes):
            return refused(Why.SCOPE_TOO_WIDE)
        return original(session, spent, client, scopes, *rest)

    return rotate


def maximum_extended(original: Original) -> Original:
    def rotate(*asked: Any) -> Any:
        client, now = asked[2], asked[-1]
        return changed(original(*asked), expires_at=now + client.refresh_token_seconds * SECOND_MS)

    return rotate


def maximum_ignored(original: Original) -> Original:
    def state_of(*asked: Any) -> SessionState:
        state = original(*asked)
        return SessionState.ACTIVE if state is SessionState.EXPIRED else state

    return state_of


def access_outlives(original: Original) -> Original:
    def start(**asked: Any) -> Any:
        session, issued, changes, fact = original(**asked)
        until = asked["now"] + asked["client"].access_token_seconds * SECOND_MS
        longer = replace(issued, expires_in_seconds=whole_seconds(until - asked["now"]))
        decision = changed(Decision(longer, changes), access_expires_at=until)
        return replace(session, access_expires_at=until), longer, decision.changes, fact

    return start


def retry_mints(original: Original) -> Original:
    def refresh(**asked: Any) -> Any:
        decision = original(**asked)
        if isinstance(decision.reply, TokensIssued) and not decision.changes:
            _, session = presented(asked)
            return machine._rotate(
                session,
                asked["spent"],
                asked["client"],
                asked["scopes"],
                asked["user_agent"],
                asked["entropy"],
                asked["now"],
            )
        return decision

    return refresh


def retry_answers_others(original: Original) -> Original:
    def repeat(*asked: Any) -> Any:
        decision = original(*asked)
        if isinstance(decision.reply, TokensIssued):
            other = draw_token(asked[1], "another")
            return replace(decision, reply=replace(decision.reply, access_token=other))
        return decision

    return repeat


def retry_keeps_expiry(original: Original) -> Original:
    def repeat(*asked: Any) -> Any:
        decision, session = original(*asked), asked[0]
        if isinstance(decision.reply, TokensIssued):
            full = whole_seconds(session.access_expires_at - session.rotated_at)
            return replace(decision, reply=replace(decision.reply, expires_in_seconds=full))
        return decision

    return repeat


def replay_forgiven(original: Original) -> Original:
    return lambda session, why, *rest: refused(why)


def replay_late_forgiven(original: Original) -> Original:
    def replayed(session: Any, why: Why, *rest: Any) -> Any:
        return refused(why) if why is Why.REPLAYED_TWO_GENERATIONS_LATE else original(session, why, *rest)

    return replayed


def narrower_narrows_session(original: Original) -> Original:
    def rotate(session: Any, spent: Any, client: Any, scopes: Any, *rest: Any) -> Any:
        decision = original(session, spent, client, scopes, *rest)
        return changed(decision, scopes=narrow_scopes(scopes, session.scopes))

    return rotate


def wider_granted(original: Original) -> Original:
    def rotate(session: Any, spent: Any, client: Any, scopes: Any, *rest: Any) -> Any:
        decision = original(session, spent, client, None, *rest)
        if not scopes:
            return decision
        granted = changed(decision, access_scopes=tuple(scopes))
        return replace(granted, reply=replace(decision.reply, scopes=tuple(scopes)))

    return rotate


def grace_one_short(original: Original) -> Original:
    def refresh(**asked: Any) -> Any:
        _, session = presented(asked)
        if is_refresh_of(asked) and session.rotated_at is not None:
            asked["now"] += asked["now"] == session.rotated_at + 30_000
        return original(**asked)

    return refresh


def judged_by_its_turn(original: Original) -> Original:
    return lambda **asked: original(**{**asked, "arrival": None})


def doubt_ends(original: Original) -> Original:
    def refresh(**asked: Any) -> Any:
        arrival = asked["arrival"]
        if arrival is not None:
            asked["arrival"] = arrival._replace(earliest=arrival.latest)
        return original(**asked)

    return refresh


def doubt_answers(original: Original) -> Original:
    def refresh(**asked: Any) -> Any:
        arrival = asked["arrival"]
        if arrival is not None:
            asked["arrival"] = arrival._replace(latest=arrival.earliest)
        return original(**asked)

    return refresh


def longer_grace(original: Original) -> Original:
    return lambda **asked: original(**{**asked, "policy": replace(asked["policy"], grace_seconds=31)})


def refused_refresh_writes(original: Original) -> Original:
    def refresh(**asked: Any) -> Any:
        decision = original(**asked)
        _, session = presented(asked)
        if session is not None and not isinstance(decision.reply, TokensIssued) and not decision.changes:
            return replace(decision, changes=(Update(session, revised(session, source="seen")),))
        return decision

    return refresh


FAULTS: Final = (
    Fault("grace-slides", "each retry opens the window anew", wrapped("session", "_repeat", grace_slides)),
    Fault("grace-one-short", "the 30th second is outside", wrapped("session", "refresh", grace_one_short)),
    Fault("grace-one-long", "the grace lasts 31 seconds", wrapped("session", "refresh", longer_grace)),
    Fault(
        "judged-by-its-turn",
        "what a retry waited for inside the server costs its grace",
        wrapped("session", "refresh", judged_by_its_turn),
    ),
    Fault(
        "doubt-ends",
        "a retry that may have come in time ends its session",
        wrapped("session", "refresh", doubt_ends),
    ),
    Fault(
        "doubt-answers",
        "a retry that may have come too late is answered",
        wrapped("session", "refresh", doubt_answers),
    ),
    Fault(
        "spent-access-lives",
        "the spent access token stays good",
        wrapped("session", "_rotate", spent_access_lives),
    ),
    Fault(
        "predecessor-unchecked",
        "a token two generations back has a grace too",
        wrapped("session", "refresh", predecessor_unchecked),
    ),
    Fault(
        "owner-too-late", "reuse is handled before the owner", wrapped("session", "refresh", owner_too_late)
    ),
    Fault("owner-unchecked", "any client may refresh", wrapped("session", "refresh", owner_unchecked)),
    Fault(
        "user-agent-unchecked",
        "a retry may come from anywhere",
        wrapped("session", "refresh", user_agent_unchecked),
    ),
    Fault(
        "scope-before-rotation",
        "a scope too wide is refused before the pair rotates",
        wrapped("session", "_rotate", scope_before_rotation),
    ),
    Fault("maximum-extended", "a refresh moves the maximum", wrapped("session", "_rotate", maximum_extended)),
    Fault("maximum-ignored", "the maximum ends nothing", wrapped("session", "state_of", maximum_ignored)),
    Fault("access-outlives", "expires_in passes the maximum", wrapped("session", "start", access_outlives)),
    Fault("retry-mints", "a safe retry mints a second pair", wrapped("session", "refresh", retry_mints)),
    Fault(
        "retry-differs",
        "a safe retry answers another token",
        wrapped("session", "_repeat", retry_answers_others),
    ),
    Fault(
        "retry-keeps-expires-in",
        "expires_in of a retry is not what is left",
        wrapped("session", "_repeat", retry_keeps_expiry),
    ),
    Fault("replay-forgiven", "a replay ends nothing", wrapped("session", "_end_by_replay", replay_forgiven)),
    Fault(
        "late-replay-forgiven",
        "a replay two generations late ends nothing",
        wrapped("session", "_end_by_replay", replay_late_forgiven),
    ),
    Fault(
        "narrower-narrows-session",
        "a narrower scope is narrow for good",
        wrapped("session", "_rotate", narrower_narrows_session),
    ),
    Fault("wider-granted", "a wider scope is granted", wrapped("session", "_rotate", wider_granted)),
    Fault(
        "refused-refresh-writes",
        "a refused refresh touches the session",
        wrapped("session", "refresh", refused_refresh_writes),
    ),
)
