"""The help desk sees the last sign-in, the failed tries and the waits of a user, and unlocks the user."""

import re
from dataclasses import replace

import httpx
import pytest

from ostiary_core.events import Operator, UserUnlocked
from ostiary_core.model.instant import iso_time
from ostiary_core.model.permissions import Permission
from ostiary_core.throttling.sign_in_throttle import SignInThrottle
from ostiary_net.turns.unlocks import Unlocks
from ostiary_web.server.app_services import attach_services
from tests.support.callers import SOURCE, Api, expect_refusal, expect_success
from tests.support.people import browser_of, holder_of, with_phone
from tests.support.served import Serve, Served

USERS = "/api/iam/users"
ELSEWHERE = "198.51.100.9"
PASSWORD = "anna's password"


async def attempt(api: Api, username: str = "anna", password: str = "wrong") -> httpx.Response:
    return await api.post("/api/auth/login", json={"username": username, "password": password})


async def sign_in(api: Api, password: str = "wrong", username: str = "anna") -> int:
    return (await attempt(api, username, password)).status_code


async def fail_until_waiting(api: Api) -> None:
    assert [await sign_in(api) for _ in range(6)] == [401] * 5 + [429]


async def test_the_page_of_a_role_shows_its_holders_to_readers_of_people(served: Served) -> None:
    desk = await browser_of(served, Permission.ROLE_LIST, Permission.USER_LIST, username="desk")
    only_roles = await browser_of(served, Permission.ROLE_LIST, username="only-roles")
    for browser, shown in ((desk, 1), (only_roles, 0)):
        page = (await browser.get("/admin/roles/role-of-desk")).text
        assert len(re.findall(r'<a href="/admin/people/[0-9a-f]{32}">Desk</a>', page)) == shown


async def test_failed_tries_and_their_waits_are_shown_and_an_unlock_ends_them(served: Served) -> None:
    """The failures of a name in lower case count for the account with a capital."""
    anna = await served.user("Anna")
    desk = await holder_of(served, Permission.USER_LIST, Permission.USER_UPDATE)
    here, failed = served.api(ELSEWHERE), f"{USERS}/{anna}/failed-sign-ins"
    nothing = {"countedSince": iso_time(served.services.started_at), "failures": 0, "waitsUntil": None}
    assert await desk.succeed("GET", failed) == {**nothing, "addresses": []}

    await fail_until_waiting(here)

    until = iso_time(type(served.clock.now())(served.clock.now() + 1_000))
    at = {"ip": ELSEWHERE, "failures": 5, "waitsUntil": until}
    assert await desk.succeed("GET", failed) == {**nothing, "failures": 5, "addresses": [at]}
    assert await sign_in(here, PASSWORD) == 429
    await desk.succeed("POST", f"{USERS}/{anna}/unlock")
    assert await desk.succeed("GET", failed) == {**nothing, "addresses": []}
    assert await sign_in(here, PASSWORD) == 200
    [entry] = [each for each in served.audit() if each.kind == "user-unlocked"]
    assert (entry.user_id, entry.source) == (anna, SOURCE)
    assert entry.actor_id == (await desk.succeed("GET", "/api/auth/me"))["id"]


async def test_every_process_learns_of_an_unlock_once_when_a_guess_has_to_wait(served: Served) -> None:
    """The command line unlocks a user through the database, which every process reads."""
    anna, here = await served.user("anna"), served.api(ELSEWHERE)
    service = replace(served.service, sign_in_throttle=SignInThrottle(), unlocks=Unlocks())
    other = replace(served.services, service=service)
    for process in (served.services, other):
        attach_services(served.application.quart, process)
        await fail_until_waiting(here)
    served.clock.wait(1)
    assert await sign_in(here) == 401  # It was checked, so the next one waits two seconds.

    await served.decide(UserUnlocked(caller=Operator(), user_id=anna))

    served.clock.wait(1)
    for process in (other, served.services):
        attach_services(served.application.quart, process)
        await fail_until_waiting(here)
        served.clock.wait(1)
        assert await sign_in(here) == 401
        assert await sign_in(here, PASSWORD) == 429, "the same unlock forgives nothing twice"
        served.clock.wait(60 * 60)


