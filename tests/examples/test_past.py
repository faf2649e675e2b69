"""The demonstration's past is like a real server's: its audit trail and its summaries show it."""

import json
from collections import Counter
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import trio
from demo.past import make_past
from demo.sample import PASSWORD

from ostiary_core.model.instant import SECOND_MS, Instant
from ostiary_net.observability.summaries import Metric
from ostiary_net.sqlite import SQLiteStore
from ostiary_web.server.settings import Settings
from tests.support.processes import Machine

END = datetime(2026, 11, 27, 15, tzinfo=UTC)
"""A Friday, in the afternoon."""


def live(folder: Path, days: int) -> list[dict[str, Any]]:
    """Make a past; return its audit trail as the command line exports it."""
    folder.mkdir()
    machine = Machine(folder, ADMIN_USERNAME="admin", ADMIN_PASSWORD=PASSWORD)
    settings = Settings.from_environment(machine.environment)
    end = Instant(round(END.timestamp()) * SECOND_MS)
    trio.run(partial(make_past, settings, "http://127.0.0.1:9/callback", end=end, days=days))
    return [json.loads(line) for line in machine.run("audit", "export").out.splitlines()]


def test_the_past_has_each_ending_more_visits_by_day_and_summaries_that_count_them(tmp_path: Path) -> None:
    trail = live(tmp_path / "past", 10)
    reasons = {one["why"] for one in trail}
    assert reasons >= {"signed_out", "signed_out_elsewhere", "revoked_by_client", "replayed_after_grace"}
    assert reasons >= {"consent_withdrawn", "user_forced_out", "client_forced_out", "user_disabled"}
    kinds = Counter(one["kind"] for one in trail)
    once = {"pair-repeated", "sign-in-failed", "consent-remembered", "consent-denied", "code-voided"}
    assert kinds.keys() >= once | {"role-changed", "user-changed", "client-secret-reset"}
    assert {one["userAgent"] for one in trail if one["why"] == "replayed_after_grace"} == {"curl/8.11.0"}

    times = [datetime.fromisoformat(one["at"]) for one in trail]
    assert times == sorted(times)
    assert (END - times[0]).days == 10
    assert (END - times[-1]).total_seconds() < 3_600
    visits = [time for time, one in zip(times, trail, strict=True) if one["kind"] == "code-issued"]
    by_day = sum(7 <= time.hour < 18 for time in visits) / 11
    assert by_day > 3 * (sum(not 7 <= time.hour < 18 for time in visits) / 13)
    at_weekends = Counter(time.weekday() >= 5 for time in visits)
    assert at_weekends[False] / 8 > 2 * at_weekends[True] / 2

    with SQLiteStore(tmp_path / "past" / "ostiary.db") as store:
        counted: Counter[Metric] = Counter()
        hours = set()
        end = Instant(round(END.timestamp() + 3_600) * SECOND_MS)
        for key, tally in store.summaries(Instant(0), end, of_clients=False).items():
            counted[key.what] += tally[0]
            hours |= {key.hour} if key.what is Metric.RUNNING else set()
    assert counted[Metric.REFRESHED] == kinds["pair-rotated"]
    assert counted[Metric.SIGN_IN_FAILED] == kinds["sign-in-failed"]
    assert counted[Metric.ENDED] == kinds["session-ended"]
    assert len(hours) >= 10 * 24


def test_the_past_is_the_same_each_time(tmp_path: Path) -> None:
    first = live(tmp_path / "first", 1)
    assert len(first) > 50
    assert live(tmp_path / "again", 1) == first
