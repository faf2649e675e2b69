"""The steps of a schema, as files of plain SQL, and the check of the steps that a database went through."""

from dataclasses import dataclass
from enum import Enum, auto
from importlib.resources import files
from typing import Final

NO_DATABASE: Final = "nothing is there: `ostiary migrate` makes the database, as `ostiary serve` does"


class SchemaError(RuntimeError):
    """The database is not one this program can work with; the text says why and what to do."""


class Opening(Enum):
    """What opening a store may do to the database."""

    MAKES = auto()
    """Make it where there is none, and bring its schema up to date."""
    UPDATES = auto()
    """Bring its schema up to date, but there must be one."""
    KEEPS = auto()
    """Leave it as it is, so that it must have the schema of this release."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step: its number, what it is called, and its SQL."""

    version: int
    name: str
    sql: str


def read_migrations(package: str) -> tuple[Migration, ...]:
    """Read all steps of a package in order: `migrations/NNNN_name.sql`, numbered from 1 without gaps."""
    steps = []
    for file in sorted(files(package).joinpath("migrations").iterdir(), key=lambda file: file.name):
        version, _, name = file.name.removesuffix(".sql").partition("_")
        steps.append(Migration(int(version), name, file.read_text(encoding="utf-8")))
    assert [step.version for step in steps] == list(range(1, len(steps) + 1)), "a migration is missing"
    return tuple(steps)


def has_all(applied: list[tuple[int, str]], steps: tuple[Migration, ...]) -> bool:
    """Whether `applied` begins with all of `steps`; newer ones may follow."""
    return applied[: len(steps)] == [(step.version, step.name) for step in steps]


def find_missing(
    applied: list[tuple[int, str]], steps: tuple[Migration, ...], opening: Opening = Opening.MAKES
) -> tuple[Migration, ...]:
    """The steps that are to be applied.

    Raises `SchemaError` unless `applied` is the beginning of `steps` and `opening` allows what is missing.
    """
    known = [(step.version, step.name) for step in steps]
    if applied == known[: len(applied)]:
        missing = steps[len(applied) :]
        if not applied and opening is not Opening.MAKES:
            raise SchemaError(NO_DATABASE)
        if missing and opening is Opening.KEEPS:
            raise SchemaError(
                f"it has schema version {len(applied)}, and this Ostiary needs {len(known)}: "
                "`ostiary migrate` brings it up to date, as `ostiary serve` does"
            )
        return missing
    if has_all(applied, steps):
        raise SchemaError(
            f"the database has schema version {applied[-1][0]}, and this Ostiary knows only up to "
            f"{len(known)}: install the newer Ostiary again, or restore the backup made before it ran"
        )
    raise SchemaError(
        f"the database has been through the steps {applied}, and this Ostiary knows {known}: "
        "it was written by a different Ostiary; install that one, or restore a backup"
    )
