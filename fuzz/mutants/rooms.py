"""The rooms whose mutants are judged, each with the tests that are its judges."""

import os
import pkgutil
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final

from fuzz.shared.campaign import choose_names


@dataclass(frozen=True, slots=True)
class Room:
    """Modules that belong together, and their judges."""

    packages: tuple[str, ...]
    tests: tuple[str, ...]
    """Folders, files and tests; a test sees a mutant only if it runs the room in its own process."""
    most_seconds: float = 15.0
    """Time for the judges of a mutant beyond the core (`Judge.seconds`); no judge starts later."""
    without: str = "(?!)"
    """Pattern of those tests that are no judges of the room, as they run another store."""

    def asks(self, test: str) -> bool:
        """Whether a test is a judge of the room."""
        is_named = any(
            test == path or test.startswith((f"{path}/", f"{path}::", f"{path}[")) for path in self.tests
        )
        return is_named and not re.search(self.without, test)

    def holds(self, module: str) -> bool:
        """Whether a module belongs to the room."""
        return any(f"{module}.".startswith(f"{package}.") for package in self.packages)

    @property
    def has_worlds(self) -> bool:
        """Whether random worlds judge as well; they reach the core alone."""
        return self.packages[0].startswith("ostiary_core")


_ROOT: Final = Path(__file__).parents[2]
# Without the tests of the kit for stores: they take two thirds of the time, and add nothing about the rules.
_CORE_TESTS: Final = tuple(f"tests/core/{path.name}" for path in sorted(_ROOT.glob("tests/core/test_*.py")))


def _core(name: str, *more: str) -> Room:
    return Room((f"ostiary_core.{name}",), (*_CORE_TESTS, *more))


def _modules(package: str, names: str) -> tuple[str, ...]:
    """Return modules of a package that is divided among several rooms."""
    return tuple(f"{package}.{name}" for name in names.split())


def _tests(folder: str, names: str) -> tuple[str, ...]:
    return tuple(f"tests/{folder}/test_{name}.py" for name in names.split())


def _tests_of(file: str, *names: str) -> tuple[str, ...]:
    """Return tests of a file whose other tests start servers, which no mutant reaches."""
    return tuple(f"{file}::test_{name}" for name in names)


_TRANSCRIPTS: Final = "tests/web/test_transcripts.py::test_what_is_shown_is_what_was_kept"
_ON_POSTGRESQL: Final = "tests/web/test_transcripts.py::test_what_is_shown_is_the_same_on_postgresql"
_TRACES: Final = _tests_of(
    "tests/web/operations/test_traces.py",
    "a_span_shows_how_its_turn_ended_and_whether_it_was_answered",
    "a_page_that_asks_has_the_outcome_in_its_span",
    "a_wrong_traceparent_counts_as_none",
)

