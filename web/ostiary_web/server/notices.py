"""Tell users by text message that their password or telephone number was changed.

Whoever changed it, the user reads of it on a telephone that the change did not touch: a changed number is
told to the old one. A message that cannot be sent is logged and changes nothing of the change itself.
"""

from collections.abc import Iterable, Iterator

from ostiary_core.model.decision import Change, Update
from ostiary_core.model.instant import Instant
from ostiary_core.model.records import User
from ostiary_core.texts import Language, Languages
from ostiary_net.runtime.text_messages import TextMessage


def find_notices(
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
