"""Find the uploaded pictures that a decision leaves without an account, so that they are removed."""

from collections.abc import Iterable
from typing import Final

from ostiary_core.model.decision import Change, Update
from ostiary_core.model.records import User

FILES_PREFIX: Final = "/files/"


def orphaned_files(changes: Iterable[Change]) -> list[str]:
    """Return the files that accounts lose by a decision: replaced, removed, or deleted with the account.

    Read from the decision itself, so that of two at once each removes what it replaced, and nothing that an
    account still has.
    """
    return [
        change.before.avatar_url.removeprefix(FILES_PREFIX)
        for change in changes
        if isinstance(change, Update)
        and isinstance(change.before, User)
        and isinstance(change.after, User)
        and change.before.avatar_url is not None
        and change.before.avatar_url.startswith(FILES_PREFIX)
        and (change.after.avatar_url != change.before.avatar_url or change.after.deleted_at is not None)
    ]