ROOMS: Final = {
    **{name: _core(name) for name in ("oauth", "clients", "users", "throttling", "retention", "http")},
    "model": _core("model", *_tests("web", "entropy"), *_tests("net/store", "listing")),
    "history": _core("history", *_tests("web/audit", "explain what_acted")),
    "storage": _core(
        "storage", *_tests("net/store", "listing paging records audit"), *_tests("net", "columns")
    ),
    "turns": Room(
        ("ostiary_net.turns",),
        (
            *_tests("net", "turns service metrics sweeping"),
            *_tests("net/lane", "pauses"),
            *_tests("net/store", "turns"),
            *_tests("net/sqlite", "steps write_ahead"),
            *_tests("web/operations", "upkeep health"),
            *_TRACES,
            *_tests("web", "entropy logs token_service trace_ids"),
            *_tests("web/account", "help_desk"),
            *_tests("web/audit", "refused_administrators"),
        ),
    ),
    "sqlite": Room(
        ("ostiary_net.sqlite", "ostiary_net.sql"),
        (
            "tests/net/store",
            "tests/net/sqlite",
            *_tests("net", "columns"),
            *_tests_of(
                "tests/net/test_purging.py",
                "a_lease_is_one_holders_until_it_runs_out",
                "a_whole_purge_reaches_the_last_of_many_tokens",
            ),
            *_tests("web/operations", "backup copy slow_lists"),
            *_tests_of(
                "tests/web/operations/test_storage.py",
                "a_database_that_cannot_be_used_is_one_line_for_every_command",
                "a_file_that_cannot_be_written_stops_the_start",
                "a_file_without_a_place_for_its_log_is_refused",
                "a_database_is_made_by_a_start_or_a_migration_and_by_nothing_else",
                "old_databases_wait_for_migration",
            ),
            *_tests_of(
                "tests/web/operations/test_health.py",
                "another_schema_is_not_ready_and_still_healthy",
                "a_disk_that_takes_nothing_more_is_not_ready",
            ),
            _TRANSCRIPTS,
        ),
        without=r"\[(.*-)?(memory|postgresql)\b",
    ),
    "postgres": Room(
        ("ostiary_net.postgres",),
        (
            "tests/net/store",
            *_tests(
                "net/postgres",
                "hosts connecting schema statements stalled instances surroundings pooler plans",
            ),
            *_tests_of("tests/net/test_purging.py", "a_lease_is_one_holders_until_it_runs_out"),
            *_tests("web/operations", "slow_lists"),
            *_tests_of(
                "tests/web/operations/test_storage.py",
                "a_database_is_made_by_a_start_or_a_migration_and_by_nothing_else",
                "old_databases_wait_for_migration",
                "each_of_several_ports_belongs_to_a_host",
                "a_database_that_has_no_room_for_every_name_is_left_alone",
                "a_database_of_another_program_is_left_alone",
                "what_an_extension_brought_along_is_no_other_program",
            ),
            _ON_POSTGRESQL,
        ),
        most_seconds=60.0,
        # The kit for stores takes half a minute here, and adds nothing to the tests of each kind of record.
        without=r"\[(.*-)?(memory|sqlite)\b|test_conformance",
    ),
    "upkeep": Room(
        ("ostiary_net.upkeep",),
        (
            *_tests("net", "sweeping purging summarising metrics"),
            *_tests("web/operations", "upkeep copy"),
            *_tests("web/overview", "overview"),
            _TRANSCRIPTS,
        ),
    ),
    "gate": Room(
        # The modules that assemble the application run in servers' processes.
        ("ostiary_web.http",),
        (
            *_tests("web", "gate forgery browser_session public_path limits authorization trace_ids"),
            *_tests("web", "bad_fields every_route"),
            *_tests("web/api_document", "document"),
            *_tests_of(
                "tests/web/account/test_own_security.py",
                "a_caller_who_breaks_off_amid_a_change_does_not_stop_its_notice",
                "a_refused_administrator_who_breaks_off_is_in_the_trail",
            ),
            *_tests_of(
                "tests/web/account/test_second_factor.py",
                "the_owner_reads_by_text_message_what_was_done_with_the_second_factor",
            ),
            *_tests_of(
                "tests/web/operations/test_health.py", "another_schema_is_not_ready_and_still_healthy"
            ),
            *_tests("web/attacks", "header_fields fixation redirects"),
            *_tests("web/account", "recovery personal_tokens sent_codes"),
            *_tests("web/pages", "forms notices typed"),
            *_tests_of(
                "tests/web/test_malformed.py",
                "a_body_that_is_no_json_object",
                "more_than_its_path_takes_is_413",
            ),
            "web/ostiary_web/http/zones.py",
            _TRANSCRIPTS,
        ),
    ),
    "resources": Room(
        ("ostiary_web.application.resources", "ostiary_web.api.resources"),
        (
            *("tests/web/resources", "tests/web/online", "tests/web/audit/test_audit.py"),
            *_tests("web", "later_words single_permissions bad_fields"),
            *_tests("web/overview", "overview"),
            *_tests("web/pages", "forms"),
            *_tests("web/account", "invitations"),
            *_tests_of(
                "tests/web/command_line/test_import.py",
                "a_file_that_cannot_be_imported_is_said_why",
                "bad_rows_are_never_hashed",
            ),
            "web/ostiary_web/application/resources/sheet_rows.py",
            _TRANSCRIPTS,
        ),
    ),
    "observability": Room(
        ("ostiary_net.observability",),
        (
            *_tests("net", "metrics summarising log_lines service turns unanswered"),
            *_tests("net/store", "summaries"),
            *_tests("web", "logs trace_ids"),
            *_tests("web/operations", "upkeep"),
            *_TRACES,
            *_tests("web/overview", "overview"),
            *_tests("web/resources", "clients"),
            _TRANSCRIPTS,
        ),
    ),
    "runtime": Room(
        ("ostiary_net.runtime",),
        (
            *_tests("net", "clock files passwords text_messages unanswered"),
            *_tests("net/lane", "pauses"),
            *_tests("web/account", "avatars sent_codes telephone_numbers"),
            *_tests("web/resources", "password_hashes"),
            *_tests("web", "entropy accounts"),
            *_tests_of(
                "tests/web/operations/test_check.py",
                "an_interpreter_built_without_its_optimisations_is_named",
            ),
            _TRANSCRIPTS,
        ),
    ),
    "api": Room(
        (
            *_modules(
                "ostiary_web.api",
                "account auth avatars body_texts health oauth2 overview recovery second_factor"
                " sign_ins tokens",
            ),
            *_modules(
                "ostiary_web.application",
                "answer_data avatars browsers failed_sign_ins grants history_record history_texts"
                " overview_counts own_account recovery second_factor sign_ins tokens",
            ),
        ),
        (
            *_tests(
                "web",
                "accounts authorization bad_fields browser_session endings later_words single_permissions"
                " token_service",
            ),
            *_tests(
                "web/account",
                "avatars grants help_desk own_security personal_tokens proofs recovery second_factor"
                " sent_codes telephone_numbers",
            ),
            *("tests/web/audit", "tests/web/overview", "tests/web/api_document/test_document.py"),
            "tests/web/attacks/test_password_floods.py",
            *_tests("web/resources", "password_hashes"),
            *_tests_of(
                "tests/web/operations/test_health.py",
                "a_server_with_its_store_is_healthy_and_ready_at_any_rate",
                "another_schema_is_not_ready_and_still_healthy",
                "a_store_that_keeps_nothing_is_not_ready",
            ),
            _TRANSCRIPTS,
        ),
    ),
    "pages": Room(
        ("ostiary_web.pages",),
        (
            *(f"tests/web/{name}" for name in ("pages", "account", "online", "overview", "audit")),
            *_tests("web", "consent_page gate single_permissions browser_session third_language"),
            *_tests("web/attacks", "markup redirects"),
            *_tests("web/resources", "import_runs people clients"),
            *_tests_of(
                "tests/web/resources/test_export_import.py",
                "a_sheet_that_is_too_long_to_keep_is_to_be_chosen_again",
            ),
            *_tests_of("tests/web/test_later_words.py", "what_an_administrator_did_not_touch_is_kept"),
            _TRANSCRIPTS,
        ),
    ),
    "cli": Room(
        # Servers, and what commands do beside them (`live`, `follow`), are tested in processes of their own.
        _modules(
            "ostiary_web.cli",
            "apply arguments audit backup check clients context copy declaration declared_options ending"
            " explain import_files last_line named_users names plan printing record_commands roles sessions"
            " sweep user_import users",
        ),
        (
            *_tests("web/command_line", "apply commands follow import last_line"),
            *_tests("web/operations", "backup check copy upkeep"),
            *_tests_of("tests/web/operations/test_storage.py", "old_databases_wait_for_migration"),
            *_tests_of("tests/web/test_third_language.py", "a_third_language_is_spoken_on_the_command_line"),
            _TRANSCRIPTS,
        ),
    ),
    "imports": Room(("ostiary_web.server.import_runs",), _tests("web/resources", "import_runs")),
    "sheets": Room(
        # The parts that read a sheet in a process of their own are tested there.
        _modules("ostiary_web.sheets", "book cells csv_reading numbers parsing reading"),
        (
            *_tests("web/resources", "sheets csv"),
            *_tests_of(
                "tests/web/resources/test_export_import.py", "a_cell_with_an_error_takes_nothing_away"
            ),
        ),
    ),
}
"""Rooms by the name for `--room`."""

