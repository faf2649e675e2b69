"""Settings of every test: Hypothesis, readable failures in shared assertions, what `make test` leaves out."""

import logging
import os
import signal
import sys
import zlib
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from random import Random
from typing import Final

import pytest
import structlog
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("tests.support", "tests.core.door")

# A deadline measures the machine and not the code; machines that run tests are busy.
settings.register_profile(
    "ostiary", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ostiary")

# A shell ignores interrupts for what it runs in the background, and the servers of tests would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


LONGEST: Final = (
    *("web/test_transcripts.py", "web/browser/test_every_page.py", "test_packaging.py"),
    *("net/postgres/test_processes.py",),
    *("fuzz/test_selftest.py", "net/front_door/test_processes.py", "web/test_malformed.py"),
    *("web/operations/test_proxies.py", "net/postgres/test_stalled.py"),
    *("web/resources/test_hostile_sheets.py", "net/store/test_conformance.py", "test_book.py"),
    *("web/operations/test_storage.py", "web/api_document/test_against_a_server.py"),
    *("fuzz/simulation/test_same_trace.py", "fuzz/test_mutants.py", "clients/test_python.py"),
    *("web/operations/test_backup.py", "net/postgres/test_rolling_restart.py", "test_docs.py"),
    *("web/test_single_permissions.py", "web/browser/test_signing_in.py", "fuzz/test_sequences.py"),
    *("web/test_every_route.py", "web/test_later_words.py", "core/test_rotation_machine.py"),
    *("net/postgres/test_instances.py", "web/operations/test_health.py", "web/test_public_path.py"),
)
"""Files that take longest: begun first, so that at the end no worker waits for another."""


def _tests(file: str, *beginnings: str) -> tuple[str, ...]:
    return tuple(f"{file}::test_{beginning}" for beginning in beginnings)


RELEASE: Final = (
    # The packages of a release, and the pages about them.
    *("test_bench.py", "test_book.py", "test_makefile.py", "test_names.py", "test_packaging.py"),
    *("test_tutorial.py", "test_words.py", "examples/"),
    # The campaigns themselves, but for their sequences and what they keep.
    *("fuzz/processes/", "fuzz/simulation/", "fuzz/test_command_line.py", "fuzz/test_invariants.py"),
    *("fuzz/test_mutants.py", "fuzz/test_rank_test.py", "fuzz/test_selftest.py"),
    "fuzz/test_corpus.py::test_a_committed_story_shows_the_mistake_that_it_names",
    *_tests("fuzz/test_sequences.py", "the_command_that_a_failure_tells_replays_it", "a_seed_gives"),
    # The kit for stores, with its wrong stores and over ours.
    *("core/conformance/test_kit.py", "net/store/test_conformance.py::test_our_store_is_sound"),
    # The same question at another door or store.
    *_tests("net/lane/test_lane.py", "one_request_does_not_wait_for_all_others"),
    "net/lane/test_both_doors.py::test_a_request_torn_at_any_byte_is_answered_alike",
    "net/store/test_listing.py::test_lists_of_which_each_is_long_have_the_pages_of_the_reference[postgresql]",
    *(
        f"web/attacks/test_header_fields.py::test_{test}[{door}"
        for test in ("no_parameter_of_a_page_becomes_a_field", "a_host_that_was_made_up_is_in_no_answer")
        for door in ("guard", "lane")
    ),
    *_tests("web/attacks/test_addresses.py", "another_spelling_of_an_address_is_not_there"),
    *_tests("web/attacks/test_password_floods.py", "a_flood_is_answered"),
    *_tests("web/test_transcripts.py", "what_is_shown_is_the_same_on_postgresql"),
    # Every address with every odd word, field, kind of body and coding; a store that fails at any statement.
    "web/test_malformed.py",
    *_tests("web/test_later_words.py", "every_route_answers_beside_words_of_a_later_release"),
    *_tests("web/operations/test_failing_statements.py", "a_store_that_fails_at_any_one_statement"),
    "web/api_document/test_against_a_server.py",
    *_tests("web/test_single_permissions.py", "one_permission_opens_all_of_its_routes"),
    # Every page, width and language in a browser, with and without scripts, and pairs of clicks.
    "web/browser/",
    # Other people's clients and proxies.
    *("clients/", "web/operations/test_proxies.py"),
    # Processes, signals, disks, streams and clusters as only an operating system has them.
    *_tests(
        "net/front_door/test_processes.py",
        *("a_signal_ends_a_server_with_0[supervise]", "a_signal_that_the_server", "a_supervisor_whose"),
        *("a_worker_that_dies_or_stands_still_is_replaced", "a_worker_counts"),
        *("a_server_that_does_not", "no_room_for_a_worker"),
        *("plain_hypercorn", "systemd_is_given", "time_in_which", "workers_do_not"),
    ),
    *_tests("net/front_door/test_connections.py", "a_stop_accepts_connections"),
    *(
        f"net/postgres/test_{name}.py"
        for name in ["pooler", "processes", "rolling_restart", "stalled", "surroundings"]
    ),
    *_tests("net/postgres/test_instances.py", "a_deadlock_is_a_lost_race", "a_host_that_does_not_answer"),
    *_tests("net/sqlite/test_sharing.py", "two_processes_on_one_file"),
    *_tests("net/test_purging.py", "a_store_under_a_constant_load_stays_as_large"),
    "web/command_line/test_streams.py",
    *_tests("web/command_line/test_beside_a_server.py", "workers_import"),
    *_tests("web/command_line/test_follow.py", "a_late_entry", "it_goes_on"),
    *_tests("web/operations/test_backup.py", "a_backup_goes_to_standard_output_whole", "a_backup_under_load"),
    *_tests("web/operations/test_backup.py", "what_was_alive_in_a_dump_of_postgresql"),
    *("web/operations/test_deploy.py", "web/operations/test_unix_socket.py"),
    *_tests("web/operations/test_health.py", "a_role_that_cannot_keep", "only_locks", "where_few_files"),
    *_tests("web/operations/test_storage.py", "a_file_that_left", "a_server_that_waits", "what_root_does"),
    *_tests("web/operations/test_storage.py", "whose_a_file_is"),
    *_tests("web/operations/test_traces.py", "a_collector_that_is", "without_a_collector"),
    *_tests("web/operations/test_copy.py", "a_target_that_does_not_answer"),
    "web/resources/test_hostile_sheets.py",
    *_tests("web/resources/test_import_runs.py", "a_failed_run", "an_import_of_many", "the_page_shows"),
)
"""Beginnings of tests marked `release`: slow, and seldom broken by a change."""


ORDER_SEED: Final = os.environ.get("OSTIARY_TEST_ORDER_SEED")
"""Seed of the order of files, and of tests in each; without one they run as they are written."""


PART: Final = os.environ.get("OSTIARY_TEST_RELEASE_PART", "0/1")
"""Part of the files with tests marked `release` that run all the same, as 2/4; none without one."""


def is_in_part(file: str) -> bool:
    """Whether a file is in the part, whatever files there are besides; four take equally long."""
    number, parts = map(int, PART.split("/"))
    return zlib.crc32(file.encode(), 838) % parts == number - 1


@pytest.hookimpl(optionalhook=True, wrapper=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Return one process more than there are cores, as many tests wait for a server or a disk."""
    return (yield) + 1


@pytest.hookimpl(tryfirst=True)
def pytest_report_header() -> str:
    """Name the seed, which gives the same order again."""
    return f"order of tests: {ORDER_SEED or 'as written'}"


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what `make test` leaves to `.ci/run`, which runs a part of the files, in turn."""
    name = item.nodeid.removeprefix("tests/")
    if name.startswith(RELEASE) and not is_in_part(name.partition("::")[0]):
        item.add_marker(pytest.mark.release)


def _shuffle(items: list[pytest.Item], seed: str) -> None:
    """Put files in a random order, and the tests of each: a file's own servers are started once."""
    draw = Random(seed)
    places = {path: draw.random() for path in sorted({item.path for item in items})}
    draw.shuffle(items)
    items.sort(key=lambda item: places[item.path])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the tests of a worker, whose files are handed out in this order: the longest, then the fullest."""
    places = {Path(__file__).parent / name: place for place, name in enumerate(LONGEST)}
    assert all(path.exists() for path in places)
    if ORDER_SEED is not None:
        _shuffle(items, ORDER_SEED)
    if hasattr(config, "workerinput"):
        counts = Counter(item.path for item in items)
        items.sort(key=lambda item: (places.get(item.path, len(places)), -counts[item.path], str(item.path)))


@pytest.fixture(scope="session", autouse=True)
def _nothing_left_behind() -> Iterator[None]:
    """Drop the schemas that the tests made on a shared server."""
    yield
    if stores := sys.modules.get("tests.support.stores"):
        stores.drop_schemas()


@pytest.fixture(autouse=True)
def _logs_as_they_were() -> Iterator[None]:
    """Commands and servers run in this process set up its logs; the next test starts as the first one did."""
    configured = structlog.get_config()
    loggers = [logging.getLogger(name) for name in (None, "hypercorn.error", "hypercorn.access")]
    before = [(list(logger.handlers), logger.level) for logger in loggers]
    yield
    structlog.configure(**configured)
    for logger, (handlers, level) in zip(loggers, before, strict=True):
        logger.handlers[:] = handlers
        logger.setLevel(level)
