"""The addresses of uploaded files, and which of them a decision leaves without an account."""

from collections.abc import Iterable
from typing import Final

from ostiary_core.model.decision import Change, Update
from ostiary_core.model.records import User

FILES_PREFIX: Final = "/files/"


def orphaned_files(changes: Iterable[Change]) -> list[str]:
    """The names of the files that accounts let go of: replaced, taken away, or deleted with the account.

    Read from the decision itself, so that of two at once each removes what it replaced, and no file is
    removed that an account still has.
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
