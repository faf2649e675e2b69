"""An explained session as JSON: what the interface answers and the command line prints for scripts."""

from collections.abc import Awaitable, Callable, Iterable, Mapping

from ostiary_core.events import Operator, UserRequested
from ostiary_core.history.explain import Explanation, Step
from ostiary_core.history.history_texts import near_misses_text, step_text
from ostiary_core.http.language import Language
from ostiary_core.model.decision import Reply, UserKnown
from ostiary_core.model.instant import Instant, iso_time
from ostiary_core.model.records import Session, SessionKind

__all__ = ["life_record", "names_of"]

Names = Mapping[str, str]


async def names_of(ids: Iterable[str], ask: Callable[[UserRequested], Awaitable[Reply]]) -> dict[str, str]:
    """The user names of those of `ids` that still exist."""
    names = {}
    for user_id in sorted(ids):
        reply = await ask(UserRequested(caller=Operator(), user_id=user_id))
        if isinstance(reply, UserKnown):
            names[user_id] = reply.user.username
    return names


def life_record(of: Explanation, language: Language, names: Names) -> dict[str, object]:
    """The whole life; `text` is in the language asked for, everything else is the same in both."""
    session, misses = of.session, of.near_misses
    return {
        "id": session.session_id,
        "kind": "login" if session.kind is SessionKind.LOGIN else "oauth",
        "grantType": _grant_type(session),
        "state": of.state.value,
        "why": of.why and of.why.value,
        "clientId": session.client_id,
        "clientName": of.client and of.client.name,
        "userId": session.user_id,
        "username": of.user and of.user.username,
        "name": of.user and of.user.name,
        "scope": " ".join(session.scopes),
        "startedAt": iso_time(session.started_at),
        "expiresAt": iso_time(session.expires_at),
        "text": step_text(of.last, of, language, names),
        "nearMisses": {
            "count": misses.count,
            "latestDelayMs": misses.latest_delay_ms,
            "longestDelayMs": misses.longest_delay_ms,
            "text": near_misses_text(of, language),
        },
        "steps": [_step_record(step, of, language, names) for step in of.steps],
    }


def _step_record(step: Step, of: Explanation, language: Language, names: Names) -> dict[str, object]:
    return {
        "kind": step.kind.value,
        "at": _time(step.at),
        "text": step_text(step, of, language, names),
        "why": step.why and step.why.value,
        "actorId": step.actor_id,
        "actorUsername": None if step.actor_id is None else names.get(step.actor_id),
        "traceId": step.trace_id,
        "ip": step.source,
        "userAgent": step.user_agent,
        "earlierAt": _time(step.earlier_at),
        "earlierUserAgent": step.earlier_user_agent,
        "delayMs": step.delay_ms,
    }


def _grant_type(session: Session) -> str | None:
    return None if session.kind is SessionKind.LOGIN else session.kind.value


def _time(at: Instant | None) -> str | None:
    return None if at is None else iso_time(at)
