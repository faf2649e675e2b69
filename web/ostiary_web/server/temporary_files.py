"""Keep temporary files beside the data, as no other folder need be writable.

A large upload is written there as it comes, and SQLite sorts there what is large. No file has a name, so a
process that was killed leaves nothing behind.
"""

import os
import tempfile
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Final

from ostiary_web.server.settings import Settings

_VARIABLE: Final = "TMPDIR"
"""Variable of POSIX for the folder; an operator who sets it has chosen."""


def temporary_folder(settings: Settings, environment: Mapping[str, str]) -> Path:
    """Return the folder of temporary files, which may not exist yet."""
    chosen = environment.get(_VARIABLE)
    return Path(chosen) if chosen else settings.data_dir.absolute() / "tmp"


def can_be_used(folder: Path) -> bool:
    """Whether files can be made in a folder, or where a start will make it."""
    there = next(each for each in (folder, *folder.parents) if each.exists())
    by_effective = os.access in os.supports_effective_ids
    return os.access(there, os.W_OK | os.X_OK, effective_ids=by_effective)


def use_data_dir(settings: Settings, environment: MutableMapping[str, str] = os.environ) -> None:
    """Have this process and its children use `DATA_DIR` for temporary files, unless `TMPDIR` is set.

    If it cannot be made, `ostiary check` reports it: the server works, except for large uploads.
    """
    if environment.get(_VARIABLE):
        return
    folder = temporary_folder(settings, environment)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return
    environment[_VARIABLE] = str(folder)
    tempfile.tempdir = None