_POSTGRES: Final = "OSTIARY_TEST_POSTGRES"


def find_changed_rooms(revision: str) -> list[str]:
    """Return the rooms with a file that differs from a revision of git; none if git does not know it."""
    asked = ["git", "diff", "--name-only", revision, "--", "core", "net", "web"]
    done = subprocess.run(asked, capture_output=True, check=False, cwd=_ROOT, text=True)
    modules = [path.partition("/")[2].removesuffix(".py").replace("/", ".") for path in done.stdout.split()]
    return [name for name, room in ROOMS.items() if any(map(room.holds, modules))]


def choose_rooms(names: Sequence[str]) -> dict[str, Room]:
    """Return the named rooms, or all that can be judged here. Raises `UsageError` for an unknown name."""
    chosen = choose_names("room", names, ROOMS)
    if not names and not os.environ.get(_POSTGRES):
        print(f"postgres is left out: {_POSTGRES} names no server")
        chosen.remove("postgres")
    return {name: ROOMS[name] for name in chosen}


def modules_of(room: Room) -> list[str]:
    """Return the modules of a room without tables, which are computed at import, before any mutant."""
    names = []
    for package in room.packages:
        path = getattr(import_module(package), "__path__", None)
        names += (
            [package] if path is None else [each.name for each in pkgutil.walk_packages(path, f"{package}.")]
        )
    tables = ("meanings", "state_tables", "sql.columns", "sql.joins", "__init__")
    return [name for name in names if not name.endswith(tables)]
