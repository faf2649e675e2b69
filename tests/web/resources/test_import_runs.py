"""An import with many passwords goes on after its request; it is done as a whole or not at all."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, TypeVar

import httpx
import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import MockClock

from ostiary_core.model.permissions import Permission
from ostiary_core.model.secret import Entropy
from ostiary_web.application.resources.import_rows import MOST_HASHED_IN_A_REQUEST
from ostiary_web.http.context import RequestContext
from tests.support.callers import Api, expect_refusal, expect_success, fields_of
from tests.support.files import SHEET, sheet_of
from tests.support.people import holder_of
from tests.support.served import Serve, Served

T = TypeVar("T")

USERS = "/api/iam/users"
MANY = MOST_HASHED_IN_A_REQUEST + 1


class Hashing:
    """The passwords of one server, of which only as many are hashed as a test allows."""

    def __init__(self, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        self._hash = served.services.passwords.hash
        self._allowed = trio.Semaphore(0)
        self.served = served
        self.may_be_refused = set[bool]()
        monkeypatch.setattr(served.services.passwords, "hash", self._wait_and_hash)

    def let(self, number: int) -> None:
        for _ in range(number):
            self._allowed.release()

    async def _wait_and_hash(self, password: str, *, may_be_refused: bool = True) -> str:
        self.may_be_refused.add(may_be_refused)
        await self._allowed.acquire()
        return await self._hash(password, may_be_refused=may_be_refused)


@pytest.fixture
async def hashing(served: Served, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock) -> Hashing:
    return Hashing(served, monkeypatch)


def people(number: int = MANY, prefix: str = "u", **last: Any) -> list[Sequence[Any]]:
    """Return the rows of so many users; `last` replaces fields of the last one."""
    rows = [{"username": f"{prefix}{each}", "name": f"U {each}", "phone": None} for each in range(number)]
    rows[-1] |= last
    headings = ["username", "Name", "Telephone", "password"]
    return [headings, *([*row.values(), "a good password"] for row in rows)]


async def await_end(api: Api, address: str) -> httpx.Response:
    """Ask for a run until it has ended; return the answer."""
    while True:
        answer = await api.call("GET", address)
        if answer.status_code != 200 or answer.json()["data"]["state"] != "running":
            return answer
        await trio.sleep(0.05)


async def test_an_import_of_many_passwords_says_how_far_it_is(hashing: Hashing) -> None:
    api = await hashing.served.administrator()
    answer = await api.import_sheet(USERS, people(), "insert")
    begun = expect_success(answer, 202)
    assert begun == {"id": begun["id"], "state": "running", "prepared": 0, "rows": MANY}
    address = answer.headers["Location"]
    assert address == f"{USERS}/import/{begun['id']}"
    hashing.let(17)
    await trio.sleep(1.5)
    assert (await api.succeed("GET", address))["prepared"] == 17
    assert (await api.succeed("GET", USERS))["total"] == 1, "all of it or nothing"
    hashing.let(MANY)
    done = expect_success(await await_end(api, address))
    assert (done["state"], done["prepared"], done["rows"]) == ("done", MANY, MANY)
    assert done["imported"] == {"created": MANY, "updated": 0, "unchanged": 0, "hashesLeft": 0}
    assert hashing.may_be_refused == {False}, "however many sign in meanwhile"
    await hashing.served.api().sign_in("u0", "a good password")


async def test_a_preview_hashes_nothing_and_answers_at_once(hashing: Hashing) -> None:
    api = await hashing.served.administrator()
    previewed = expect_success(await api.import_sheet(USERS, people(), "insert", preview="true"))
    assert (previewed["created"], len(previewed["rows"])) == (MANY, MANY)


async def test_a_run_that_is_refused_is_answered_as_its_request_would_have_been(hashing: Hashing) -> None:
    api = await hashing.served.administrator()
    address = (await api.import_sheet(USERS, people(phone="no number"), "insert")).headers["Location"]
    hashing.let(MANY)
    failure = expect_refusal(await await_end(api, address), 400, "A0401")
    assert fields_of(failure) == [f"rows.{MANY + 1}.phone"]
    assert (await api.succeed("GET", USERS))["total"] == 1


async def test_a_run_is_refused_if_its_user_may_no_longer_import(hashing: Hashing) -> None:
    api = await hashing.served.administrator()
    address = (await api.import_sheet(USERS, people(), "insert")).headers["Location"]
    await api.succeed("POST", "/api/auth/logout")
    hashing.let(MANY)
    again = await hashing.served.administrator()
    expect_refusal(await await_end(again, address), 401, "A1001")
    assert (await again.succeed("GET", USERS))["total"] == 1


async def test_a_run_is_shown_only_to_the_user_who_began_it(hashing: Hashing) -> None:
    hashing.let(2)
    other = await holder_of(hashing.served, Permission.USER_CREATE)
    nobody = await holder_of(hashing.served, Permission.ROLE_LIST, username="reader")
    api = await hashing.served.administrator()
    address = (await api.import_sheet(USERS, people(), "insert")).headers["Location"]
    folder = hashing.served.application.settings.data_dir / "imports"
    (folder / f"{'1' * 32}.json").write_text("of another release")
    for asked in (address, *(f"{USERS}/import/{name}" for name in ("0" * 32, "1" * 32, "x" * 300))):
        await other.fail(404, "A0404", "GET", asked)
    await nobody.fail(403, "A0403", "GET", address)


async def test_few_runs_go_on_at_a_time_and_others_learn_when_to_come_again(hashing: Hashing) -> None:
    api = await hashing.served.administrator()
    addresses = [(await api.import_sheet(USERS, people(), "insert")).headers["Location"] for _ in range(2)]
    third = await api.import_sheet(USERS, people(), "insert")
    expect_refusal(third, 429, "A0429")
    assert third.headers["Retry-After"] == "30"
    hashing.let(2 * MANY)
    # One run registers the users, so that the other finds them registered.
    assert sorted([(await await_end(api, each)).status_code for each in addresses]) == [200, 409]
    # Users who exist are refused before anything is hashed.
    assert (await api.import_sheet(USERS, people(MOST_HASHED_IN_A_REQUEST), "insert")).status_code == 409
    begun = [(await api.import_sheet(USERS, people(prefix=each), "insert")).status_code for each in "vwx"]
    assert begun == [202, 202, 429]
    hashing.let(2 * MANY)


async def test_a_run_is_lost_with_its_server(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is shown as lost for an hour after its server stopped, and is forgotten then."""
    async with serve() as served:
        Hashing(served, monkeypatch)
        api = await served.administrator()
        address = (await api.import_sheet(USERS, people(), "insert")).headers["Location"]
    async with serve() as served:
        api = await served.administrator()
        served.clock.wait(60)
        assert (await api.succeed("GET", address))["state"] == "running"
        served.clock.wait(0.001)
        assert (await api.succeed("GET", address))["state"] == "lost"
        page = await (await served.sign_in_browser()).get(address.replace(USERS, "/admin/people"))
        assert (page.status_code, "refresh" in page.headers) == (200, False)
        served.clock.wait(59 * 60 - 0.001)
        api = await served.administrator()
        expect_success(await api.import_sheet(USERS, people(), "insert"), 202)
        assert (await api.succeed("GET", address))["state"] == "lost"
        served.clock.wait(0.001)
        expect_success(await api.import_sheet(USERS, people(), "insert"), 202)
        await api.fail(404, "A0404", "GET", address)


