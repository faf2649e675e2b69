"""Read the steps of a schema, files of plain SQL, and check which of them a database went through."""

from dataclasses import dataclass
from enum import Enum, auto
from importlib.resources import files
from typing import Final

_LAST_BEFORE_RELEASE: Final = "deleted_users"
"""Name of the last step before the first release, in both databases."""
NO_DATABASE: Final = "nothing is there: `ostiary migrate` makes the database, as `ostiary serve` does"


class SchemaError(RuntimeError):
    """Raised for a database that this program cannot work with; the text says why and what to do."""


class Opening(Enum):
    """Degree to which opening a store may change the database."""

    MAKES = auto()
    """Make a database if there is none, and bring its schema up to date."""
    UPDATES = auto()
    """Bring the schema of an existing database up to date."""
    KEEPS = auto()
    """Change nothing; the database must have the schema of this release."""


@dataclass(frozen=True, slots=True)
class Migration:
    """A step of a schema: its number, name and SQL."""

    version: int
    name: str
    sql: str


def read_migrations(package: str) -> tuple[Migration, ...]:
    """Read all steps of a package in order: `migrations/NNNN_name.sql`, without gaps."""
    steps = []
    for file in sorted(files(package).joinpath("migrations").iterdir(), key=lambda file: file.name):
        version, _, name = file.name.removesuffix(".sql").partition("_")
        steps.append(Migration(int(version), name, file.read_text(encoding="utf-8")))
    assert [step.version - steps[0].version for step in steps] == [*range(len(steps))], "a step is missing"
    return tuple(steps)


def has_all(applied: list[tuple[int, str]], steps: tuple[Migration, ...]) -> bool:
    """Whether `applied` begins with all of `steps`; newer ones may follow."""
    return _from_first_release(applied, steps)[: len(steps)] == [(step.version, step.name) for step in steps]


def find_missing(
    applied: list[tuple[int, str]], steps: tuple[Migration, ...], opening: Opening = Opening.MAKES
) -> tuple[Migration, ...]:
    """Return the steps that are to be applied.

    Raises `SchemaError` unless `applied` is the beginning of `steps` and `opening` allows what is missing.
    """
    if not applied and opening is not Opening.MAKES:
        raise SchemaError(NO_DATABASE)
    known = [(step.version, step.name) for step in steps]
    released = _from_first_release(applied, steps)
    if applied and not released:
        raise SchemaError(
            f"it has schema version {applied[-1][0]}, from before the first release, and this Ostiary reads "
            f"{known[0][0]} and later: start with another database"
        )
    if released == known[: len(released)]:
        missing = steps[len(released) :]
        if missing and opening is Opening.KEEPS:
            raise SchemaError(
                f"it has schema version {applied[-1][0]}, and this Ostiary needs {known[-1][0]}: "
                "`ostiary migrate` brings it up to date, as `ostiary serve` does"
            )
        return missing
    if has_all(applied, steps):
        raise SchemaError(
            f"the database has schema version {applied[-1][0]}, and this Ostiary knows only up to "
            f"{known[-1][0]}: install the newer Ostiary again, or restore the backup made before it ran"
        )
    raise SchemaError(
        f"the database has been through the steps {released}, and this Ostiary knows {known}: "
        "it was written by a different Ostiary; install that one, or restore a backup"
    )


def _from_first_release(
    applied: list[tuple[int, str]], steps: tuple[Migration, ...]
) -> list[tuple[int, str]]:
    """Return `applied` from the first release on, whose one step stands for all steps up to its number."""
    first = steps[0]
    return [
        (version, first.name if (version, name) == (first.version, _LAST_BEFORE_RELEASE) else name)
        for version, name in applied
        if version >= first.version
    ]
