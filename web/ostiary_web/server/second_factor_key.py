"""The key that second factors are derived from: a setting, or a file that the first start makes.

With the key and the database, one-time passwords can be computed; the key alone yields nothing.
"""

import os
import time
from pathlib import Path
from typing import Final

import structlog

from ostiary_core.model.one_time_password import key_id_of
from ostiary_core.model.records import SecondFactor, Table
from ostiary_core.model.secret import digest_of, draw_token
from ostiary_net.front_door.limits import CannotStart
from ostiary_net.runtime.files import create_for_owner_of, flush_to_disk, give_free_name
from ostiary_net.runtime.system import EntropySource
from ostiary_net.turns.ports import ServerStore
from ostiary_web.server import secret_files

_log = structlog.get_logger("ostiary")

KEY_FILE: Final = "second-factor.key"
"""Name of the file in the data folder; its line may be the setting of other instances."""
_SHORTEST_KEY: Final = 32
_LONGEST_KEY: Final = 256
_WAITS: Final = 20
_WAIT_SECONDS: Final = 0.05


def read_second_factor_key(text: str) -> bytes:
    """Return the key of 32 bytes that a text stands for; raise `ValueError` with its fault."""
    if secret_files.has_unseen_mark(text):
        raise ValueError(secret_files.UNSEEN_MARK)
    if not _SHORTEST_KEY <= len(text) <= _LONGEST_KEY:
        raise ValueError("is too short or too long")
    return digest_of(text)


def read_key_file(folder: Path) -> bytes | None:
    """Return the key in the data folder; None if there is none, or none that can be read."""
    try:
        return read_second_factor_key(secret_files.read_secret_file(folder / KEY_FILE))
    except ValueError:
        return None


def count_other_keys(store: ServerStore, key: bytes | None) -> int:
    """Return how many users set up a second factor with another key, whose codes cannot be checked here."""
    here = None if key is None else key_id_of(key)
    stored = (each for each in store.records(Table.SECOND_FACTOR) if isinstance(each, SecondFactor))
    return sum(each.confirmed_at is not None and each.key_id != here for each in stored)


def warn_of_other_keys(store: ServerStore, key: bytes, folder: Path) -> None:
    """Log how many users set up a second factor before the key in this folder was made, if any did."""
    others = count_other_keys(store, key)
    if others:
        _log.warning(
            "a new second factor key was made, and users have second factors of another: put that key back",
            file=str(folder / KEY_FILE),
            users=others,
        )


def _wait_for_content(path: Path) -> None:
    """Wait while another process gives the name to its key: some file systems have it empty for a moment.

    Raises `ValueError` for a name that stays empty.
    """
    for _ in range(_WAITS):
        if path.stat().st_size:
            return
        time.sleep(_WAIT_SECONDS)
    raise ValueError("it is empty, as a first start was interrupted: remove it")


def make_second_factor_key(folder: Path, entropy_source: EntropySource) -> tuple[bytes, bool]:
    """Return the key in the data folder, and whether it was made now as there was none.

    Raises `CannotStart` if neither can be.

    Processes that start together find one key: each writes a file of its own, and the first to name it wins.
    """
    path, is_new = folder / KEY_FILE, False
    try:
        if not secret_files.is_there(path):
            folder.mkdir(parents=True, exist_ok=True)
            own = folder / f".{KEY_FILE}.{os.getpid()}"
            own.unlink(missing_ok=True)
            create_for_owner_of(folder, own)
            own.write_text(draw_token(entropy_source.draw(), "second factor key").reveal() + "\n")
            flush_to_disk(own)
            try:
                give_free_name(own, path)
                is_new = True
            except FileExistsError:
                pass  # another process was first
            finally:
                own.unlink(missing_ok=True)
            flush_to_disk(folder)
        _wait_for_content(path)
        return read_second_factor_key(secret_files.read_secret_file(path)), is_new
    except (OSError, ValueError) as error:
        fault = error.strerror if isinstance(error, OSError) else error
        raise CannotStart(
            f"SECOND_FACTOR_KEY: is not set, and {str(path)!r} cannot be used: {fault}; allowed: the key in "
            "this setting, or a data folder that can be written"
        ) from None