async def test_a_run_done_at_a_stop_counts_as_done(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server stops after the turn of a run and before its report."""
    async with serve() as served:
        hashing, runs = Hashing(served, monkeypatch), served.services.import_runs
        api = await served.administrator()

        async def stop_and_write(work: Callable[[], T], /, *, limiter: trio.CapacityLimiter) -> T:
            runs.nursery.cancel_scope.cancel()
            await trio.lowlevel.checkpoint()
            return work()

        address = (await api.import_sheet(USERS, [*people(), ["later", "Later"]], "insert")).headers[
            "Location"
        ]
        monkeypatch.setattr(runs, "run_sync", stop_and_write)
        hashing.let(MANY)
        await trio.Event().wait()
    async with serve() as served:
        api = await served.administrator()
        done = await api.succeed("GET", address)
        assert (done["state"], len(done["imported"]["cannotSignIn"])) == ("done", 1)
        assert (await api.succeed("GET", USERS))["total"] == 2 + MANY


async def test_a_failed_run_is_logged_and_is_over(hashing: Hashing, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes no place from other runs."""

    async def fail(password: str, *, may_be_refused: bool = True) -> str:
        raise MemoryError(password)

    monkeypatch.setattr(hashing.served.services.passwords, "hash", fail)
    api = await hashing.served.administrator()
    with capture_logs() as log:
        addresses = []
        for _ in range(3):
            addresses.append((await api.import_sheet(USERS, people(), "insert")).headers["Location"])
            await trio.sleep(0.5)
        expect_refusal(await api.import_sheet(USERS, people(2), "insert"), 500, "A0500")
    logged = [each for each in log if each["log_level"] == "error"]
    events = ["an import went wrong after its request"] * 3 + ["unexpected error"]
    assert [each["event"] for each in logged] == events
    causes = {(each["cause"], each["where"][0].rpartition(" ")[2]) for each in logged}
    assert causes == {("MemoryError", "fail")}
    hashing.served.clock.wait(61)
    assert [(await api.succeed("GET", each))["state"] for each in addresses] == ["lost"] * 3


async def test_runs_that_could_not_begin_take_no_place(hashing: Hashing) -> None:
    api = await hashing.served.administrator()
    hindrance = hashing.served.application.settings.data_dir / "imports"
    hindrance.write_text("no folder")
    for _ in range(2):
        expect_refusal(await api.import_sheet(USERS, people(), "insert"), 500, "A0500")
    hindrance.unlink()
    hindrance.mkdir()
    (hindrance / "old.json").write_text("of another release")
    statuses = [(await api.import_sheet(USERS, people(), "insert")).status_code for _ in range(3)]
    assert statuses == [202, 202, 429]


async def test_the_page_shows_how_far_a_run_is_and_what_is_wrong(hashing: Hashing) -> None:
    browser = await hashing.served.sign_in_browser()
    for sheet, shown in (
        (people(phone="no number"), f"Row {MANY + 1}, Telephone: must be"),
        (people(), f"{MANY} registered"),
    ):
        file = {"file": ("people.xlsx", sheet_of(sheet), SHEET)}
        place = "/admin/people/import"
        answer = await browser.submit(await browser.get(place), {"mode": "insert"}, to=place, files=file)
        assert answer.status_code == 303
        running = await browser.get(answer.headers["Location"])
        assert f"0 of {MANY} rows are prepared" in running.text
        assert running.headers["Refresh"] == "2"
        hashing.let(MANY)
        await trio.sleep(2)
        done = await browser.get(answer.headers["Location"])
        assert shown in done.text
        assert "Refresh" not in done.headers


async def test_other_tasks_run_between_rows_of_an_import(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the server would answer no request while it prepares an import of 2,000 rows."""
    order: list[str] = []
    draw_entropy = RequestContext.draw_entropy

    def draw_for_a_row(self: RequestContext) -> Entropy:
        order.append("row")
        return draw_entropy(self)

    async def run_beside() -> None:
        while True:
            order.append("other")
            await trio.lowlevel.checkpoint()

    monkeypatch.setattr(RequestContext, "draw_entropy", draw_for_a_row)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_beside)
        sheet = [["username", "name"], *([f"user-{number}", "Somebody"] for number in range(50))]
        done = expect_success(await api.import_sheet(USERS, sheet, mode="insert"))
        nursery.cancel_scope.cancel()
    assert done["created"] == order.count("row") == 50
    assert max(len(list(same)) for what, same in groupby(order) if what == "row") < 10
