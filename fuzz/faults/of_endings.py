"""Mistakes in what ends a session, who may call, and what the machinery around the rules keeps."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import count
from typing import Any, Final
from unittest.mock import patch

from fuzz.faults.of_rotation import changed
from fuzz.faults.planting import Fault, wrapped
from ostiary_core.model.decision import Decision, Delete, Update
from ostiary_core.model.records import Client, RefreshToken, Session, SessionKind, User, revised
from ostiary_core.model.reply import Done
from ostiary_core.model.secret import Secret
from ostiary_core.model.why import Why
from ostiary_core.oauth import authentication, session
from ostiary_core.oauth import code as code_machine
from ostiary_core.oauth import inherited_endings as endings
from ostiary_core.storage import store
from ostiary_core.users import telephone

Original = Callable[..., Any]


def blind_to(*which: str) -> Callable[[Original], Original]:
    """Endings that do not look at some of the epochs."""

    def wrap(original: Original) -> Original:
        def ended(born: Any, snapshot: Any) -> Any:
            client = snapshot.client(born.client_id)
            user = None if born.user_id is None else snapshot.user(born.user_id)
            now = {
                "client": None if client is None else client.epoch,
                "user": None if user is None else user.epoch,
            }
            is_login = isinstance(born, Session) and born.kind is SessionKind.LOGIN
            if born.user_id is not None and not is_login:
                consent = snapshot.consent(born.user_id, born.client_id)
                now["consent"] = 0 if consent is None else consent.epoch
            seen = {name: epoch for name, epoch in now.items() if name in which and epoch is not None}
            return original(replace(born, epochs=born.epochs._replace(**seen)), snapshot)

        return ended

    return wrap


def blind_for_codes() -> AbstractContextManager[Any]:
    return patch.object(code_machine, "inherited_ending", blind_to("user")(endings.inherited_ending))


def not_an_ending(original: Original) -> Original:
    """The change is made, and nothing ends."""
    return lambda record, why, now, **changes: revised(record, updated_at=now, **changes)


def revives(original: Original) -> Original:
    def enable(*asked: Any) -> Any:
        decision = original(*asked)

        def older(change: Any) -> Any:
            if isinstance(change, Update) and isinstance(change.after, User | Client):
                after: Any = change.after
                return Update(change.before, replace(after, epoch=after.epoch - 1))
            return change

        return replace(decision, changes=tuple(older(change) for change in decision.changes))

    return enable


def secret_reset_ends(original: Original) -> Original:
    def reset(*asked: Any) -> Any:
        decision = original(*asked)

        def ended(change: Any) -> Any:
            if isinstance(change, Update):
                after: Any = change.after
                return Update(change.before, replace(after, epoch=after.epoch + 1))
            return change

        return replace(decision, changes=tuple(ended(change) for change in decision.changes))

    return reset


def credentials_of(**values: Any) -> Callable[[Original], Original]:
    """Client authentication that takes a client for what it is not."""

    def wrap(original: Original) -> Original:
        def authenticate(credentials: Any, snapshot: Any, now: Any) -> Any:
            client = snapshot.client(credentials.client_id)
            if client is not None and not client.built_in:
                snapshot = snapshot.after((Update(client, replace(client, **values)),))
            return original(credentials, snapshot, now)

        return authenticate

    return wrap


def any_password_for_phone() -> AbstractContextManager[Any]:
    return patch.object(telephone, "refuse_wrong_password", lambda *asked: None)


class _AnySecret:
    """`hmac` with a comparison that always agrees."""

    @staticmethod
    def compare_digest(one: bytes, other: bytes) -> bool:
        return True


def any_secret() -> AbstractContextManager[Any]:
    return patch.object(authentication, "hmac", _AnySecret)


def third_party_signed_in(original: Original) -> Original:
    def find_person(caller: Any, snapshot: Any, now: Any) -> Any:
        held = snapshot.session_by_access_token(caller.access_token.digest)
        of_third_party = held is not None and held.user_id is not None and held.kind is not SessionKind.LOGIN
        if of_third_party and session.state_of(held, snapshot, now) is session.SessionState.ACTIVE:
            return authentication.Person(snapshot.user(held.user_id), held)
        return original(caller, snapshot, now)

    return find_person


def disabled_signs_in(original: Original) -> Original:
    def named(*asked: Any) -> Any:
        user = original(*asked)
        return None if user is None else replace(user, enabled=True)

    return named


def with_policy(**values: Any) -> Callable[[Original], Original]:
    """The last argument, the policy, says something else."""
    return lambda original: lambda *asked: original(*asked[:-1], replace(asked[-1], **values))


def nothing_happens(original: Original) -> Original:
    def does_nothing(*asked: Any) -> Any:
        decision = original(*asked)
        return Decision(Done()) if isinstance(decision.reply, Done) else decision

    return does_nothing


def deletes_lost(original: Original) -> Original:
    def write(self: Any, changes: Any) -> None:
        original(self, [change for change in changes if not isinstance(change, Delete)])

    return write


def endings_lost(original: Original) -> Original:
    def write(self: Any, changes: Any) -> None:
        original(
            self,
            [
                change
                for change in changes
                if not (
                    isinstance(change, Update)
                    and isinstance(change.after, Session)
                    and change.after.ended_why is Why.REVOKED_BY_CLIENT
                )
            ],
        )

    return write


def writing(wrap: Callable[[Original], Original]) -> Callable[[], AbstractContextManager[Any]]:
    """A store whose writes go wrong."""
    return lambda: patch.object(store.MemoryStore, "write", wrap(store.MemoryStore.write))


def stale_turns(original: Original) -> Original:
    def take_turn(events: Any, snapshot: Any, now: Any, *policy: Any) -> list[Decision]:
        return [original([event], snapshot, now, *policy)[0] for event in events]

    return take_turn


def references_forgotten() -> AbstractContextManager[Any]:
    return patch.object(RefreshToken, "references", ())


@contextmanager
def counted_ids() -> Iterator[None]:
    numbers = count()
    plant = wrapped("secret", "draw_id", lambda original: lambda *_: f"session-{next(numbers):024}")
    with plant():
        yield


def token_written(original: Original) -> Original:
    def start(**asked: Any) -> Any:
        made, issued, changes, fact = original(**asked)
        told = f"access token {issued.access_token.reveal()}"
        return made, issued, changed(Decision(issued, changes), source=told).changes, fact

    return start


def token_told(original: Original) -> Original:
    def start(**asked: Any) -> Any:
        made, issued, changes, fact = original(**asked)
        return made, issued, changes, replace(fact, user_agent=issued.access_token.reveal())

    return start


def secrets_print() -> AbstractContextManager[Any]:
    return patch.object(Secret, "__repr__", Secret.reveal)


FAULTS: Final = (
    Fault(
        "user-epoch-ignored",
        "endings of a user end nothing",
        wrapped("inherited_endings", "inherited_ending", blind_to("user")),
    ),
    Fault(
        "client-epoch-ignored",
        "endings of a client end nothing",
        wrapped("inherited_endings", "inherited_ending", blind_to("client")),
    ),
    Fault(
        "consent-epoch-ignored",
        "a withdrawn consent ends nothing",
        wrapped("inherited_endings", "inherited_ending", blind_to("consent")),
    ),
    Fault("codes-outlive-users-ending", "endings of a user spare codes", blind_for_codes),
    Fault(
        "user-endings-forgotten",
        "what ends a user's sessions does not",
        wrapped("inherited_endings", "end_all_of_user", not_an_ending),
    ),
    Fault(
        "client-endings-forgotten",
        "disabling or deleting a client ends nothing",
        wrapped("inherited_endings", "end_all_of_client", not_an_ending),
    ),
    Fault(
        "enabled-user-revives",
        "enabling a user revives sessions",
        wrapped("user_administration", "enable", revives),
    ),
    Fault(
        "enabled-client-revives", "enabling a client revives sessions", wrapped("client", "enable", revives)
    ),
    Fault(
        "secret-reset-ends",
        "a secret reset ends sessions",
        wrapped("client_secret", "reset", secret_reset_ends),
    ),
    Fault(
        "disabled-client-authenticates",
        "a disabled client authenticates",
        wrapped("authentication", "authenticate_client", credentials_of(enabled=True)),
    ),
    Fault(
        "deleted-client-authenticates",
        "a deleted client authenticates",
        wrapped("authentication", "authenticate_client", credentials_of(enabled=True, deleted_at=None)),
    ),
    Fault("secret-unchecked", "any client secret will do", any_secret),
    Fault(
        "third-party-signed-in",
        "a third party's token opens the backend",
        wrapped("authentication", "find_person", third_party_signed_in),
    ),
    Fault(
        "disabled-user-signs-in",
        "a disabled user signs in",
        wrapped("own_account", "_find_user", disabled_signs_in),
    ),
    Fault(
        "wrong-passwords-forgiven",
        "wrong current passwords end nothing",
        wrapped("own_account", "refuse_wrong_password", with_policy(wrong_passwords_until_ending=10**6)),
    ),
    Fault("phone-without-password", "a new telephone number takes any password", any_password_for_phone),
    Fault(
        "text-codes-unbounded",
        "an account asks for text messages without end",
        wrapped("telephone", "request_text_code", with_policy(text_codes_asked_a_day=10**6)),
    ),
    Fault(
        "sign-ins-unbounded",
        "failed sign-ins slow nothing down",
        wrapped("own_account", "sign_in", with_policy(free_sign_in_failures=10**6)),
    ),
    Fault(
        "sign-out-ends-nothing",
        "signing out ends nothing",
        wrapped("own_account", "sign_out", nothing_happens),
    ),
    Fault(
        "forced-out-lives",
        "a forced-out session goes on",
        wrapped("user_administration", "force_out_session", nothing_happens),
    ),
    Fault("deletes-lost", "the store forgets what was deleted", writing(deletes_lost)),
    Fault("revocations-lost", "the store loses an acknowledged revocation", writing(endings_lost)),
    Fault(
        "turns-stale", "events of a turn do not see one another", wrapped("decide", "take_turn", stale_turns)
    ),
    Fault(
        "references-forgotten",
        "keys do not cover what is read",
        references_forgotten,
    ),
    Fault("identifiers-counted", "the rules draw from somewhere else", counted_ids),
    Fault("token-written", "a session's record holds a token", wrapped("session", "start", token_written)),
    Fault("token-told", "the audit trail is told a token", wrapped("session", "start", token_told)),
    Fault("secrets-print", "a bearer value shows when printed", secrets_print),
)
