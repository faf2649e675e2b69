"""Each kind of record expires at its instant, no sooner, and alone (READINGS 1, 3 and 10)."""

from ostiary_core import Instant, MemoryStore, Policy, TextCodePurpose
from ostiary_core.events import RecordExpired
from ostiary_core.model.client import REFRESH_TOKEN_SECONDS
from ostiary_core.model.decision import Decision, Delete, Insert
from ostiary_core.model.instant import later
from ostiary_core.model.records import Epochs, Invitation, Key, Record, RefreshToken, Table, TextCode, revise
from ostiary_core.model.reply import Done
from ostiary_core.model.secret import digest_of
from ostiary_core.retention import Expirable
from tests.support.story import START, given

DAY = 24 * 60 * 60
STRICT, APART = Policy(revoke_on_code_replay=True), Policy(clock_margin_seconds=120)
WORLD = given()
WORLD.tokens()
SESSION, USED = WORLD.the_session(), WORLD.the_code()
CODE = revise(USED, session_id=None)
MAXIMUM = 604_800
TEXT_CODE = TextCode(
    purpose=TextCodePurpose.RESET_PASSWORD,
    phone="+8613800000000",
    digest=digest_of("123456"),
    user_id="nobody",
    epochs=Epochs(0, 0, 0),
    issued_at=later(START, 60),
    counting_since=START,
)
INVITATION = Invitation(user_id="alice", digest=digest_of("one"), epochs=Epochs(0, 0, 0), issued_at=START)
EARLY, LATE = (revise(SESSION, ended_at=later(START, seconds)) for seconds in (60, 2 * MAXIMUM))
EXPIRE: tuple[tuple[Expirable, Record, int, Policy], ...] = (
    (Expirable.CODES, CODE, 300, Policy()),
    (Expirable.CODES, CODE, 300, STRICT),
    (Expirable.USED_CODES, USED, 300, Policy()),
    (Expirable.USED_CODES, USED, 300 + REFRESH_TOKEN_SECONDS.most, STRICT),
    (Expirable.SESSIONS, SESSION, MAXIMUM + 30 * DAY, Policy()),
    (Expirable.ENDED_SESSIONS, EARLY, 60 + 30 * DAY, Policy()),
    (Expirable.ENDED_SESSIONS, LATE, MAXIMUM + 30 * DAY, Policy()),
    (Expirable.TEXT_CODES, TEXT_CODE, DAY + 600, Policy()),
    (Expirable.INVITATIONS, INVITATION, 72 * 60 * 60, Policy()),
    (Expirable.INVITATIONS, INVITATION, 72 * 60 * 60 + 120, APART),
    (Expirable.CODES, CODE, 420, APART),
    (Expirable.USED_CODES, USED, 420, APART),
    (Expirable.SESSIONS, SESSION, MAXIMUM + 30 * DAY, APART),
    (Expirable.TEXT_CODES, TEXT_CODE, DAY + 720, APART),
)
"""Each kind, one of it, how long after `START` it goes, and under what policy."""


def lapse(store: MemoryStore, key: Key, now: Instant) -> Decision:
    [decision] = store.turn([RecordExpired(key=key)], now)
    return decision


def test_each_kind_expires_at_its_instant_and_is_found_as_that_kind_alone() -> None:
    for kind, record, seconds, policy in EXPIRE:
        store = MemoryStore(policy)
        store.write([Insert(record)])
        at = later(START, seconds)
        for now, expired in ((Instant(at - 1), False), (at, True)):
            for each in Expirable:
                found = store.find_expired(each, b"", now, 1).identifiers
                assert found == ((record.key.id,) if expired and each is kind else ()), (kind, each, now)
            changes = (Delete(record),) if expired else ()
            assert lapse(store, record.key, now) == Decision(Done(), changes), (kind, now)


def test_a_refresh_token_expires_with_its_session_and_other_records_never() -> None:
    store, far = MemoryStore(), later(START, 10_000 * DAY)
    tokens = [RefreshToken(digest=digest_of(name), session_id=name, generation=0) for name in ("", "gone")]
    tokens[0] = revise(tokens[0], session_id=SESSION.session_id)
    stays: tuple[Record, ...] = (tokens[0], WORLD.client(), WORLD.user())
    records: tuple[Record, ...] = (SESSION, tokens[1], *stays)
    store.write([Insert(record) for record in records])
    assert store.find_expired(Expirable.TOKENS, b"", START, 10).identifiers == (tokens[1].key.id,)
    assert lapse(store, tokens[1].key, far) == Decision(Done(), (Delete(tokens[1]),))
    for key in (*(record.key for record in stays), Key(Table.SESSION, "nobody's")):
        assert lapse(store, key, far) == Decision(Done()), key
