"""The steps of a schema, as files of plain SQL, and the check of the steps that a database went through."""

from dataclasses import dataclass
from importlib.resources import files


class SchemaError(RuntimeError):
    """The database is not one this program can work with; the text says why and what to do."""


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


def find_missing(applied: list[tuple[int, str]], steps: tuple[Migration, ...]) -> tuple[Migration, ...]:
    """The steps that are to be applied. Raises `SchemaError` unless `applied` is the beginning of `steps`."""
    known = [(step.version, step.name) for step in steps]
    if applied == known[: len(applied)]:
        return steps[len(applied) :]
    if has_all(applied, steps):
        raise SchemaError(
            f"the database has schema version {applied[-1][0]}, and this Ostiary knows only up to "
            f"{len(known)}: install the newer Ostiary again, or restore the backup made before it ran"
        )
    raise SchemaError(
        f"the database has been through the steps {applied}, and this Ostiary knows {known}: "
        "it was written by a different Ostiary; install that one, or restore a backup"
    )
