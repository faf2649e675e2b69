"""Encode an explained session as JSON, for the interface and the command line."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Annotated, Final

from msgspec import Meta

from ostiary_core.history.explain import Explanation, HistoryStep, StepKind
from ostiary_core.model.instant import NOT_YET, iso_time
from ostiary_core.model.records import SessionKind, User
from ostiary_core.oauth.state_tables import SessionState
from ostiary_core.storage.listing import DELETED_USERS, USERS, Listing, ListingStore
from ostiary_core.texts import Language
from ostiary_net.turns.turns import ListQuery
from ostiary_web.application.answer_data import AnswerData, Count, Time, one_of, time_or_none
from ostiary_web.application.history_texts import ENDINGS, safe_retries_text, step_text
from ostiary_web.application.resources.changes import ChangedField, encode_changes
from ostiary_web.application.resources.online import KINDS, kind_code

Names = Mapping[str, str]

Query = Callable[[ListQuery[dict[str, User]]], Awaitable[dict[str, User]]]
"""Reads the lists of a store."""

_MOST_DELETED: Final = 500
"""Most deleted accounts that are looked through for a name."""

_GRANT_TYPES: Final = (SessionKind.AUTHORIZATION_CODE, SessionKind.CLIENT_CREDENTIALS)


class SafeRetriesRecord(AnswerData):
    """Safe retries: how often and how late one saved the client."""

    count: Count
    latest_delay_ms: Count | None
    longest_delay_ms: Count | None
    text: str


class StepRecord(AnswerData):
    """One step; null for what the trail does not have."""

    kind: StepKind
    at: Time | None
    text: Annotated[str, Meta(description="In the language of the request.")]
    why: str | None
    actor_id: str | None
    actor_username: str | None
    actor_session_id: Annotated[str, Meta(description="Login session or token that did it.")] | None
    actor_token: Annotated[str, Meta(description="Name of the token that did it.")] | None
    trace_id: str | None
    ip: str | None
    user_agent: str | None
    earlier_at: Annotated[Time, Meta(description="When the token was first used.")] | None
    earlier_user_agent: str | None
    delay_ms: Annotated[Count, Meta(description="How long after its first use the token came again.")] | None
    changes: Annotated[list[ChangedField], Meta(description="What an ending changed in the client's record.")]


class SessionHistoryRecord(AnswerData):
    """A session's history in order, and how and why it ended."""

    id: str
    kind: Annotated[str, one_of(KINDS)]
    grant_type: Annotated[str, one_of(_GRANT_TYPES)] | None
    state: SessionState
    why: Annotated[str, one_of(ENDINGS)] | None
    client_id: str
    client_name: str | None
    user_id: str | None
    username: str | None
    name: str | None
    scope: str
    started_at: Time
    expires_at: Time
    text: Annotated[str, Meta(description="How it ended or stands.")]
    near_misses: SafeRetriesRecord
    steps: Annotated[list[StepRecord], Meta(min_length=2)]


def list_users(store: ListingStore, ids: Iterable[str]) -> dict[str, User]:
    """Return the accounts among `ids` by identifier, those that were deleted too."""
    wanted = tuple(sorted(ids))
    found: dict[str, User] = {}
    for resource in (USERS, DELETED_USERS) if wanted else ():
        listing = Listing(resource=resource, filters={"user_id": wanted}, page_size=len(wanted))
        found |= {user.user_id: user for user in store.items_after(listing, None, NOT_YET)}
    return found


def list_deleted_users(store: ListingStore, part: str) -> tuple[User, ...]:
    """Return the accounts that were deleted, and whose user name contains `part`."""
    listing = Listing(resource=DELETED_USERS, filters={"username": part}, page_size=_MOST_DELETED)
    return store.items_after(listing, None, NOT_YET)


async def find_usernames(ids: Iterable[str], query: Query) -> dict[str, str]:
    """Return the user names of the accounts among `ids`, those that were deleted too."""
    users = await query(lambda store, now: list_users(store, ids))
    return {user_id: user.username for user_id, user in users.items()}


def encode_history(of: Explanation, language: Language, names: Names) -> SessionHistoryRecord:
    """Return the whole history; only its texts depend on the language."""
    session, misses = of.session, of.safe_retry_delays_ms
    return SessionHistoryRecord(
        id=session.session_id,
        kind=kind_code(session.kind),
        grant_type=session.kind.value if session.kind in _GRANT_TYPES else None,
        state=of.state,
        why=of.why and of.why.value,
        client_id=session.client_id,
        client_name=None if of.client is None else of.client.name,
        user_id=session.user_id,
        username=None if of.user is None else of.user.username,
        name=None if of.user is None else of.user.name,
        scope=" ".join(session.scopes),
        started_at=iso_time(session.started_at),
        expires_at=iso_time(session.expires_at),
        text=step_text(of.last, of, language, names),
        near_misses=SafeRetriesRecord(
            count=len(misses),
            latest_delay_ms=misses[-1] if misses else None,
            longest_delay_ms=max(misses, default=None),
            text=safe_retries_text(of, language),
        ),
        steps=[_step_record(step, of, language, names) for step in of.steps],
    )


def _step_record(step: HistoryStep, of: Explanation, language: Language, names: Names) -> StepRecord:
    return StepRecord(
        kind=step.kind,
        at=time_or_none(step.at),
        text=step_text(step, of, language, names),
        why=step.why and step.why.value,
        actor_id=step.actor_id,
        actor_username=step.actor_name or (None if step.actor_id is None else names.get(step.actor_id)),
        actor_session_id=step.actor_session_id,
        actor_token=step.actor_token,
        trace_id=step.trace_id,
        ip=step.source,
        user_agent=step.user_agent,
        earlier_at=time_or_none(step.earlier_at),
        earlier_user_agent=step.earlier_user_agent,
        delay_ms=step.delay_ms,
        changes=encode_changes(step.changes),
    )
