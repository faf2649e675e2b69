"""Judge everything that can be read about a finished world: explanations, lists, summaries, records.

The model knows the present state, and the audit trail the past one. No rule of the core is asked.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, TypeVar

from fuzz.model.realm import Realm
from fuzz.model.records import BUILT_IN, SUPER_ADMINISTRATOR, Session
from fuzz.shared.history import History
from fuzz.shared.invariants import HINDSIGHT, NO_SECRETS, Violation
from fuzz.shared.memory_store import ServerMemoryStore
from ostiary_core.events import Operator, UserRequested
from ostiary_core.history.explain import Explanation, explain
from ostiary_core.model.fact import FactKind
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import RECORD_TABLES
from ostiary_core.model.reply import UserKnown
from ostiary_core.oauth.state_tables import SessionState
from ostiary_core.storage import listing
from ostiary_core.storage.json_codec import entry_from_text, record_from_text, to_text
from ostiary_core.storage.listing import AUDIT, Listable, Listing, Sort, TimeRange
from ostiary_net.observability.summaries import Metric
from ostiary_web.application.history_texts import ENDINGS, safe_retries_text, step_text, time_text
from ostiary_web.texts import LANGUAGES

T = TypeVar("T")

_END_OF_TIME: Final = Instant(1 << 60)
_PAGE: Final = 7
_ALL: Final = 1_000_000
_COUNTED: Final = {
    Metric.STARTED: {FactKind.SESSION_STARTED},
    Metric.SIGN_IN_FAILED: {FactKind.SIGN_IN_FAILED},
    Metric.REFRESHED: {FactKind.PAIR_ROTATED},
    Metric.RETRIED: {FactKind.PAIR_REPEATED},
    Metric.ENDED: {FactKind.SESSION_ENDED},
    Metric.ENDED_TOGETHER: {
        FactKind.USER_SESSIONS_ENDED,
        FactKind.CLIENT_DISABLED,
        FactKind.CLIENT_DELETED,
        FactKind.CLIENT_SESSIONS_ENDED,
        FactKind.CONSENT_WITHDRAWN,
    },
}


def find_faults_in_hindsight(
    store: ServerMemoryStore, realm: Realm, history: History, now: int
) -> Iterator[Violation]:
    """Yield everything that is shown differently from what happened."""
    at = Instant(now)
    realm.expire(now)
    yield from _faults_of_explanations(store, realm, history, at)
    yield from _faults_of_accounts(store, realm, at)
    yield from _faults_of_lists(store, realm, at)
    yield from _faults_of_summaries(store, at)
    yield from _faults_of_texts(store)
    while store.forget_entries(_END_OF_TIME, 0, _PAGE):
        pass
    yield from _faults_of_explanations(store, realm, history, at, is_forgotten=True)


def _faults_of_accounts(store: ServerMemoryStore, realm: Realm, now: Instant) -> Iterator[Violation]:
    """Yield each account that is shown with a wrong number of recovery codes."""
    for user in realm.users.values():
        [shown] = store.turn([UserRequested(caller=Operator(), user_id=user.user_id)], now)
        left = len(user.factor.recovery) if user.factor is not None and user.has_factor else None
        if isinstance(shown.reply, UserKnown) and shown.reply.recovery_codes_left != left:
            detail = f"{shown.reply.recovery_codes_left} recovery codes are shown, not {left}"
            yield Violation(HINDSIGHT, detail)


# --- explanations


def _faults_of_explanations(
    store: ServerMemoryStore, realm: Realm, history: History, now: Instant, *, is_forgotten: bool = False
) -> Iterator[Violation]:
    sentences = []
    names = {each.user_id: each.name for each in realm.users.values()}
    for session in realm.sessions:
        if session.session_id is None:
            continue
        known = store.session_history(session.session_id)
        if known is None:  # purged, or from a turn that failed
            continue
        explanation = explain(known, now)
        states = {_state_of(session)}
        # Without the trail it is unknown whether an ending of its user, client or consent came before the
        # maximum.
        if is_forgotten and now >= session.until:
            states.add(SessionState.EXPIRED)
        if explanation.state not in states:
            yield Violation(HINDSIGHT, f"a session is explained as {explanation.state}, not {min(states)}")
        if (explanation.why in ENDINGS) is not (explanation.state is SessionState.ENDED):
            yield Violation(HINDSIGHT, f"{explanation.why} is why a session is {explanation.state}")
        ended_at = explanation.last.at if explanation.state is SessionState.ENDED else None
        if ended_at is not None and ended_at >= session.until:
            yield Violation(HINDSIGHT, "a session is explained by an event after its maximum")
        if not explanation.actor_ids <= names.keys():
            yield Violation(HINDSIGHT, "the account that ended a session does not exist")
        sentences += list(_sentences(explanation, names))
    if not all(sentences):
        yield Violation(HINDSIGHT, "a step of a session's history has no words")
    text = "\n".join(sentences)
    secrets = [*history.tokens, *history.code_texts, *(each.secret for each in history.clients.values())]
    if any(secret in text for secret in secrets):
        yield Violation(NO_SECRETS, "the history of a session tells one")


def _state_of(session: Session) -> SessionState:
    if session.expired:
        return SessionState.EXPIRED
    return SessionState.ENDED if session.ended else SessionState.ACTIVE


def _sentences(explanation: Explanation, names: Mapping[str, str]) -> Iterator[str]:
    for language in LANGUAGES:
        yield safe_retries_text(explanation, language)
        for step in explanation.steps:
            yield time_text(step.at, language)
            yield step_text(step, explanation, language, names)


# --- lists


def _faults_of_lists(store: ServerMemoryStore, realm: Realm, now: Instant) -> Iterator[Violation]:
    clients = {each.client_id for each in realm.clients.values() if not each.deleted}
    users = {each.user_id for each in realm.users.values() if not each.deleted}
    yield from _faults_of_list(store, listing.CLIENTS, clients | {*BUILT_IN}, now)
    yield from _faults_of_list(store, listing.USERS, users, now)
    yield from _faults_of_list(store, listing.ROLES, {*realm.roles, SUPER_ADMINISTRATOR}, now)
    running = [each for each in realm.sessions if not each.ended and now < each.until]
    of_users = {each.session_id for each in running if each.user is not None}
    yield from _faults_of_list(store, listing.ONLINE_USERS, of_users, now)
    yield from _faults_of_list(store, listing.ONLINE_SESSIONS, {each.session_id for each in running}, now)
    yield from _faults_of_list(store, listing.AUDIT, {entry.number for entry in store.audit()}, now)
    for user_id in users:
        owner = realm.users[user_id]
        remembered = {client_id for client_id, scopes in owner.consents.items() if scopes}
        used = {each.client.client_id for each in running if each.client and each.user is owner}
        yield from _faults_of_list(store, listing.GRANTS, (remembered | used) & clients, now, user_id=user_id)


def _faults_of_list(
    store: ServerMemoryStore, resource: Listable[T], expected: Iterable[object], now: Instant, **filters: str
) -> Iterator[Violation]:
    """Yield faults of a list: its items, their order under every sorting, the search for each by name."""
    expected = {*expected} - {None}
    sort = (Sort(resource.sorts[-1], descending=True),)
    ever = tuple(TimeRange(field=each, start=Instant(0), end=_END_OF_TIME) for each in resource.ranges)
    everything = Listing(resource=resource, filters=filters, sort=sort, ranges=ever, page_size=_ALL)
    whole = store.page(everything, now)
    names = [getattr(item, resource.key) for item in whole.items]
    listing = Listing(resource=resource, filters=filters, sort=sort, page_size=_PAGE)
    pages = -(-whole.total // _PAGE)
    each_page = (store.page(replace(listing, page=page), now) for page in range(1, pages + 1))
    paged = [item for page in each_page for item in page.items]
    walked: list[T] = []
    while behind := store.items_after(listing, walked[-1] if walked else None, now):
        walked += behind
    if {*names} != expected or len(names) != len(expected):
        yield Violation(HINDSIGHT, f"the list of {resource.name} has wrong items")
    if not list(whole.items) == paged == walked:
        yield Violation(HINDSIGHT, f"the list of {resource.name} differs when read in pages")
    # No administrator searches the trail for the numbers of entries.
    if resource.searched and resource.name != AUDIT.name:
        for name in names:
            sought = Listing(resource=resource, search=name.upper(), page_size=_ALL)
            if name not in [getattr(item, resource.key) for item in store.page(sought, now).items]:
                yield Violation(HINDSIGHT, f"one of {resource.name} is not found by its identifier")


# --- summaries


def _faults_of_summaries(store: ServerMemoryStore, now: Instant) -> Iterator[Violation]:
    while store.count_entries(now, _PAGE):
        pass
    kinds = Counter(entry.kind for entry in store.audit())
    summaries = store.summaries(Instant(0), _END_OF_TIME, of_clients=False)
    counts = Counter[Metric]()
    for key, tally in summaries.items():
        counts[key.what] += tally.number
    for what, of_kinds in _COUNTED.items():
        if counts[what] != sum(kinds[each] for each in of_kinds):
            yield Violation(HINDSIGHT, f"the summaries count {what} differently from the trail")
    of_clients = store.summaries(Instant(0), _END_OF_TIME, of_clients=True)
    if sum(tally.number for tally in of_clients.values()) != counts[Metric.RETRIED]:
        yield Violation(HINDSIGHT, "the summaries of clients differ from the total of safe retries")
    while store.forget_summaries(_END_OF_TIME, 0, _PAGE):
        pass
    if store.state().uncounted or store.summaries(Instant(0), _END_OF_TIME, of_clients=False):
        yield Violation(HINDSIGHT, "the summaries are not at their end")


# --- records as text


def _faults_of_texts(store: ServerMemoryStore) -> Iterator[Violation]:
    for table in RECORD_TABLES:
        for record in store.records(table):
            if record_from_text(table, to_text(record)) != record:
                yield Violation(HINDSIGHT, f"a {type(record).__name__} changes when written as text and read")
    if any(entry_from_text(to_text(entry)) != entry for entry in store.audit()):
        yield Violation(HINDSIGHT, "an entry of the trail changes when written as text and read")
