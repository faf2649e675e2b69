"""Tell users by text message what was changed that proves who they are, or acts for them.

That is a password, a telephone number, a second factor, its recovery codes, and a personal access token.

The user reads of it, no matter who changed it, on a telephone that the change did not touch: a changed number
is told to the old one. A message that cannot be sent is logged and changes nothing of the change itself.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from ostiary_core.model.decision import Change, Decision, Update
from ostiary_core.model.fact import FactKind
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import User
from ostiary_core.texts import Language, Languages
from ostiary_net.runtime.text_messages import TextMessage

TOLD_FACTS: Final = (
    *(FactKind.SECOND_FACTOR_SET, FactKind.SECOND_FACTOR_REMOVED),
    *(FactKind.RECOVERY_CODES_RENEWED, FactKind.RECOVERY_CODE_USED),
    FactKind.PERSONAL_TOKEN_CREATED,
)
"""Facts that their user is told of; the purpose of the message is the kind of the fact."""


def find_notices(
    decision: Decision, own: User | None, languages: Languages, language: Language, now: Instant
) -> Iterator[TextMessage]:
    """Yield the messages that a decision causes; `own` is the account of the caller."""
    yield from _find_changes(decision.changes, languages, language, now)
    users = {} if own is None else {own.user_id: own}
    for change in decision.changes:
        if isinstance(change, Update) and isinstance(change.before, User):
            users[change.before.user_id] = change.before
    for fact in decision.facts:
        user = users.get(fact.user_id or "")
        if fact.kind in TOLD_FACTS and user is not None and user.phone is not None:
            said = languages.by_tag(user.locale) or language
            text = said.text(f"message.{fact.kind}", username=user.username)
            yield TextMessage(phone=user.phone, purpose=fact.kind.value, text=text, at=now)


def _find_changes(
    changes: Iterable[Change], languages: Languages, language: Language, now: Instant
) -> Iterator[TextMessage]:
    """Yield the messages about changed passwords and numbers, in the user's language, else in `language`."""
    for change in changes:
        if not isinstance(change, Update):
            continue
        before, after = change.before, change.after
        if not isinstance(before, User) or not isinstance(after, User) or before.phone is None:
            continue
        if after.deleted_at is not None or after.epoch == before.epoch:
            continue  # as at a sign-in, which may store another hash of the same password
        said = languages.by_tag(after.locale) or language
        if after.phone != before.phone:
            purpose, text = "phone-changed", said.text("message.phone-changed", username=after.username)
        elif after.password_hash != before.password_hash:
            purpose, text = "password-changed", said.text("message.password-changed", username=after.username)
        else:
            continue
        yield TextMessage(phone=before.phone, purpose=purpose, text=text, at=now)