async def test_an_unlock_forgives_one_name_and_not_what_the_address_did_under_others(served: Served) -> None:
    anna, desk = await served.user("anna"), await holder_of(served, Permission.USER_UPDATE)
    crowd = served.api(ELSEWHERE)
    for number in range(20):
        assert await sign_in(crowd, username=f"name-{number}") == 401
    assert await sign_in(crowd, PASSWORD) == 429
    await desk.succeed("POST", f"{USERS}/{anna}/unlock")
    served.clock.wait(0.5)
    assert await sign_in(crowd, PASSWORD) == 429


async def test_the_help_desk_unlocks_no_user_above_it_and_no_unknown_one(served: Served, api: Api) -> None:
    desk = await holder_of(served, Permission.USER_UPDATE)
    admin = (await api.succeed("GET", "/api/auth/me"))["id"]
    await desk.fail(403, "A0403", "POST", f"{USERS}/{admin}/unlock")
    await desk.fail(404, "A0404", "POST", f"{USERS}/nobody/unlock")


# --- guessed passwords, on the sign-in page and over the interface


async def guess(api: Api, times: int = 20) -> None:
    """Try one wrong password on many names."""
    for number in range(times):
        expect_refusal(await attempt(api, f"name-{number}"), 401, "A1002")


def seconds_to_wait(response: httpx.Response) -> int:
    """Return the seconds that a refusal for guessing asks to wait."""
    expect_refusal(response, 429, "A1003")
    return int(response.headers["retry-after"])


async def test_one_password_on_many_accounts_slows_the_address_down(served: Served) -> None:
    """A guess that has to wait is not verified or counted against the account; the page refuses it too."""
    await with_phone(served)
    api, right = served.api(), ("anna", "anna password")
    await guess(api)
    before = served.records()
    assert seconds_to_wait(await attempt(api, *right)) == 1
    for _ in range(10):
        seconds_to_wait(await attempt(api))
    page = await served.browser().sign_in(*right)
    assert (page.status_code, "Too many failed sign-ins" in page.text) == (429, True)
    assert served.records() == before
    served.clock.wait(1)
    expect_refusal(await attempt(api), 401, "A1002")
    assert seconds_to_wait(await attempt(api, *right)) == 2
    served.clock.wait(2)
    expect_success(await attempt(api, *right))


@pytest.mark.parametrize("setting, free", [("RATE_LIMIT_SCALE", 20), ("GUESS_LIMIT_SCALE", 40)])
async def test_guesses_are_scaled_by_a_setting_of_their_own(serve: Serve, setting: str, free: int) -> None:
    """An address with many callers has a larger rate, but no more guesses (READINGS 63)."""
    async with serve(**{setting: "2"}) as served:
        await guess(served.api(), free)
        assert seconds_to_wait(await attempt(served.api())) == 1


@pytest.mark.parametrize("failures", range(4, 9))
async def test_the_wait_does_not_show_which_names_exist(served: Served, failures: int) -> None:
    """With two processes it does not either, as no throttle knows which names exist."""
    await with_phone(served)
    answers: dict[str, list[tuple[int, str | None]]] = {"anna": [], "nobody": []}
    other_service = replace(served.service, sign_in_throttle=SignInThrottle())
    other_process = replace(served.services, service=other_service)
    for process in (served.services, other_process) * failures:
        attach_services(served.application.quart, process)
        for name, seen in answers.items():
            response = await attempt(served.api(ELSEWHERE if name == "anna" else "198.51.100.10"), name)
            seen.append((response.status_code, response.headers.get("retry-after")))
        served.clock.wait(0.7)
    assert answers["anna"] == answers["nobody"]
