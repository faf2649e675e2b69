"""Hundreds of wrong passwords at once wait in a bounded line, and users without failures come first."""

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

import httpx
import trio
from trio.testing import MockClock

from ostiary_net.runtime.hashing_line import MOST_WAITING_A_PLACE, RETRY_SECONDS
from tests.support.callers import ADMIN_PASSWORD
from tests.support.served import Serve, Served

T = TypeVar("T")
HASH_SECONDS = 0.025
MANY = 600


async def hash_slowly(sync_fn: Callable[[], T], /, *, limiter: trio.CapacityLimiter) -> T:
    """Take the same time for each password, as a processor does."""
    async with limiter:
        await trio.sleep(HASH_SECONDS)
        return sync_fn()


class Flood:
    """Sign-ins at one moment, and the answer to each with its seconds."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.served.services.passwords._run_sync = hash_slowly
        self.answers: list[tuple[httpx.Response, float]] = []

    async def guess(self, number: int) -> None:
        source = f"203.0.{number // 250}.{number % 250 + 1}"
        self.answers.append(await self.sign_in(f"user-{number}", "wrong", source))

    async def sign_in(self, username: str, password: str, source: str) -> tuple[httpx.Response, float]:
        began_at = trio.current_time()
        body = {"username": username, "password": password}
        answer = await self.served.api(source).call("POST", "/api/auth/login", body)
        return answer, trio.current_time() - began_at


async def test_a_flood_is_answered_at_once_and_a_user_who_signed_in_there_before_is_checked_first(
    serve: Serve, autojump_clock: MockClock
) -> None:
    """The sign-in page has an answer in words, and a guess that was not checked counts as no failure."""
    async with serve(PASSWORD_HASHING_THREADS="1") as served:
        await served.administrator()
        flood, browser = Flood(served), served.browser("198.51.100.9")
        form = await browser.get("/login")
        async with trio.open_nursery() as nursery:
            for number in range(MANY):
                nursery.start_soon(flood.guess, number)
            while not served.services.passwords.line.refused:
                await trio.lowlevel.checkpoint()
            page = await browser.log_in(form)
            answer, seconds = await flood.sign_in("admin", ADMIN_PASSWORD, "203.0.113.7")
            assert answer.status_code == 200
            assert seconds <= 5 * HASH_SECONDS
        metrics = served.service.metrics.write_exposition()
        throttle, now = served.service.sign_in_throttle, served.service.clock.monotonic()
    assert (page.status_code, page.headers["Retry-After"]) == (503, str(RETRY_SECONDS))
    assert "Too many sign-ins at the moment" in page.text
    assert 'value="admin"' in page.text
    statuses = Counter((answer.status_code, answer.json()["code"]) for answer, _ in flood.answers)
    refused = statuses[503, "A0503"]
    assert statuses == {(401, "A1002"): MANY - refused, (503, "A0503"): refused}
    assert refused >= MANY - MOST_WAITING_A_PLACE - 3
    assert f"ostiary_hashes_refused_total {refused + 1}" in metrics
    for answer, seconds in flood.answers:
        if answer.status_code == 503:
            assert answer.headers["Retry-After"] == str(RETRY_SECONDS)
            assert seconds <= 5 * HASH_SECONDS
        assert seconds <= (MOST_WAITING_A_PLACE + 5) * HASH_SECONDS
    failures = sum(throttle.failures_of(f"user-{number}", now).failures for number in range(MANY))
    assert failures == MANY - refused
